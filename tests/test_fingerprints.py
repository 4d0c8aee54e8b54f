"""Fingerprints are the same on every machine and in every run: what is stored stays valid."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms import fingerprints
from transforms.fingerprints import (
    fingerprint_content,
    fingerprint_url,
    fingerprint_written,
    shard_of_content,
    shard_of_host,
    shard_of_url,
)


# XXH3, 64 bits, seed 0. A crawl's folder outlives a process: these may never change.
@pytest.mark.parametrize(
    ("url", "fingerprint"),
    [
        ("", 0x2D06800538D394C2),
        ("http://example.com/", 0xB97A010E03AF1E2B),
        ("http://example.com/caf\u00e9", 0x3B8FDC31A91D05A6),
    ],
)
def test_fingerprint_url_is_pinned(url, fingerprint):
    assert fingerprint_url(url) == fingerprint


@pytest.mark.parametrize(("host", "shard"), [("example.com", 3), ("[::1]", 12), ("", 2)])
def test_shard_of_host_is_pinned(host, shard):
    assert shard_of_host(host, 16) == shard


def test_shard_of_host_is_the_same_with_and_without_www():
    assert shard_of_host("www.example.com", 4096) == shard_of_host("example.com", 4096)
    assert shard_of_host("www2.example.com", 4096) != shard_of_host("example.com", 4096)


@given(st.text())
def test_fingerprint_url_is_64_bits_whatever_the_text(url):
    assert 0 <= fingerprint_url(url) < 2**64


def test_fingerprint_url_of_lone_surrogates_does_not_raise():
    assert fingerprint_url("http://a.example/\udcff") != fingerprint_url("http://a.example/")


@given(st.text())
def test_fingerprint_written_is_never_that_of_a_key(url):
    assert fingerprint_written(url) != fingerprint_url(url)


def test_docstring_tells_the_odds_of_a_collision():
    def pairs(urls: int) -> float:
        return urls * (urls - 1) / 2**65

    said = " ".join((fingerprints.__doc__ or "").split())
    assert f"chance of {-100 * math.expm1(-pairs(10**9)):.1f} %" in said
    assert f"about {pairs(10**11):.0f} pairs do" in said
    assert f"one URL in {10**11 / pairs(10**11) / 1e6:.0f} million" in said


def test_fingerprint_content_of_nothing_is_0():
    assert fingerprint_content(b"") == 0
    assert fingerprint_content(b"x") == fingerprint_content(b"x") != fingerprint_content(b"y")


@pytest.mark.parametrize(
    "url",
    [
        "http://a.example/",
        "https://a.example/",
        "http://a.example:8080/x?y",
        "http://user:secret@a.example/",
    ],
)
def test_shard_of_url_is_the_shard_of_its_host(url):
    assert shard_of_url(url, 16) == shard_of_host("a.example", 16)


@given(st.integers(0, 2**64 - 1), st.integers(1, 64))
def test_shard_of_content_is_a_shard(fingerprint, shards):
    assert 0 <= shard_of_content(fingerprint, shards) < shards


def test_shards_get_about_the_same_number_of_hosts():
    counts = Counter(shard_of_host(f"host-{n}.example", 16) for n in range(16_000))
    assert len(counts) == 16
    assert max(counts.values()) < 1.2 * min(counts.values())
