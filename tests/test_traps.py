"""Traps: evidence runs up a debt, a debt closes a pattern, and good pages open it again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.traps import (
    FOUND_ON_DULL,
    GROWTH,
    IN_DOUBT,
    KIN,
    LEAST,
    LISTED,
    LISTED_FIRST,
    NO_DOUBT,
    PROVEN,
    UNKNOWN,
    VARIANT,
    WORTH,
    Evidence,
    after,
    allowance,
    any_of,
    choose,
    is_closed,
    most_debt,
)

SHAPE = "/thread/0"
DOUBTFUL = IN_DOUBT + SHAPE
SITE = "http://a.example"

COUNTS = st.integers(0, 1000)
BATCHES = st.tuples(COUNTS, COUNTS, COUNTS)
KNOWN = st.builds(Evidence, COUNTS, COUNTS, COUNTS, COUNTS)
NAMES = st.sampled_from([SHAPE, DOUBTFUL, "/x/*", "~/x/*", "/x/**", "~/x/**", "~/**"])


def urls(*numbers: int, doubt: int = VARIANT) -> list[tuple[str, int]]:
    return [(f"{SITE}/thread/{number}", doubt) for number in numbers]


@pytest.mark.parametrize(
    ("known", "closed", "most"),
    [
        (UNKNOWN, False, LEAST),
        (Evidence(dull=LEAST, debt=LEAST), True, 0),
        (Evidence(dull=LEAST - 1, debt=LEAST - 1), False, 1),  # no more than would close it
        (Evidence(good=1, dull=LEAST, debt=LEAST), False, 1),  # it was good once
        (Evidence(good=10, lately=10), False, 10 * GROWTH),
        (Evidence(good=1000, lately=0), False, LEAST + 10),  # but for long not any more
    ],
)
def test_allowance_of_a_shape_in_doubt(known, closed, most):
    assert is_closed(DOUBTFUL, known) == closed
    assert allowance(DOUBTFUL, known) == most


def test_allowance_of_a_pattern_in_no_doubt_has_no_limit_before_there_is_a_debt():
    assert allowance(SHAPE, UNKNOWN) is None
    assert allowance(SHAPE, Evidence(dull=1, debt=1)) == LEAST - 1


@given(NAMES, KNOWN)
def test_allowance_is_nothing_for_what_is_closed_alone(pattern, known):
    assert (allowance(pattern, known) == 0) == is_closed(pattern, known)


@given(NAMES, KNOWN)
def test_allowance_never_leads_beyond_the_debt_that_closes(pattern, known):
    most = allowance(pattern, known)
    if known.debt and most:
        assert after(known, 0, most, 0).debt == most_debt(pattern, known)


@given(NAMES, KNOWN, BATCHES, st.integers(1, 50))
def test_more_good_pages_never_owe_more_or_allow_less(pattern, known, batch, more):
    good, dull, credit = batch
    worse, better = after(known, good, dull, credit), after(known, good + more, dull, credit)
    assert better.debt <= worse.debt
    few, many = allowance(pattern, worse), allowance(pattern, better)
    assert many is None or (few is not None and few <= many)


@given(NAMES, st.lists(BATCHES, max_size=20))
def test_pattern_that_is_good_once_in_five_times_is_never_closed(pattern, batches):
    known = UNKNOWN
    for good, dull, credit in batches:
        known = after(known, good, min(dull, WORTH * good), credit)
        assert not is_closed(pattern, known)


@pytest.mark.parametrize(
    ("doubt", "taken"),
    [(NO_DOUBT, 50), (VARIANT, LEAST), (FOUND_ON_DULL, LEAST), (LISTED, LISTED_FIRST)],
)
def test_choose_takes_by_the_doubt_about_urls(doubt, taken):
    choice = choose(urls(*range(50), doubt=doubt), {})
    assert choice.taken == list(range(taken))
    assert choice.aside == {}


def test_choose_takes_few_of_kin_until_their_folder_is_proven():
    names = [(f"{SITE}/x/{letter}", KIN) for letter in "abcdefghij"]
    assert len(choose(names, {}).taken) < 10
    assert len(choose(names, {"/x/*": Evidence(good=PROVEN)}).taken) == 10


def test_choose_sets_aside_what_is_of_a_closed_pattern_and_names_it():
    closed = Evidence(dull=9, debt=9)
    assert choose(urls(1, 2), {DOUBTFUL: closed}).aside == {0: DOUBTFUL, 1: DOUBTFUL}
    assert choose(urls(1, doubt=NO_DOUBT), {DOUBTFUL: closed}).aside == {}
    assert choose(urls(1), {SHAPE: closed}).aside == {0: SHAPE}  # closed is so for doubtful too


def test_choose_leaves_alone_what_is_lifted():
    closed = {DOUBTFUL: Evidence(dull=9, debt=9)}
    choice = choose(urls(7, 8), closed, any_of(["/thread/7$", "nothing"]))
    assert (choice.taken, choice.aside) == ([0], {1: DOUBTFUL})


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 4)), max_size=40),
    st.dictionaries(st.sampled_from([SHAPE, DOUBTFUL, "/thread/*", "~/thread/**"]), KNOWN),
)
def test_choose_gives_each_url_one_fate_and_always_goes_on(drawn, known):
    given_urls = [(f"{SITE}/thread/{number}", doubt) for number, doubt in drawn]
    choice = choose(given_urls, known)
    assert not set(choice.taken) & set(choice.aside)
    assert choice.taken == sorted(choice.taken)
    assert bool(choice.taken or choice.aside) == bool(drawn)
