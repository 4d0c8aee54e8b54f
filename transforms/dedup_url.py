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
from transforms.aside import part_aside, read_aside, write_aside
from transforms.doubt import doubts_of
from transforms.evidence import add_evidence
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
from transforms.tables import ASIDE, CANDIDATES, FRONTIER, VISITED, complete, unpack, words
from transforms.urls import host_of


def unseen(candidates: pa.Table, visited: tuple[str, ...]) -> pa.Table:
    """The candidates that no run holds, each URL once, best link first."""
    candidates = candidates.take(best_first(candidates, "fingerprint"))
    fingerprints = candidates["fingerprint"].to_numpy()
    order = np.argsort(fingerprints)
    new = np.empty(len(order), bool)
    new[order] = ~seen_in(fingerprints[order], visited)
    return candidates.filter(new)


def frontier_rows(
    candidates: pa.Table, visited: tuple[str, ...] = ()
) -> tuple[pa.Table, np.ndarray]:
    """FRONTIER rows of the candidates that no filter refused, and their shapes that are new."""
    admitted = candidates.filter(pc.is_null(candidates["refused"]))
    hosts = [host_of(url) for url in admitted["url"].to_pylist()]
    doubts, shapes = doubts_of(admitted, hosts, visited)
    columns = [
        admitted["url"],
        admitted["fingerprint"],
        words(hosts),
        admitted["depth"],
        admitted["referrer"],
        admitted["seed"],
        pa.array(doubts),
    ]
    return pa.table(columns, schema=FRONTIER), shapes


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
    def __init__(
        self, base: str, shards: int, rules: FilterRules, lift: tuple[str, ...] = ()
    ) -> None:
        self.base = base
        self.shards = shards
        self.rules = rules
        self.lift = lift

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
        frontier, shapes = frontier_rows(new, state.visited)
        settled = parts.one(Settled, Settled("", (), {}, 0, (), {}))
        patterns, has_opened = add_evidence(
            self._path(layout.PATTERNS, state, ""), state.patterns, settled.evidence
        )
        aside = (*state.aside, report.aside) if report.aside else state.aside
        lifted = tuple(sorted({*state.lifted, *self.lift}))
        released = ASIDE.empty_table()
        if aside and (has_opened or lifted != state.lifted):
            path = self._path(layout.ASIDE, state, "rest")
            released, aside = part_aside(path, aside, patterns, lifted)
            rows = [frontier, released.select(FRONTIER.names)]
            frontier = pa.concat_tables(rows).unify_dictionaries()
        counts = new["refused"].drop_null().value_counts().to_pylist()
        refused = {row["values"]: row["counts"] for row in counts}
        contents = parts.one(ContentRuns, ContentRuns(state.contents)).paths
        sketches = parts.one(NearRuns, NearRuns(state.sketches)).paths
        after = state._replace(
            round=state.round + 1,
            frontier=(*report.frontier, *self._write_frontier(state, frontier)),
            visited=self._add_visited(state, new, shapes),
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
            patterns=patterns,
            aside=self._merge_aside(state, aside),
            set_aside=state.set_aside + report.set_aside - released.num_rows,
            lifted=lifted,
        )
        before = (state.held, state.aside, state.lifted)
        result = ShardResult(
            state=after,
            taken=report.taken,
            received=received,
            discovered=new.num_rows,
            refused=refused,
            settled=settled,
            fetched=report.fetched,
            changed=bool(report.fetched or report.hosts or (held, aside, lifted) != before),
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
            files = [complete(storage.read_table(path), CANDIDATES) for path in state.held]
            held = pa.concat_tables(files)
            candidates = pa.concat_tables([candidates, reconsider(held, wanted)])
        return candidates.unify_dictionaries(), ()

    def _write_frontier(self, state: ShardState, rows: pa.Table) -> tuple[str, ...]:
        return write_frontier(self.base, state.round + 1, state.shard, self.shards, rows)

    def _merge_aside(self, state: ShardState, aside: tuple[str, ...]) -> tuple[str, ...]:
        if len(aside) <= TIER:
            return aside
        return (write_aside(self._path(layout.ASIDE, state, "merged"), read_aside(aside)),)

    def _add_visited(self, state: ShardState, new: pa.Table, shapes: np.ndarray) -> tuple[str, ...]:
        """The runs with what is new, URLs and shapes: these are looked up like those."""
        if not new.num_rows:
            return state.visited
        none = words([None] * len(shapes))
        rows = [new.select(VISITED.names), pa.table([shapes, none], schema=VISITED)]
        table = pa.concat_tables(rows).unify_dictionaries()
        run = write_run(self._path(layout.VISITED, state, ""), table)
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

    def __init__(
        self, base: str, shards: int, rules: FilterRules, lift: tuple[str, ...] = ()
    ) -> None:
        """`lift`: regular expressions; what one finds is set aside no more."""
        super().__init__()
        self.base = base
        self.shards = shards
        self.rules = rules
        self.lift = lift

    def expand(self, inputs: tuple[beam.PCollection, ...]) -> beam.PCollection:
        dedup = _DedupUrls(self.base, self.shards, self.rules, self.lift)
        return inputs | GroupParts() | beam.ParDo(dedup)
