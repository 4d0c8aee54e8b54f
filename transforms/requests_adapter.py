"""What requests hides from its users, and a crawler must see: the connection.

An adapter for requests whose connections tell the exchange on whose thread they work which
socket the answer comes through, and keep its head as received; and that refuse an address
which is not public, once connected and before anything is sent.
"""

from __future__ import annotations

import http.client
import socket
import threading
from typing import IO, Any, Protocol

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager, ProxyManager
from urllib3.connection import HTTPConnection, HTTPSConnection

from transforms import wire
from transforms.addresses import is_public


class PrivateAddressError(Exception):
    """The server's address, which the crawl may not ask."""


class CrowdedError(Exception):
    """The server's address, which is asked enough already."""


class Watcher(Protocol):
    """An exchange under way on this thread."""

    allow_private: bool
    head_lines: list[bytes]  # filled here, as received
    is_sent: bool  # set here

    def may_connect(self, address: str) -> bool:
        """Whether a request may go to that address now."""

    def hold(self, sock: socket.socket) -> None:
        """The exchange goes through this socket; called again when TLS has wrapped it."""


class _Here(threading.local):
    watcher: Watcher


HERE = _Here()


class _Recorder:
    """The lines that http.client reads of a head, kept."""

    def __init__(self, stream: IO[bytes], lines: list[bytes]) -> None:
        self._stream = stream
        self._lines = lines
        self._room = wire.MAX_HEAD

    def readline(self, limit: int) -> bytes:
        line = self._stream.readline(limit)
        self._lines.append(line)
        self._room -= len(line)
        if self._room < 0:
            raise http.client.HTTPException(wire.HEAD_TOO_LARGE)
        return line

    def close(self) -> None:
        self._stream.close()


class _Answer(http.client.HTTPResponse):
    """Passes over every interim answer. http.client knows only 100, and would take an Early
    Hints for the answer, and the answer for that of the next request.
    """

    fp: Any
    headers: Any

    def begin(self) -> None:
        lines: list[bytes] = []
        stream, self.fp = self.fp, _Recorder(self.fp, lines)
        try:
            super().begin()
            while 100 <= self.status < 200:
                self.headers = None  # else it has begun
                super().begin()
        finally:
            self.fp = self.fp and stream  # None: http.client has closed it
        HERE.watcher.head_lines = lines


class _Watched(HTTPConnection):
    response_class = _Answer

    def _new_conn(self) -> socket.socket:
        sock = super()._new_conn()
        address = sock.getpeername()[0]
        # A proxy is where the user put it.
        if not (HERE.watcher.allow_private or self.proxy or is_public(address)):
            sock.close()
            raise PrivateAddressError(wire.not_public(address))
        if not (self.proxy or HERE.watcher.may_connect(address)):
            sock.close()
            raise CrowdedError(wire.crowded(address))
        HERE.watcher.hold(sock)
        return sock

    def getresponse(self) -> Any:
        HERE.watcher.hold(self.sock)
        HERE.watcher.is_sent = True
        return super().getresponse()


class _WatchedTLS(_Watched, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Watched


class _PoolTLS(HTTPSConnectionPool):
    ConnectionCls = _WatchedTLS


class WatchingAdapter(HTTPAdapter):
    """At most one connection to a host, and at most `connections` kept."""

    def __init__(self, connections: int) -> None:
        self._connections = connections
        super().__init__(pool_connections=connections, pool_maxsize=1, pool_block=True)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        _watch(self.poolmanager)

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(*args, **kwargs)
        # All plain HTTP goes through one pool then, that of the proxy.
        manager.connection_pool_kw |= {"maxsize": self._connections, "block": False}
        if type(manager) is ProxyManager:  # and not one for SOCKS, with connections of its own
            _watch(manager)
        return manager


def _watch(manager: PoolManager) -> None:
    manager.pool_classes_by_scheme = {"http": _Pool, "https": _PoolTLS}
