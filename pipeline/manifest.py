"""The manifest: one small file that makes a round real.

Written last, at once and never over another: of two drivers that try, one wins. Its
paths are relative to the crawl's folder, so that the folder can be moved. Readers trust
manifests only; a file that none names is an orphan of a round that never happened.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from pipeline.options import UsageError
from transforms import layout, storage
from transforms.records import ShardResult, ShardState, WarcFile

FORMAT = 1
OPENING_ROUNDS = 8  # redirects of seeds that are waited for before the scope is settled
COUNTS = ("taken", "fetched", "bytes", "links", "discovered", "warc_bytes", "warc_records")
STATE_PATHS = (
    "frontier",
    "visited",
    "contents",
    "hosts",
    "held",
    "sketches",
    "patterns",
    "aside",
)


class CommitError(Exception):
    """The round can not be committed; what it says is why. Nothing of it counts."""


class Manifest(NamedTuple):
    """A committed round. `counts` are this round's, `totals` the crawl's up to it."""

    round: int
    counts: dict[str, int]
    outcomes: dict[str, int]
    refused: dict[str, int]
    totals: dict[str, int]
    files: dict[str, list[str]]
    states: tuple[ShardState, ...]  # for the next round
    committed_at: str


def summarize(
    base: str, results: Iterable[ShardResult], warcs: Iterable[WarcFile], shards: int, now: str
) -> Manifest | None:
    """The manifest of a round, or None when it had nothing to do.

    Raises CommitError when a shard or a link was lost, or a URL has no fate or two.
    """
    results = sorted(results, key=lambda result: result.state.shard)
    check_sums(results, shards)
    if not any(result.changed for result in results):
        return None
    outcomes: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for result in results:
        outcomes.update(result.settled.outcomes)
        refused.update(result.refused)
    scope = tuple(sorted({url for result in results for url in result.settled.scope}))
    opening = any(result.state.seeds for result in results)
    states = tuple(
        state._replace(
            scope=tuple(sorted({*state.scope, *scope})),
            opening=opening and state.round < OPENING_ROUNDS,
        )
        for state in (result.state for result in results)
    )
    warcs = sorted(warcs)
    counts = {
        "taken": sum(result.taken for result in results),
        "fetched": sum(outcomes.values()),
        "bytes": sum(result.settled.bytes for result in results),
        "links": sum(result.received for result in results),
        "discovered": sum(result.discovered for result in results),
        "warc_bytes": sum(warc.bytes for warc in warcs),
        "warc_records": sum(warc.records for warc in warcs),
    }
    files = {
        layout.PAGES: [result.settled.pages for result in results if result.settled.pages],
        layout.LINKS: sorted({path for result in results for path in result.settled.links}),
        layout.WARC: [f"{base}/{warc.name}" for warc in warcs],
    }
    return Manifest(
        round=states[0].round - 1,
        counts=counts,
        outcomes=dict(sorted(outcomes.items())),
        refused=dict(sorted(refused.items())),
        totals=total(states),
        files=files,
        states=states,
        committed_at=now,
    )


def total(states: Iterable[ShardState]) -> dict[str, int]:
    names = ("discovered", "fetched", "refused", "waiting", "set_aside", "pages")
    states = list(states)
    return {name: sum(getattr(state, name) for state in states) for name in names}


def check_sums(results: list[ShardResult], shards: int) -> None:
    """Every shard there, every link sent received, every URL with exactly one fate."""
    numbers = [result.state.shard for result in results]
    if numbers != list(range(shards)):
        raise CommitError(f"expected shards 0 to {shards - 1}, got {numbers}")
    sent: Counter[int] = Counter()
    for result in results:
        sent.update(result.settled.sent)
    for result in results:
        state = result.state
        if sent[state.shard] != result.received:
            raise CommitError(
                f"shard {state.shard}: {sent[state.shard]} links were sent, "
                f"{result.received} arrived"
            )
        if sum(result.settled.outcomes.values()) != result.fetched:
            raise CommitError(
                f"shard {state.shard}: {result.fetched} fetches ended, "
                f"{sum(result.settled.outcomes.values())} reached the pages table"
            )
        if state.discovered != state.fetched + state.refused + state.waiting + state.set_aside:
            raise CommitError(
                f"shard {state.shard}: discovered {state.discovered} is not fetched "
                f"{state.fetched} + refused {state.refused} + waiting {state.waiting} "
                f"+ set aside {state.set_aside}"
            )


def to_json(base: str, manifest: Manifest) -> bytes:
    document = {"format": FORMAT, **manifest._asdict()}
    document["files"] = {
        kind: [layout.relative(base, path) for path in paths]
        for kind, paths in manifest.files.items()
    }
    document["states"] = [state_to_dict(base, state) for state in manifest.states]
    return json.dumps(document, indent=1).encode()


def from_json(base: str, data: bytes) -> Manifest:
    try:
        document = json.loads(data)
    except ValueError:
        document = {}
    if document.pop("format", None) != FORMAT:
        raise UsageError(f"not a manifest of format {FORMAT}, in {base}; was it made by beamcrawl?")
    document["files"] = {
        kind: [f"{base}/{path}" for path in paths] for kind, paths in document["files"].items()
    }
    document["states"] = tuple(state_from_dict(base, state) for state in document["states"])
    return Manifest(**document)


def state_to_dict(base: str, state: ShardState) -> dict[str, Any]:
    record = state._asdict()
    for name in STATE_PATHS:
        record[name] = [layout.relative(base, path) for path in record[name]]
    return record


def state_from_dict(base: str, record: dict[str, Any]) -> ShardState:
    # A state of an earlier version knows nothing of what came later.
    paths = {name: tuple(f"{base}/{path}" for path in record.get(name, ())) for name in STATE_PATHS}
    words = {name: tuple(record.get(name, ())) for name in ("scope", "lifted")}
    return ShardState(**{**record, **paths, **words})


def void_round(round_: int, states: Iterable[ShardState], now: str) -> Manifest:
    """The manifest of a round in which nothing happens, so that no one else can commit it."""
    states = tuple(state._replace(round=round_ + 1) for state in states)
    counts = dict.fromkeys(COUNTS, 0)
    files: dict[str, list[str]] = {layout.PAGES: [], layout.LINKS: [], layout.WARC: []}
    return Manifest(round_, counts, {}, {}, total(states), files, states, now)


def read_manifests(base: str, since: int = 0) -> list[Manifest]:
    """The committed rounds from `since` on, oldest first."""
    oldest = layout.manifest_file(base, since)
    paths = storage.list_files(layout.manifest_folder(base), oldest)
    wanted = [path for path in paths if path.endswith(".json")]
    return [from_json(base, data) for data in storage.read_all(wanted)]


def last_manifest(base: str) -> Manifest | None:
    paths = [p for p in storage.list_files(layout.manifest_folder(base)) if p.endswith(".json")]
    return from_json(base, storage.read_bytes(paths[-1])) if paths else None
