"""Near duplicates: every near pair meets in a shard, and the earlier page is named."""

from __future__ import annotations

import random

import apache_beam as beam
import numpy as np
import pytest
from apache_beam.testing.util import assert_that, equal_to
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import pipeline_of_stage
from transforms import near_duplicates
from transforms.fingerprints import fingerprint_url
from transforms.near_duplicates import (
    BANDS,
    FindNearDuplicates,
    Sketched,
    bands_of,
    judge_sketches,
    known_sketches,
    nearest_of,
    write_sketches,
)
from transforms.records import NearRuns, NearVerdicts, ShardState, SketchBlock
from transforms.sketch import NEAR
from transforms.storage import read_table

A, B, C = (f"http://{name}.example/" for name in "abc")
SKETCHES = st.integers(0, 2**64 - 1)


def sketched(url: str, sketch: int, depth: int = 0, shard: int = 0, band: int = 7) -> Sketched:
    return Sketched(band, sketch, depth, url, fingerprint_url(url), shard)


@given(SKETCHES, st.sets(st.integers(0, 63), max_size=NEAR))
def test_near_sketches_have_a_band_in_common(sketch, bits):
    other = sketch
    for bit in bits:
        other ^= 1 << bit
    assert set(bands_of(sketch)) & set(bands_of(other))
    assert len(set(bands_of(sketch))) == BANDS


@pytest.mark.parametrize(
    ("pages", "near", "new"),
    [
        ([], {}, []),
        ([sketched(A, 5)], {}, [(7, 5, A)]),
        ([sketched(A, 0b1111), sketched(B, 0)], {}, [(7, 0b1111, A), (7, 0, B)]),
        ([sketched(A, 0b111), sketched(B, 0)], {0: [(B, 3, A)]}, [(7, 0b111, A)]),
        # The earlier one is nearest to a seed, and has the shortest URL.
        ([sketched(A, 1, 1), sketched(B, 0)], {0: [(A, 1, B)]}, [(7, 0, B)]),
        ([sketched(A + "x", 1), sketched(B, 0)], {0: [(A + "x", 1, B)]}, [(7, 0, B)]),
        # Of several the nearest.
        (
            [sketched(A, 0), sketched(B, 0b11111), sketched(C, 0b1111, shard=2)],
            {2: [(C, 1, B)]},
            [(7, 0, A), (7, 0b11111, B)],
        ),
        # Only within a band: the others are compared elsewhere.
        ([sketched(A, 0), sketched(B, 0, band=8)], {}, [(7, 0, A), (8, 0, B)]),
    ],
)
def test_judge_sketches_of_a_few(pages, near, new):
    for order in (pages, pages[::-1]):
        found, remembered = judge_sketches(order, {})
        named = {
            shard: [(fingerprint_url(url), bits, first) for url, bits, first in some]
            for shard, some in near.items()
        }
        assert (found, remembered) == (named, new)


def test_judge_sketches_compares_with_what_is_known_but_not_with_itself():
    known = {7: [(0, A)]}
    assert judge_sketches([sketched(B, 1)], known) == ({0: [(fingerprint_url(B), 1, A)]}, [])
    assert judge_sketches([sketched(A, 1)], known) == ({}, [(7, 1, A)])
    assert known == {7: [(0, A)]}


def test_judge_sketches_remembers_no_more_than_most(monkeypatch):
    monkeypatch.setattr(near_duplicates, "MOST", 3)
    pages = [sketched(f"http://a.example/{n}", 0b1111 << 4 * n) for n in range(10)]
    _, new = judge_sketches(pages, {})
    assert len(new) == 3


PAGES = st.lists(
    st.builds(
        sketched,
        st.integers(0, 99).map(lambda n: f"http://a.example/{n}"),
        st.integers(0, 255),
        st.integers(0, 3),
        st.integers(0, 3),
        st.integers(0, 2),
    ),
    unique_by=lambda page: page.url,
    max_size=12,
)


@given(PAGES, st.randoms(use_true_random=False))
def test_judge_sketches_is_blind_to_the_order_of_arrival(pages, dice: random.Random):
    assert judge_sketches(dice.sample(pages, len(pages)), {}) == judge_sketches(pages, {})


@given(PAGES)
def test_judge_sketches_remembers_a_page_or_names_one_near_to_it(pages):
    near, new = judge_sketches(pages, {})
    named = {fingerprint: url for some in near.values() for fingerprint, _, url in some}
    remembered = {(band, url): sketch for band, sketch, url in new}
    assert len(named) + len(new) == len(pages)
    for page in pages:
        first = named.get(page.url_fingerprint)
        if first is None:
            assert remembered[page.band, page.url] == page.sketch
        else:
            assert (remembered[page.band, first] ^ page.sketch).bit_count() <= NEAR


def test_known_sketches_are_found_in_every_run(tmp_path, monkeypatch):
    runs = [
        write_sketches(f"{tmp_path}/{number}.parquet", rows)
        for number, rows in enumerate(
            [[(9, 1, A), (3, 2**64 - 1, B), (9, 2, C)], [(9, 3, B), (4, 4, A)]]
        )
    ]
    wanted = np.array([3, 5, 9], np.uint64)
    assert known_sketches(wanted, runs) == {3: [(2**64 - 1, B)], 9: [(1, A), (2, C), (3, B)]}
    assert known_sketches(wanted, []) == {}
    monkeypatch.setattr(near_duplicates, "MOST", 2)
    assert known_sketches(wanted, runs)[9] == [(1, A), (2, C)]


def test_nearest_of_verdicts_is_the_nearest_then_the_first_by_url():
    verdicts = [(1, 3, A), (1, 0, C), (1, 0, B), (2, 1, A)]
    for order in (verdicts, verdicts[::-1]):
        assert nearest_of(order) == {1: B, 2: A}


def test_find_near_duplicates_gives_verdicts_and_runs(tmp_path):
    old = write_sketches(f"{tmp_path}/old.parquet", [(7, 0, A)])
    states = [ShardState(0, 2, sketches=(old,)), ShardState(1, 2, sketches=("untouched",))]
    inputs = [
        *((state.shard, state) for state in states),
        (0, SketchBlock([(*sketched(B, 1, shard=1),)])),
        (0, SketchBlock([(*sketched(C, 2**64 - 1, shard=1),)])),
    ]
    run = f"{tmp_path}/sketches/round=00002/shard-00000-of-00002.parquet"
    with pipeline_of_stage() as pipeline:
        found = (pipeline | beam.Create(inputs),) | FindNearDuplicates(str(tmp_path), 2)
        expected = (1, NearVerdicts([(fingerprint_url(B), 1, A)]))
        assert_that(found.verdicts, equal_to([expected]), label="verdicts")
        assert_that(found.runs, equal_to([(0, NearRuns((old, run)))]), label="runs")
    assert read_table(run).to_pylist() == [{"fingerprint": 7, "sketch": 2**64 - 1, "url": C}]
