"""The gist of a page: what it tells that another page may have told before.

Evidence, and nothing else: a page whose gist is known is still a page. It is what shows
that a site goes on making URLs and has nothing more to say, so it leaves out what a site
puts into a page to no purpose: counters, clocks, the URL itself said once more.
"""

from __future__ import annotations

import re

from xxhash import xxh3_64_intdigest

from transforms.patterns import MONTHS

SHORT = 600  # characters of text whose words are looked at one by one, in whatever order

_WORD = re.compile(r"\b[^\W\d_]+\b")
_WORD_OR_NUMBER = re.compile(r"\w+")
_IN_URL = re.compile(r"[a-z]{3,}")
_DIGITS = b"0123456789.,:"
_START = 1000  # bytes of a longer text, where its headings are
_SAID, _TOLD = 3, 4  # seeds: neither is ever taken for the other, or for a URL


def gists_of(title: str, text: str, essence: bytes, url: str) -> tuple[int, int]:
    """Two fingerprints: of what a page says, and of what it tells, which is that without its
    title and what of its URL is in it.

    `essence` is that of `text`. A page with next to no words of its own (a product that is a
    number and a price) tells what all of its kind tell; what it says, by its title, is its own.
    """
    name = title.encode("utf-8", "replace")
    if len(text) <= SHORT:
        return _short_gists(title, text.lower(), url)
    said = xxh3_64_intdigest(name + b"\n" + essence, seed=_SAID)
    start, rest = essence[:_START], essence[_START:]
    path = url[url.find("/", 8) :].encode()
    for echo in (name.translate(None, _DIGITS), path.translate(None, _DIGITS)):
        if len(echo) > 1:
            start = start.replace(echo, b"")
    return said, xxh3_64_intdigest(start + rest, seed=_TOLD)


def _short_gists(title: str, text: str, url: str) -> tuple[int, int]:
    """Of a short text each word counts once: one link more is no other page. What it says are
    its numbers too, for it may have little else ("Item 17").
    """
    said = " ".join((title, *sorted(set(_WORD_OR_NUMBER.findall(text)))))
    # Elements end without a space ("Page 2Nothing found"): what is cut out leaves one.
    left = text.replace(title.lower(), " ") if title else text
    for word in sorted(set(_IN_URL.findall(url.lower())), key=len, reverse=True):
        left = left.replace(word, " ")
    told = " ".join(sorted(set(_WORD.findall(left)) - MONTHS))
    return (
        xxh3_64_intdigest(said.encode("utf-8", "replace"), seed=_SAID),
        xxh3_64_intdigest(told.encode("utf-8", "replace"), seed=_TOLD),
    )
