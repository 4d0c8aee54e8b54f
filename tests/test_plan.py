"""Plan: every shard that waits is dealt to one slot, and the slots are about as full."""

from __future__ import annotations

import random

import pytest
from apache_beam import Create, Map
from apache_beam.testing.util import assert_that, equal_to
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import pipeline_of_stage
from transforms.plan import PlanSlots, deal_slots, expected_work
from transforms.records import ShardState, Slot

WAITING = st.lists(st.integers(0, 50), max_size=20)
FETCHERS = st.integers(1, 8)
LIMIT = st.none() | st.integers(0, 60)


def states_of(waiting: list[int], pages: int = 0) -> list[ShardState]:
    return [ShardState(n, 3, waiting=count, pages=pages) for n, count in enumerate(waiting)]


def hands(slots: list[Slot]) -> list[list[int]]:
    return [[state.shard for state in slot.states] for slot in slots]


@given(WAITING, FETCHERS, LIMIT)
def test_deal_slots_gives_each_waiting_shard_to_one_slot(waiting, fetchers, limit):
    slots = deal_slots(states_of(waiting), fetchers, limit)
    dealt = sorted(shard for hand in hands(slots) for shard in hand)
    expected = [shard for shard, count in enumerate(waiting) if count]
    assert dealt == expected or limit is not None
    assert len(set(dealt)) == len(dealt)
    assert set(dealt) <= set(expected)
    assert len(slots) <= fetchers
    assert all(hands(slots))
    assert len({slot.slot for slot in slots}) == len(slots)
    assert {slot.round for slot in slots} <= {3}


@given(WAITING, FETCHERS, st.integers(1, 60), st.integers(0, 5))
def test_deal_slots_shares_out_what_is_left_of_the_limit(waiting, fetchers, limit, pages):
    slots = deal_slots(states_of(waiting, pages), fetchers, limit)
    left = limit - pages * len(waiting)
    if left <= 0 or not any(waiting):
        assert slots == []
        return
    limits = [slot.limit for slot in slots]
    assert sum(limits) == left
    assert min(limits) >= 1
    loads = [sum(state.waiting for state in slot.states) for slot in slots]
    for share, load in zip(limits, loads, strict=True):
        assert abs(share - left * load / sum(waiting)) <= 1


def test_deal_slots_by_the_time_that_responses_take():
    slow = ShardState(0, 3, waiting=10, seconds=4.0)
    quick = [ShardState(n, 3, waiting=10, seconds=1.0) for n in range(1, 5)]
    assert hands(deal_slots([slow, *quick], 2, None)) == [[0], [1, 2, 3, 4]]
    # What has not been asked yet is expected to be like the rest.
    new = ShardState(9, 3, waiting=10)
    assert expected_work([slow, quick[0], new]) == [40.0, 10.0, 25.0]
    assert expected_work([new]) == [10.0]


@given(WAITING, FETCHERS)
def test_deal_slots_balances_the_work(waiting, fetchers):
    slots = deal_slots(states_of(waiting), fetchers, None)
    loads = [sum(state.waiting for state in slot.states) for slot in slots]
    assert all(slot.limit is None for slot in slots)
    if loads:
        assert max(loads) - min(loads) <= max(waiting)


@given(WAITING, FETCHERS, LIMIT, st.randoms(use_true_random=False))
def test_deal_slots_is_blind_to_the_order_of_shards(waiting, fetchers, limit, dice: random.Random):
    states = states_of(waiting)
    shuffled = dice.sample(states, len(states))
    assert deal_slots(shuffled, fetchers, limit) == deal_slots(states, fetchers, limit)


@pytest.mark.parametrize(
    ("waiting", "fetchers", "expected"),
    [
        ([], 2, []),
        ([0, 0], 2, []),
        ([5], 2, [[0]]),
        ([1, 9, 4, 5], 2, [[1, 0], [3, 2]]),  # heaviest first: 9 + 1 | 5 + 4
        ([3, 3, 3, 3], 2, [[0, 2], [1, 3]]),
        ([0, 7, 0, 1], 8, [[1], [3]]),
        ([2, 1, 3], 1, [[2, 0, 1]]),
    ],
)
def test_deal_slots_of_a_few_shards(waiting, fetchers, expected):
    assert hands(deal_slots(states_of(waiting), fetchers, None)) == expected


@pytest.mark.parametrize("pages", [10, 11])
def test_deal_slots_once_the_limit_is_reached_is_nothing(pages):
    assert deal_slots([ShardState(0, 1, waiting=5, pages=pages)], 4, 10) == []


def test_deal_slots_with_less_left_than_slots_makes_fewer():
    slots = deal_slots(states_of([5, 5, 5, 5]), 4, 2)
    assert [(len(slot.states), slot.limit) for slot in slots] == [(1, 1), (1, 1)]


def test_deal_slots_gives_every_slot_the_scope_of_all_shards():
    states = [
        ShardState(0, 0, waiting=1, scope=("http://b.example/", "http://c.example/")),
        ShardState(1, 0, waiting=1, scope=("http://b.example/",)),
        ShardState(2, 0, scope=("http://a.example/",)),
    ]
    assert {slot.scope for slot in deal_slots(states, 2, None)} == {
        ("http://a.example/", "http://b.example/", "http://c.example/")
    }


def test_plan_slots_hands_out_slots():
    states = states_of([2, 0, 7])
    with pipeline_of_stage() as pipeline:
        slots = pipeline | Create(states) | PlanSlots(fetchers=2, limit=5)
        expected = [Slot(0, 3, "", (states[2],), 4, ()), Slot(1, 3, "", (states[0],), 1, ())]
        assert_that(slots, equal_to(expected))


def test_plan_slots_for_one_fetcher_needs_no_shuffle():
    with pipeline_of_stage() as pipeline:
        slots = pipeline | Create(states_of([2, 3])) | PlanSlots(fetchers=1, limit=None)
        assert "Spread" not in slots.producer.full_label
        assert_that(slots | Map(lambda slot: len(slot.states)), equal_to([2]))


def test_plan_slots_of_a_crawl_without_work_is_empty():
    with pipeline_of_stage() as pipeline:
        slots = pipeline | Create(states_of([0, 0])) | PlanSlots(2, None)
        assert_that(slots, equal_to([]))
