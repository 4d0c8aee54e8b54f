"""Fetch with libcurl: one multi handle, one event loop, any number of hosts.

libcurl tells through two callbacks which sockets it waits on and when it next wants to be
woken; a selector does the waiting. (`multi.perform` and `multi.select` would be less code,
but walk every exchange at every turn, and `select` does not see descriptors above 1023.)
"""

from __future__ import annotations

import math
import resource
import selectors
import socket
import time
from collections.abc import Callable
from typing import Any

import pycurl

from transforms import wire
from transforms.addresses import is_public
from transforms.transport import (
    ADDRESS,
    BAD_URL,
    BROKEN,
    CONNECT,
    CROWDED,
    DNS,
    TIMEOUT,
    TLS,
    TOO_LARGE,
    FetchPolicy,
    Request,
    Response,
    may_always,
)

_BROTLI = 1 << 23  # CURL_VERSION_BROTLI, in version_info's features
_SUPPRESS_CONNECT_HEADERS = 265  # CURLOPT_SUPPRESS_CONNECT_HEADERS: pycurl has no name for it
_BUFFER = 64 * 1024  # bytes read at once
_DNS_TTL = 300  # seconds a resolved name is kept; libcurl's own 60 ask 5 times as often

_TLS_ERRORS = (
    pycurl.E_SSL_CONNECT_ERROR,
    pycurl.E_SSL_CERTPROBLEM,
    pycurl.E_SSL_CIPHER,
    pycurl.E_SSL_CACERT_BADFILE,
    pycurl.E_SSL_ISSUER_ERROR,
    pycurl.E_SSL_INVALIDCERTSTATUS,
    pycurl.E_PEER_FAILED_VERIFICATION,
)
_FAILURES = {
    pycurl.E_URL_MALFORMAT: BAD_URL,
    pycurl.E_UNSUPPORTED_PROTOCOL: BROKEN,  # HTTP/0.9, HTTP/9.9: the URL's own is checked before
    pycurl.E_FTP_WEIRD_SERVER_REPLY: BROKEN,  # of HTTP, too
    pycurl.E_COULDNT_RESOLVE_HOST: DNS,
    pycurl.E_COULDNT_RESOLVE_PROXY: CONNECT,
    pycurl.E_COULDNT_CONNECT: CONNECT,
    pycurl.E_OPERATION_TIMEDOUT: TIMEOUT,
    **dict.fromkeys(_TLS_ERRORS, TLS),
}


def failure_of(code: int, answered: bool) -> str:
    """The failure word for a CURLcode. What has no word of its own broke off, or never began."""
    return _FAILURES.get(code) or (BROKEN if answered else CONNECT)


