"""Commit: the last step of a depth, on one worker, with all shards in hand."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

import apache_beam as beam

from pipeline.manifest import STATE_PATHS, CommitError, Manifest, from_json, summarize, to_json
from transforms import layout, storage
from transforms.grouping import GroupParts, Parts
from transforms.records import ShardResult, ShardState, WarcFile
from transforms.times import iso_seconds


def commit_round(
    base: str, shards: int, results: Iterable[ShardResult], warcs: Iterable[WarcFile]
) -> tuple[ShardState, ...]:
    """Write the round's manifest; returns the states for the next round.

    A round that had nothing to do writes none, and gives back the states it began with.
    """
    results = list(results)
    now = iso_seconds(time.time())
    manifest = summarize(base, results, warcs, shards, now)
    if manifest is None:
        return tuple(result.state._replace(round=result.state.round - 1) for result in results)
    storage.make_durable(new_files(manifest))  # a manifest must never outlive its files
    path = layout.manifest_file(base, manifest.round)
    try:
        storage.publish(path, to_json(base, manifest))
    except FileExistsError:
        # A second attempt at this step finds the first one's work. Anything else is a
        # rival's round: ours never happened.
        rival = from_json(base, storage.read_bytes(path))
        if rival._replace(committed_at=now) != manifest:
            raise CommitError(f"another run committed round {manifest.round} first") from None
    return manifest.states


def new_files(manifest: Manifest) -> list[str]:
    """The files that a round wrote."""
    of_round = (f"/round={manifest.round:05d}/", f"/round={manifest.round + 1:05d}/")
    named = {path for paths in manifest.files.values() for path in paths}
    for state in manifest.states:
        named.update(path for kind in STATE_PATHS for path in getattr(state, kind))
    return sorted(path for path in named if any(folder in path for folder in of_round))


class _CommitRound(beam.DoFn):  # type: ignore[misc]
    def __init__(self, base: str, shards: int) -> None:
        self.base = base
        self.shards = shards

    def process(self, element: tuple[None, Iterable[Any]]) -> Iterator[ShardState]:
        parts = Parts(element[1])
        results, warcs = parts.all(ShardResult), parts.all(WarcFile)
        yield from commit_round(self.base, self.shards, results, warcs)


class CommitRound(beam.PTransform):  # type: ignore[misc]
    """(None, ShardResult or WarcFile) → the next ShardState of every shard."""

    def __init__(self, base: str, shards: int) -> None:
        super().__init__()
        self.base = base
        self.shards = shards

    def expand(self, inputs: tuple[beam.PCollection, ...]) -> beam.PCollection:
        return inputs | GroupParts() | beam.ParDo(_CommitRound(self.base, self.shards))
