"""What goes wrong, and the word that every transport has for it."""

from __future__ import annotations

import shlex
import shutil
import socket
import ssl
import subprocess
import time

import pytest

from tests.rawserver import RawServer, always, once, page
from tests.transports import (
    POLICY,
    fetch,
    make_transport,  # noqa: F401
)
from transforms.transport import ADDRESS, BROKEN, CONNECT, DNS, TIMEOUT, TLS
from transforms.transport_curl import CurlTransport


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


def test_public_address_is_asked(make, monkeypatch):
    monkeypatch.setattr("transforms.curl_exchange.is_public", lambda address: True)
    monkeypatch.setattr("transforms.requests_adapter.is_public", lambda address: True)
    transport = make(allow_private=False)
    with RawServer(always(page())) as server:
        assert [fetch(transport, server.url).failure for _ in range(2)] == ["", ""]
    assert server.connections == 1
