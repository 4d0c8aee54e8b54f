"""A web and a clock that exist only here: days of crawling in a second, and every request logged.

    web = Web({"a.example": Site(robots="Crawl-delay: 3", latency=0.2)})
    crawl = Crawl(tmp_path, web, ["http://a.example/1", "http://a.example/2"])
    crawl.run()
    assert crawl.ended == {"http://a.example/1": "page", "http://a.example/2": "page"}

The fetcher, its scheduler, its files and all rules of pace are the real ones; made up are
the transport, which lets the clock jump to the end of the next exchange, and the sites
behind it. What they were asked, and when, is in `web.log`; `simulated_log` reads
nothing else.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from tests.samples import frontier_table
from tests.simulated_web import BEGAN, DROPPED, Exchange, Web
from transforms.fingerprints import shard_of_host
from transforms.frontier import write_frontier
from transforms.hosts import HostRecord, merge_host_runs, read_hosts
from transforms.pace import PacePolicy
from transforms.records import ROBOTS_TXT, Fetched, ShardState, Slot
from transforms.runs import TIER
from transforms.slot_fetcher import SlotFetcher, SlotPolicy
from transforms.slot_rows import Budget, SlotRows
from transforms.storage import read_table
from transforms.transport import CROWDED, FetchPolicy, Request, Response, may_always

POLICY = SlotPolicy(
    fetch=FetchPolicy(user_agent="beamcrawl/0.1", concurrency=4),
    pace=PacePolicy(delay=1.0, adaptive=2.0, max_crawl_delay=60.0, retries=2),
    robots=True,
    robots_forbidden="deny",
    per_address=0,
    patience=600.0,
    round_time=None,
    deadline=None,
)


def with_pace(policy: SlotPolicy = POLICY, **changes: Any) -> SlotPolicy:
    return policy._replace(pace=policy.pace._replace(**changes))


def with_connections(count: int, **changes: Any) -> SlotPolicy:
    return POLICY._replace(fetch=POLICY.fetch._replace(concurrency=count), **changes)


class SimulatedTransport:
    """`transport.Transport`: waiting makes the web's clock jump."""

    def __init__(self, web: Web, concurrency: int) -> None:
        self.web = web
        self.concurrency = concurrency
        self.under_way: list[tuple[float, int, Exchange, Request]] = []
        self.idle_turns = 0
        self.may_connect: Callable[[Any, str], bool] = may_always
        self.refused: list[Response] = []

    def start(self, request: Request) -> None:
        busy = len(self.under_way) + len(self.refused)
        assert busy < self.concurrency, "more exchanges than connections"
        address = self.web.address(urlsplit(request.url).hostname or "")
        if not self.may_connect(request.ticket, address):
            now = self.web.clock()
            self.refused.append(
                Response(request, 0, b"", b"", b"", address, now, 0.0, CROWDED, CROWDED)
            )
            return
        exchange = self.web.ask(request)
        heapq.heappush(self.under_way, (exchange.end, len(self.web.log), exchange, request))

    def wait(self, timeout: float) -> list[Response]:
        if self.refused:
            refused, self.refused = self.refused, []
            return refused
        until = self.web.now + timeout
        if self.under_way:
            until = min(until, max(self.web.now, self.under_way[0][0]))
        self.idle_turns = 0 if until > self.web.now else self.idle_turns + 1
        assert self.idle_turns < 1000, "the loop turns, and no time passes"
        self.web.now = until
        ended = []
        while self.under_way and self.under_way[0][0] <= until:
            _, _, exchange, request = heapq.heappop(self.under_way)
            ended.append(_response(exchange, request))
        return ended

    def drop(self) -> None:
        """The sites see their connections close."""
        dropped = {id(exchange) for _, _, exchange, _ in self.under_way}
        self.web.log = [
            exchange._replace(end=self.web.now, reply=DROPPED)
            if id(exchange) in dropped
            else exchange
            for exchange in self.web.log
        ]
        self.under_way.clear()

    def close(self) -> None:
        self.drop()


def _response(exchange: Exchange, request: Request) -> Response:
    reply = exchange.reply
    return Response(
        request=request,
        status=reply.status,
        head=reply.head(),
        body=reply.body,
        request_head=b"GET / HTTP/1.1\r\n\r\n",
        ip=exchange.address if exchange.is_answered else "",
        started=BEGAN + exchange.start,
        elapsed=exchange.end - exchange.start,
        failure=reply.failure,
        error=reply.failure,
    )


