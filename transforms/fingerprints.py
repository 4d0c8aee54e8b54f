"""Fingerprints: a URL's, a content's, and the shard that a host's hash falls on.

All are XXH3, 64 bits: the same on every machine and in every run.

A URL whose fingerprint another had first is never fetched. By the birthday bound,
n(n-1)/2^65 pairs of n fingerprints collide: of 1 billion URLs any two do with a chance
of 2.7 %; of 100 billion about 271 pairs do, one URL in 369 million.
"""

from __future__ import annotations

from functools import lru_cache

from xxhash import xxh3_64_intdigest

from transforms.canonical import ALL_RULES, Canonical
from transforms.urls import host_of


def fingerprint_url(url: str, canonical: Canonical = ALL_RULES) -> int:
    """The identity of a URL, as an unsigned 64-bit number: that of its canonical key.

    >>> fingerprint_url("http://example.com/?") == fingerprint_url("http://example.com/")
    True
    """
    return xxh3_64_intdigest(canonical.key(url).encode("utf-8", "surrogatepass"))


def fingerprint_written(url: str) -> int:
    """The identity of a URL to the letter, which is never that of a key.

    It is for a URL that may not stand for all that share its key: one that a person's
    pattern refused, and one that its own key redirects to. Fetched as `/x?sid=1`, a page
    may send on to `/x`; were that the URL just fetched, nobody would ever see it.
    """
    return xxh3_64_intdigest(url.encode("utf-8", "surrogatepass"), seed=1)


def fingerprint_content(body: bytes) -> int:
    """The identity of a body; 0 for an empty one, which is never compared."""
    return xxh3_64_intdigest(body) if body else 0


@lru_cache(maxsize=65_536)
def shard_of_host(host: str, shards: int) -> int:
    """The shard that owns a host: all its URLs, its robots.txt and its pace.

    With and without www. it is the same: the one's robots.txt often lies with the other,
    and one slot has to ask for it.
    """
    return xxh3_64_intdigest(host.removeprefix("www.").encode()) % shards


def shard_of_url(url: str, shards: int) -> int:
    return shard_of_host(host_of(url), shards)


def shard_of_content(fingerprint: int, shards: int) -> int:
    """The shard that remembers a content, wherever it was found."""
    return fingerprint % shards
