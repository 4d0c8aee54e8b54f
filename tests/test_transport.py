"""What every transport owes. The servers are real, and on loopback."""

from __future__ import annotations

import gzip
import os
import resource
import shlex
import shutil
import socket
import ssl
import subprocess
import threading
import time
import zlib
from collections import Counter

import brotli
import pytest
import requests
from requests.adapters import HTTPAdapter

from tests.rawserver import RawServer, always, once, page
from tests.webserver import Answer, serve
from transforms.transport import (
    ADDRESS,
    BAD_URL,
    BROKEN,
    CONNECT,
    DNS,
    TIMEOUT,
    TLS,
    TOO_LARGE,
    UNWANTED,
    FetchPolicy,
    Request,
    Response,
    Transport,
)
from transforms.transport_curl import CurlTransport, cache_size
from transforms.transport_requests import RequestsTransport

TRANSPORTS = {"curl": CurlTransport, "requests": RequestsTransport}
POLICY = FetchPolicy("bot/1 (+https://example.org/bot)", allow_private=True, timeout=5.0)


@pytest.fixture(params=TRANSPORTS)
def make(request):
    """Make a transport; keywords change its policy."""
    made = []

    def build(*args, **changes) -> Transport:
        made.append(TRANSPORTS[request.param](POLICY._replace(**changes), *args))
        return made[-1]

    build.name = request.param
    yield build
    for transport in made:
        transport.close()


def fetch(transport: Transport, url: str, *headers: tuple[str, str], **more) -> Response:
    request = Request(object(), url, headers, **more)
    transport.start(request)
    (response,) = transport.wait(10)
    assert response.request is request
    return response


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
RAW_DEFLATE = zlib.compressobj(wbits=-15)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        (b"gzip", gzip.compress(TEXT)),
        (b"x-gzip", gzip.compress(TEXT)),
        (b"deflate", zlib.compress(TEXT)),
        (b"deflate", RAW_DEFLATE.compress(TEXT) + RAW_DEFLATE.flush()),
        (b"br", brotli.compress(TEXT)),
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


# What is cut


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
    assert (response.failure, response.body) == (TOO_LARGE, b"x" * 1000)


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
        assert (response.failure, response.body) == (TOO_LARGE, b"x" * 1000)


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


# What goes wrong


@pytest.mark.parametrize(
    ("first", "status"),
    [
        (b"", 0),
        (b"HTTP/1.1 200 OK\r\nX-Slow: ", 0),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", 200),
    ],
)
def test_trickle_runs_into_the_timeout(make, first, status):
    def script(peer):
        peer.hear()
        peer.say(first)
        while first:
            peer.say(b"x")
            time.sleep(0.03)
        peer.wait_for_hangup()

    with RawServer(script) as server:
        response = fetch(make(timeout=0.4), server.url)
        assert server.hung_up.wait(2)
    assert (response.failure, response.status) == (TIMEOUT, status)
    assert 0.35 < response.elapsed < 1
    assert response.error
    assert response.request_head == server.heard[0]


def test_connection_refused(make):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    response = fetch(make(), f"http://127.0.0.1:{port}/")
    assert (response.failure, response.status, response.request_head) == (CONNECT, 0, b"")
    assert response.error
    assert "\n" not in response.error


def test_name_that_does_not_resolve(make):
    response = fetch(make(), "http://host.invalid/")
    assert (response.failure, response.status, response.ip) == (DNS, 0, "")
    assert response.error


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"])
def test_private_address_is_refused(make, host):
    family = socket.AF_INET6 if host == "[::1]" else socket.AF_INET
    with RawServer(always(page()), family=family) as server:
        url = f"http://{host}:{server.port}/"
        response = fetch(make(allow_private=False), url)
        assert (response.failure, response.status) == (ADDRESS, 0)
        assert "--allow-private" in response.error
        assert "127.0.0.1" in response.error or "::1" in response.error
        assert server.heard == []
        assert fetch(make(), url).failure == ""


