"""Dedup by URL, and the next frontier: a URL is decided once, ever.

Whether a filter refused it or the frontier takes it, its fingerprint goes into this
round's run; what any run holds already is dropped here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from transforms import layout, storage
from transforms.filter import FilterRules, UrlFilter
from transforms.frontier import write_frontier
from transforms.grouping import GroupParts, Parts
from transforms.hosts import merge_host_runs
from transforms.records import (
    CandidateBlock,
    ContentRuns,
    NearRuns,
    Settled,
    ShardResult,
    ShardState,
    SlotReport,
)
from transforms.runs import TIER, compact, seen_in, write_run
from transforms.settle import best_first, is_out_of_scope
from transforms.tables import CANDIDATES, FRONTIER, VISITED, unpack, words
from transforms.urls import host_of


def unseen(candidates: pa.Table, visited: tuple[str, ...]) -> pa.Table:
    """The candidates that no run holds, each URL once, best link first."""
    candidates = candidates.take(best_first(candidates, "fingerprint"))
    fingerprints = candidates["fingerprint"].to_numpy()
    order = np.argsort(fingerprints)
    new = np.empty(len(order), bool)
    new[order] = ~seen_in(fingerprints[order], visited)
    return candidates.filter(new)


def frontier_rows(candidates: pa.Table) -> pa.Table:
    """FRONTIER rows of the candidates that no filter refused."""
    admitted = candidates.filter(pc.is_null(candidates["refused"]))
    hosts = words(host_of(url) for url in admitted["url"].to_pylist())
    columns = [
        admitted["url"],
        admitted["fingerprint"],
        hosts,
        admitted["depth"],
        admitted["referrer"],
        admitted["seed"],
    ]
    return pa.table(columns, schema=FRONTIER)


def reconsider(held: pa.Table, wanted: UrlFilter) -> pa.Table:
    """Candidates that the scope refused, judged anew by a scope that may have grown."""
    urls = held["url"].to_pylist()
    refused = [wanted.refusal(url) for url in urls]
    known_as = [wanted.identity(url, reason) for url, reason in zip(urls, refused, strict=True)]
    for name, column in (
        ("refused", words(refused)),
        ("fingerprint", pa.array(known_as, pa.uint64())),
    ):
        held = held.set_column(CANDIDATES.get_field_index(name), CANDIDATES.field(name), column)
    return held


def nothing_taken(state: ShardState) -> SlotReport:
    """The report on a shard that no slot had."""
    return SlotReport(state.shard, 0, 0, 0, state.frontier, state.waiting, "")


class _DedupUrls(beam.DoFn):  # type: ignore[misc]
    def __init__(self, base: str, shards: int, rules: FilterRules) -> None:
        self.base = base
        self.shards = shards
        self.rules = rules

    def process(self, element: tuple[int, Iterable[Any]]) -> Iterator[tuple[None, ShardResult]]:
        _, values = element
        parts = Parts(values)
        state = parts.one(ShardState)
        report = parts.one(SlotReport, nothing_taken(state))
        blocks = [block.packed for block in parts.all(CandidateBlock)]
        candidates = unpack(blocks, CANDIDATES)
        received = candidates.num_rows
        candidates, held = self._hold_or_release(state, candidates)
        new = unseen(candidates, state.visited)
        frontier = frontier_rows(new)
        counts = new["refused"].drop_null().value_counts().to_pylist()
        refused = {row["values"]: row["counts"] for row in counts}
        contents = parts.one(ContentRuns, ContentRuns(state.contents)).paths
        sketches = parts.one(NearRuns, NearRuns(state.sketches)).paths
        after = state._replace(
            round=state.round + 1,
            frontier=(*report.frontier, *self._write_frontier(state, frontier)),
            visited=self._add_visited(state, new),
            contents=contents,
            sketches=sketches,
            hosts=self._add_hosts(state, report),
            waiting=report.waiting + frontier.num_rows,
            discovered=state.discovered + new.num_rows,
            fetched=state.fetched + report.fetched,
            refused=state.refused + sum(refused.values()),
            pages=state.pages + report.pages,
            seeds=state.seeds - report.seeds + (pc.sum(frontier["seed"]).as_py() or 0),
            held=held,
            seconds=report.seconds or state.seconds,
        )
        result = ShardResult(
            state=after,
            taken=report.taken,
            received=received,
            discovered=new.num_rows,
            refused=refused,
            settled=parts.one(Settled, Settled("", (), {}, 0, (), {})),
            fetched=report.fetched,
            changed=bool(report.fetched or report.hosts or held != state.held),
        )
        yield None, result

    def _hold_or_release(
        self, state: ShardState, candidates: pa.Table
    ) -> tuple[pa.Table, tuple[str, ...]]:
        """The candidates to decide on now, and the files of those that are held.

        A URL is decided once, ever. So while a seed may still redirect elsewhere, what is
        out of scope is put by; once no seed waits it is judged with all the rest.
        """
        if state.opening:
            out = is_out_of_scope(candidates)
            path = self._path(layout.FRONTIER, state, "held")
            held = candidates.filter(out)
            if held.num_rows:
                storage.write_table(path, held)
                return candidates.filter(pc.invert(out)), (*state.held, path)
            return candidates, state.held
        if state.held:
            wanted = UrlFilter(self.rules, state.scope)
            held = pa.concat_tables(storage.read_table(path) for path in state.held)
            candidates = pa.concat_tables([candidates, reconsider(held, wanted)])
        return candidates.unify_dictionaries(), ()

    def _write_frontier(self, state: ShardState, rows: pa.Table) -> tuple[str, ...]:
        return write_frontier(self.base, state.round + 1, state.shard, self.shards, rows)

    def _add_visited(self, state: ShardState, new: pa.Table) -> tuple[str, ...]:
        if not new.num_rows:
            return state.visited
        run = write_run(self._path(layout.VISITED, state, ""), new.select(VISITED.names))
        return compact((*state.visited, run), self._path(layout.VISITED, state, "merged"))

    def _add_hosts(self, state: ShardState, report: SlotReport) -> tuple[str, ...]:
        hosts = (*state.hosts, report.hosts) if report.hosts else state.hosts
        if len(hosts) <= TIER:
            return hosts
        return (merge_host_runs(self._path(layout.HOSTS, state, "merged"), hosts),)

    def _path(self, kind: str, state: ShardState, part: str) -> str:
        return layout.shard_file(self.base, kind, state.round, state.shard, self.shards, part)


class DedupUrls(beam.PTransform):  # type: ignore[misc]
    """(shard, CandidateBlock, SlotReport, Settled, ContentRuns, NearRuns or
    ShardState) → (None, ShardResult).
    """

    def __init__(self, base: str, shards: int, rules: FilterRules) -> None:
        super().__init__()
        self.base = base
        self.shards = shards
        self.rules = rules

    def expand(self, inputs: tuple[beam.PCollection, ...]) -> beam.PCollection:
        return inputs | GroupParts() | beam.ParDo(_DedupUrls(self.base, self.shards, self.rules))
