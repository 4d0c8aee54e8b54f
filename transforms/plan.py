"""Plan: deal the shards to fetch slots, by expected work.

A slot is what one worker fetches in one `process` call. Shards are dealt heaviest
first, each to the slot with the least so far, so that one slot does not outlast the
others. A shard's work is the time that its responses keep connections busy: URLs that
wait, times what a response took in the last round. (What hosts are left alone for in
between keeps no connection busy, and is the same in whichever slot.)
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

import apache_beam as beam

from transforms.records import ShardState, Slot


def deal_slots(states: Iterable[ShardState], fetchers: int, limit: int | None) -> list[Slot]:
    """At most `fetchers` slots over all shards where something waits.

    `limit` is the most pages of the whole crawl; what is left of it is shared out.
    """
    states = sorted(states)
    waiting = [state for state in states if state.waiting]
    left = None if limit is None else limit - sum(state.pages for state in states)
    count = min(fetchers, len(waiting))
    if count == 0 or (left is not None and left <= 0):
        return []
    hands: list[list[ShardState]] = [[] for _ in range(count)]
    loads = [(0.0, slot) for slot in range(count)]
    for work, state in sorted(zip(expected_work(waiting), waiting, strict=True), key=_heaviest):
        load, slot = heapq.heappop(loads)
        hands[slot].append(state)
        heapq.heappush(loads, (load + work, slot))
    urls = [sum(state.waiting for state in hand) for hand in hands]
    shares = [None] * count if left is None else share_out(left, urls)
    scope = tuple(sorted({url for state in states for url in state.scope}))
    return [
        Slot(slot, states[0].round, "", tuple(hand), share, scope)
        for slot, (hand, share) in enumerate(zip(hands, shares, strict=True))
        if share != 0
    ]


def expected_work(states: list[ShardState]) -> list[float]:
    """Seconds of responses that each shard waits for; an unknown one is like the others."""
    known = [state.seconds for state in states if state.seconds]
    typical = sum(known) / len(known) if known else 1.0
    return [state.waiting * (state.seconds or typical) for state in states]


def _heaviest(dealt: tuple[float, ShardState]) -> tuple[float, int]:
    work, state = dealt
    return -work, state.shard


def share_out(limit: int, loads: list[int]) -> list[int]:
    """`limit` shared out by load, to the last one.

    >>> share_out(10, [30, 10]), share_out(1, [5, 5])
    ([8, 2], [1, 0])
    """
    total = sum(loads)
    shares = [limit * load // total for load in loads]
    by_remainder = sorted(range(len(loads)), key=lambda slot: -(limit * loads[slot] % total))
    for slot in by_remainder[: limit - sum(shares)]:
        shares[slot] += 1
    return shares


class _PlanSlots(beam.DoFn):  # type: ignore[misc]
    def __init__(self, fetchers: int, limit: int | None) -> None:
        self.fetchers = fetchers
        self.limit = limit

    def process(self, element: tuple[None, Iterable[ShardState]]) -> Iterator[Slot]:
        yield from deal_slots(element[1], self.fetchers, self.limit)


class PlanSlots(beam.PTransform):  # type: ignore[misc]
    """ShardState → Slot, each to be fetched by one worker."""

    def __init__(self, fetchers: int, limit: int | None) -> None:
        super().__init__()
        self.fetchers = fetchers
        self.limit = limit

    def expand(self, states: beam.PCollection) -> beam.PCollection:
        slots = (
            states
            | "All shards" >> beam.Map(lambda state: (None, state))
            | "Gather" >> beam.GroupByKey()
            | "Deal" >> beam.ParDo(_PlanSlots(self.fetchers, self.limit))
        )
        # Not by key: runners hash keys, and of two slots both may fall to one worker.
        return slots if self.fetchers == 1 else slots | "Spread" >> beam.Reshuffle()
