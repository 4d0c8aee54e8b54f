"""The frontier: hosts take turns, and no row is lost between writing and opening."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples import frontier_table
from transforms import frontier, storage
from transforms.frontier import (
    host_codes,
    open_frontier,
    rows_by_host,
    take_turns,
    write_frontier,
)
from transforms.records import ShardState
from transforms.tables import FRONTIER, words

NAMES = st.sampled_from(["a.example", "b.example", "c.example", "d.example"])
HOSTS = st.lists(NAMES, max_size=40)


def column(*chunks: list[str]) -> pa.ChunkedArray:
    """A host column; each chunk has a dictionary of its own."""
    return pa.chunked_array([words(chunk) for chunk in chunks], FRONTIER.field("host").type)


def urls_of(hosts: list[str]) -> list[str]:
    return [f"http://{host}/{number}" for number, host in enumerate(hosts)]


def state_of(paths: tuple[str, ...], shard: int = 0) -> ShardState:
    return ShardState(shard, 0, frontier=paths)


@pytest.fixture
def small_segments(monkeypatch):
    monkeypatch.setattr(frontier, "SEGMENT_ROWS", 4)


@pytest.mark.parametrize(
    ("hosts", "order"),
    [
        ([], []),
        (["a"], [0]),
        (["a", "a", "a"], [0, 1, 2]),
        (["a", "a", "b"], [0, 2, 1]),
        (["b", "a", "b", "a"], [0, 1, 2, 3]),
        (["a", "a", "a", "b", "c", "c"], [0, 3, 4, 1, 5, 2]),
    ],
)
def test_take_turns_of_a_few_rows(hosts, order):
    assert take_turns(column(hosts)).tolist() == order


@given(HOSTS)
def test_take_turns_is_a_fair_permutation(hosts):
    order = take_turns(column(hosts)).tolist()
    assert sorted(order) == list(range(len(hosts)))
    left, had = Counter(hosts), Counter()
    last: dict[str, int] = {}
    for row in order:
        host = hosts[row]
        assert row > last.get(host, -1)  # a host's own rows keep their order
        last[host] = row
        left[host] -= 1
        had[host] += 1
        # Nobody who still waits is more than one turn behind.
        assert all(had[host] - had[other] <= 1 for other, rest in left.items() if rest)


@given(st.lists(HOSTS, max_size=4))
def test_take_turns_is_blind_to_chunks(chunks):
    whole = [host for chunk in chunks for host in chunk]
    assert take_turns(column(*chunks)).tolist() == take_turns(column(whole)).tolist()


@given(st.lists(HOSTS, max_size=4))
def test_host_codes_name_the_host_of_each_row(chunks):
    names, codes = host_codes(column(*chunks))
    assert len(set(names)) == len(names)
    assert [names[code] for code in codes] == [host for chunk in chunks for host in chunk]


@given(st.lists(st.integers(0, 5), max_size=30))
def test_rows_by_host_are_all_rows_in_order(codes):
    groups = [rows.tolist() for rows in rows_by_host(np.array(codes, np.int64))]
    assert groups == [
        [row for row, code in enumerate(codes) if code == wanted] for wanted in sorted(set(codes))
    ]


@settings(max_examples=30, deadline=None)
@given(hosts=HOSTS, segment=st.integers(1, 7))
def test_frontier_written_is_the_frontier_opened(tmp_path_factory, hosts, segment):
    base = str(tmp_path_factory.mktemp("crawl"))
    table = frontier_table(urls_of(hosts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frontier, "SEGMENT_ROWS", segment)
        paths = write_frontier(base, 1, 0, 16, table)
        opened = open_frontier((state_of(paths),))
    assert len(paths) == -(-len(hosts) // segment)
    assert opened.table.to_pylist() == table.take(take_turns(table["host"])).to_pylist()
    assert opened.table.schema == FRONTIER
    assert opened.shards.tolist() == [0] * len(hosts)
    assert opened.carried == {0: ()}


def test_frontier_of_no_rows_is_no_file(tmp_path):
    assert write_frontier(str(tmp_path), 0, 0, 16, FRONTIER.empty_table()) == ()
    assert list(tmp_path.iterdir()) == []


def test_frontier_files_are_numbered_from_the_second_on(tmp_path, small_segments):
    table = frontier_table(urls_of(["a.example"] * 9))
    folder = f"{tmp_path}/frontier/round=00001"
    assert write_frontier(str(tmp_path), 1, 3, 16, table) == (
        f"{folder}/shard-00003-of-00016.parquet",
        f"{folder}/shard-00003-of-00016.00001.parquet",
        f"{folder}/shard-00003-of-00016.00002.parquet",
    )
    assert write_frontier(str(tmp_path), 1, 3, 16, table, "rest-cafe")[:2] == (
        f"{folder}/shard-00003-of-00016.rest-cafe.parquet",
        f"{folder}/shard-00003-of-00016.rest-cafe.00001.parquet",
    )


def test_frontier_written_again_is_the_same_bytes(tmp_path, small_segments):
    table = frontier_table(urls_of(["a.example", "b.example"] * 5))
    first = [storage.read_bytes(p) for p in write_frontier(str(tmp_path), 0, 0, 16, table)]
    again = [storage.read_bytes(p) for p in write_frontier(str(tmp_path), 0, 0, 16, table)]
    assert first == again


def test_open_frontier_leaves_what_is_too_much_unopened(tmp_path, small_segments):
    table = frontier_table(urls_of(["a.example"] * 14))
    paths = write_frontier(str(tmp_path), 0, 0, 16, table)
    opened = open_frontier((state_of(paths),), most=9)
    assert opened.table["url"].to_pylist() == table["url"].to_pylist()[:8]
    assert opened.carried == {0: paths[2:]}


def test_open_frontier_opens_one_segment_of_each_shard_at_least(tmp_path, small_segments):
    states = []
    for shard in range(3):
        table = frontier_table(f"http://a.example/{shard}/{n}" for n in range(6))
        states.append(state_of(write_frontier(str(tmp_path), 0, shard, 16, table), shard))
    opened = open_frontier(tuple(states), most=1)
    assert opened.shards.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert opened.carried == {state.shard: state.frontier[1:] for state in states}
    assert opened.table.num_rows == 12


def test_open_frontier_takes_the_oldest_first(tmp_path):
    old = write_frontier(str(tmp_path), 0, 0, 16, frontier_table(["http://a.example/old"]))
    new = write_frontier(str(tmp_path), 1, 0, 16, frontier_table(["http://b.example/new"]))
    opened = open_frontier((state_of((*old, *new)),))
    assert opened.table["url"].to_pylist() == ["http://a.example/old", "http://b.example/new"]
    names, codes = host_codes(opened.table["host"])
    assert [names[code] for code in codes] == ["a.example", "b.example"]


def test_open_frontier_of_nothing_is_empty():
    opened = open_frontier((state_of((), 5),))
    assert (opened.table.num_rows, opened.shards.tolist(), opened.carried) == (0, [], {5: ()})
    assert opened.table.schema == FRONTIER
    assert host_codes(opened.table["host"])[1].tolist() == []
