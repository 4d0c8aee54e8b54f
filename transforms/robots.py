"""What a robots.txt lets one crawler ask for: RFC 9309, parsed and matched.

Real files are written by people, so lines are read as Google's open-source parser
reads them: its 400 published expectations hold. Where that parser and the RFC part
(escaped letters and digits, see `_AS_WRITTEN`), the stricter reading wins: a
prohibition is read generously, a permission only as it is written.

A file is parsed once for one crawler, and what remains answers in microseconds,
whatever was in it: no pattern can make the matcher go back over a path.
"""

from __future__ import annotations

import re
import string
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

# RFC 9309 §2.5: crawlers parse at least 500 KiB; what comes after may be ignored.
MAX_BYTES = 500 * 1024
MAX_SITEMAPS = 1000

# Keys as people type them; any key that begins so counts ("Disallowed: /x").
_AGENT = (b"user-agent", b"useragent", b"user agent")
_ALLOW = (b"allow",)
_DISALLOW = (b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw")
_DELAY = (b"crawl-delay", b"crawldelay", b"crawl delay")
_SITEMAP = (b"sitemap", b"site-map")

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BOM = re.compile(rb"\xef(?:\xbb\xbf?)?")  # whole, or broken off
_EVERYONE = b"*"
_PRODUCT = re.compile(rb"[A-Za-z_-]*")
_OWN_PRODUCT = re.compile(r"([A-Za-z_-]+)(?=/|\s*\(|\s*$)")
_COMPATIBLE = re.compile(r"\bcompatible;\s*([A-Za-z_-]+)")
_SECONDS = re.compile(rb"(?:\d+(?:\.\d*)?|\.\d+)(?![\d.:/-])")  # "10 s" is 10, "1/10" nothing
_SITEMAP_URL = re.compile(r"https?://[^/\s]\S*", re.IGNORECASE)
_PATH = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?(?://[^/?#]*)?([^#]*)")

# RFC 9309 §2.2.2: both sides are compared as octets of a URI. What a URI cannot hold
# is escaped, with the two signs that mean something in a pattern; an escaped octet
# is decoded if it is unreserved. "%2F" is no slash and "%3F" no question mark.
_ODD = re.compile(r"%([0-9A-Fa-f]{2})|[\x00-\x20\"$*<>\\^`{|}\x7f-\xff]")
_MARKS = "-._~"
_UNRESERVED = string.ascii_letters + string.digits + _MARKS
_GENEROUS = tuple(chr(o) if chr(o) in _UNRESERVED else f"%{o:02X}" for o in range(256))
# Google's parser never decodes letters and digits: "Allow: /%62" does not allow /b.
_AS_WRITTEN = tuple(chr(o) if chr(o) in _MARKS else f"%{o:02X}" for o in range(256))

# Stands after every path, so that a pattern ending in "$" is one more literal.
# No path holds one: `_ODD` escapes it.
_END = "\0"


class Verdict(NamedTuple):
    """Whether a URL may be asked for, and the line that says so."""

    allowed: bool
    line_number: int = 0  # counted from 1; 0: no line speaks of this URL
    line_text: str = ""


class _Rule(NamedTuple):
    rank: int  # octets of its pattern
    line_number: int
    line_text: str


class _Rules(NamedTuple):
    """The Allow lines, or the Disallow lines, of the group that holds."""

    prefixes: tuple[str, ...] = ()  # sorted
    parents: tuple[int, ...] = ()  # the longest other prefix of each prefix; -1: none
    prefix_rules: tuple[_Rule, ...] = ()
    # Longest pattern first: the longest literal, all literals, the rule.
    globs: tuple[tuple[str, tuple[str, ...], _Rule], ...] = ()

    def longest(self, path: str) -> _Rule | None:
        """The rule with the longest pattern that matches (RFC 9309 §2.2.2)."""
        # All that sorts between a prefix of `path` and `path` begins with that prefix.
        # So either the last prefix before `path` is the one, or one of its own is.
        i = bisect_right(self.prefixes, path) - 1
        while i >= 0 and not path.startswith(self.prefixes[i]):
            i = self.parents[i]
        best = self.prefix_rules[i] if i >= 0 else None
        for piece, pieces, rule in self.globs:
            # Most globs end here: 28 ns each, and a file seldom holds a hundred.
            if piece in path and _in_order(pieces, path):
                return rule if not best or rule.rank > best.rank else best
        return best


class Robots(NamedTuple):
    r"""What one robots.txt says to one crawler.

    >>> robots = parse_robots(b"User-agent: *\nDisallow: /private", "beamcrawl/1.0")
    >>> robots.verdict("https://example.com/private/a")
    Verdict(allowed=False, line_number=2, line_text='Disallow: /private')
    """

    allows: _Rules = _Rules()
    disallows: _Rules = _Rules()
    crawl_delay: float | None = None  # seconds
    sitemaps: tuple[str, ...] = ()

    def allowed(self, url: str) -> bool:
        """Whether `url`, a WHATWG href, may be asked for.

        The rules are not consulted for robots.txt itself: it is fetched without
        asking (RFC 9309 §2.2.2: implicitly allowed).
        """
        return self.verdict(url).allowed

    def verdict(self, url: str) -> Verdict:
        found = _PATH.match(url)
        path = found[1] if found else ""
        if not path.startswith("/"):
            path = "/" + path
        written = generous = path
        if not path.isascii() or _ODD.search(path):
            written = _octets(path, _AS_WRITTEN)
            utf8 = path.encode("utf-8", "surrogatepass").decode("latin-1")
            generous = _octets(utf8, _GENEROUS)
        against = self.disallows.longest(generous + _END)
        in_favour = self.allows.longest(written + _END)
        # RFC 9309 §2.2.2: of an allow and a disallow as long, the allow is used.
        if in_favour and not (against and against.rank > in_favour.rank):
            return Verdict(True, in_favour.line_number, in_favour.line_text)
        if against:
            return Verdict(False, against.line_number, against.line_text)
        return Verdict(True)


class _Line(NamedTuple):
    """An Allow or Disallow line."""

    allow: bool
    pattern: str  # octets, one a character
    number: int
    text: str


def product_token(agent: str) -> str:
    """The name by which a robots.txt may speak to a crawler; "" if it has none.

    RFC 9309 §2.2.1: letters, "_" and "-" only. A crawler without one obeys the rules
    for everyone.

    >>> product_token("beamcrawl/1.0 (+https://example.com/bot)")
    'beamcrawl'
    >>> product_token("Mozilla/5.0 (compatible; Foo-Bot/2.1; +https://example.com)")
    'foo-bot'
    >>> product_token("bot2")
    ''
    """
    found = _COMPATIBLE.search(agent) or _OWN_PRODUCT.match(agent.strip())
    return found[1].lower() if found else ""


def clip(body: bytes, broken_off: bool = False) -> bytes:
    """At most `MAX_BYTES` of a robots.txt, without a last line that was cut.

    Half a line can say something else than the whole: "Disallow: /" of "Disallow: /tmp".
    """
    if len(body) > MAX_BYTES:
        # One octet more than the limit: a line that ends right before it is whole.
        body, broken_off = body[: MAX_BYTES + 1], True
    if broken_off:
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    return body


def parse_robots(body: bytes, agent: str) -> Robots:
    """Read a robots.txt for the crawler that `agent`, its User-Agent or token, names."""
    own = product_token(agent).encode()
    lines: dict[bytes, list[_Line]] = {}  # by agent: ours, everyone
    delays: dict[bytes, float] = {}
    sitemaps: dict[str, None] = {}
    scope: set[bytes] = set()  # which of the two the lines being read speak to
    in_rules = False  # rules have begun: the next user-agent line opens a group

    body = clip(body)
    bom = _BOM.match(body)
    for number, line in enumerate(_LINE_END.split(body[bom.end() if bom else 0 :]), 1):
        key, value = _key_and_value(line)
        if key.startswith(_AGENT):
            if in_rules:
                scope, in_rules = set(), False
            name = _agent_name(value)
            if name and name in (own, _EVERYONE):
                scope.add(name)
                # RFC 9309 §2.2.1: groups for the same agent are one group.
                lines.setdefault(name, [])
        elif key.startswith(_ALLOW + _DISALLOW):
            in_rules = True
            if value:  # RFC 9309 §2.2.2: an empty pattern matches nothing
                text = line.decode("utf-8", "replace").strip()
                rule = _Line(key.startswith(_ALLOW), value.decode("latin-1"), number, text)
                for name in scope:
                    lines[name].append(rule)
        # RFC 9309 §2.2.4: other records must not end a group, nor begin its rules.
        elif key.startswith(_DELAY):
            seconds = _SECONDS.match(value)
            if seconds:
                for name in scope:
                    delays.setdefault(name, float(seconds[0]))
        elif key.startswith(_SITEMAP) and len(sitemaps) < MAX_SITEMAPS:
            url = value.decode("utf-8", "replace")
            if _SITEMAP_URL.fullmatch(url):
                sitemaps[url] = None

    # RFC 9309 §2.2.1: the group of "*" is for those that no other group names.
    group = own if own in lines else _EVERYONE
    rules = lines.get(group, [])
    return Robots(
        _compile((line for line in rules if line.allow), _AS_WRITTEN),
        _compile((line for line in rules if not line.allow), _GENEROUS),
        delays.get(group),
        tuple(sitemaps),
    )


def _key_and_value(line: bytes) -> tuple[bytes, bytes]:
    line = line.split(b"#", 1)[0]
    key, colon, value = line.partition(b":")
    if not colon:
        # "Disallow /x": people forget the colon. More words are prose.
        words = line.split()
        key, value = words if len(words) == 2 else (b"", b"")
    return key.strip().lower(), value.strip()


def _agent_name(value: bytes) -> bytes:
    """Whom a user-agent line names; b"" if nobody can be meant."""
    if value.split(None, 1)[:1] == [_EVERYONE]:
        return _EVERYONE
    found = _PRODUCT.match(value)
    return found[0].lower() if found else b""


def _octets(text: str, table: Sequence[str]) -> str:
    return _ODD.sub(lambda odd: table[int(odd[1], 16) if odd[1] else ord(odd[0])], text)


def _pieces(pattern: str, table: Sequence[str]) -> list[str]:
    """The literals between the wildcards of a pattern (RFC 9309 §2.2.3)."""
    open_end = pattern.removesuffix("$")
    pieces = [_octets(piece, table) for piece in re.split(r"\*+", open_end)]
    if open_end != pattern:
        pieces[-1] += _END
    return pieces


def _compile(lines: Iterable[_Line], table: Sequence[str]) -> _Rules:
    prefixes: dict[str, _Rule] = {}
    globs = []
    for line in lines:
        patterns = [line.pattern]
        directory, _, page = line.pattern.rpartition("/")
        if line.allow and page.startswith("index.htm"):
            # Who allows /a/index.html means /a/ too, as Google's parser takes it.
            patterns.append(directory + "/$")
        for pattern in patterns:
            pieces = _pieces(pattern, table)
            rule = _Rule(len("*".join(pieces)), line.number, line.text)
            if len(pieces) > 1 and not pieces[-1]:
                pieces.pop()  # "/a*" matches what "/a" does
            if len(pieces) > 1:
                globs.append((max(pieces, key=len), tuple(pieces), rule))
            elif rule.rank > prefixes.get(pieces[0], _Rule(0, 0, "")).rank:
                prefixes[pieces[0]] = rule

    keys = sorted(prefixes)
    parents: list[int] = []
    for i, key in enumerate(keys):
        parent = i - 1
        while parent >= 0 and not key.startswith(keys[parent]):
            parent = parents[parent]
        parents.append(parent)
    globs.sort(key=lambda glob: -glob[2].rank)
    rules = tuple(prefixes[key] for key in keys)
    return _Rules(tuple(keys), tuple(parents), rules, tuple(globs))


def _in_order(pieces: Sequence[str], path: str) -> bool:
    """Whether `path` begins with the first piece and holds the others after it, in order.

    Taking each piece where it is first found never needs taking back: what follows
    has only more room. So a pattern costs one search per piece, and they share one
    walk along the path.
    """
    if not path.startswith(pieces[0]):
        return False
    at = len(pieces[0])
    for piece in pieces[1:]:
        at = path.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True
