"""What no transport reads to its end."""

from __future__ import annotations

import resource
import zlib

import pytest

from tests.rawserver import RawServer, always, once, page
from tests.transports import (
    POLICY,
    fetch,
    make_transport,  # noqa: F401
)
from transforms.transport import BROKEN, TOO_LARGE, UNWANTED
from transforms.wire import MOST_OF_ROBOTS


def endless(head: bytes, chunk: bytes = b"x" * 65536, total: int = 100 * 1024 * 1024):
    def script(peer):
        peer.hear()
        peer.say(head)
        while peer.sent < total:
            peer.say(chunk)

    return script


PNG = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n"


def test_unwanted_type_is_dropped_on_its_head(make):
    with RawServer(endless(PNG)) as server:
        response = fetch(make(), server.url)
        assert server.hung_up.wait(5)
    assert (response.failure, response.status) == (UNWANTED, 200)
    assert (response.head, response.body) == (PNG, b"")
    assert "image/png" in response.error
    assert server.sent < 20 * 1024 * 1024


def test_unwanted_type_is_known_before_its_body(make):
    def script(peer):
        peer.hear()
        peer.say(PNG)
        peer.wait_for_hangup()

    with RawServer(script) as server:
        response = fetch(make(timeout=0.3), server.url)
    assert (response.failure, response.status, response.head) == (UNWANTED, 200, PNG)


def test_any_type_is_taken_when_asked(make):
    with RawServer(endless(PNG)) as server:
        response = fetch(make(max_body=1000), server.url, any_type=True)
    assert (response.failure, response.body) == (TOO_LARGE, b"x" * MOST_OF_ROBOTS)


@pytest.mark.parametrize("length", [b"", b"Content-Length: 400000\r\n"])
def test_robots_txt_is_read_beyond_max_body(make, length):
    """What is cut off is not obeyed: its limit is the RFC's, and not the one for pages."""
    rules = b"User-agent: *\n" + b"#" * 399_986
    answer = b"HTTP/1.1 200 OK\r\n" + length + b"\r\n" + rules
    with RawServer(once(answer)) as server:
        response = fetch(make(max_body=1000), server.url, any_type=True)
    assert (response.failure, response.body) == ("", rules)


def test_unwanted_type_of_an_error_is_taken(make):
    answer = b"HTTP/1.1 404 Not Found\r\nContent-Type: image/png\r\nContent-Length: 3\r\n\r\npng"
    with RawServer(always(answer)) as server:
        response = fetch(make(), server.url)
    assert (response.failure, response.status, response.body) == ("", 404, b"png")


def test_body_is_cut_at_max_body(make):
    with RawServer(endless(b"HTTP/1.1 200 OK\r\n\r\n")) as server:
        response = fetch(make(max_body=100_000), server.url)
        assert server.hung_up.wait(5)
    assert (response.failure, response.status) == (TOO_LARGE, 200)
    assert response.body == b"x" * 100_000
    assert "--max-body" in response.error
    assert server.sent < 20 * 1024 * 1024


def test_body_of_just_max_body_is_complete(make):
    with RawServer(always(page(b"x" * 1000))) as server:
        assert fetch(make(max_body=1000), server.url).failure == ""
        assert fetch(make(max_body=999), server.url).failure == TOO_LARGE


def test_body_announced_too_large_is_not_read(make):
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n"
    with RawServer(endless(head)) as server:
        response = fetch(make(max_body=1000), server.url)
        assert (response.failure, response.head, response.body) == (TOO_LARGE, head, b"")
        response = fetch(make(max_body=1000), server.url, any_type=True)
        assert (response.failure, response.body) == (TOO_LARGE, b"x" * MOST_OF_ROBOTS)


def bomb() -> bytes:
    """A gigabyte of zeros in a megabyte of gzip: one flushed block, a thousand times."""
    packer = zlib.compressobj(9, wbits=31)
    start = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return start + block * 1023


def test_bomb_is_cut_at_max_body(make):
    answer = page(bomb(), b"Content-Encoding: gzip\r\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with RawServer(once(answer)) as server:
        response = fetch(make(), server.url)
    assert response.failure == TOO_LARGE
    assert response.body == bytes(POLICY.max_body)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024  # KiB


@pytest.mark.parametrize("line", [b"X-Bomb: " + b"x" * 1000 + b"\r\n", b"x" * 1000])
def test_head_is_bounded(make, line):
    with RawServer(endless(b"HTTP/1.1 200 OK\r\nX: ", line)) as server:
        response = fetch(make(), server.url)
        assert server.hung_up.wait(5)
    assert (response.failure, response.status, response.head) == (BROKEN, 0, b"")
    assert server.sent < 20 * 1024 * 1024


def test_large_head_is_taken(make):
    headers = b"".join(b"X-%d: %s\r\n" % (i, b"y" * 1000) for i in range(80))
    with RawServer(always(page(headers=headers))) as server:
        response = fetch(make(), server.url)
    assert response.head + b"<p>hello" == page(headers=headers)
