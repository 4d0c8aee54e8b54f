"""Sorted runs: what is in them is found, whatever lies beside it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms import runs
from transforms.tables import CONTENTS, VISITED, words

FINGERPRINTS = st.sets(st.integers(0, 2**64 - 1), max_size=40)


def visited(fingerprints) -> pa.Table:
    values = list(fingerprints)
    return pa.table([pa.array(values, pa.uint64()), words([None] * len(values))], schema=VISITED)


def test_write_run_sorts_by_fingerprint(tmp_path):
    path = runs.write_run(f"{tmp_path}/run.parquet", visited([2**64 - 1, 0, 7]))
    from transforms.storage import read_table

    assert read_table(path)["fingerprint"].to_pylist() == [0, 7, 2**64 - 1]


@settings(max_examples=40, deadline=None)
@given(known=st.lists(FINGERPRINTS, max_size=3), candidates=FINGERPRINTS)
def test_seen_in_agrees_with_a_set(tmp_path_factory, known, candidates):
    folder = tmp_path_factory.mktemp("runs")
    paths = [
        runs.write_run(f"{folder}/{number}.parquet", visited(fingerprints))
        for number, fingerprints in enumerate(known)
    ]
    wanted = np.array(sorted(candidates), np.uint64)
    everything = set().union(*known)
    assert runs.seen_in(wanted, paths).tolist() == [int(f) in everything for f in wanted]


def test_seen_in_across_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "ROW_GROUP", 10)
    path = runs.write_run(f"{tmp_path}/run.parquet", visited(range(0, 1000, 3)))
    wanted = np.arange(1200, dtype=np.uint64)
    assert runs.seen_in(wanted, [path]).tolist() == [n % 3 == 0 and n < 1000 for n in range(1200)]


def test_look_up_gives_the_value_of_a_hit(tmp_path):
    table = pa.table([pa.array([9, 3, 5], pa.uint64()), ["nine", "three", "five"]], schema=CONTENTS)
    path = runs.write_run(f"{tmp_path}/run.parquet", table)
    wanted = np.array([3, 4, 9], np.uint64)
    assert runs.look_up(wanted, [path], "url") == {3: "three", 9: "nine"}


@pytest.mark.parametrize("count", [1, 7, 8, 30])
def test_compact_keeps_every_fingerprint(tmp_path, count):
    paths: tuple[str, ...] = ()
    for number in range(count):
        run = runs.write_run(
            f"{tmp_path}/{number}.parquet", visited(range(number * 4, number * 4 + 4))
        )
        paths = runs.compact((*paths, run), f"{tmp_path}/merged-{number}.parquet")
    wanted = np.arange(count * 4, dtype=np.uint64)
    assert runs.seen_in(wanted, paths).all()
    assert sum(runs.rows_in(path) for path in paths) == count * 4
    assert len(paths) < 2 * runs.TIER


def test_compact_leaves_few_runs_alone(tmp_path):
    paths = tuple(runs.write_run(f"{tmp_path}/{n}.parquet", visited([n])) for n in range(7))
    assert runs.compact(paths, f"{tmp_path}/merged.parquet") == paths
