"""What both transports agree on: what they send, and what they make of an answer's head."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

import certifi

from transforms.transport import TOO_LARGE, UNWANTED, FetchPolicy, Request, is_wanted

MAX_HEAD = 256 * 1024  # bytes; browsers give up at about as much
# RFC 9309 §2.5: crawlers parse at least 500 KiB of a robots.txt; one more tells that there is more.
MOST_OF_ROBOTS = 500 * 1024 + 1
HEAD_BREAKS_OFF = "the answer breaks off within its head"
HEAD_TOO_LARGE = f"head larger than {MAX_HEAD} bytes"
ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.5"

# A WHATWG href, as far as a request needs it. Nothing that could end a line gets through,
# and no user:password@: credentials that lie about in links are not ours to use.
_URL = re.compile(r"(https?)://([^\x00-\x20\x7f-\U0010ffff/?#@\\]+)(/[!\"$-~]*)")
_DEFAULT_PORT = {"http": ":80", "https": ":443"}

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 §5.6.2
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")  # RFC 9110 §5.5; a tab may stay
_FRAMING = {"host", "connection", "content-length", "transfer-encoding", "te", "upgrade"}


def host_and_target(url: str) -> tuple[str, str] | None:
    """The Host header and the request target of a URL; None if it cannot be asked for.

    >>> host_and_target("http://example.com:80/a?b=c")
    ('example.com', '/a?b=c')
    """
    found = _URL.fullmatch(url)
    if found is None:
        return None
    scheme, host, target = found.groups()
    return host.removesuffix(_DEFAULT_PORT[scheme]), target


def header_lines(headers: Iterable[tuple[str, str]]) -> dict[str, bytes]:
    r"""Header lines by lower-case name: of several with one name the last, at the first's place.

    A header that cannot be sent is left out: its name is no token, its value is empty or
    could break out of its line. So is one that frames the message, which is the client's.

    >>> header_lines([("A", "1"), ("B", "2\r\nX: 3"), ("a", "4")])
    {'a': b'a: 4'}
    """
    lines = {}
    for name, value in headers:
        key, value = name.lower(), value.strip()
        if value and key not in _FRAMING and _TOKEN.fullmatch(name) and not _CONTROL.search(value):
            lines[key] = f"{name}: {value}".encode()
    return lines


def policy_lines(policy: FetchPolicy, encodings: Iterable[str]) -> dict[str, bytes]:
    """The header lines of every request, in the order sent; the user's own come last."""
    ours = (
        ("User-Agent", policy.user_agent),
        ("From", policy.contact),
        ("Accept", ACCEPT),
        ("Accept-Encoding", ", ".join(encodings)),
    )
    return header_lines((*ours, *policy.headers))


def request_head(host: str, target: str, lines: Mapping[str, bytes]) -> bytes:
    r"""A GET as it goes over the wire.

    >>> request_head("example.com", "/", {"a": b"A: 1"})
    b'GET / HTTP/1.1\r\nHost: example.com\r\nA: 1\r\n\r\n'
    """
    first = f"GET {target} HTTP/1.1\r\nHost: {host}".encode()
    return b"\r\n".join((first, *lines.values(), b"\r\n"))


def read_head(lines: list[bytes]) -> tuple[int, bytes]:
    r"""The status and the head of the final answer; 0 and b"" if it is incomplete or too large.

    `lines` are all header lines received. Interim answers come before the head (RFC 9110
    §15.2), trailers after it.

    >>> read_head([b"HTTP/1.1 100 Continue\r\n", b"\r\n", b"HTTP/1.1 200 OK\r\n", b"\r\n"])
    (200, b'HTTP/1.1 200 OK\r\n\r\n')
    """
    start = 0
    for number, line in enumerate(lines):
        if line in (b"\r\n", b"\n"):
            code = lines[start].partition(b" ")[2][:3]
            status = int(code) if code.isdigit() else 0
            if not 100 <= status < 200:
                head = b"".join(lines[start : number + 1])
                return (status, head) if len(head) <= MAX_HEAD else (0, b"")
            start = number + 1
    return 0, b""


def most_of_body(request: Request, max_body: int) -> int:
    """Bytes of body to take. --max-body is for pages: rules that are cut off are not obeyed."""
    return max(max_body, MOST_OF_ROBOTS) if request.any_type else max_body


def verdict(request: Request, head: bytes, status: int, max_body: int) -> tuple[str, str]:
    """Whether an answer is worth its body: a failure and its one line, or two times "".

    Only a 200 is judged: an error's page is short, and a 304 may state the length of what
    it does not send.
    """
    if request.any_type or status != 200:
        return "", ""
    lower = head.lower()
    kind = _value(lower, b"\ncontent-type:")
    if not is_wanted(kind):
        return UNWANTED, f"content type {kind!r} is not asked for"
    length = _value(lower, b"\ncontent-length:")
    if length.isdigit() and int(length) > max_body:
        return TOO_LARGE, too_large(max_body, f", {length} announced")
    return "", ""


def too_large(max_body: int, more: str = "") -> str:
    return f"larger than {max_body} bytes{more}; --max-body says how much is read"


def crowded(address: str) -> str:
    return f"enough requests to {address} are under way"


def not_public(address: str) -> str:
    return f"{address} is not a public address; --allow-private lets it be asked"


def trusted_roots() -> str:
    """The file of certificate authorities: SSL_CERT_FILE, as OpenSSL has it, or certifi's."""
    return os.environ.get("SSL_CERT_FILE") or certifi.where()


def _value(lower_head: bytes, marker: bytes) -> str:
    """The value of the first such header. A full parse would cost more than the rest."""
    at = lower_head.find(marker)
    if at < 0:
        return ""
    start = at + len(marker)
    return lower_head[start : lower_head.find(b"\n", start)].strip().decode("latin-1")
