"""Whatever hosts do, a crawl is polite, loses nothing and ends: on a web that is made up."""

from __future__ import annotations

from urllib.parse import urlsplit

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.simulated_log import check_politeness, check_robots
from tests.simulated_web import (
    OK,
    Ask,
    Reply,
    Site,
    Web,
    failing,
    pages_asked,
    redirect,
    retry_after,
    retry_at,
    urls,
)
from tests.simulation import Crawl, with_connections, with_pace
from transforms.records import PAGE, ROBOTS_DENIED
from transforms.transport import ADDRESS, BROKEN, CONNECT, DNS, TIMEOUT, TLS

HOSTS = [f"{letter}.example" for letter in "abcde"]


ODD = ["", "soon", "-5", "1e3", "7.5", "0", "Fri, 31 Dec 1999 23:59:59 GMT", "99999999999999"]


def addresses(host: str, count: int) -> list[str]:
    """URLs at two schemes and three ports of one host."""
    origins = (f"http://{host}", f"https://{host}", f"http://{host}:81")
    return [f"{origins[number % 3]}/{number}" for number in range(count)]


class Habit:
    """How one host behaves, made up by Hypothesis; its `repr` is what a failure shows."""

    def __init__(self, robots: str, pages: str, latency: float, number: int, target: str) -> None:
        self.robots, self.pages, self.latency = robots, pages, latency
        self.number, self.target = number, target

    def __repr__(self) -> str:
        return f"Habit{(self.robots, self.pages, self.latency, self.number, self.target)}"

    @property
    def crawl_delay(self) -> float:
        return float(self.number) if self.robots == "slow" else 0.0

    @property
    def is_well(self) -> bool:
        """Whether every URL must end as a page, or denied."""
        return self.robots in ("none", "rules", "slow", "late") and self.pages in (
            *("well", "outage", "flapping", "told", "told date"),
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
            "outage": Reply(503) if 3 <= ask.now < 3 + 2 * number else OK,
            "flapping": failing(CONNECT) if ask.now // (1 + number) % 2 else OK,
            "told": retry_after(5 * number, 429) if ask.visit == 1 else OK,
            "told oddly": retry_after(ODD[number % len(ODD)], 429) if ask.visit == 1 else OK,
            "told date": retry_at(ask.now, 5 * number) if ask.visit == 1 else OK,
            "one fails": Reply(500) if ask.path == "/1" else OK,
            "one is silent": failing(TIMEOUT, 20.0) if ask.path == "/1" else OK,
            "breaks": failing(BROKEN),
            "dies": failing(CONNECT) if ask.now > number else OK,
        }[self.pages]


ROBOTS = ["none", "rules", "slow", "closed", "late", "away", "hidden"]
ROBOTS += ["dead", "silent", "nameless", "private", "untrusted"]
PAGES = ["well", "outage", "flapping", "told", "told date", "one fails", "one is silent"]
PAGES += ["told oddly", "breaks", "dies"]
HABITS = st.builds(
    Habit,
    st.sampled_from(ROBOTS + ["none", "rules", "away"] * 2),
    st.sampled_from(PAGES),
    st.sampled_from([0.001, 0.1, 1.0, 7.0]),
    st.integers(1, 30),
    st.sampled_from(HOSTS),
)


@settings(
    max_examples=40, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
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
    everything = [
        url
        for (host, habit), count in zip(sites.items(), counts, strict=True)
        # A port that is silent while another answers might as well be dead.
        for url in (urls if habit.pages == "flapping" else addresses)(host, count)
    ]
    crawl = Crawl(tmp_path_factory.mktemp("crawl"), web, everything, policy, shards=2)
    stop = (lambda: web.now > stop_after) if stop_after else (lambda: False)
    first = crawl.round(limit, stop)
    assert limit is None or sum(each.outcome == PAGE for each in first) <= limit
    crawl.run_for(days=1.0)  # every round checks that each URL ended once, or waits

    check_politeness(web, policy, {host: habit.crawl_delay for host, habit in sites.items()})
    check_robots(web)
    for host, habit in sites.items():
        ended = [(urlsplit(url), outcome) for url, outcome in crawl.ended.items()]
        outcomes = {url.path: outcome for url, outcome in ended if url.hostname == host}
        asked = set(pages_asked(web, host)) - {"/other.txt"}
        if habit.robots in ("closed", "dead", "silent", "nameless", "private", "untrusted"):
            assert not asked
        if habit.robots == "rules":
            assert "/1" not in asked
            assert outcomes.get("/1", ROBOTS_DENIED) == ROBOTS_DENIED
        if habit.is_well:
            assert len(outcomes) == counts[HOSTS.index(host)], f"{host} is not through"
            assert set(outcomes.values()) <= {PAGE, ROBOTS_DENIED}
