"""Fetch with requests: for sites that need its sessions, auth plugins or adapters.

    session = requests.Session()
    session.auth = HTTPDigestAuth("user", "secret")
    transport = RequestsTransport(policy, session)

A thread per exchange, so some fifteen times the work of `transport_curl`. requests has no limit
for the time of a whole exchange: `wait` cuts the connection of what is overdue. Unlike
libcurl, requests writes percent-escapes in its own way before it asks (%7e becomes ~).
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.cookiejar import DefaultCookiePolicy
from queue import Empty, SimpleQueue
from typing import Any

import requests
from requests.adapters import HTTPAdapter

from transforms import wire
from transforms.requests_adapter import HERE, WatchingAdapter
from transforms.requests_errors import explain
from transforms.transport import (
    BAD_URL,
    BROKEN,
    TIMEOUT,
    TOO_LARGE,
    FetchPolicy,
    Request,
    Response,
    may_always,
)

_CHUNK = 16 * 1024  # bytes of content decoded at once
_ENCODINGS = [
    name for name in ("gzip", "deflate", "br") if name in requests.utils.DEFAULT_ACCEPT_ENCODING
]


class RequestsTransport:
    """See `transport.Transport`. `session` brings auth, adapters, certificates, cookies.

    Where a session still has the adapters that it was born with, ours take their place.
    An adapter mounted by the user stays, and then connects wherever it likes, and its heads
    are not as received but rebuilt. Through a proxy, too, no address is checked: the proxy
    resolves the names.
    """

    def __init__(self, policy: FetchPolicy, session: requests.Session | None = None) -> None:
        # It warns, with a traceback, of every header that is not quite right.
        logging.getLogger("urllib3").setLevel(logging.ERROR)
        self._policy = policy
        self.may_connect: Callable[[Any, str], bool] = may_always
        self._session = _prepared(session or _plain_session(), policy)
        self._lines = wire.policy_lines(policy, _ENCODINGS)
        # Threads are made when none is free. Twice the number, because one that hangs in
        # getaddrinfo cannot be cut off, and must not hold up others.
        self._threads = ThreadPoolExecutor(2 * policy.concurrency)
        self._under_way: dict[_Exchange, None] = {}  # in the order started: by deadline
        self._ended: SimpleQueue[_Exchange] = SimpleQueue()

    def start(self, request: Request) -> None:
        exchange = _Exchange(request, self._policy, self.may_connect)
        self._under_way[exchange] = None
        lines = self._lines | wire.header_lines(request.headers)
        self._threads.submit(self._run, exchange, lines)

    def wait(self, timeout: float) -> list[Response]:
        until = time.monotonic() + timeout
        ended: list[Response] = []
        while True:
            now = time.monotonic()
            ended += self._overdue(now)
            deadline = min(until, next((e.deadline for e in self._under_way), until))
            with suppress(Empty):
                exchange = self._ended.get(timeout=0 if ended else max(0.0, deadline - now))
                while True:
                    if exchange in self._under_way:
                        del self._under_way[exchange]
                        ended.append(exchange.response())
                    exchange = self._ended.get_nowait()
            if ended or time.monotonic() >= until:
                return ended

    def drop(self) -> None:
        for exchange in self._under_way:
            exchange.cut()
        self._under_way.clear()

    def close(self) -> None:
        self.drop()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._session.close()

    def _overdue(self, now: float) -> list[Response]:
        """Cut off what has had its time; the thread's own end of it will be nobody's."""
        late = [exchange for exchange in self._under_way if exchange.deadline <= now]
        for exchange in late:
            del self._under_way[exchange]
            exchange.cut()
        error = f"no complete answer within {self._policy.timeout:g} s"
        return [exchange.response(TIMEOUT, error) for exchange in late]

    def _run(self, exchange: _Exchange, lines: dict[str, bytes]) -> None:
        if exchange not in self._under_way:
            return  # dropped while it waited for a thread: nothing may be sent any more
        HERE.watcher = exchange
        try:
            self._ask(exchange, lines)
        except Exception as error:  # urllib3's and http.client's own pass through requests
            exchange.failure, exchange.error = explain(error, bool(exchange.head))
        finally:
            exchange.let_go()
            self._ended.put(exchange)

    def _ask(self, exchange: _Exchange, lines: dict[str, bytes]) -> None:
        place = wire.host_and_target(exchange.request.url)
        if place is None:
            exchange.failure, exchange.error = BAD_URL, "not a URL that can be asked for"
            return
        headers = dict(line.split(b": ", 1) for line in lines.values())
        asked = self._session.prepare_request(
            requests.Request("GET", exchange.request.url, headers=headers)
        )
        exchange.request_head = wire.request_head(
            place[0], asked.path_url, _lines_of(asked.headers)
        )
        settings = self._session.merge_environment_settings(asked.url, {}, True, None, None)
        times = (min(self._policy.connect_timeout, self._policy.timeout), self._policy.timeout)
        with self._session.send(asked, allow_redirects=False, timeout=times, **settings) as answer:
            if exchange.take_head(answer.raw):
                for chunk in answer.raw.stream(_CHUNK, decode_content=True):
                    if not exchange.take(chunk):
                        return


class _Exchange:
    """One request and what came back; filled on its thread, read and cut on the caller's."""

    def __init__(
        self, request: Request, policy: FetchPolicy, may_connect: Callable[[Any, str], bool]
    ) -> None:
        self.request = request
        self._may_connect = may_connect
        self.allow_private = policy.allow_private
        self.started = time.time()
        self._began = time.monotonic()
        self.deadline = self._began + policy.timeout
        self.elapsed = 0.0
        self.request_head = self.head = b""
        self.head_lines: list[bytes] = []
        self.status = 0
        self.is_sent = False
        self.ip = self.failure = self.error = ""
        self._chunks: list[bytes] = []
        self._room = self._max_body = wire.most_of_body(request, policy.max_body)
        self._socket: socket.socket | None = None
        self._was_cut = False
        self._lock = threading.Lock()  # a socket is never cut after it was let go

    def may_connect(self, address: str) -> bool:
        with self._lock:  # what was cut is not counted any more
            if self._was_cut:
                raise TimeoutError
            if self._may_connect(self.request.ticket, address):
                return True
            self.ip = address
            return False

    def hold(self, sock: socket.socket) -> None:
        with self._lock:
            if self._was_cut:
                raise TimeoutError
            self._socket = sock
            self.ip = sock.getpeername()[0]

    def let_go(self) -> None:
        with self._lock:
            self._socket = None
            self.elapsed = time.monotonic() - self._began

    def cut(self) -> None:
        with self._lock:
            self._was_cut = True
            self.elapsed = time.monotonic() - self._began
            if self._socket:
                with suppress(OSError):
                    # Not SSLSocket's: it would turn into plain text what is yet unread.
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def take_head(self, raw: Any) -> bool:
        """Whether the body is worth reading. `raw` is urllib3's response."""
        lines = self.head_lines or list(_rebuilt(raw))
        self.status, self.head = wire.read_head(lines)
        if not self.head:
            self.failure, self.error = BROKEN, wire.HEAD_BREAKS_OFF
            return False
        self.failure, self.error = wire.verdict(
            self.request, self.head, self.status, self._max_body
        )
        return not self.failure

    def take(self, chunk: bytes) -> bool:
        """Whether there is room for more content after this."""
        self._chunks.append(chunk[: self._room])
        if len(chunk) <= self._room:
            self._room -= len(chunk)
            return True
        self.failure, self.error = TOO_LARGE, wire.too_large(self._max_body)
        return False

    def response(self, failure: str = "", error: str = "") -> Response:
        return Response(
            request=self.request,
            status=self.status,
            head=self.head,
            body=b"".join(self._chunks),
            request_head=self.request_head if self.is_sent or self.head else b"",
            ip=self.ip,
            started=self.started,
            elapsed=self.elapsed,
            failure=failure or self.failure,
            error=error or self.error,
        )


