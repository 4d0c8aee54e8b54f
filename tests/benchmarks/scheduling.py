"""Is a connection ever idle while a host may be asked? Time taken against the lower bound.

    python -m tests.benchmarks.scheduling

No schedule is faster than the host that takes longest by itself, nor than all responses
one after the other on so many connections. Beside it stands the static split: the hosts
dealt to the connections beforehand, each of which works through its own.

The first two webs and their clock are made up (tests/simulation.py), scheduler and
fetcher are the real ones. The last is a server on loopback, asked by libcurl.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tests.samples import frontier_table
from tests.simulation import POLICY, Ask, Crawl, Reply, Site, Web
from transforms.frontier import write_frontier
from transforms.records import ShardState, Slot
from transforms.slot_fetcher import SlotFetcher, SlotPolicy
from transforms.slot_rows import Budget, SlotRows
from transforms.transport import open_transport

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"
FAILING = 0.01  # of all URLs answer 500 the first time


class Host(NamedTuple):
    """A made-up host. Times in seconds."""

    name: str
    urls: int
    latency: float
    crawl_delay: float

    @property
    def addresses(self) -> list[str]:
        return [f"http://{self.name}/{number}" for number in range(self.urls)]

    def site(self) -> Site:
        def page(ask: Ask) -> Reply:
            dice = random.Random(f"{self.name}{ask.path}")
            fails = dice.random() < FAILING and ask.visit == 1
            return Reply(500 if fails else 200, latency=self.latency * dice.uniform(0.5, 1.5))

        robots = f"Crawl-delay: {self.crawl_delay}" if self.crawl_delay else Reply(404)
        return Site(robots, page, self.latency)


def made_up_hosts(count: int, urls: int, exponent: float, seed: int = 1) -> list[Host]:
    """Sizes by Zipf's law, latencies around 0.3 s, and a tenth with a delay of their own."""
    dice = random.Random(seed)
    weights = [rank**-exponent for rank in range(1, count + 1)]
    sizes = [max(1, round(urls * weight / sum(weights))) for weight in weights]
    return [
        Host(
            name=f"h{number}.example",
            urls=size,
            latency=min(5.0, dice.lognormvariate(-1.2, 0.8)),
            crawl_delay=dice.choice([2, 3, 5]) if dice.random() < 0.1 else 0,
        )
        for number, size in enumerate(sizes)
    ]


def policy_of(connections: int, delay: float) -> SlotPolicy:
    return POLICY._replace(
        fetch=POLICY.fetch._replace(concurrency=connections, allow_private=True),
        pace=POLICY.pace._replace(delay=delay, adaptive=0.0),
        patience=1e9,
    )


def simulate(hosts: Iterable[Host], policy: SlotPolicy) -> Web:
    """The web after all hosts were crawled: its clock and its log say how it went."""
    hosts = list(hosts)
    web = Web({host.name: host.site() for host in hosts})
    with tempfile.TemporaryDirectory() as folder:
        crawl = Crawl(folder, web, [url for host in hosts for url in host.addresses], policy)
        crawl.round()
        assert not crawl.waiting()
    return web


def lower_bound(hosts: Iterable[Host], policy: SlotPolicy) -> tuple[float, float]:
    """Seconds: of the host that takes longest alone, and of all responses on all connections."""
    alone = [simulate([host], policy) for host in hosts]
    work = sum(exchange.end - exchange.start for web in alone for exchange in web.log)
    return max(web.now for web in alone), work / policy.fetch.concurrency


def static_split(hosts: list[Host], policy: SlotPolicy) -> float:
    """Seconds, when each connection has the hosts that it was dealt."""
    connections = policy.fetch.concurrency
    one = policy._replace(fetch=policy.fetch._replace(concurrency=1))
    return max(simulate(hosts[n::connections], one).now for n in range(connections))


class LoopbackServer:
    """Answers every address of 127.0.0.0/8 on one port, each after its own latency."""

    def __init__(self, latencies: dict[str, float]) -> None:
        self.latencies = latencies
        self.log: list[tuple[str, float, float]] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host = writer.get_extra_info("sockname")[0]
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                started = time.monotonic()
                await asyncio.sleep(self.latencies[host])
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"
                )
                self.log.append((host, started, time.monotonic()))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    @contextmanager
    def serving(self) -> Iterator[int]:
        loop = asyncio.new_event_loop()
        start = asyncio.start_server(self.answer, "0.0.0.0", 0, backlog=1024)
        server = loop.run_until_complete(start)
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            server.close()


def crawl_loopback(hosts: list[Host], policy: SlotPolicy) -> tuple[float, float, float]:
    """Seconds taken, of the longest host alone, of all responses on all connections."""
    server = LoopbackServer({host.name: host.latency for host in hosts})
    with server.serving() as port, tempfile.TemporaryDirectory() as folder:
        urls = [u.replace(h.name, f"{h.name}:{port}") for h in hosts for u in h.addresses]
        state = ShardState(0, 0, write_frontier(folder, 0, 0, 1, frontier_table(urls)), waiting=1)
        slot = Slot(0, 0, "real", (state,), None, ())
        rows = SlotRows(folder, 1, slot, None, Budget())
        transport = open_transport("curl", policy.fetch)
        started = time.monotonic()
        ended = list(SlotFetcher(policy, slot, rows, transport).run())
        took = time.monotonic() - started
        transport.close()
    assert len(ended) == len(urls) + len(hosts)  # and a robots.txt each
    asked: dict[str, list[float]] = {}
    for host, start, end in server.log:
        asked.setdefault(host, []).append(end - start)
    gap = policy.pace.delay
    longest = max(sum(times) + gap * (len(times) - 1) for times in asked.values())
    return took, longest, sum(map(sum, asked.values())) / policy.fetch.concurrency


def loopback_hosts(count: int, urls: int, exponent: float) -> list[Host]:
    """The same at loopback addresses, six times as fast."""
    return [
        host._replace(
            name=f"127.3.{number // 250}.{number % 250 + 1}",
            latency=host.latency / 6,
            crawl_delay=0,
        )
        for number, host in enumerate(made_up_hosts(count, urls, exponent))
    ]


def print_line(
    what: str, connections: int, took: float, longest: float, work: float, static: float | None
) -> None:
    bound = max(longest, work)
    beside = f"{static / bound:>8.2f} ×" if static else ""
    print(
        f"{what:<34}{connections:>6}{longest:>9.1f}{work:>9.1f}{took:>9.1f}"
        f"{took / bound:>8.3f} ×{beside}",
        flush=True,
    )


def main() -> None:
    print(f"{'':<34}{'conns':>6}{'longest':>9}{'work':>9}{'taken':>9}{'bound':>10}{'static':>10}")
    for exponent, connections in ((1.0, 16), (0.6, 4), (0.6, 8), (0.6, 12), (0.6, 32)):
        hosts, policy = made_up_hosts(1000, 20_000, exponent), policy_of(connections, 1)
        longest, work = lower_bound(hosts, policy)
        took, static = simulate(hosts, policy).now, static_split(hosts, policy)
        print_line(
            f"simulated, 1,000 hosts, Zipf {exponent}", connections, took, longest, work, static
        )
    for exponent, connections in ((1.0, 16), (0.6, 8), (0.6, 16), (0.6, 64)):
        hosts, policy = loopback_hosts(300, 3000, exponent), policy_of(connections, 0.05)
        took, longest, work = crawl_loopback(hosts, policy)
        print_line(f"loopback, 300 hosts, Zipf {exponent}", connections, took, longest, work, None)


if __name__ == "__main__":
    main()
