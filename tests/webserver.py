"""A small web server for tests: one function answers, several loopback addresses listen.

    with serve(answer, hosts=["127.0.0.11", "127.0.0.12"]) as web:
        ...crawl web.url()...
        assert web.max_parallel("127.0.0.11") == 1

What the server saw is the only proof of politeness that does not trust the crawler, so
every request goes into `log`, with the times between which the client was being served.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any, NamedTuple


class Request(NamedTuple):
    """One request, as `answer` sees it."""

    host: str  # the address that was asked, without port
    port: int
    method: str
    target: str  # path and query, as sent
    headers: dict[str, str]  # names in lower case; the last of several counts
    visit: int  # 1 the first time this server is asked for this target

    @property
    def path(self) -> str:
        return self.target.split("?", 1)[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]


class Answer(NamedTuple):
    """What goes back. `raw`, when given, goes as it stands, and then the connection closes."""

    status: int = 200
    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"  # "": none is sent
    headers: tuple[tuple[str, str], ...] = ()
    delay: float = 0.0  # seconds before the first byte
    raw: bytes | None = None

    def head(self) -> bytes:
        fields = [("Content-Length", str(len(self.body))), *self.headers]
        if self.content_type:
            fields.insert(0, ("Content-Type", self.content_type))
        lines = [f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}"]
        lines += [f"{name}: {value}" for name, value in fields]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")


@dataclass
class Hit:
    """One request in the log. Times in seconds of `time.monotonic`.

    `end` is just before the first byte of the answer was sent: from then on the client
    may have read enough, and ask again on another connection. A client that asks for one
    thing at a time therefore never overlaps, however threads are scheduled here.
    """

    host: str
    path: str  # with the query
    start: float
    end: float
    connection_id: int
    headers: dict[str, str]
    status: int = 0


class WebServer:
    """Servers on one port of several addresses, with one log. Made by `serve`."""

    def __init__(self, answer: Callable[[Request], Answer], hosts: Sequence[str], port: int):
        self.answer = answer
        self.hosts = tuple(hosts)
        self.log: list[Hit] = []
        self._visits: Counter[tuple[str, str]] = Counter()
        self._connections = itertools.count(1)
        self._lock = threading.Lock()
        self._listeners = _listen(self, port)
        self.port = int(self._listeners[0].server_address[1])
        for listener in self._listeners:
            threading.Thread(target=listener.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self) -> WebServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for listener in self._listeners:
            listener.shutdown()
            listener.server_close()

    def url(self, path: str = "/", host: str = "") -> str:
        """The URL of a path on a host, by default the first."""
        return f"http://{host or self.hosts[0]}:{self.port}{path}"

    def asked(self, host: str) -> list[Hit]:
        """The requests to one host, in the order in which they came."""
        return sorted((hit for hit in self.log if hit.host == host), key=lambda hit: hit.start)

    def max_parallel(self, host: str) -> int:
        """The most requests to one host that were under way at once."""
        edges = [(hit.start, 1) for hit in self.asked(host)]
        edges += [(hit.end, -1) for hit in self.asked(host)]
        # At one instant an end sorts before a start: touching is not overlapping.
        steps = (step for _, step in sorted(edges))
        return max(itertools.accumulate(steps), default=0)

    def gaps(self, host: str) -> list[float]:
        """Seconds from the start of each request to one host to the start of the next.

        Seen from here, a first request on a new connection comes a little late, so a
        gap may fall some milliseconds short of what the client kept.
        """
        starts = [hit.start for hit in self.asked(host)]
        return [later - earlier for earlier, later in itertools.pairwise(starts)]

    def connections(self, host: str) -> int:
        """How many connections carried the requests to one host."""
        return len({hit.connection_id for hit in self.asked(host)})

    def next_connection(self) -> int:
        return next(self._connections)

    def note(
        self, host: str, target: str, connection: int, headers: dict[str, str]
    ) -> tuple[Hit, int]:
        """Log a request that has begun; return its line and the number of its visit."""
        now = time.monotonic()
        hit = Hit(host, target, now, now, connection, headers)
        with self._lock:
            self._visits[host, target] += 1
            self.log.append(hit)
            return hit, self._visits[host, target]


class _Handler(BaseHTTPRequestHandler):
    """One connection. HTTP/1.1: it stays open until the client or the timeout ends it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or every small answer waits for a delayed ACK
    timeout = 30
    server: _Listener

    def setup(self) -> None:
        super().setup()
        self.connection_id = self.server.web.next_connection()

    def do_GET(self) -> None:
        web, (host, port) = self.server.web, self.server.server_address[:2]
        headers = {name.lower(): value for name, value in self.headers.items()}
        hit, visit = web.note(str(host), self.path, self.connection_id, headers)
        reply = web.answer(Request(str(host), port, self.command, self.path, headers, visit))
        hit.status = reply.status
        time.sleep(reply.delay)
        message = reply.raw
        if message is None:
            message = reply.head() + (b"" if self.command == "HEAD" else reply.body)
        else:
            self.close_connection = True
        hit.end = time.monotonic()
        try:
            self.wfile.write(message)
        except OSError:  # the client had enough
            self.close_connection = True

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: `log` has it all."""


class _Listener(ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True  # an idle connection must not hold up the end of a test
    request_queue_size = 128

    def __init__(self, web: WebServer, host: str, port: int):
        self.web = web
        super().__init__((host, port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news; an `answer` that fails is."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def _listen(web: WebServer, port: int) -> list[_Listener]:
    """Bind every host to one port; when any will do, one that is free on all of them."""
    for _ in range(20):
        with contextlib.ExitStack() as undo:
            listeners: list[_Listener] = []
            try:
                for host in web.hosts:
                    chosen = listeners[0].server_address[1] if listeners else port
                    listeners.append(_Listener(web, host, chosen))
                    undo.callback(listeners[-1].server_close)
            except OSError as error:
                if port or error.errno != errno.EADDRINUSE:
                    raise
                continue
            undo.pop_all()
            return listeners
    raise OSError(errno.EADDRINUSE, f"found no port that is free on all of {web.hosts}")


def serve(
    answer: Callable[[Request], Answer], hosts: Sequence[str] = ("127.0.0.1",), port: int = 0
) -> WebServer:
    """Start a server; use it in a `with`, or `close()` it. Port 0 takes any that is free."""
    return WebServer(answer, hosts, port)
