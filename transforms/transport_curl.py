"""Fetch with libcurl: one multi handle, one event loop, any number of hosts.

libcurl tells through two callbacks which sockets it waits on and when it next wants to be
woken; a selector does the waiting. (`multi.perform` and `multi.select` would be less code,
but walk every exchange at every turn, and `select` does not see descriptors above 1023.)
"""

from __future__ import annotations

import math
import resource
import selectors
import time
from collections.abc import Callable
from typing import Any

import pycurl

from transforms import wire
from transforms.curl_exchange import Exchange
from transforms.transport import BAD_URL, FetchPolicy, Request, Response, may_always

_BROTLI = 1 << 23  # CURL_VERSION_BROTLI, in version_info's features


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
        self._idle: list[Exchange] = []
        self._busy: dict[Any, Exchange] = {}
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
        exchange = self._idle.pop() if self._idle else Exchange(self._policy, self._admit)
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

    def _admit(self, ticket: Any, ip: str) -> bool:
        # An exchange is kept for longer than one caller's `may_connect`.
        return self.may_connect(ticket, ip)

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


def _refusal(request: Request, error: str) -> Response:
    return Response(request, 0, b"", b"", b"", "", time.time(), 0.0, BAD_URL, error)
