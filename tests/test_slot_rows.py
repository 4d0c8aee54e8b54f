"""The rows that a slot holds: what is due, what a host may have, what rolls over."""

from __future__ import annotations

import numpy as np
import pytest

from tests.samples import frontier_table
from transforms.frontier import write_frontier
from transforms.hosts import HostRecord, read_hosts, write_hosts
from transforms.records import ShardState, Slot
from transforms.slot_rows import Budget, SlotRows, due_rows
from transforms.storage import read_table

A, B = "a.example", "b.example"


NO_BUDGET = Budget()


def rows_of(folder, *urls: str, budget=NO_BUDGET, hosts: tuple[str, ...] = ()) -> SlotRows:
    paths = write_frontier(str(folder), 0, 0, 1, frontier_table(urls))
    state = ShardState(0, 0, paths, hosts=hosts, waiting=len(urls), discovered=len(urls))
    return SlotRows(str(folder), 1, Slot(0, 0, "attempt", (state,), None, ()), None, budget)


def urls_left(report) -> list[str]:
    return [url for path in report.frontier for url in read_table(path)["url"].to_pylist()]


@pytest.mark.parametrize(
    ("a_round", "a_crawl", "fetched", "left"),
    [
        (None, None, 7, None),
        (3, None, 7, 3),
        (None, 10, 7, 3),
        (2, 10, 7, 2),
        (5, 10, 7, 3),
        (None, 10, 12, 0),
    ],
)
def test_budget_is_the_least_of_what_is_left(a_round, a_crawl, fetched, left):
    assert Budget(a_round, a_crawl).left(HostRecord(A, fetched=fetched)) == left


@pytest.mark.parametrize(
    ("depths", "shards", "depth", "due"),
    [
        ([0, 1, 2], [0, 0, 0], None, [0, 1, 2]),
        ([1, 2, 1], [0, 0, 0], 2, [0, 2]),  # the shallowest first
        ([1, 2, 3], [0, 1, 1], 3, [0, 1]),  # of each shard
        ([3, 4], [0, 0], 2, []),
        ([], [], 2, []),
    ],
)
def test_due_rows_within_a_depth_are_the_shallowest_of_each_shard(depths, shards, depth, due):
    found = due_rows(np.array(depths, np.int32), np.array(shards, np.int32), depth)
    assert found.tolist() == due


def test_by_host_gives_each_host_its_rows_up_to_its_budget(tmp_path):
    urls = [f"http://{host}/{n}" for n in range(3) for host in (A, B)]
    rows = rows_of(tmp_path, *urls, budget=Budget(a_round=2))
    found = {
        record.host: [rows.waiting(row).url for row in some] for record, some in rows.by_host()
    }
    assert found == {host: [f"http://{host}/{n}" for n in range(2)] for host in (A, B)}


def test_record_is_the_last_that_was_written_of_a_host(tmp_path):
    runs = tuple(
        write_hosts(f"{tmp_path}/hosts-{n}.parquet", [HostRecord(A, requests=n)]) for n in (1, 2)
    )
    rows = rows_of(tmp_path, f"http://{A}/", hosts=runs)
    assert rows.record(A).requests == 2
    assert rows.record(B) == HostRecord(B)  # nothing to fetch there, and nothing known


def test_reports_say_what_ended_and_what_rolls_over(tmp_path):
    urls = [f"http://{A}/{n}" for n in range(4)]
    rows = rows_of(tmp_path, *urls)
    rows.end(0, is_page=True, seconds=0.5)
    rows.end(2, is_page=False, seconds=1.5)
    rows.note_host(HostRecord(A, requests=2))
    [report] = rows.reports()
    assert (report.taken, report.fetched, report.pages, report.waiting) == (4, 2, 1, 2)
    assert report.seconds == 1.0
    assert urls_left(report) == [urls[1], urls[3]]
    assert read_hosts([report.hosts], [A])[A].requests == 2


def test_reports_of_an_idle_slot_leave_every_file_as_it_is(tmp_path):
    rows = rows_of(tmp_path, f"http://{A}/")
    before = sorted(tmp_path.rglob("*"))
    [report] = rows.reports()
    assert (report.fetched, report.waiting, report.hosts, report.seconds) == (0, 1, "", 0.0)
    assert sorted(tmp_path.rglob("*")) == before
    assert urls_left(report) == [f"http://{A}/"]
