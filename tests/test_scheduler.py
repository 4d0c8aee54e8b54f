"""The scheduler's promises, under any order of events; time is a number that we pass in."""

from __future__ import annotations

import heapq

from hypothesis import given
from hypothesis import strategies as st

from transforms.scheduler import Host, Scheduler


def loaded(queues: dict[str, int], gap: float = 1.0) -> Scheduler:
    scheduler = Scheduler()
    for name, length in queues.items():
        host = scheduler.host(name)
        host.seconds_each = gap
        scheduler.add(host, range(length))
    return scheduler


def take(scheduler: Scheduler, now: float) -> Host | None:
    host = scheduler.next(now)
    if host is not None:
        host.queue.popleft()
    return host


def test_next_of_a_busy_host_is_nothing():
    scheduler = loaded({"a": 2})
    host = take(scheduler, 0.0)
    assert host is not None
    assert scheduler.next(100.0) is None


def test_next_before_the_gap_is_nothing():
    scheduler = loaded({"a": 2})
    host = take(scheduler, 0.0)
    scheduler.release(host, 5.0)
    assert scheduler.next(4.99) is None
    assert scheduler.next_time() == 5.0
    assert scheduler.next(5.0) is host


def test_next_time_without_hosts_is_none():
    assert Scheduler().next_time() is None
    scheduler = loaded({"a": 1})
    scheduler.release(take(scheduler, 0.0), 1.0)
    assert scheduler.next_time() is None


def test_next_prefers_the_host_with_most_time_ahead():
    scheduler = loaded({"short": 1, "long": 9, "middle": 5})
    assert [take(scheduler, 0.0).name for _ in range(3)] == ["long", "middle", "short"]


def test_add_to_a_busy_host_waits_for_its_release():
    scheduler = loaded({"a": 1})
    host = take(scheduler, 0.0)
    scheduler.add(host, [7])
    assert scheduler.next(9.0) is None
    scheduler.release(host, 10.0)
    assert scheduler.next(10.0) is host
    assert host.queue.popleft() == 7


@given(
    queues=st.dictionaries(st.text("abcdefgh", min_size=1), st.integers(1, 6), max_size=8),
    latencies=st.lists(st.floats(0.01, 3.0), min_size=1, max_size=20),
    gap=st.floats(0.0, 3.0),
    connections=st.integers(1, 4),
)
def test_schedule_is_polite_and_complete_and_never_idle(queues, latencies, gap, connections):
    scheduler = loaded(queues, gap)
    now, asked = 0.0, 0
    under_way: list[tuple[float, int, Host]] = []
    free_at = dict.fromkeys(queues, 0.0)
    while True:
        while len(under_way) < connections and (host := take(scheduler, now)):
            assert now >= free_at[host.name]
            assert host.name not in {other.name for _, _, other in under_way}
            heapq.heappush(under_way, (now + latencies[asked % len(latencies)], asked, host))
            asked += 1
        if len(under_way) < connections:  # a connection is free: nobody may be left askable
            busy = {host.name for _, _, host in under_way}
            askable = [
                host
                for host in scheduler.hosts.values()
                if host.queue and host.name not in busy and free_at[host.name] <= now
            ]
            assert not askable
        if under_way:
            now, _, host = heapq.heappop(under_way)
            free_at[host.name] = now + gap
            scheduler.release(host, now + gap)
        elif (following := scheduler.next_time()) is not None:
            now = max(now, following)
        else:
            break
    assert asked == sum(queues.values())


def test_per_address_cap_parks_hosts_until_one_is_given_back():
    scheduler = Scheduler(per_address=2)
    for name in "abcd":
        host = scheduler.host(name)
        host.address = "192.0.2.1" if name != "d" else "192.0.2.2"
        scheduler.add(host, range(3))
    first = [take(scheduler, 0.0) for _ in range(3)]
    assert sorted(host.name for host in first) == ["a", "b", "d"]
    assert take(scheduler, 0.0) is None
    scheduler.release(first[0], 5.0)
    assert take(scheduler, 1.0).name == "c"
    assert take(scheduler, 1.0) is None


def test_small_host_is_not_starved_by_large_ones():
    scheduler = Scheduler()
    for name, length in (("large", 1000), ("huge", 2000), ("small", 1)):
        host = scheduler.host(name)
        host.seconds_each = 1.0
        scheduler.add(host, range(length))
    now, asked = 0.0, []
    while "small" not in asked and now < 1000:
        host = take(scheduler, now)  # one connection, and always someone to ask
        asked.append(host.name)
        now += 1.0
        scheduler.release(host, now)
    assert asked[-1] == "small"


def test_admit_counts_hosts_whose_address_was_not_known():
    scheduler = Scheduler(per_address=2)
    for name in "abc":
        scheduler.add(scheduler.host(name), range(3))
    first = [take(scheduler, 0.0) for _ in range(3)]
    assert [scheduler.admit(host, "192.0.2.1") for host in first] == [True, True, False]
    assert scheduler.admit(first[0], "192.0.2.1")  # it counts once
    assert scheduler.admit(first[2], "192.0.2.2")  # by another address it may go
    first[2].address = "192.0.2.1"
    scheduler.release(first[2], 0.0)
    assert take(scheduler, 0.0) is None
    scheduler.release(first[0], 5.0)
    assert take(scheduler, 0.0) is first[2]