def cache_size(concurrency: int, descriptors: int) -> int:
    """How many connections to keep: enough to come back to a host after its delay.

    At 0.2 s an answer and 1 s of delay, as many hosts take turns as six times the
    concurrency. Half of the process's file descriptors are left to others.
    """
    return max(concurrency, min(8 * concurrency, descriptors // 2))


class CurlTransport:
    """The default transport. See `transport.Transport`.

    With `policy.proxy` set, the proxy resolves the names and connects, so private addresses
    are its business and nothing is checked here; and `request_head` is what the proxy is
    asked to pass on, not the lines that were for the proxy.
    """

    def __init__(self, policy: FetchPolicy) -> None:
        self._policy = policy
        self.may_connect: Callable[[Any, str], bool] = may_always
        features = pycurl.version_info()[4]
        encodings = ("gzip", "deflate", "br") if features & _BROTLI else ("gzip", "deflate")
        self._lines = wire.policy_lines(policy, encodings)
        self._idle: list[_Exchange] = []
        self._busy: dict[Any, _Exchange] = {}
        self._ended: list[Response] = []
        self._selector = selectors.DefaultSelector()
        self._watched: set[int] = set()
        self._alarm = math.inf  # when libcurl wants to be woken, whatever happens
        self._running = 0  # exchanges not ended, by libcurl's count
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_alarm)
        if not policy.proxy:  # which would be the one host of all
            self._multi.setopt(pycurl.M_MAX_HOST_CONNECTIONS, 1)
        descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if descriptors == resource.RLIM_INFINITY:  # which is -1
            descriptors = 1 << 20
        self._multi.setopt(pycurl.M_MAXCONNECTS, cache_size(policy.concurrency, descriptors))

    def start(self, request: Request) -> None:
        place = wire.host_and_target(request.url)
        if place is None:
            self._ended.append(_refusal(request, "not a URL that can be asked for"))
            return
        lines = self._lines
        if request.headers:
            lines = lines | wire.header_lines(request.headers)
        exchange = self._idle.pop() if self._idle else _Exchange(self._policy, self)
        exchange.begin(request, *place, lines)
        self._busy[exchange.curl] = exchange
        self._multi.add_handle(exchange.curl)
        self._running += 1

    def wait(self, timeout: float) -> list[Response]:
        until = time.monotonic() + timeout
        while True:
            now = time.monotonic()
            if self._alarm <= now:
                self._alarm = math.inf
                self._act(pycurl.SOCKET_TIMEOUT, 0)
            pause = 0.0 if self._ended else max(0.0, min(until, self._alarm) - now)
            for key, events in self._selector.select(pause):
                self._act(key.fd, events)
            if self._ended or time.monotonic() >= until:
                ended, self._ended = self._ended, []
                return ended

    def drop(self) -> None:
        for exchange in self._busy.values():
            self._multi.remove_handle(exchange.curl)
            exchange.curl.close()
        self._busy.clear()
        self._ended.clear()
        self._running = 0

    def close(self) -> None:
        self.drop()
        for exchange in self._idle:
            exchange.curl.close()
        self._idle.clear()
        self._multi.close()
        self._selector.close()

    def _act(self, descriptor: int, events: int) -> None:
        """Let libcurl do what there is to do, and take what has ended by it."""
        _, self._running = self._multi.socket_action(descriptor, events)
        if self._running == len(self._busy):
            return
        more = 1
        while more:
            more, good, bad = self._multi.info_read()
            for curl in good:
                self._end(curl, pycurl.E_OK, "")
            for curl, code, message in bad:
                self._end(curl, code, message)

    def _end(self, curl: Any, code: int, message: str) -> None:
        self._multi.remove_handle(curl)
        exchange = self._busy.pop(curl)
        self._ended.append(exchange.end(code, message))
        self._idle.append(exchange)

    def _watch(self, what: int, descriptor: int, _multi: Any, _data: Any) -> None:
        """What libcurl waits for: it begins, changes or ends an interest in a socket.

        Its POLL_IN and POLL_OUT are EVENT_READ and EVENT_WRITE, as are its CSELECT_s.
        """
        if what == pycurl.POLL_REMOVE:
            self._watched.discard(descriptor)
            self._selector.unregister(descriptor)
        elif descriptor in self._watched:
            self._selector.modify(descriptor, what)
        else:
            self._watched.add(descriptor)
            self._selector.register(descriptor, what)

    def _set_alarm(self, milliseconds: int) -> None:
        self._alarm = time.monotonic() + milliseconds / 1000 if milliseconds >= 0 else math.inf


class _Exchange:
    """An easy handle and what it is receiving; serves one request after another."""

    def __init__(self, policy: FetchPolicy, transport: CurlTransport) -> None:
        self._transport = transport
        self._allow_private = policy.allow_private
        self._most = policy.max_body
        self._proxied = bool(policy.proxy)
        self._lines: object = None  # as last handed to libcurl
        self._head_lines: list[bytes] = []
        self.curl = curl = pycurl.Curl()
        for option, value in _options(policy):
            curl.setopt(option, value)
        # A list's own append: a header line costs a third of what a method here would.
        curl.setopt(pycurl.HEADERFUNCTION, self._head_lines.append)
        curl.setopt(pycurl.WRITEFUNCTION, self._take)
        if not policy.proxy:
            curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open_socket)

    def begin(self, request: Request, host: str, target: str, lines: dict[str, bytes]) -> None:
        self._request = request
        self._request_head = wire.request_head(host, target, lines)
        self._head_lines.clear()
        self._head = b""
        self._status = 0
        self._judged = False
        self._chunks: list[bytes] = []
        self._size = 0
        self._max_body = wire.most_of_body(request, self._most)
        self._refused = self._crowded = ""  # addresses
        self._failure = self._error = ""
        self.curl.setopt(pycurl.URL, request.url)
        if not self._proxied:  # a proxy wants the whole URL there
            # As found: libcurl would write %2f as %2F.
            self.curl.setopt(pycurl.REQUEST_TARGET, target)
        if lines is not self._lines:
            self.curl.setopt(pycurl.HTTPHEADER, list(lines.values()))
            self._lines = lines
        self._started = time.time()

    def end(self, code: int, message: str) -> Response:
        """What came of it, for the CURLcode and message with which libcurl ended it."""
        if not self._judged:
            self._judge()
        if self._refused and code == pycurl.E_COULDNT_CONNECT:
            self._failure, self._error = ADDRESS, wire.not_public(self._refused)
        elif self._crowded and code == pycurl.E_COULDNT_CONNECT:
            self._failure, self._error = CROWDED, wire.crowded(self._crowded)
        elif code and not self._failure:
            self._failure = failure_of(code, bool(self._head_lines))
            self._error = " ".join(message.split())
        elif not (self._head or code):
            self._failure, self._error = BROKEN, wire.HEAD_BREAKS_OFF
        sent = self._head or self.curl.getinfo(pycurl.REQUEST_SIZE)
        return Response(
            request=self._request,
            status=self._status,
            head=self._head,
            body=b"".join(self._chunks),
            request_head=self._request_head if sent else b"",
            ip=self._crowded if self._failure == CROWDED else self.curl.getinfo(pycurl.PRIMARY_IP),
            started=self._started,
            elapsed=self.curl.getinfo(pycurl.TOTAL_TIME),
            failure=self._failure,
            error=self._error,
        )

    def _judge(self) -> None:
        """Read the head, once: when the first of the body is here, or at the end."""
        self._judged = True
        self._status, self._head = wire.read_head(self._head_lines)
        if self._head:
            self._failure, self._error = wire.verdict(
                self._request, self._head, self._status, self._max_body
            )
        elif sum(map(len, self._head_lines)) > wire.MAX_HEAD:
            self._failure, self._error = BROKEN, wire.HEAD_TOO_LARGE

    def _take(self, chunk: bytes) -> int | None:
        """Called by libcurl with decoded content; 0 makes it drop the exchange."""
        if not self._judged:
            self._judge()
        if self._failure:
            return 0
        self._chunks.append(chunk)
        self._size += len(chunk)
        if self._size <= self._max_body:
            return None
        self._chunks[-1] = chunk[: self._max_body - self._size]
        self._failure, self._error = TOO_LARGE, wire.too_large(self._max_body)
        return 0

    def _open_socket(self, _purpose: int, address: Any) -> Any:
        """Called by libcurl to connect: here a name has become an address."""
        ip = address.addr[0]
        if not (self._allow_private or is_public(ip)):
            self._refused = ip
            return pycurl.SOCKET_BAD
        if not self._transport.may_connect(self._request.ticket, ip):
            self._crowded = ip
            return pycurl.SOCKET_BAD
        return socket.socket(address.family, address.socktype, address.protocol)


