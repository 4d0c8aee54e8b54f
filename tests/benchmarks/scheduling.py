"""How long a slot takes for many hosts, beside the least time that anything could take.

    python -m tests.benchmarks.scheduling

The least time is the longest of two: what the host takes that takes longest when it is
alone, and the time of all exchanges shared out over the connections. Scheduler, pace and
fetcher are the real ones. Beside it stands a static split: every connection has its own
hosts, dealt beforehand, those with most URLs first, and asks whichever of them may be asked.

First on a made-up web and clock; then on 300 loopback hosts with libcurl, where the least
time is worked out from how long the server is told to take.
"""

from __future__ import annotations

import heapq
import random
import tempfile
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tests.simulated_web import Ask, Reply, Site, Web
from tests.simulation import POLICY, Crawl
from tests.webserver import Answer, Request, serve
from transforms.fetch import allow_many_connections
from transforms.pace import due_gap
from transforms.records import PAGE
from transforms.slot_fetcher import SlotPolicy
from transforms.transport import CONNECT
from transforms.transport_curl import CurlTransport

HEADING = (
    f"{'web':<12}{'connections':>12}{'URLs':>8}{'least s':>10}{'taken s':>10}"
    f"{'× least':>9}{'split':>9}"
)


class Host(NamedTuple):
    name: str
    urls: int
    latency: float  # seconds
    crawl_delay: float = 0.0  # seconds, 0: none asked for
    failing: float = 0.0  # this part of its URLs fails at first

    def site(self) -> Site:
        robots = f"Crawl-delay: {self.crawl_delay}" if self.crawl_delay else Reply(404)
        return Site(robots, self._page, self.latency)

    def addresses(self) -> list[str]:
        return [f"http://{self.name}/{number}" for number in range(self.urls)]

    def _page(self, ask: Ask) -> Reply:
        dice = random.Random(ask.origin + ask.path)
        if ask.visit > 1 or dice.random() >= self.failing:
            return Reply()
        return dice.choice([Reply(500), Reply(503), Reply(0, failure=CONNECT)])


class Line(NamedTuple):
    """One line of the table. Times in seconds."""

    web: str
    connections: int
    urls: int
    least: float
    taken: float
    static: float

    def __str__(self) -> str:
        return (
            f"{self.web:<12}{self.connections:>12}{self.urls:>8,}{self.least:>10,.1f}"
            f"{self.taken:>10,.1f}{self.taken / self.least:>9.3f}{self.static / self.least:>9.3f}"
        )


def zipf_hosts(count: int, seed: int = 1) -> list[Host]:
    """Hosts of which the n-th has a part of the first's URLs that falls with n."""
    dice = random.Random(seed)
    return [
        Host(
            name=f"h{number}.example",
            urls=max(1, round(600 / (number + 1) ** 0.7)),
            latency=round(dice.lognormvariate(-1.6, 0.8), 3),  # 0.2 s, and some over 1 s
            crawl_delay=dice.choice([0, 0, 0, 0, 2.0, 5.0]) if number > 20 else 0.0,
            failing=dice.choice([0, 0, 0, 0.05]),
        )
        for number in range(count)
    ]


def simulate(hosts: Iterable[Host], connections: int, policy: SlotPolicy = POLICY) -> Web:
    """Crawl made-up hosts to the end; returns the web, its clock, and its log."""
    hosts = list(hosts)
    web = Web({host.name: host.site() for host in hosts})
    with tempfile.TemporaryDirectory() as folder:
        urls = [url for host in hosts for url in host.addresses()]
        crawl = Crawl(folder, web, urls, with_connections(connections, policy))
        crawl.run()
    assert set(crawl.ended.values()) == {PAGE}
    assert len(crawl.ended) == len(urls)
    return web


def with_connections(count: int, policy: SlotPolicy) -> SlotPolicy:
    return policy._replace(fetch=policy.fetch._replace(concurrency=count))


def deal(hosts: list[Host], hands: int) -> list[list[Host]]:
    """Hosts dealt to connections, those with most URLs first, to whoever has least."""
    dealt: list[list[Host]] = [[] for _ in range(min(hands, len(hosts)))]
    loads = [(0, number) for number in range(len(dealt))]
    for host in sorted(hosts, key=lambda host: -host.urls):
        load, number = heapq.heappop(loads)
        dealt[number].append(host)
        heapq.heappush(loads, (load + host.urls, number))
    return dealt


def time_split(hosts: list[Host], connections: int, policy: SlotPolicy = POLICY) -> float:
    """Seconds, on the simulated clock, when every connection has hosts of its own."""
    return max(simulate(hand, 1, policy).now for hand in deal(hosts, connections))


def time_alone(hosts: list[Host]) -> float:
    """Seconds that the host takes which takes longest when it is alone."""
    return max(simulate([host], 1).now for host in hosts)


def simulated_line(hosts: list[Host], connections: int, alone: float) -> Line:
    web = simulate(hosts, connections)
    work = sum(exchange.end - exchange.start for exchange in web.log)
    least = max(alone, work / connections)
    urls = sum(host.urls for host in hosts)
    return Line(
        "simulated", connections, urls, least, web.now, static=time_split(hosts, connections)
    )


def loopback_line(connections: int) -> Line:
    """300 hosts that take their time to answer, on this machine; gaps of 50 ms and more."""
    hosts = [
        Host(
            name=f"127.0.{2 + number // 250}.{1 + number % 250}",
            urls=host.urls // 8 + 1,
            latency=min(host.latency / 2, 0.3),
        )
        for number, host in enumerate(zipf_hosts(300))
    ]
    latency = {host.name: host.latency for host in hosts}
    fetch = POLICY.fetch._replace(concurrency=connections, allow_private=True)
    policy = POLICY._replace(fetch=fetch, pace=POLICY.pace._replace(delay=0.05, adaptive=1.0))

    def answer(request: Request) -> Answer:
        status = 404 if request.path == "/robots.txt" else 200
        return Answer(status, b"a page", delay=latency[request.host])

    with serve(answer, list(latency)) as server, tempfile.TemporaryDirectory() as folder:
        urls = [server.url(f"/{n}", host.name) for host in hosts for n in range(host.urls)]
        crawl = Crawl(folder, Web({}), urls, policy)
        crawl.transport = CurlTransport(policy.fetch)
        crawl.web.clock = time.time
        began = time.monotonic()
        crawl.round()
        taken = time.monotonic() - began
        crawl.transport.close()
    assert len(crawl.ended) == len(urls)

    exchanges = [(host.urls + 1, host.latency) for host in hosts]  # robots.txt is one more
    own = [
        count * each + (count - 1) * due_gap(each, policy.pace, 0.0) for count, each in exchanges
    ]
    least = max(*own, sum(count * each for count, each in exchanges) / connections)
    static = time_split(hosts, connections, policy)
    return Line("loopback", connections, len(urls), least, taken, static)


def lines() -> Iterator[Line]:
    hosts = zipf_hosts(1000)
    alone = time_alone(hosts)
    for connections in (2, 4, 8, 16, 64):
        yield simulated_line(hosts, connections, alone)
    for connections in (16, 64):
        yield loopback_line(connections)


def main() -> None:
    allow_many_connections()
    print(HEADING)
    for line in lines():
        print(line, flush=True)


if __name__ == "__main__":
    main()
