"""What the fetch loop promises, whatever hosts do: on a web and a clock that are made up."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.politeness import check_politeness, check_robots, max_parallel
from tests.simulation import (
    POLICY,
    Ask,
    Crawl,
    Reply,
    Site,
    Web,
    failing,
    redirect,
    retry_after,
    retry_at,
)
from tests.slots import (
    OK,
    A,
    B,
    C,
    failing_at,
    pages_asked,
    urls,
    with_connections,
    with_pace,
)
from transforms.records import (
    PAGE,
    ROBOTS_DENIED,
)
from transforms.slot_fetcher import GRACE, LOOK_UP
from transforms.slot_rows import Budget
from transforms.transport import ADDRESS, BROKEN, CONNECT, DNS, TIMEOUT, TLS

# Limits, budgets, ends


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
    known = [each for each in web.log if each.host != C and not each.is_robots]
    assert max_parallel(known) == 2
    assert max_parallel(web.log) > 3
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


# Whatever hosts do


HOSTS = [f"{letter}.example" for letter in "abcde"]


class Habit:
    """How one host behaves, made up by Hypothesis; its `repr` is what a failure shows."""

    def __init__(self, robots: str, pages: str, latency: float, number: int, target: str) -> None:
        self.robots, self.pages, self.latency = robots, pages, latency
        self.number, self.target = number, target

    def __repr__(self) -> str:
        told = (self.robots, self.pages, self.latency, self.number, self.target)
        return f"Habit{told}"

    @property
    def crawl_delay(self) -> float:
        return float(self.number) if self.robots == "slow" else 0.0

    @property
    def is_well(self) -> bool:
        """Whether every URL must end as a page, or denied."""
        return self.robots in ("none", "rules", "slow", "late") and self.pages in (
            *("well", "outage", "told", "told date"),  # one that flaps may be met at bad times only
        )

    def site(self) -> Site:
        return Site(self._robots, self._page, self.latency)

    def _robots(self, ask: Ask) -> Reply:
        late = ask.now < 10 * self.number
        return {
            "none": Reply(404),
            "rules": Reply(body=b"User-agent: *\nDisallow: /1\n"),
            "slow": Reply(body=f"User-agent: *\nCrawl-delay: {self.number}\n".encode()),
            "closed": Reply(403),
            "late": Reply(503) if late else Reply(404),
            "away": redirect(f"http://{self.target}/robots.txt"),
            "hidden": redirect(f"http://{self.target}/other.txt"),
            "dead": failing(CONNECT),
            "silent": failing(TIMEOUT, 20.0),
            "nameless": failing(DNS),
            "private": failing(ADDRESS),
            "untrusted": failing(TLS),
        }[self.robots]

    def _page(self, ask: Ask) -> Reply:
        number = self.number
        return {
            "well": OK,
            "outage": Reply(503) if 3 <= ask.now < 3 + 4 * number else OK,
            "flapping": failing(CONNECT) if ask.now // (1 + number) % 2 else OK,
            "told": retry_after(5 * number, 429) if ask.visit == 1 else OK,
            "told date": retry_at(ask.now, 5 * number) if ask.visit == 1 else OK,
            "one fails": Reply(500) if ask.path == "/1" else OK,
            "one is silent": failing(TIMEOUT, 20.0) if ask.path == "/1" else OK,
            "breaks": failing(BROKEN),
            "dies": failing(CONNECT) if ask.now > number else OK,
        }[self.pages]


ROBOTS = [
    *("none", "rules", "slow", "closed", "late", "away", "hidden"),
    *("dead", "silent", "nameless", "private", "untrusted"),
]
PAGES = ["well", "outage", "flapping", "told", "told date", "one fails", "one is silent"]
PAGES += ["breaks", "dies"]
HABITS = st.builds(
    Habit,
    st.sampled_from(ROBOTS + ["none", "rules", "away"] * 2),
    st.sampled_from(PAGES),
    st.sampled_from([0.0, 0.1, 1.0, 7.0]),
    st.integers(1, 30),
    st.sampled_from(HOSTS),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    habits=st.lists(HABITS, min_size=5, max_size=5),
    counts=st.lists(st.integers(0, 5), min_size=5, max_size=5),
    connections=st.sampled_from([1, 2, 8]),
    per_address=st.sampled_from([0, 1, 2]),
    delay=st.sampled_from([0.0, 0.3, 2.0]),
    stop_after=st.sampled_from([None, 2.0, 9.0, 40.0]),
    limit=st.sampled_from([None, 4]),
)
def test_whatever_hosts_do_the_crawl_is_polite_and_loses_nothing(
    tmp_path_factory, habits, counts, connections, per_address, delay, stop_after, limit
):
    sites = dict(zip(HOSTS, habits, strict=True))
    web = Web({host: habit.site() for host, habit in sites.items()})
    policy = with_pace(with_connections(connections, per_address=per_address), delay=delay)
    addresses = [u for host, count in zip(HOSTS, counts, strict=True) for u in urls(host, count)]
    crawl = Crawl(tmp_path_factory.mktemp("crawl"), web, addresses, policy, shards=2)
    stop = (lambda: web.now > stop_after) if stop_after else (lambda: False)
    first = crawl.round(limit, stop)
    assert limit is None or sum(each.outcome == PAGE for each in first) <= limit
    crawl.run_for(days=1.0)  # every round checks that each URL ended once, or waits

    check_politeness(web, policy, {host: habit.crawl_delay for host, habit in sites.items()})
    check_robots(web)
    for host, habit in sites.items():
        outcomes = {urlsplit(u).path: end for u, end in crawl.ended.items() if f"/{host}/" in u}
        asked = set(pages_asked(web, host)) - {"/other.txt"}
        if habit.robots in ("closed", "dead", "silent", "nameless", "private", "untrusted"):
            assert not asked
        if habit.robots == "rules":
            assert "/1" not in asked
            assert outcomes.get("/1", ROBOTS_DENIED) == ROBOTS_DENIED
        if habit.is_well:
            assert set(outcomes.values()) <= {PAGE, ROBOTS_DENIED}
            assert len(outcomes) == counts[HOSTS.index(host)], f"{host} is not through"
