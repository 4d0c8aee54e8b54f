"""A web that is made up: what each site answers, and the log of what it was asked."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from email.utils import formatdate
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import urlsplit

from transforms.transport import CONNECT, DNS, TIMEOUT, Request

BEGAN = 1_800_000_000.0


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