def _plain_session() -> requests.Session:
    """Without cookies, and without what the environment and .netrc have to say."""
    session = requests.Session()
    session.trust_env = False
    session.verify = wire.trusted_roots()
    session.headers.clear()
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))
    return session


def _prepared(session: requests.Session, policy: FetchPolicy) -> requests.Session:
    """The session, made fit for a crawl."""
    # To know where a redirect leads, requests would read its body, whatever its size.
    session.get_redirect_target = lambda resp: None  # type: ignore[method-assign]
    if policy.proxy:
        session.proxies = {"http": policy.proxy, "https": policy.proxy}
    for prefix, adapter in list(session.adapters.items()):
        if type(adapter) is HTTPAdapter:
            session.mount(prefix, WatchingAdapter(4 * policy.concurrency))
    return session


def _lines_of(headers: Mapping[str, str | bytes]) -> dict[str, bytes]:
    """Header lines of a prepared request, to which the session may have added its own."""
    return {
        name: name.encode()
        + b": "
        + (value if isinstance(value, bytes) else value.encode("latin-1"))
        for name, value in headers.items()
    }


def _rebuilt(raw: Any) -> Iterator[bytes]:
    """The lines of a head that came through somebody else's adapter."""
    yield f"HTTP/1.{raw.version % 10} {raw.status} {raw.reason}\r\n".encode("latin-1")
    for name, value in raw.headers.iteritems():
        yield f"{name}: {value}\r\n".encode("latin-1")
    yield b"\r\n"
