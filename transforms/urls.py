"""URLs as browsers read them: links made absolute, and what a URL says of its host.

The rules are the URL Standard's (WHATWG), by `ada_url`. A URL in the crawl is the
standard's serialization with the fragment cut off and nothing else changed: that is
what gets fetched. Userinfo and schemes other than http(s) pass; filters decide on them.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from urllib.parse import quote

from ada_url import join_url, normalize_url

from transforms.records import Link

# RFC 9110 §4.1 asks of everyone to support URIs of 8000 octets; servers in use refuse
# longer ones. What is longer is a data: or javascript: URL, or a trap.
MAX_URL = 8000

_HTTP = ("http://", "https://")

# References that need no parser: a plain host, the root, or steps up; then segments that
# do not begin with a dot, and a query. The URL Standard copies all these characters as
# they are (§1.3, percent-encode sets), so that a join is a concatenation. Most links are
# of this kind, and take a fourth of the time so. No colon in a path: it may be a scheme.
_SEGMENT = r"[\w~!$&()*+,;=@-][\w~!$&()*+,;=@.-]*+"
_PLAIN = re.compile(
    rf"""(https?://(?!(?:[^/]*\.)?xn--)[a-z0-9_.-]+\.[a-z]++/ | / | (?:\.\./)*+)
    ((?:{_SEGMENT} (?:/{_SEGMENT})*+ /? (?:\?[\w~!$&()*+,;=@.:/?%-]*+)?+)?+)
    (?:\#|\Z)""",
    re.ASCII | re.VERBOSE,
)

# What a person types without a scheme: a word and a port look like a scheme and a path.
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:(?!\d+(?:[/?#]|\Z))", re.IGNORECASE)
_WEB_SCHEME = re.compile(r"https?:", re.IGNORECASE)

# C0 controls and space, which the URL parser strips from both ends (§4.4, step 1).
_STRIPPED = "".join(map(chr, range(0x21)))

# Printable ASCII outside the special-query percent-encode set (§1.3), and what the
# parser itself removes.
_QUERY_SAFE = "!$%&()*+,/:;=?@[\\]^`{|}\t\n\r"
_UNENCODABLE = "url-query"


def resolve(base: str, href: str, encoding: str = "utf-8") -> str | None:
    """The absolute URL that `href` stands for on a page, without its fragment.

    `base` is an absolute URL, or "" when there is none, and `encoding` the codec of the
    page, in which browsers escape the queries of its links. None: `href` is no URL, or
    longer than `MAX_URL`.

    >>> resolve("http://example.org/a/b", "../ç?ç#top", "cp1252")
    'http://example.org/%C3%A7?%E7'
    """
    if len(href) > MAX_URL:
        return None
    reference, hash_mark, _ = href.partition("#")
    # In "a #b" the space belongs to the path; at the end of "a " it would be stripped.
    end = "#" if hash_mark and reference[-1:] in _STRIPPED else ""
    url = None
    if not (reference.isascii() or encoding.startswith("utf")):
        url = _join(base, _encode_query(reference, encoding) + end)
    if url is None or not url.startswith(_HTTP):
        # Only special schemes have a query in the page's encoding (§4.4, query state).
        url = _join(base, reference + end)
    return url if url and len(url) <= MAX_URL else None


def resolve_all(base: str, links: Iterable[Link], encoding: str = "utf-8") -> list[Link]:
    """The links of one page made absolute: each URL once, where it first stands."""
    page = _join(base, "") or ""
    plain = _PLAIN.match if page.startswith(_HTTP) else _never
    root, folders = _folders(page)
    found: dict[str, Link] = {}
    for href, kind in links:
        match = plain(href)
        url: str | None
        if match is None:
            url = resolve(base, href, encoding)
        else:
            start, rest = match.groups()
            if start == "/":
                url = root + rest
            elif start[:1] == "h":
                url = start + rest
            elif start or rest:
                url = folders[min(len(start) // 3, len(folders) - 1)] + rest
            else:
                url = page
        if url and url not in found and len(url) <= MAX_URL:
            found[url] = Link(url, kind)
    return list(found.values())


def host_of(url: str) -> str:
    """The host of a normalized http(s) URL, an IPv6 address in brackets; "" for others.

    With the dot that ends a full name or without (RFC 1034 §3.1), it is one host.

    >>> host_of("http://user@example.org:8080/"), host_of("http://[::1]:80/")
    ('example.org', '[::1]')
    """
    host = _authority(url)
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    host = host.partition(":")[0]
    return host.removesuffix(".") or host


def origin_of(url: str) -> str:
    """Scheme, host and port of a normalized http(s) URL; "" for others.

    >>> origin_of("http://user@example.org:8080/x")
    'http://example.org:8080'
    """
    authority = _authority(url)
    return f"{url.partition(':')[0]}://{authority}" if authority else ""


def parse_seed(text: str) -> str | None:
    """The URL that a person means who types `text`; None when it is no http(s) URL.

    What has no scheme gets http://, as wget and curl do: a site that wants https says so
    in a redirect, while one that has no https would never answer.

    >>> parse_seed("example.org"), parse_seed("localhost:8080/x"), parse_seed("mailto:a@b")
    ('http://example.org/', 'http://localhost:8080/x', None)
    """
    text = text.strip()
    if not _WEB_SCHEME.match(text):
        typed = text.removeprefix("//")
        if not typed or typed[0] in "/\\?#" or _SCHEME.match(typed):
            return None
        text = "http://" + typed
    url = resolve("", text)
    return url if url and url.startswith(_HTTP) else None


def _join(base: str, reference: str) -> str | None:
    try:
        url: str = join_url(base, reference) if base else normalize_url(reference)
    except ValueError:
        return None
    return url.partition("#")[0]


def _never(href: str) -> None:
    return None


def _folders(page: str) -> tuple[str, list[str]]:
    """The root of a URL's host, and the folders it is in, innermost first."""
    parts = page.partition("?")[0].split("/")
    folders = ["/".join(parts[:end]) + "/" for end in range(len(parts) - 1, 2, -1)]
    return folders[-1] if folders else "", folders


def _authority(url: str) -> str:
    """Host and port of a normalized http(s) URL."""
    if not url.startswith(_HTTP):
        return ""
    return url.split("/", 3)[2].rpartition("@")[2]


def _encode_query(reference: str, encoding: str) -> str:
    """`reference` with its query escaped in the encoding of the page.

    URL Standard §1.3, "percent-encode after encoding"; a character that the encoding
    does not have becomes a decimal character reference, itself escaped.
    """
    path, question_mark, query = reference.partition("?")
    if query.isascii():
        return reference
    encoded = query.strip(_STRIPPED).encode(encoding, _UNENCODABLE)
    return path + question_mark + quote(encoded, _QUERY_SAFE)


def _escape_unencodable(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(f"%26%23{ord(char)}%3B" for char in missing), error.end


codecs.register_error(_UNENCODABLE, _escape_unencodable)
