"""Dedup by URL, and the next frontier: a URL is decided once, ever.

Whether a filter refused it or the frontier takes it, its fingerprint goes into this
round's run; what any run holds already is dropped here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from transforms import layout
from transforms.frontier import write_frontier
from transforms.hosts import merge_host_runs
from transforms.records import Settled, ShardResult, ShardState, SlotReport
from transforms.runs import TIER, compact, seen_in, write_run
from transforms.settle import best_first
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


class _DedupUrls(beam.DoFn):  # type: ignore[misc]
    def __init__(self, base: str, shards: int) -> None:
        self.base = base
        self.shards = shards

    def process(self, element: tuple[int, dict[str, Any]]) -> Iterator[ShardResult]:
        _, grouped = element
        [state] = grouped["state"]
        blocks = list(grouped["candidates"])
        new = unseen(unpack(blocks, CANDIDATES), state.visited)
        received = sum(unpack([block], CANDIDATES).num_rows for block in blocks)
        [report] = grouped["report"] or [None]
        [settled] = grouped["settled"] or [Settled("", (), {}, 0, (), {})]
        [contents] = grouped["contents"] or [state.contents]
        frontier = frontier_rows(new)
        refused = new["refused"].drop_null().value_counts().to_pylist()
        refused = {row["values"]: row["counts"] for row in refused}
        after = self._after(state, report, new, frontier, contents, sum(refused.values()))
        yield ShardResult(
            state=after,
            taken=report.taken if report else 0,
            received=received,
            discovered=new.num_rows,
            refused=refused,
            settled=settled,
            changed=bool(report and (report.fetched or report.hosts)),
        )

    def _after(
        self,
        state: ShardState,
        report: SlotReport | None,
        new: pa.Table,
        frontier: pa.Table,
        contents: tuple[str, ...],
        refused: int,
    ) -> ShardState:
        """The shard's next state. Writes the run of what is new and its part of the frontier."""
        visited, hosts = state.visited, state.hosts
        if new.num_rows:
            run = new.select(VISITED.names)
            visited = (*visited, write_run(self._path(layout.VISITED, state, ""), run))
            visited = compact(visited, self._path(layout.VISITED, state, "merged"))
        kept, waiting = state.frontier, state.waiting
        if report:
            kept, waiting = report.frontier, report.waiting
            if report.hosts:
                hosts = (*hosts, report.hosts)
                if len(hosts) > TIER:
                    merged = self._path(layout.HOSTS, state, "merged")
                    hosts = (merge_host_runs(merged, hosts),)
        added = write_frontier(self.base, state.round + 1, state.shard, self.shards, frontier)
        return state._replace(
            round=state.round + 1,
            frontier=(*kept, *added),
            visited=visited,
            contents=contents,
            hosts=hosts,
            waiting=waiting + frontier.num_rows,
            discovered=state.discovered + new.num_rows,
            fetched=state.fetched + (report.fetched if report else 0),
            refused=state.refused + refused,
            pages=state.pages + (report.pages if report else 0),
        )

    def _path(self, kind: str, state: ShardState, part: str) -> str:
        return layout.shard_file(self.base, kind, state.round, state.shard, self.shards, part)


class DedupUrls(beam.PTransform):  # type: ignore[misc]
    """{candidates: (shard, packed CANDIDATES), state: (shard, ShardState), report:
    (shard, SlotReport), settled: (shard, Settled), contents: (shard, runs)} → ShardResult."""

    def __init__(self, base: str, shards: int) -> None:
        super().__init__()
        self.base = base
        self.shards = shards

    def expand(self, inputs: dict[str, beam.PCollection]) -> beam.PCollection:
        return inputs | beam.CoGroupByKey() | beam.ParDo(_DedupUrls(self.base, self.shards))