def _options(policy: FetchPolicy) -> list[tuple[int, Any]]:
    """What is the same for every request."""
    protocols = pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS
    return [
        (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1),
        (pycurl.HTTP09_ALLOWED, 0),  # or any garbage would be a page
        (pycurl.PROTOCOLS, protocols),
        (pycurl.FOLLOWLOCATION, 0),
        (pycurl.PATH_AS_IS, 1),
        (pycurl.ACCEPT_ENCODING, ""),  # decode all it can; the header is ours
        (pycurl.NOSIGNAL, 1),  # signals belong to the process
        (pycurl.NETRC, pycurl.NETRC_IGNORED),
        (pycurl.PROXY, policy.proxy),  # "" also means: none from the environment
        (pycurl.NOPROXY, ""),
        (_SUPPRESS_CONNECT_HEADERS, 1),
        (pycurl.CAINFO, wire.trusted_roots()),
        (pycurl.CONNECTTIMEOUT_MS, int(policy.connect_timeout * 1000)),
        (pycurl.TIMEOUT_MS, int(policy.timeout * 1000)),
        (pycurl.DNS_CACHE_TIMEOUT, _DNS_TTL),
        (pycurl.BUFFERSIZE, _BUFFER),
    ]


def _refusal(request: Request, error: str) -> Response:
    return Response(request, 0, b"", b"", b"", "", time.time(), 0.0, BAD_URL, error)
