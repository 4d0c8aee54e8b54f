"""Fingerprints: a URL's, a content's, and the shard that a host's hash falls on.

All are XXH3, 64 bits, seed 0: the same on every machine and in every run.
"""

from __future__ import annotations

from functools import lru_cache

from xxhash import xxh3_64_intdigest

from transforms.urls import host_of


def fingerprint_url(url: str) -> int:
    """The identity of a URL, as an unsigned 64-bit number.

    >>> fingerprint_url("http://example.com/") == fingerprint_url("http://example.com/a")
    False
    """
    return xxh3_64_intdigest(url.encode("utf-8", "surrogatepass"))


def fingerprint_content(body: bytes) -> int:
    """The identity of a body; 0 for an empty one, which is never compared."""
    return xxh3_64_intdigest(body) if body else 0


@lru_cache(maxsize=65_536)
def shard_of_host(host: str, shards: int) -> int:
    """The shard that owns a host: all its URLs, its robots.txt and its pace."""
    return xxh3_64_intdigest(host.encode()) % shards


def shard_of_url(url: str, shards: int) -> int:
    return shard_of_host(host_of(url), shards)


def shard_of_content(fingerprint: int, shards: int) -> int:
    """The shard that remembers a content, wherever it was found."""
    return fingerprint % shards