class Killed(Exception):  # noqa: N818
    """The end of a process, in the middle of a round."""


class Crawl:
    """A crawl of fixed URLs (nobody parses here), round after round, in one slot."""

    def __init__(
        self,
        folder: Any,
        web: Web,
        urls: Iterable[str],
        policy: SlotPolicy = POLICY,
        budget: Budget = Budget(),  # noqa: B008
        shards: int = 1,
    ) -> None:
        self.base = str(folder)
        self.web = web
        self.policy = policy
        self.budget = budget
        self.shards = shards
        self.urls = list(dict.fromkeys(urls))
        self.ended: dict[str, str] = {}
        self.fetched: list[Fetched] = []
        self.rounds = self.attempts = 0
        self.transport = SimulatedTransport(web, policy.fetch.concurrency)
        self.states = tuple(self._first_state(shard) for shard in range(shards))

    def _first_state(self, shard: int) -> ShardState:
        urls = [
            url
            for url in self.urls
            if shard_of_host(urlsplit(url).hostname or "", self.shards) == shard
        ]
        table = frontier_table(urls)
        paths = write_frontier(self.base, 0, shard, self.shards, table) if urls else ()
        return ShardState(shard, 0, paths, waiting=len(urls), discovered=len(urls))

    def round(
        self, limit: int | None = None, must_stop: Callable[[], bool] = lambda: False
    ) -> list[Fetched]:
        """Run one round; returns what ended, robots.txt apart."""
        self.attempts += 1
        slot = Slot(0, self.rounds, f"{self.attempts:04x}", self.states, limit, ())
        rows = SlotRows(self.base, self.shards, slot, None, self.budget)
        fetcher = SlotFetcher(
            self.policy, slot, rows, self.transport, must_stop, clock=self.web.clock
        )
        everything = list(fetcher.run())
        ended = [each for each in everything if each.outcome != ROBOTS_TXT]
        for each in ended:
            assert each.url.url not in self.ended, f"{each.url.url} ended twice"
            self.ended[each.url.url] = each.outcome
        self.fetched += everything
        reports = {report.shard: report for report in rows.reports()}
        assert sum(report.fetched for report in reports.values()) == len(ended)
        self.rounds += 1
        self.states = tuple(
            state._replace(
                round=self.rounds,
                frontier=reports[state.shard].frontier,
                waiting=reports[state.shard].waiting,
                hosts=self._merged((*state.hosts, reports[state.shard].hosts)),
            )
            for state in self.states
        )
        self._check_sums()
        return ended

    def _merged(self, runs: tuple[str, ...]) -> tuple[str, ...]:
        runs = tuple(filter(None, runs))
        if len(runs) <= TIER:
            return runs
        return (merge_host_runs(f"{self.base}/hosts-{self.rounds}.parquet", runs),)

    def _check_sums(self) -> None:
        """Every URL has ended, or waits: none twice, none lost."""
        waiting = self.waiting()
        assert len(waiting) == sum(state.waiting for state in self.states)
        assert sorted([*waiting, *self.ended]) == sorted(self.urls)

    def waiting(self) -> list[str]:
        paths = [path for state in self.states for path in state.frontier]
        return [url for path in paths for url in read_table(path)["url"].to_pylist()]

    def hosts(self) -> dict[str, HostRecord]:
        names = {urlsplit(url).hostname or "" for url in self.urls} | set(self.web.sites)
        runs = [path for state in self.states for path in state.hosts]
        return read_hosts(runs, names)

    def run(self) -> None:
        """Rounds until nothing waits, or one asked for nothing."""
        before = -1
        while self.waiting() and len(self.web.log) != before:
            before = len(self.web.log)
            self.round()

    def die(self, at: float) -> None:
        """A round that ends at a time without a report, as one that is killed."""

        def must_stop() -> bool:
            if self.web.now >= at:
                raise Killed
            return False

        with suppress(Killed):
            self.round(must_stop=must_stop)
            raise AssertionError("the round ended before")

    def restart(self) -> None:
        """What a new process finds: what was under way has been dropped."""
        self.transport.drop()

    def run_for(self, days: float, every: float = 3607.0) -> None:
        """The same command again and again, as a schedule would, until nothing waits.

        (At the full hour it would meet a host that flaps always in the same of its moods.)
        """
        until = self.web.now + days * 86400
        while self.waiting() and self.web.now < until:
            self.run()
            self.web.now += every
