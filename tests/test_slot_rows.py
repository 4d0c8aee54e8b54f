"""The rows a slot took: which are due, which a budget leaves, what rolls over."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tests.samples import frontier_table
from transforms.fingerprints import shard_of_host
from transforms.frontier import write_frontier
from transforms.hosts import HostRecord, read_hosts, write_hosts
from transforms.records import ShardState, Slot, Waiting
from transforms.slot_rows import Budget, SlotRows, due_rows
from transforms.storage import read_table

A, B = "a.example", "c.example"  # of two shards
SHARDS = 4


def urls(host: str, count: int, first: int = 0) -> list[str]:
    return [f"http://{host}/{number}" for number in range(first, first + count)]


def slot_of(base, *hosts: str, tables: dict[str, list[pa.Table]], runs=()) -> Slot:
    """A slot with the shard of each host, and its frontier files in the order of `tables`."""
    states = []
    for host in hosts:
        shard = shard_of_host(host, SHARDS)
        paths = [
            path
            for number, table in enumerate(tables.get(host, []))
            for path in write_frontier(str(base), number, shard, SHARDS, table)
        ]
        count = sum(table.num_rows for table in tables.get(host, []))
        states.append(ShardState(shard, 3, tuple(paths), hosts=tuple(runs), waiting=count))
    return Slot(0, 3, "cafe", tuple(states), None, ())


def rows_of(base, slot: Slot, depth: int | None = None, budget: Budget = Budget()):  # noqa: B008
    return SlotRows(str(base), SHARDS, slot, depth, budget)


@pytest.mark.parametrize(
    ("depths", "shards", "depth", "due"),
    [
        ([0, 1, 2], [0, 0, 0], None, [0, 1, 2]),
        ([0, 1, 2], [0, 0, 0], 2, [0]),
        ([2, 1, 1], [0, 0, 0], 2, [1, 2]),
        ([2, 1, 2], [0, 0, 1], 2, [1, 2]),  # each shard has a shallowest of its own
        ([3, 3], [0, 0], 2, []),
        ([], [], 2, []),
        ([0, 3], [0, 0], 0, [0]),
    ],
)
def test_due_rows_are_the_shallowest_of_each_shard(depths, shards, depth, due):
    found = due_rows(np.array(depths, np.int32), np.array(shards, np.int64), depth)
    assert found.tolist() == due


@pytest.mark.parametrize(
    ("a_round", "a_crawl", "fetched", "left"),
    [
        (None, None, 9, None),
        (5, None, 9, 5),
        (None, 10, 9, 1),
        (None, 10, 12, 0),
        (5, 10, 2, 5),
        (5, 10, 8, 2),
        (0, None, 0, 0),
    ],
)
def test_budget_left_is_the_lesser(a_round, a_crawl, fetched, left):
    assert Budget(a_round, a_crawl).left(HostRecord(A, fetched=fetched)) == left


def test_by_host_gives_rows_in_the_order_they_came(tmp_path):
    tables = {A: [frontier_table(urls(A, 3)), frontier_table(urls(A, 2, first=7))]}
    rows = rows_of(tmp_path, slot_of(tmp_path, A, tables=tables))
    [(record, queue)] = rows.by_host()
    assert record == HostRecord(A)
    assert [rows.waiting(row).url for row in queue] == urls(A, 3) + urls(A, 2, first=7)


def test_waiting_is_the_whole_row(tmp_path):
    table = frontier_table(urls(A, 1))
    place = table.schema.get_field_index("doubt")
    table = table.set_column(place, table.schema.field(place), pa.array([2], pa.int8()))
    rows = rows_of(tmp_path, slot_of(tmp_path, A, tables={A: [table]}))
    assert rows.waiting(0) == Waiting(**{n: table[n][0].as_py() for n in Waiting._fields})
    assert rows.waiting(0).doubt == 2


def test_what_did_not_end_rolls_over_and_what_ended_is_counted(tmp_path):
    rows = rows_of(tmp_path, slot_of(tmp_path, A, tables={A: [frontier_table(urls(A, 4))]}))
    rows.end(0, is_page=True)
    rows.end(2, is_page=False)
    rows.note_host(HostRecord(A, fetched=2))
    [report] = rows.reports()
    assert (report.taken, report.fetched, report.pages, report.waiting) == (4, 2, 1, 2)
    left = [url for path in report.frontier for url in read_table(path)["url"].to_pylist()]
    assert left == [f"http://{A}/1", f"http://{A}/3"]
    assert read_hosts([report.hosts], [A]) == {A: HostRecord(A, fetched=2)}


def test_round_that_fetched_nothing_leaves_the_frontier_as_it_was(tmp_path):
    slot = slot_of(tmp_path, A, tables={A: [frontier_table(urls(A, 4))]})
    [report] = rows_of(tmp_path, slot).reports()
    assert report.frontier == slot.states[0].frontier
    assert (report.fetched, report.waiting, report.hosts) == (0, 4, "")


def test_budget_leaves_the_rest_waiting(tmp_path):
    slot = slot_of(tmp_path, A, tables={A: [frontier_table(urls(A, 9))]})
    rows = rows_of(tmp_path, slot, budget=Budget(a_round=2))
    [(_, queue)] = rows.by_host()
    assert len(queue) == 2
    for row in queue:
        rows.end(row, is_page=True)
    [report] = rows.reports()
    assert report.waiting == 7


def test_record_of_a_host_without_urls_is_read_from_its_own_shards_runs(tmp_path):
    known = HostRecord(B, ready_at=5.0, gap=2.0)
    run = write_hosts(f"{tmp_path}/run.parquet", [known])
    tables = {A: [frontier_table(urls(A, 1))]}
    assert shard_of_host(A, SHARDS) != shard_of_host(B, SHARDS)
    slot = slot_of(tmp_path, A, B, tables=tables, runs=[run])
    assert rows_of(tmp_path, slot).record(B) == known
    of_another_slot = slot_of(tmp_path, A, tables=tables, runs=[run])
    assert rows_of(tmp_path, of_another_slot).record(B) == HostRecord(B)


def test_hosts_of_another_slot_are_not_reported(tmp_path):
    rows = rows_of(tmp_path, slot_of(tmp_path, A, tables={A: [frontier_table(urls(A, 1))]}))
    rows.note_host(HostRecord(B, requests=1))
    [report] = rows.reports()
    assert report.hosts == ""
