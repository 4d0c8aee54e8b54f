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
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.samples import frontier_table
from transforms.fingerprints import shard_of_host
from transforms.frontier import write_frontier
from transforms.hosts import HostRecord, merge_host_runs, read_hosts
from transforms.pace import PacePolicy
from transforms.records import ROBOTS_TXT, Fetched, ShardState, Slot
from transforms.runs import TIER
from transforms.slot_fetcher import SlotFetcher, SlotPolicy
from transforms.slot_rows import Budget, SlotRows
from transforms.storage import read_table
from transforms.transport import (
    CONNECT,
    CROWDED,
    DNS,
    TIMEOUT,
    FetchPolicy,
    Request,
    Response,
    may_always,
)

BEGAN = 1_800_000_000.0
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


class Ask(NamedTuple):
    """One request, as a site sees it."""

    origin: str
    path: str  # with the query
    now: float  # seconds since the simulation began
    visit: int  # 1 the first time this URL is asked for
    headers: dict[str, str]


class Reply(NamedTuple):
    """What a site answers: a status, or a failure in the transport's words."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    failure: str = ""
    latency: float | None = None  # seconds; None: the site's

    def head(self) -> bytes:
        if self.failure:
            return b""
        lines = [f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        return "\r\n".join([*lines, "", ""]).encode()


def failing(failure: str, latency: float | None = None) -> Reply:
    return Reply(0, failure=failure, latency=latency)


def redirect(location: str) -> Reply:
    return Reply(301, (("Location", location),))


DROPPED = failing("dropped by the client")


def retry_after(value: float | str, status: int = 503) -> Reply:
    return Reply(status, (("Retry-After", str(value)),))


def retry_at(now: float, seconds: float) -> Reply:
    """Retry-After as a date, `seconds` from `now` (of the simulation) or just below."""
    return retry_after(formatdate(int(BEGAN + now + seconds), usegmt=True))


class Site(NamedTuple):
    """One host: its robots.txt (text, or a reply) and what else it answers."""

    robots: str | Reply | Callable[[Ask], Reply] = Reply(404)
    page: Callable[[Ask], Reply] = lambda ask: Reply(body=ask.path.encode())
    latency: float = 0.1
    address: str = ""

    def answer(self, ask: Ask) -> Reply:
        if ask.path != "/robots.txt":
            return self.page(ask)
        if isinstance(self.robots, str):
            return Reply(body=f"User-agent: *\n{self.robots}\n".encode())
        return self.robots if isinstance(self.robots, Reply) else self.robots(ask)


OK = Reply()


def urls(host: str, count: int) -> list[str]:
    return [f"http://{host}/{number}" for number in range(count)]


def with_pace(policy: SlotPolicy = POLICY, **changes: Any) -> SlotPolicy:
    return policy._replace(pace=policy.pace._replace(**changes))


def with_connections(count: int, **changes: Any) -> SlotPolicy:
    return POLICY._replace(fetch=POLICY.fetch._replace(concurrency=count), **changes)


def failing_at(path: str, reply: Reply) -> Callable[[Ask], Reply]:
    return lambda ask: reply if ask.path == path else OK


def down(since: float, until: float, reply: Reply) -> Callable[[Ask], Reply]:
    return lambda ask: reply if since <= ask.now < until else OK


def pages_asked(web: Web, host: str) -> list[str]:
    return [path for path in web.paths(host) if path != "/robots.txt"]


class Exchange(NamedTuple):
    """One line of the log. Times are seconds since the simulation began."""

    host: str
    address: str
    url: str
    is_robots: bool
    start: float
    end: float
    reply: Reply

    @property
    def is_answered(self) -> bool:
        return not self.reply.failure

    @property
    def is_suspect(self) -> bool:
        """Whether the host asks to be left alone, or can not be reached."""
        busy = self.reply.status in (429, 502, 503, 504, 522, 524)
        return busy or self.reply.failure in (CONNECT, DNS, TIMEOUT)


class Web:
    """Sites by host, a clock, and the log of what was asked."""

    def __init__(self, sites: Mapping[str, Site]) -> None:
        self.sites = sites
        self.now = 0.0
        self.log: list[Exchange] = []
        self.visits: Counter[str] = Counter()

    def clock(self) -> float:
        return BEGAN + self.now

    def asked(self, host: str) -> list[Exchange]:
        return [exchange for exchange in self.log if exchange.host == host]

    def paths(self, host: str) -> list[str]:
        return [urlsplit(exchange.url).path for exchange in self.asked(host)]

    def address(self, host: str) -> str:
        return self.sites[host].address or f"192.0.2.{zlib.crc32(host.encode()) % 250}"

    def ask(self, request: Request) -> Exchange:
        parts = urlsplit(request.url)
        host = parts.hostname or ""
        site = self.sites[host]
        self.visits[request.url] += 1
        path = parts.path + ("?" + parts.query if parts.query else "")
        headers = {name.lower(): value for name, value in request.headers}
        visit = self.visits[request.url]
        ask = Ask(f"{parts.scheme}://{parts.netloc}", path, self.now, visit, headers)
        reply = site.answer(ask)
        latency = site.latency if reply.latency is None else reply.latency
        end = self.now + latency
        exchange = Exchange(
            host, self.address(host), request.url, request.any_type, self.now, end, reply
        )
        self.log.append(exchange)
        return exchange


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
        self.rounds = 0
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

    def die(self, pages: int) -> None:
        """Begin a round that dies when it has fetched so many, and leaves nothing."""
        fetcher, _ = self._attempt(None, lambda: False, again=False)
        had = (each for each in fetcher.run() if each.outcome != ROBOTS_TXT)
        for _ in range(pages):
            next(had)
        self.transport.drop()

    def _attempt(
        self, limit: int | None, must_stop: Callable[[], bool], again: bool
    ) -> tuple[SlotFetcher, SlotRows]:
        slot = Slot(0, self.rounds, f"{self.rounds:04x}", self.states, limit, ())
        rows = SlotRows(self.base, self.shards, slot, None, self.budget)
        fetcher = SlotFetcher(
            self.policy, slot, rows, self.transport, must_stop, self.web.clock, again=again
        )
        return fetcher, rows

    def round(
        self,
        limit: int | None = None,
        must_stop: Callable[[], bool] = lambda: False,
        again: bool = False,
    ) -> list[Fetched]:
        """Run one round; returns what ended, robots.txt apart."""
        fetcher, rows = self._attempt(limit, must_stop, again)
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