def test_private_address_is_not_even_connected_to():
    transport = CurlTransport(POLICY._replace(allow_private=False))
    with RawServer(always(page())) as server:
        assert fetch(transport, server.url).failure == ADDRESS
    transport.close()
    assert server.connections == 0


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if not shutil.which("openssl"):
        pytest.skip("no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    key, cert = str(folder / "key.pem"), str(folder / "cert.pem")
    subprocess.run(
        shlex.split(
            "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1"
            f" -addext subjectAltName=IP:127.0.0.1 -keyout '{key}' -out '{cert}'"
        ),
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return cert, context


def test_certificate_that_nobody_trusts(make, certificate):
    _, context = certificate
    with RawServer(always(page()), tls=context) as server:
        response = fetch(make(), server.url)
    assert (response.failure, response.status, server.heard) == (TLS, 0, [])
    assert "certificate" in response.error


def test_certificate_that_the_environment_trusts(make, certificate, monkeypatch):
    cert, context = certificate
    monkeypatch.setenv("SSL_CERT_FILE", cert)
    transport = make()
    with RawServer(always(page()), tls=context) as server:
        assert [fetch(transport, server.url).body for _ in range(2)] == [b"<p>hello"] * 2
        wrong_name = fetch(transport, server.url.replace("127.0.0.1", "localhost"))
    assert (wrong_name.failure, server.connections) == (TLS, 2)


def test_tls_trickle_runs_into_the_timeout(make, certificate, monkeypatch):
    cert, context = certificate
    monkeypatch.setenv("SSL_CERT_FILE", cert)

    def script(peer):
        peer.hear()
        peer.say(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while True:
            peer.say(b"x")
            time.sleep(0.03)

    with RawServer(script, tls=context) as server:
        response = fetch(make(timeout=0.4), server.url)
        assert server.hung_up.wait(2)
    assert (response.failure, response.status) == (TIMEOUT, 200)
    assert set(response.body) <= set(b"x")


def test_no_tls_at_all(make):
    def script(peer):
        peer.say(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        peer.wait_for_hangup()

    with RawServer(script) as server:
        response = fetch(make(), server.url.replace("http:", "https:"))
    assert (response.failure, response.status) == (TLS, 0)


def test_connection_reset_before_an_answer(make):
    with RawServer(once(b"")) as server:
        response = fetch(make(), server.url)
    assert (response.failure, response.status) == (CONNECT, 0)
    assert response.request_head == server.heard[0]


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (b"hello\r\n\r\n", 0),
        (b"<html><body>HTTP/0.9", 0),
        (b"\x15\x03\x01\x00\x02\x02\x28", 0),
        (b"HTTP/9.9 200 OK\r\n\r\n", 0),
        (b"HTTP/1.1 2OO OK\r\nContent-Length: 0\r\n\r\n", 0),
        (b"HTTP/1.1 200 OK\r\nContent-Le", 0),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", 0),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello", 200),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\nhello", 200),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", 200),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello", 200),
    ],
)
def test_answer_that_is_broken(make, answer, status):
    transport = make()
    with RawServer(once(answer)) as server:
        response = fetch(transport, server.url)
    assert (response.failure, response.status) == (BROKEN, status)
    assert (response.head != b"") == (status != 0)
    assert b"hello".startswith(response.body)
    assert response.error
    with RawServer(always(page())) as server:
        assert fetch(transport, server.url).failure == ""


# Many, and none


