"""How the loop of a slot ends, what it starts, what outlives it: on a made-up web and clock."""

from __future__ import annotations

import pytest

from tests.simulated_log import (
    check_politeness,
    max_parallel,
)
from tests.simulated_web import (
    OK,
    Reply,
    Site,
    Web,
    failing_at,
    pages_asked,
    retry_after,
    urls,
)
from tests.simulation import (
    POLICY,
    Crawl,
    with_connections,
    with_pace,
)
from transforms.records import (
    PAGE,
)
from transforms.slot_fetcher import (
    GRACE,
    LOOK_UP,
)
from transforms.slot_rows import (
    Budget,
)

A, B, C = "a.example", "b.example", "c.example"


@pytest.mark.parametrize("limit", [1, 3, 7])
def test_limit_is_met_and_never_exceeded(tmp_path, limit):
    web = Web({A: Site(page=failing_at("/0", Reply(404))), B: Site(), C: Site(latency=4.0)})
    crawl = Crawl(tmp_path, web, urls(A, 5) + urls(B, 5) + urls(C, 5))
    crawl.round(limit=limit)
    assert list(crawl.ended.values()).count(PAGE) == limit
    asked = [exchange for exchange in web.log if not exchange.is_robots]
    assert sum(exchange.reply.status == 200 for exchange in asked) == limit


def test_stop_ends_within_the_grace_and_its_host_is_left_alone_as_long_as_due(tmp_path):
    web = Web({A: Site(page=lambda ask: Reply(latency=100.0 if ask.path == "/3" else 0.1))})
    crawl = Crawl(tmp_path, web, urls(A, 9))
    crawl.round(must_stop=lambda: web.now > 6)
    assert web.now <= 6 + LOOK_UP + GRACE + LOOK_UP
    assert len(crawl.ended) == 3
    assert crawl.hosts()[A].ready_at >= web.clock() + 1.0


def test_stop_takes_what_ends_within_the_grace(tmp_path):
    web = Web({A: Site(latency=3.0)})
    crawl = Crawl(tmp_path, web, urls(A, 3), POLICY._replace(robots=False))
    crawl.round(must_stop=lambda: web.now > 1)
    assert list(crawl.ended) == [f"http://{A}/0"]


@pytest.mark.parametrize("option", ["round_time", "deadline"])
def test_round_ends_in_time(tmp_path, option):
    web = Web({A: Site(), B: Site(latency=0.5)})
    limit = 20.0 if option == "round_time" else web.clock() + 20.0
    crawl = Crawl(tmp_path, web, urls(A, 99) + urls(B, 99), POLICY._replace(**{option: limit}))
    crawl.round()
    assert 20 <= web.now <= 20 + LOOK_UP + GRACE
    assert len(crawl.ended) > 20


def test_round_that_has_only_waited_goes_on(tmp_path):
    """Its time is over, but nothing is there to commit: the crawl would end, in all patience."""
    page = lambda ask: retry_after(90) if ask.path == "/1" and ask.visit == 1 else OK  # noqa: E731
    web = Web({A: Site(page=page)})
    crawl = Crawl(tmp_path, web, urls(A, 4), POLICY._replace(round_time=20.0))
    crawl.run()
    assert list(crawl.ended.values()) == [PAGE] * 4
    check_politeness(web, POLICY)


def test_patience_decides_whether_a_round_waits(tmp_path):
    for patience, waits in ((28.0, False), (31.0, True)):
        web = Web({A: Site(lambda ask: Reply(503) if ask.visit == 1 else Reply(404))})
        policy = POLICY._replace(patience=patience)
        crawl = Crawl(tmp_path / str(patience), web, urls(A, 2), policy)
        crawl.round()
        assert bool(crawl.ended) is waits


def test_budgets_hold_for_a_round_and_for_the_crawl(tmp_path):
    web = Web({A: Site(), B: Site()})
    crawl = Crawl(tmp_path, web, urls(A, 9) + urls(B, 2), budget=Budget(a_round=2, a_crawl=5))
    for asked in (4, 2, 1, 0):
        assert len(crawl.round()) == asked
    assert len(pages_asked(web, A)) == 5
    assert len(crawl.waiting()) == 4


