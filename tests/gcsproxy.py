"""A proxy before the storage server: it keeps a log of requests, and breaks some as told."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit


class Asked(NamedTuple):
    """One request, as a storage server understands it."""

    method: str
    kind: str  # write, read, look (at an object), list, delete
    name: str  # of the object, "" when it is not about one
    query: dict[str, str]


class Fault(NamedTuple):
    """What becomes of a request: first a delay, then one of these."""

    delay: float = 0.0  # seconds
    status: int = 0  # answered with this, and never passed on
    lost: bool = False  # passed on and done, but the connection is cut instead of an answer


class Proxy:
    """Passes requests on. `breaks` says what goes wrong with a request; None is nothing."""

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self.log: list[Asked] = []
        self.breaks: Callable[[Asked], Fault | None] = lambda asked: None
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        # A client that died is no news.
        self.server.handle_error = lambda request, address: None  # type: ignore[method-assign]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def break_once(self, fault: Fault, wanted: Callable[[Asked], bool], times: int = 1) -> None:
        """Break the first `times` requests that are `wanted`."""
        left = [fault] * times
        guard = threading.Lock()

        def breaks(asked: Asked) -> Fault | None:
            with guard:
                return left.pop() if left and wanted(asked) else None

        self.breaks = breaks

    def _handler(proxy) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self) -> None:
                super().setup()
                self.upstream = http.client.HTTPConnection(proxy.upstream)

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                asked = understand(self.command, self.path, body)
                proxy.log.append(asked)
                fault = proxy.breaks(asked) or Fault()
                time.sleep(fault.delay)
                if fault.status:
                    self._answer(fault.status, [], b"not now")
                    return
                self.upstream.request(self.command, self.path, body, dict(self.headers))
                response = self.upstream.getresponse()
                data = response.read()
                if fault.lost:
                    self.close_connection = True
                    return
                self._answer(response.status, response.getheaders(), data)

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = handle_any  # noqa: N815

            def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
                self.send_response_only(status)
                for name, value in headers:
                    if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

        return Handler


def understand(method: str, target: str, body: bytes) -> Asked:
    url = urlsplit(target)
    query = {name: values[0] for name, values in parse_qs(url.query).items()}
    _, found, name = url.path.partition("/o/")
    name = unquote(name)
    if url.path.startswith("/upload/"):
        return Asked(method, "write", query.get("name") or name_in(body), query)
    if method == "DELETE":
        return Asked(method, "delete", name, query)
    if found:
        reads = url.path.startswith("/download/") or query.get("alt") == "media"
        return Asked(method, "read" if reads else "look", name, query)
    return Asked(method, "list", query.get("prefix", ""), query)


def name_in(body: bytes) -> str:
    """The object's name in the JSON at the head of an upload."""
    head = body[:4096]
    if b'"name": "' not in head:
        return ""
    return head.split(b'"name": "', 1)[1].split(b'"', 1)[0].decode()


@contextmanager
def proxying(upstream: str) -> Iterator[Proxy]:
    proxy = Proxy(upstream)
    thread = threading.Thread(target=proxy.server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.server.shutdown()
        proxy.server.server_close()
        thread.join()
