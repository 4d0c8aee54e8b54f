"""The canonical key of a URL: two URLs with one key are one URL to the crawl.

A URL has two forms. It is fetched as it was found (see `urls`); it is known by its key,
of which its fingerprint is made. So a rule that is wrong about a site costs a page that
was taken for another, and never asks a server for what no page linked to.

http and https stay two, and so do hosts with and without www: a site that serves one
thing under both says so in a redirect. The case of paths and queries, index pages and
trailing slashes are a server's own affair, and an address is not a name: none of them
can be settled without asking.
"""

from __future__ import annotations

import os
import re
from functools import cache, lru_cache
from itertools import product
from typing import NamedTuple


class Rule(NamedTuple):
    name: str
    effect: str
    before: str
    after: str
    source: str
    fetched: bool = False  # holds of the URL as fetched too, so it can not be turned off


ESCAPES, EMPTY_QUERY, QUERY_ORDER = "escapes", "empty-query", "query-order"
TRACKING, SESSIONS = "tracking", "sessions"

RULES = (
    Rule("fragment", "the fragment is cut off", "http://a.example/x#top", "http://a.example/x",
         "RFC 9110 §7.1", fetched=True),
    Rule("case", "scheme and host in lower case; never a path or a query",
         "HTTP://A.Example/X?Y", "http://a.example/X?Y", "RFC 3986 §6.2.2.1", fetched=True),
    Rule("idn", "a host in its punycode form", "http://bücher.example/",
         "http://xn--bcher-kva.example/", "URL Standard §3.3", fetched=True),
    Rule("default-port", "the port of the scheme is left out", "http://a.example:80/",
         "http://a.example/", "RFC 3986 §6.2.3", fetched=True),
    Rule("dot-segments", "dot segments are resolved", "http://a.example/x/./y/../z",
         "http://a.example/x/z", "RFC 3986 §6.2.2.3", fetched=True),
    Rule(ESCAPES, "escapes of unreserved characters are decoded, others in upper case",
         "http://a.example/%7ejoe/a%2fb", "http://a.example/~joe/a%2Fb",
         "RFC 3986 §6.2.2.1 and §6.2.2.2"),
    Rule(SESSIONS, "session ids are dropped, from query and path",
         "http://a.example/x;jsessionid=0A1B?y=1", "http://a.example/x?y=1",
         "transforms/data/sessions.txt"),
    Rule(TRACKING, "tracking parameters are dropped", "http://a.example/x?utm_source=mail&y=1",
         "http://a.example/x?y=1", "transforms/data/tracking.txt"),
    Rule(EMPTY_QUERY, "empty parameters are dropped, and a query that has no other",
         "http://a.example/x?&", "http://a.example/x", "RFC 3986 §6.2.3; Nutch regex-normalize"),
    Rule(QUERY_ORDER, "the parameters of a query are sorted", "http://a.example/x?b=2&a=1",
         "http://a.example/x?a=1&b=2", "w3lib canonicalize_url"),
)  # fmt: skip

OPTIONAL = tuple(rule.name for rule in RULES if not rule.fetched)


class Canonical(NamedTuple):
    """The rules in force. It travels with the stages that know URLs by their keys."""

    tell_apart: tuple[str, ...] = ()  # names of rules that are not

    def key(self, url: str) -> str:
        """The key of a URL that `urls` made; one that is not http(s) is its own.

        >>> Canonical().key("http://a.example/%7ejoe?b=2&utm_source=mail&a=1")
        'http://a.example/~joe?a=1&b=2'
        """
        # Four searches for a character cost less than any regular expression, and most
        # links have none of them: a plain URL takes a sixth of a microsecond.
        if "?" in url or "%" in url or ";" in url or "/(" in url:
            return _rewrite(url, self.tell_apart)
        return url


ALL_RULES = Canonical()