def test_hosts_of_one_address_are_asked_together_only_so_many_at_a_time(tmp_path):
    hosts = [f"h{n}.example" for n in range(8)]
    web = Web({host: Site(address="192.0.2.7", latency=2.0) for host in hosts} | {C: Site()})
    policy = with_connections(16, per_address=2)
    crawl = Crawl(tmp_path, web, [url for host in (*hosts, C) for url in urls(host, 4)], policy)
    crawl.run()
    # From the first requests on, when nobody knew where these hosts are.
    assert max_parallel(each for each in web.log if each.host != C) == 2
    assert max_parallel(web.log) == 3
    assert len(crawl.ended) == 36
    check_politeness(web, policy)


def test_hosts_behind_a_proxy_do_not_share_its_address(tmp_path):
    hosts = [f"h{n}.example" for n in range(6)]
    web = Web({host: Site(address="192.0.2.7", latency=2.0) for host in hosts})
    fetch = POLICY.fetch._replace(concurrency=16, proxy="http://proxy.example:3128")
    policy = POLICY._replace(fetch=fetch, per_address=1)
    crawl = Crawl(tmp_path, web, [url for host in hosts for url in urls(host, 3)], policy)
    crawl.run()
    assert max_parallel(each for each in web.log if not each.is_robots) == 6


def test_abandoned_exchanges_do_not_reach_the_next_attempt(tmp_path):
    """One transport serves slot after slot; it may still hold what a round left behind."""
    web = Web({A: Site(latency=30.0), B: Site()})
    crawl = Crawl(tmp_path / "a", web, urls(A, 3), POLICY._replace(robots=False))
    crawl.round(must_stop=lambda: web.now > 1)
    assert crawl.ended == {}
    other = Crawl(tmp_path / "b", web, urls(B, 40), POLICY._replace(robots=False))
    other.transport = crawl.transport
    other.run()
    assert list(other.ended.values()) == [PAGE] * 40


def test_attempt_that_fails_leaves_nothing_under_way(tmp_path):
    web = Web({A: Site(latency=30.0)})
    crawl = Crawl(tmp_path, web, urls(A, 3))
    crawl.die(at=5.0)
    assert crawl.transport.under_way == []
    crawl.run()
    assert list(crawl.ended.values()) == [PAGE] * 3


@pytest.mark.parametrize("reply", [retry_after(300), retry_after(300, 429)])
def test_retry_after_outlives_an_attempt_that_died(tmp_path, reply):
    page = lambda ask: reply if ask.path == "/1" and ask.visit == 1 else OK  # noqa: E731
    web = Web({A: Site(page=page), B: Site()})
    crawl = Crawl(tmp_path, web, urls(A, 4) + urls(B, 99))
    crawl.die(at=20.0)
    crawl.die(at=30.0)
    crawl.run()
    assert len(crawl.ended) == 103
    check_politeness(web, POLICY)


def test_gap_outlives_an_attempt_that_died(tmp_path):
    """Of a short one nobody knows more than that the host may just have been asked."""
    web = Web({A: Site("Crawl-delay: 7"), B: Site(), C: Site(Reply(503))})
    crawl = Crawl(tmp_path, web, urls(A, 9) + urls(B, 99) + urls(C, 1))
    for moment in (9.0, 21.0, 21.5):
        crawl.die(at=moment)
    crawl.run()
    assert len(crawl.ended) == 108
    assert web.asked(C)[1].start >= 30
    check_politeness(web, POLICY, {A: 7.0})


def test_no_host_starves_behind_long_ones(tmp_path):
    """More hosts than connections, and nearly all have far more to do than the short ones."""
    long, short = [f"l{n}.example" for n in range(12)], ["s1.example", "s2.example"]
    web = Web({host: Site(latency=1.0) for host in (*long, *short)})
    addresses = [url for host in long for url in urls(host, 60)]
    addresses += [url for host in short for url in urls(host, 2)]
    policy = with_pace(with_connections(2), delay=0.5)
    crawl = Crawl(tmp_path, web, addresses, policy)
    crawl.run()
    took = web.now
    assert len(crawl.ended) == len(addresses)
    for host in short:
        assert web.asked(host)[-1].end < took / 3
