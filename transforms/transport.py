"""What the fetcher asks of an HTTP client, and what it gets back.

Two clients stand behind this protocol: `transport_curl` (libcurl multi, the default)
and `transport_requests` (for sites that need its sessions, auth plugins or adapters).
A transport knows nothing of hosts, robots or politeness: it starts what it is told to
start, and hands back each exchange once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

# Why an exchange did not end in a complete response (`Response.failure`).
TIMEOUT = "timeout"  # connect or total time ran out
DNS = "dns"  # the name does not resolve
CONNECT = "connect"  # refused, unreachable, reset before an answer
TLS = "tls"  # no trusted, valid TLS session
BROKEN = "broken"  # the answer is not HTTP, or broke off
TOO_LARGE = "too_large"  # cut at max_body; `body` holds what came until then
UNWANTED = "unwanted"  # dropped on its headers: a content type nobody asked for
ADDRESS = "address"  # resolves to an address that is not public
CROWDED = "crowded"  # `may_connect` said no: nothing was sent, and `ip` says to whom
BAD_URL = "bad_url"  # the client cannot ask for this URL


class FetchPolicy(NamedTuple):
    """How requests are made. Times in seconds, sizes in bytes."""

    user_agent: str
    contact: str = ""  # an e-mail address, sent as From (RFC 9110 §10.1.2)
    headers: tuple[tuple[str, str], ...] = ()  # extra request headers
    proxy: str = ""
    timeout: float = 20.0  # for the whole exchange
    connect_timeout: float = 10.0
    max_body: int = 5 * 1024 * 1024  # of decoded content
    allow_private: bool = False
    concurrency: int = 64


class Request(NamedTuple):
    """One GET. `ticket` is the caller's own and comes back untouched."""

    ticket: Any
    url: str  # a WHATWG href, without fragment
    headers: tuple[tuple[str, str], ...] = ()  # beside the policy's: Referer, If-None-Match
    any_type: bool = False  # robots.txt: take the body whatever its content type


class Response(NamedTuple):
    """One exchange that ended. `failure` is "" when the response is complete."""

    request: Request
    status: int  # 0: no answer
    head: bytes  # as received, from the status line to the empty line; b"": no answer
    body: bytes  # content decoded (gzip, deflate, br), at most max_body
    request_head: bytes  # as sent
    ip: str  # the peer's address, "" when there was none
    started: float  # seconds since the epoch
    elapsed: float  # seconds
    failure: str = ""
    error: str = ""  # one line for a person


def may_always(ticket: Any, ip: str) -> bool:
    return True


class Transport(Protocol):
    """Opens at most `policy.concurrency` exchanges at once; the caller counts."""

    # Asked for a ticket and the IP address that it is to be connected to, not for a
    # connection that is kept nor for a proxy's; on any thread. False ends it as CROWDED.
    may_connect: Callable[[Any, str], bool]

    def start(self, request: Request) -> None:
        """Begin an exchange. Never blocks, never raises for what a URL or server does."""

    def wait(self, timeout: float) -> list[Response]:
        """The exchanges that have ended, each once; waits up to `timeout` seconds for one."""

    def drop(self) -> None:
        """Break off what is under way: no end of it is ever handed out."""

    def close(self) -> None:
        """Drop what is under way and close every connection."""


WANTED_TYPES = ("text/", "application/xhtml+xml", "application/xml", "application/json")
WANTED_SUFFIXES = ("+xml", "+json")


def is_wanted(content_type: str) -> bool:
    """Whether a response with this Content-Type is worth its body; "" (none given) is.

    >>> is_wanted("text/html; charset=utf-8"), is_wanted("image/png")
    (True, False)
    """
    kind = content_type.split(";", 1)[0].strip().lower()
    return not kind or kind.startswith(WANTED_TYPES) or kind.endswith(WANTED_SUFFIXES)


def open_transport(name: str, policy: FetchPolicy) -> Transport:
    """The transport of that name: "curl" or "requests"."""
    if name == "requests":
        from transforms.transport_requests import RequestsTransport

        return RequestsTransport(policy)
    from transforms.transport_curl import CurlTransport

    return CurlTransport(policy)
