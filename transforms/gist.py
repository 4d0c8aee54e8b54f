"""The gist of a page: what it tells that another page may have told before.

Evidence, and nothing else: a page whose gist is known is still a page. It is what shows
that a site goes on making URLs and has nothing more to say, so it leaves out what a site
puts into a page to no purpose: counters, clocks, tokens, the URL itself said once more.
"""

from __future__ import annotations

import re

from xxhash import xxh3_64_intdigest

from transforms.patterns import MONTHS

SHORT = 1500  # characters of text whose words are looked at one by one, in whatever order

_WORD = re.compile(r"\b[^\W\d_]+\b")
_IN_URL = re.compile(r"[a-z]{3,}")
# A token in hexadecimal leaves no trace, and what is left of a text tells it as well.
_TOKENS_AND_SPACE = b"abcdefABCDEF0123456789-.,:_ \t\r\n"
_SAID, _TOLD = 3, 4  # seeds: neither is ever taken for the other, or for a URL


def gists_of(title: str, text: str, essence: bytes, url: str) -> tuple[int, int]:
    """Two fingerprints: of what a page says, its title and words; and of what it tells, which
    is without its title's numbers and the words that are in its URL.

    `essence` is that of `text`. A page with next to no words of its own (a product that is a
    number and a price) tells what all of its kind tell; what it says is its own.
    """
    if len(text) > SHORT:
        left = essence.translate(None, _TOKENS_AND_SPACE)
        said = title.encode("utf-8", "replace") + b"\n" + left
        return _fingerprint(said, _SAID), _fingerprint(left, _TOLD)
    # Elements end without a space ("Page 2Nothing found"): what a page repeats is cut out first.
    words = text.replace(title, " ").lower() if title else text.lower()
    said = "\n".join((title, *sorted(set(_WORD.findall(words))))).encode("utf-8", "replace")
    words = f"{title.lower()} {words}"
    for word in sorted(set(_IN_URL.findall(url.lower())), key=len, reverse=True):
        words = words.replace(word, " ")
    told = " ".join(sorted(set(_WORD.findall(words)) - MONTHS)).encode("utf-8", "replace")
    return _fingerprint(said, _SAID), _fingerprint(told, _TOLD)


def gists_of_bytes(fingerprint: int) -> tuple[int, int]:
    """The same of what is no HTML: it is told by its bytes."""
    return fingerprint, fingerprint


def _fingerprint(data: bytes, seed: int) -> int:
    return xxh3_64_intdigest(data, seed=seed)
