"""What every transport sends, and hands back. The servers are real, and on loopback."""

from __future__ import annotations

import gzip
import threading
import time
import zlib

import pytest

from tests.rawserver import RawServer, always, once, page
from tests.transports import (
    POLICY,
    fetch,
    make_transport,  # noqa: F401
)
from transforms.transport import BAD_URL, TOO_LARGE, Request, Response
from transforms.transport_curl import CurlTransport

# What is sent


def test_request_head_is_what_was_sent(make):
    extra = (("X-Team", "search"), ("Accept-Language", "de"))
    transport = make(contact="bot@example.org", headers=extra)
    with RawServer(always(page())) as server:
        url = server.url + "a%20b/~c?d=e&f"
        first = fetch(transport, url, ("Referer", "http://example.org/"))
        second = fetch(transport, url)
        third = fetch(transport, url, ("If-None-Match", '"abc"'))
    assert [first.request_head, second.request_head, third.request_head] == server.heard
    lines = first.request_head.decode().split("\r\n")
    assert lines[:2] == ["GET /a%20b/~c?d=e&f HTTP/1.1", f"Host: 127.0.0.1:{server.port}"]
    assert [line.partition(":")[0] for line in lines[2:-2]] == [
        "User-Agent",
        "From",
        "Accept",
        "Accept-Encoding",
        "X-Team",
        "Accept-Language",
        "Referer",
    ]
    assert b"Referer" not in second.request_head
    assert b'If-None-Match: "abc"' in third.request_head


@pytest.mark.parametrize("target", ["/a/../b/./c", "//a//b", "/%2f%7E?x=|^`{}", "/?"])
def test_target_is_sent_as_found(target):
    transport = CurlTransport(POLICY)
    with RawServer(always(page())) as server:
        response = fetch(transport, server.url[:-1] + target)
    transport.close()
    assert [response.request_head] == server.heard
    assert server.heard[0].startswith(f"GET {target} HTTP/1.1\r\n".encode())


def test_header_injection_is_impossible(make):
    transport = make(headers=(("X-Policy", "a\r\nX-Evil: 1"),))
    with RawServer(always(page())) as server:
        response = fetch(transport, server.url, ("Referer", "a\nX-Evil: 1"), ("X\r\nX-Evil", "1"))
        injected = fetch(transport, server.url + "\r\nX-Evil: 1")
    assert response.failure == ""
    assert injected.failure == BAD_URL
    assert len(server.heard) == 1
    assert b"Evil" not in server.heard[0]


@pytest.mark.parametrize(
    "url", ["http://user:secret@127.0.0.1/", "ftp://127.0.0.1/", "file:///etc/passwd", "", "x"]
)
def test_url_that_cannot_be_asked_for(make, url):
    response = fetch(make(), url)
    assert (response.failure, response.status, response.request_head) == (BAD_URL, 0, b"")
    assert response.error


def test_cookies_are_not_kept(make):
    transport = make()
    with RawServer(always(page(headers=b"Set-Cookie: a=b\r\n"))) as server:
        fetch(transport, server.url)
        fetch(transport, server.url)
    assert len(server.heard) == 2
    assert b"ookie" not in server.heard[1]


def test_environment_is_not_asked(make, monkeypatch, tmp_path):
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with RawServer(always(page())) as server:
        assert fetch(make(), server.url).failure == ""
    assert b"uthorization" not in server.heard[0]


def test_proxy_is_asked_whatever_the_address(make):
    with RawServer(always(page(b"from the proxy"))) as server:
        transport = make(proxy=server.url, allow_private=False)
        response = fetch(transport, "http://10.0.0.1/a")
    assert (response.failure, response.body) == ("", b"from the proxy")
    assert server.heard[0].startswith(b"GET http://10.0.0.1/a HTTP/1.1\r\n")
    assert response.request_head.startswith(b"GET /a HTTP/1.1\r\nHost: 10.0.0.1\r\n")


def test_proxy_serves_many_hosts_at_once(make):
    both = threading.Barrier(2, timeout=3)

    def script(peer):
        peer.hear()
        both.wait()  # until another connection asks, too
        peer.say(page())

    with RawServer(script) as server:
        transport = make(proxy=server.url)
        for host in ("a", "b"):
            transport.start(Request(host, f"http://{host}.invalid/"))
        ended = [*transport.wait(3), *transport.wait(0.2)]
    assert [response.failure for response in ended] == ["", ""]


# What comes back