def test_many_exchanges_at_once(make):
    hosts = [f"127.0.0.{i}" for i in range(1, 65)]
    with serve(lambda request: Answer(body=request.target.encode(), delay=0.01), hosts) as web:
        transport = make(concurrency=64)
        todo = {
            host: [f"/{host}/{i}" for i in range(4 if i < 8 else 3)] for i, host in enumerate(hosts)
        }
        total = sum(map(len, todo.values()))
        for host in hosts:
            transport.start(Request((host, todo[host][0]), web.url(todo[host].pop(), host)))
        bodies = Counter()
        while bodies.total() < total:
            ended = transport.wait(5)
            assert ended
            for response in ended:
                assert response.failure == ""
                host = response.request.ticket[0]
                assert response.ip == host
                bodies[response.body.decode()] += 1
                if todo[host]:
                    transport.start(Request((host, ""), web.url(todo[host].pop(), host)))
        assert transport.wait(0) == []
        assert set(bodies.values()) == {1}
        assert len(web.log) == total == 200
        assert {web.connections(host) for host in hosts} == {1}
        assert {web.max_parallel(host) for host in hosts} == {1}


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts in /proc/self/fd")
def test_connections_kept_are_bounded(make):
    hosts = [f"127.0.0.{i}" for i in range(1, 61)]
    with serve(lambda request: Answer(), hosts) as web:
        transport = make(concurrency=1)
        for host in hosts:
            assert fetch(transport, web.url("/", host)).failure == ""
        with open("/proc/self/net/tcp") as table:
            rows = [line.split() for line in table]
        # The server's ends: local address, remote address, ESTABLISHED.
        port, established = f":{web.port:04X}", "01"
        kept = [row for row in rows if row[1].endswith(port) and row[3] == established]
        assert 0 < len(kept) <= 8


@pytest.mark.parametrize(
    ("concurrency", "descriptors", "size"), [(64, 20_000, 512), (64, 256, 128), (1000, 1024, 1000)]
)
def test_cache_size(concurrency, descriptors, size):
    assert cache_size(concurrency, descriptors) == size


def test_wait_does_not_spin(make):
    silent = threading.Event()
    with RawServer(lambda peer: silent.wait(5)) as server:
        transport = make()
        for busy in (False, True):
            if busy:
                transport.start(Request(None, server.url))
                transport.wait(0.05)
            wall, work = time.monotonic(), time.process_time()
            assert transport.wait(0.3) == []
            assert 0.28 < time.monotonic() - wall < 0.5
            assert time.process_time() - work < 0.03
            wall = time.monotonic()
            assert transport.wait(0) == []
            assert time.monotonic() - wall < 0.02
        silent.set()


def test_wait_returns_as_soon_as_one_has_ended(make):
    hosts = ["127.0.0.1", "127.0.0.2"]
    slow = {"127.0.0.1": 0.0, "127.0.0.2": 0.5}
    with serve(lambda request: Answer(delay=slow[request.host]), hosts) as web:
        transport = make()
        for host in hosts:
            transport.start(Request(host, web.url("/", host)))
        assert [response.request.ticket for response in transport.wait(5)] == ["127.0.0.1"]
        assert [response.request.ticket for response in transport.wait(5)] == ["127.0.0.2"]


def test_close_drops_what_is_under_way(make):
    def script(peer):
        peer.hear()
        peer.wait_for_hangup()

    with RawServer(script) as server:
        transport = make()
        transport.start(Request(None, server.url))
        transport.wait(0.1)
        transport.close()
        assert server.hung_up.wait(2)
        transport.close()


# requests only: the user's session


def test_session_brings_its_auth():
    session = requests.Session()
    session.auth = ("me", "secret")
    transport = RequestsTransport(POLICY, session)
    with RawServer(always(page())) as server:
        response = fetch(transport, server.url)
    transport.close()
    assert b"Authorization: Basic bWU6c2VjcmV0\r\n" in server.heard[0]
    assert b"User-Agent: bot/1" in server.heard[0]
    assert response.request_head == server.heard[0]


def test_session_brings_its_adapter():
    class Echo(HTTPAdapter):
        def send(self, request, **kwargs):
            kwargs["proxies"] = {}
            request.headers["X-Adapter"] = "yes"
            return super().send(request, **kwargs)

    session = requests.Session()
    session.mount("http://", Echo())
    transport = RequestsTransport(POLICY, session)
    with RawServer(always(page())) as server:
        response = fetch(transport, server.url)
    transport.close()
    assert b"X-Adapter: yes" in server.heard[0]
    assert (response.failure, response.head + response.body) == ("", page())


def test_session_without_adapters_of_its_own_is_guarded():
    transport = RequestsTransport(POLICY._replace(allow_private=False), requests.Session())
    with RawServer(always(page())) as server:
        assert fetch(transport, server.url).failure == ADDRESS
    transport.close()
    assert server.heard == []
