"""Patterns: the families that a URL belongs to, by its shape and by where it lies.

A trap is a rule that makes URLs, and what a rule makes looks alike. So a URL is of a
*shape*: its path with numbers, dates and tokens masked, and whether it has a query. Of two
URLs of one shape each is a variant of the other. The names of its parameters make another
pattern. And it lies in a folder, as in all folders around that: traps that make up words, or
grow, are known by theirs.

>>> patterns_of("http://a.example/shop/item-17?id=4&lang=en")
('/shop/item-0?id&lang', '/shop/item-0?*', '/shop/*?id&lang', '/shop/**')
"""

from __future__ import annotations

import re
from functools import lru_cache

from xxhash import xxh3_64_intdigest

MOST_FOLDERS = 3  # of those around a URL, from the root on, that count
LONG = 32  # letters that no name has
TOKEN_MARK = "#"  # stands in no path
TOKEN = 6  # letters and digits, mixed: less is a name (utf8, mp3, 2to3)

_MONTHS_AND_DAYS = """
    jan feb mar apr may jun jul aug sep sept oct nov dec january february march april june july
    august september october november december mon tue wed thu fri sat sun monday tuesday
    wednesday thursday friday saturday sunday
"""
MONTHS = frozenset(_MONTHS_AND_DAYS.split())

_PART = re.compile(r"[0-9A-Za-z]+")
_VALUE = re.compile(r"=[^;/]*")
_PLAIN = re.compile(r"[^0-9=;]*\Z")  # most names: nothing to mask but a month, or a long token
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_HEX = re.compile(r"(?=.*[0-9])[0-9a-f]{8,}\Z", re.IGNORECASE)
_NAME_AND_NUMBER = re.compile(r"([A-Za-z]*)[0-9]+\Z")
_INDEX = re.compile(r"(?:index|default|home)?(?:\.\w+)?\Z")


def mask(segment: str) -> str:
    """A segment without what tells it from others of its kind.

    >>> [mask(text) for text in ("story-17.html", "4f1c09a2b7", "May", "2to3", "x;id=7")]
    ['story-0.html', '#', '0', '0to0', 'x;id=']
    """
    if _PLAIN.match(segment) and len(segment) < LONG and segment.lower() not in MONTHS:
        return segment
    return _PART.sub(_masked, _UUID.sub(TOKEN_MARK, _VALUE.sub("=", segment)))


def _is_masked(path: str) -> bool:
    return "0" in path or TOKEN_MARK in path or ";" in path


def _masked(part: re.Match[str]) -> str:
    text = part[0]
    if text.isdigit() or text.lower() in MONTHS:
        return "0"
    if len(text) >= LONG or _HEX.match(text):
        return TOKEN_MARK
    if text.isalpha():
        return text
    named = _NAME_AND_NUMBER.match(text)
    if named:
        return named[1] + "0"
    return TOKEN_MARK if len(text) >= TOKEN else re.sub("[0-9]+", "0", text)


@lru_cache(maxsize=65_536)
def _folder(path: str) -> tuple[str, tuple[str, ...]]:
    """The path of a folder masked, and the folders around what is in it, innermost first."""
    segments = [mask(segment) for segment in path.split("/")]
    around = ["/".join(segments[: count + 1]) + "/**" for count in range(1, len(segments))]
    return "/".join(segments), tuple(reversed(around[:MOST_FOLDERS]))


def _parts(url: str) -> tuple[str, str, str]:
    """The folder's path, the name in it, and the query."""
    path, _, query = url[url.find("/", 8) :].partition("?")
    folder, _, name = path.rpartition("/")
    return folder, name, query


@lru_cache(maxsize=65_536)
def _names(query: str) -> str:
    """The names of a query's parameters; the number in a name is masked, as in f1, f2, …"""
    names = {mask(parameter.partition("=")[0]) for parameter in query.split("&")}
    return "&".join(sorted(names))


def shape_of(url: str) -> str:
    """The shape of a URL, its path masked; "" for one that is like no other: no part of it is
    masked, and it has no query.
    """
    folder, name, query = _parts(url)
    masked_folder, masked = _folder(folder)[0], mask(name)
    if query:
        return f"{masked_folder}/{masked}?"
    if _is_masked(f"{masked_folder}/{masked}"):
        return f"{masked_folder}/{masked}"
    return ""


def fingerprint_shape(host: str, shape: str) -> int:
    """The identity of a shape on a host, which is never that of a URL."""
    return xxh3_64_intdigest(f"{host}{shape}".encode("utf-8", "surrogatepass"), seed=2)


def patterns_of(url: str) -> tuple[str, ...]:
    """All patterns of a URL, on its host, the narrowest first.

    `/*` is what lies in a folder itself, `/**` what lies in it however deep.
    """
    folder, name, query = _parts(url)
    masked_folder, around = _folder(folder)
    masked = mask(name)
    if query:
        names = _names(query)
        path = f"{masked_folder}/{masked}"
        return (f"{path}?{names}", f"{path}?*", f"{masked_folder}/*?{names}", *around)
    if _is_masked(f"{masked_folder}/{masked}"):
        return (f"{masked_folder}/{masked}", f"{masked_folder}/*", *around)
    return (f"{masked_folder}/*", *around)


def is_kin(url: str, referrer: str) -> bool:
    """Whether a rule may have made a URL of that of the page on which it was found.

    They are of one shape, or two names without one in a folder, or the one is the other and
    more. The index of a folder is of another kind than what is in it, and so is the first part
    of a path.

    >>> is_kin("http://a/x/b", "http://a/x/c"), is_kin("http://a/x/b", "http://a/x/")
    (True, False)
    >>> is_kin("http://a/x/b/c", "http://a/x/b"), is_kin("http://a/x/b", "http://a/x")
    (True, False)
    """
    folder, name, query = _parts(url)
    referrers_folder, referrers_name, referrers_query = _parts(referrer)
    if not (query or referrers_query):
        if folder == referrers_folder and not _is_masked(mask(name)):
            return not _INDEX.match(referrers_name)
        if not name and not referrers_name:
            return referrers_folder.count("/") > 1 and folder.rpartition("/")[0] == referrers_folder
        if folder == f"{referrers_folder}/{referrers_name}":
            return referrers_folder.count("/") > 0 and bool(referrers_name)
    shape = shape_of(url)
    return shape != "" and shape == shape_of(referrer)