def test_response_is_complete(make):
    head = (
        b"HTTP/1.1 200 Fine\r\ncontent-type:text/html\r\nSet-Cookie: a\r\nX:  y \r\n"
        b"set-cookie: b\r\nContent-Length: 5\r\n\r\n"
    )
    before = time.time()
    with RawServer(always(head + b"hello")) as server:
        response = fetch(make(), server.url)
    assert response == Response(
        request=response.request,
        status=200,
        head=head,
        body=b"hello",
        request_head=server.heard[0],
        ip="127.0.0.1",
        started=response.started,
        elapsed=response.elapsed,
    )
    assert before <= response.started <= time.time()
    assert 0 < response.elapsed < 1


def test_connection_is_kept_alive(make):
    transport = make()
    with RawServer(always(page())) as server:
        assert [fetch(transport, server.url).body for _ in range(5)] == [b"<p>hello"] * 5
    assert server.connections == 1


def test_connection_that_the_server_closed_is_opened_anew(make):
    transport = make()
    with RawServer(once(page())) as server:
        for _ in range(3):
            assert fetch(transport, server.url).failure == ""
            transport.wait(0.05)  # the end of the connection arrives
    assert server.connections == 3


TEXT = b"<p>" + b"content " * 5000
BROTLI = (
    b"\x1b\x42\x9c\xf8\xa5\x41\x78\x7c\xe0\x54\x27\x8f\x95\x03\x18\xf0\x96\x9f\x04\x00"  # the same
)
RAW_DEFLATE = zlib.compressobj(wbits=-15)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        (b"gzip", gzip.compress(TEXT)),
        (b"x-gzip", gzip.compress(TEXT)),
        (b"deflate", zlib.compress(TEXT)),
        (b"deflate", RAW_DEFLATE.compress(TEXT) + RAW_DEFLATE.flush()),
        (b"br", BROTLI),
        (b"identity", TEXT),
    ],
)
@pytest.mark.parametrize("chunked", [False, True])
def test_content_is_decoded(make, encoding, body, chunked):
    answer = page(body, b"Content-Encoding: " + encoding + b"\r\n")
    if chunked:
        answer = (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: "
            + encoding
            + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
            + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:7], body[7:]))
            + b"0\r\nX-Trailer: late\r\n\r\n"
        )
    transport = make()
    with RawServer(always(answer)) as server:
        response, again = fetch(transport, server.url), fetch(transport, server.url)
    if encoding == b"br" and b"br" not in response.request_head:
        pytest.skip("this client is built without brotli, and does not ask for it")
    assert (response.failure, response.body) == ("", TEXT)
    assert (again.failure, again.body) == ("", TEXT)
    assert b"X-Trailer" not in response.head
    assert encoding in response.head
    assert server.connections == 1


def test_body_without_length_ends_with_the_connection(make):
    with RawServer(once(b"HTTP/1.0 200 OK\r\n\r\nhello")) as server:
        response = fetch(make(), server.url)
    assert (response.status, response.failure, response.body) == (200, "", b"hello")


def test_redirect_is_not_followed(make):
    answer = page(b"x" * 300_000, b"Location: /elsewhere\r\n", status=b"301 Moved")
    with RawServer(always(answer)) as server:
        response = fetch(make(max_body=1000), server.url)
        assert (response.status, response.failure) == (301, TOO_LARGE)
        response = fetch(make(), server.url)
        assert (response.status, response.failure) == (301, "")
    assert b"Location: /elsewhere" in response.head
    assert len(server.heard) == 2


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 304 Not Modified\r\nContent-Length: 999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
)
def test_answer_without_body(make, answer):
    transport = make()
    with RawServer(always(answer)) as server:
        response, again = fetch(transport, server.url), fetch(transport, server.url)
    assert (response.failure, response.body) == ("", b"")
    assert answer.startswith(response.head)
    assert (again.failure, again.status) == ("", response.status)
    assert server.connections == 1


def test_interim_answers_are_passed_over(make):
    interim = (
        b"HTTP/1.1 100 Continue\r\n\r\n"
        b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
        b"HTTP/1.1 103 Early Hints\r\nContent-Type: image/png\r\n\r\n"
    )
    transport = make()
    with RawServer(always(interim + page(b"one"))) as server:
        for _ in range(2):
            response = fetch(transport, server.url)
            assert (response.status, response.failure, response.body) == (200, "", b"one")
            assert response.head + b"one" == page(b"one")
