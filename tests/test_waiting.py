"""What a crawl that can not go on right now is waiting for."""

from __future__ import annotations

import pytest

from pipeline.waiting import HostWaits, what_waits
from tests.samples import frontier_table
from transforms.frontier import write_frontier
from transforms.hosts import HostRecord, write_hosts
from transforms.records import ShardState


@pytest.fixture
def states(tmp_path) -> tuple[ShardState, ...]:
    """Two shards: a and b wait at depth 0 and 2; c, of which nothing is known, at depth 1."""
    base = str(tmp_path)
    shallow = frontier_table(["http://a.example/1", "http://a.example/2", "http://b.example/1"])
    deep = frontier_table(["http://a.example/3", "http://b.example/2"], depth=2)
    hosts = [
        write_hosts(f"{base}/0.parquet", [HostRecord("a.example", ready_at=1.0)]),
        write_hosts(
            f"{base}/1.parquet",
            [
                HostRecord("a.example", ready_at=90.0, reason="HTTP 503", fetched=7),
                HostRecord("b.example", ready_at=50.0, fetched=3),
                HostRecord("idle.example", ready_at=5.0),
            ],
        ),
    ]
    frontier = (
        *write_frontier(base, 0, 0, 2, shallow),
        *write_frontier(base, 1, 0, 2, deep),
    )
    other = write_frontier(base, 0, 1, 2, frontier_table(["http://c.example/"], depth=1))
    return (
        ShardState(0, 1, frontier, hosts=tuple(hosts)),
        ShardState(1, 1, other),
    )


C = HostWaits(0.0, "c.example", 1, "")


@pytest.mark.parametrize(
    ("depth", "host_limit", "hosts"),
    [
        (
            None,
            None,
            (C, HostWaits(50.0, "b.example", 2, ""), HostWaits(90.0, "a.example", 3, "HTTP 503")),
        ),
        (
            0,
            None,
            (HostWaits(50.0, "b.example", 1, ""), HostWaits(90.0, "a.example", 2, "HTTP 503")),
        ),
        (
            1,
            None,
            (C, HostWaits(50.0, "b.example", 1, ""), HostWaits(90.0, "a.example", 2, "HTTP 503")),
        ),
        (None, 7, (C, HostWaits(50.0, "b.example", 2, ""))),
        (None, 3, (C,)),
    ],
)
def test_what_waits_is_the_hosts_that_are_due_soonest_first(states, depth, host_limit, hosts):
    assert what_waits(states, depth, host_limit).hosts == hosts


def test_what_waits_of_nothing_is_nothing():
    assert what_waits((ShardState(0, 0),), None, None).hosts == ()
    assert what_waits((), 3, 5).hosts == ()
