"""One exchange by libcurl: an easy handle, what it is told, and what it receives."""

from __future__ import annotations

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
)

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


class Exchange:
    """An easy handle and what it is receiving; serves one request after another."""

    def __init__(self, policy: FetchPolicy, may_connect: Callable[[Any, str], bool]) -> None:
        self._may_connect = may_connect
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
        elapsed = self.curl.getinfo(pycurl.TOTAL_TIME)
        return Response(
            request=self._request,
            status=self._status,
            head=self._head,
            body=b"".join(self._chunks),
            request_head=self._request_head if sent else b"",
            ip=self._crowded if self._failure == CROWDED else self.curl.getinfo(pycurl.PRIMARY_IP),
            # Counted back: libcurl may have begun later than it was told to, while pages were
            # parsed, and no gap may begin before the end.
            started=time.time() - elapsed,
            elapsed=elapsed,
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
        if not self._may_connect(self._request.ticket, ip):
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
