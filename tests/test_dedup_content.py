"""Dedup by content: the first is the same in every order, and no content is lost."""

from __future__ import annotations

import random

import apache_beam as beam
import numpy as np
import pytest
from apache_beam.testing.util import assert_that, equal_to
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import pipeline_of_stage
from transforms.dedup_content import (
    ContentSeen,
    DedupContent,
    judge_contents,
    look_up_all,
    write_contents,
)
from transforms.fingerprints import fingerprint_url
from transforms.records import ContentBlock, ContentRuns, ShardState, Verdicts
from transforms.runs import look_up
from transforms.storage import read_table

A, B, C = (f"http://{name}.example/" for name in "abc")


def seen(content: int, url: str, depth: int = 0, shard: int = 0) -> ContentSeen:
    return ContentSeen(content, depth, url, fingerprint_url(url), shard)


@pytest.mark.parametrize(
    ("one", "two", "first"),
    [
        (seen(7, A, depth=1), seen(7, B, depth=0), B),  # nearest to a seed
        (seen(7, A + "long"), seen(7, B), B),  # then the shortest
        (seen(7, B), seen(7, A), A),  # then the smallest
    ],
)
def test_judge_contents_of_two_takes_one_for_the_first(one, two, first):
    for order in ([one, two], [two, one]):
        duplicates, new = judge_contents(order, {})
        [second] = [page for page in order if page.url != first]
        assert duplicates == {0: [(second.url_fingerprint, first)]}
        assert new == {7: first}


def test_judge_contents_takes_what_is_known_for_the_first():
    duplicates, new = judge_contents([seen(7, A), seen(8, B)], {7: C})
    assert duplicates == {0: [(fingerprint_url(A), C)]}
    assert new == {8: B}


def test_judge_contents_of_a_page_seen_again_is_no_duplicate_of_itself():
    assert judge_contents([seen(7, A)], {7: A}) == ({}, {})


def test_judge_contents_tells_each_shard_of_its_pages():
    pages = [seen(7, A, shard=1), seen(7, B, 1, shard=2), seen(7, C, 2, shard=3)]
    duplicates, _ = judge_contents(pages, {})
    assert duplicates == {2: [(fingerprint_url(B), A)], 3: [(fingerprint_url(C), A)]}


def test_judge_contents_of_nothing_is_nothing():
    assert judge_contents([], {7: A}) == ({}, {})


PAGES = st.lists(
    st.builds(
        lambda content, depth, number, shard: seen(
            content, f"http://a.example/{number}", depth, shard
        ),
        st.integers(1, 5),
        st.integers(0, 3),
        st.integers(0, 200),
        st.integers(0, 3),
    ),
    unique_by=lambda page: page.url,  # a URL is fetched once
    max_size=20,
)
KNOWN = st.dictionaries(st.integers(1, 5), st.just("http://known.example/"))


@given(PAGES, KNOWN, st.randoms(use_true_random=False))
def test_judge_contents_is_blind_to_the_order_of_arrival(pages, known, dice: random.Random):
    duplicates, new = judge_contents(pages, known)
    again, same = judge_contents(dice.sample(pages, len(pages)), known)
    assert (again, same) == (duplicates, new)


@given(PAGES, KNOWN)
def test_judge_contents_loses_no_content(pages, known):
    duplicates, new = judge_contents(pages, known)
    assert {page.fingerprint for page in pages} <= {*known, *new}
    assert not set(known) & set(new)
    verdicts = dict(verdict for some in duplicates.values() for verdict in some)
    firsts = {**known, **new}
    for page in pages:
        # Every page is the first of its content or a duplicate of the first.
        expected = firsts[page.fingerprint]
        assert verdicts.get(page.url_fingerprint, page.url) == expected
    assert sum(map(len, duplicates.values())) == len(verdicts)
    assert len(pages) - len(verdicts) == len(new)


@given(PAGES, PAGES)
def test_judge_contents_keeps_the_first_over_rounds(earlier, later):
    _, known = judge_contents(earlier, {})
    duplicates, _ = judge_contents(later, known)
    for some in duplicates.values():
        for _, first in some:
            assert first in {*known.values(), *(page.url for page in later)}
    repeated = {page.url_fingerprint for page in later if page.fingerprint in known}
    told = {fingerprint for some in duplicates.values() for fingerprint, _ in some}
    itself = {fingerprint_url(url) for url in known.values()}
    assert repeated <= told | itself


def test_known_contents_are_found_in_any_run(tmp_path):
    runs = tuple(
        write_contents(f"{tmp_path}/{number}.parquet", new)
        for number, new in enumerate([{5: A, 3: B}, {2**64 - 1: C}])
    )
    pages = [seen(3, "x"), seen(2**64 - 1, "y"), seen(4, "z"), seen(3, "w")]
    wanted = [page.fingerprint for page in pages]
    assert look_up_all(wanted, runs) == {3: B, 2**64 - 1: C}
    assert look_up_all(wanted, ()) == {}
    assert look_up_all([], runs) == {}


def test_write_contents_is_a_sorted_run(tmp_path):
    path = write_contents(f"{tmp_path}/run.parquet", {9: C, 1: A, 5: B})
    assert read_table(path).to_pylist() == [
        {"fingerprint": 1, "url": A},
        {"fingerprint": 5, "url": B},
        {"fingerprint": 9, "url": C},
    ]


def test_dedup_content_gives_verdicts_and_runs(tmp_path):
    old = write_contents(f"{tmp_path}/old.parquet", {4: A})
    states = [
        ShardState(0, 2, contents=(old,)),
        ShardState(1, 2, contents=("untouched",)),
        ShardState(2, 2),
    ]
    inputs = [
        *((state.shard, state) for state in states),
        (0, ContentBlock([tuple(seen(4, B, shard=2)), tuple(seen(8, C, shard=1))])),
        (0, ContentBlock([tuple(seen(8, C + "more", shard=1))])),
        (2, ContentBlock([tuple(seen(6, C, shard=1))])),
    ]
    runs = [f"{tmp_path}/contents/round=00002/shard-0000{n}-of-00003.parquet" for n in (0, 2)]
    with pipeline_of_stage() as pipeline:
        dedup = (pipeline | beam.Create(inputs),) | DedupContent(str(tmp_path), 3)
        assert_that(
            dedup.verdicts,
            equal_to(
                [
                    (2, Verdicts([(fingerprint_url(B), A)])),
                    (1, Verdicts([(fingerprint_url(C + "more"), C)])),
                ]
            ),
            label="verdicts",
        )
        assert_that(
            dedup.runs,
            equal_to([(0, ContentRuns((old, runs[0]))), (2, ContentRuns((runs[1],)))]),
            label="runs",
        )
    wanted = np.array([4, 6, 8], np.uint64)
    assert look_up(wanted, [old, *runs], "url") == {4: A, 6: C, 8: C}


def test_dedup_content_of_nothing_new_writes_no_run(tmp_path):
    old = write_contents(f"{tmp_path}/old.parquet", {4: A})
    inputs = [
        (0, ShardState(0, 1, contents=(old,))),
        (0, ContentBlock([tuple(seen(4, B))])),
    ]
    with pipeline_of_stage() as pipeline:
        dedup = (pipeline | beam.Create(inputs),) | DedupContent(str(tmp_path), 1)
        assert_that(dedup.runs, equal_to([]))
    assert [path.name for path in tmp_path.rglob("*.parquet")] == ["old.parquet"]