# No escape may come into being by decoding others: "%4%31" is left alone.
_ESCAPE = re.compile(r"(?<!%)(?<!%[0-9A-Fa-f])%[0-9A-Fa-f]{2}")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")  # RFC 3986 §2.3
_PATH_PARAMETER = re.compile(r";([^;/=]+=[^;/&]*)")
# ASP.NET 2.0 and later: "(S(id))", also with A and F; 1.x: 24 characters of base 32.
_ASP_NET = re.compile(r"/\((?:(?:[ASF]\([\w.-]+\))+|[a-z0-5]{24})\)(?=/)", re.ASCII)
_AMBIGUOUS = "ambiguous"
_UUID = r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
_SESSION_ID = re.compile(rf"(?=.*[0-9])(?=.*[A-Za-z])[0-9A-Za-z]{{16,}}|{_UUID}")


def _rewrite(url: str, tell_apart: tuple[str, ...]) -> str:
    root = url.find("/", len("https://"))
    if root < 0 or not url.startswith(("http://", "https://")):
        return url
    site, rest = url[:root], url[root:]
    if ESCAPES not in tell_apart and "%" in rest:
        decoded = _decoded()
        rest = _ESCAPE.sub(lambda match: decoded[match[0]], rest)
    path, question_mark, query = rest.partition("?")
    if SESSIONS not in tell_apart:
        path = _ASP_NET.sub("", path)
        if ";" in path:
            path = _PATH_PARAMETER.sub(_kept_path_parameter, path)
    if not question_mark:
        return site + path
    parameters = query.split("&")
    parameters = [
        parameter
        for parameter in parameters
        if (word := purpose(parameter)) is None or word in tell_apart
    ]
    if EMPTY_QUERY not in tell_apart:
        parameters = [parameter for parameter in parameters if parameter]
    if QUERY_ORDER not in tell_apart:
        parameters.sort()
    return f"{site}{path}?{'&'.join(parameters)}" if parameters else site + path


def purpose(parameter: str) -> str | None:
    """SESSIONS or TRACKING for a `name=value` that is there for such; None for content.

    >>> purpose("PHPSESSID=1"), purpose("sid=4f1c09a2b7d84e6f"), purpose("sid=1234")
    ('sessions', 'sessions', None)
    """
    name, _, value = parameter.partition("=")
    word = _purpose_of_name(name)
    if word == _AMBIGUOUS:
        return SESSIONS if _SESSION_ID.fullmatch(value) else None
    return word


@lru_cache(maxsize=4096)
def _purpose_of_name(name: str) -> str | None:
    name = name.lower()
    for word, file in ((SESSIONS, "sessions.txt"), (TRACKING, "tracking.txt")):
        names, prefixes = _names(file)
        if f"{name}=?" in names:
            return _AMBIGUOUS
        if name in names or name.startswith(prefixes):
            return word
    return None


def _kept_path_parameter(match: re.Match[str]) -> str:
    return "" if purpose(match[1]) == SESSIONS else match[0]


@cache
def _decoded() -> dict[str, str]:
    """What each escape becomes."""
    digits = "0123456789abcdefABCDEF"
    escapes = {f"%{high}{low}": chr(int(high + low, 16)) for high, low in product(digits, digits)}
    return {
        escape: char if _UNRESERVED.fullmatch(char) else escape.upper()
        for escape, char in escapes.items()
    }


@cache
def _names(file: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """The names that a data file lists, and what others begin with."""
    names = data_lines(file)
    whole = frozenset(name for name in names if not name.endswith("*"))
    return whole, tuple(name[:-1] for name in names if name.endswith("*"))


def data_lines(file: str) -> list[str]:
    """The lines of a file in `transforms/data`, without comments."""
    with open(os.path.join(os.path.dirname(__file__), "data", file), encoding="utf-8") as lines:
        return [text for line in lines if (text := line.partition("#")[0].strip())]


def rules_table() -> str:
    """The rules as the README has them."""
    lines = ["| rule | what it does | example | source |", "|---|---|---|---|"]
    for rule in RULES:
        name = f"{rule.name} (always)" if rule.fetched else f"`{rule.name}`"
        lines.append(
            f"| {name} | {rule.effect} | `{rule.before}` → `{rule.after}` | {rule.source} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(rules_table())
