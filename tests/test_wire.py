import certifi
import pytest

from transforms import wire
from transforms.transport import TOO_LARGE, UNWANTED, FetchPolicy, Request


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://example.com/", ("example.com", "/")),
        ("http://example.com:80/", ("example.com", "/")),
        ("https://example.com:443/", ("example.com", "/")),
        ("https://example.com:80/", ("example.com:80", "/")),
        ("http://[::1]:8080/a?b=c", ("[::1]:8080", "/a?b=c")),
        ("http://h/%2f|'//x?q=a@b\\^", ("h", "/%2f|'//x?q=a@b\\^")),
        ("http://h/#fragment", None),
        ("http://user:secret@h/", None),
        ("http://h", None),
        ("http:///x", None),
        ("http://h/a b", None),
        ("http://h/\r\nX: y", None),
        ("http://h\r\nX: y/", None),
        ("http://h/\n", None),
        ("http://h/é", None),
        ("http://é/", None),
        ("ftp://h/", None),
        ("file:///etc/passwd", None),
        ("", None),
    ],
)
def test_host_and_target(url, expected):
    assert wire.host_and_target(url) == expected


@pytest.mark.parametrize(
    "header",
    [
        ("A", "b\r\nX: y"),
        ("A", "b\nX: y"),
        ("A", "b\0"),
        ("A\r\nX", "y"),
        ("A B", "y"),
        ("A:", "y"),
        ("", "y"),
        ("A", "  "),
        ("Host", "elsewhere"),
        ("Transfer-Encoding", "chunked"),
    ],
)
def test_header_lines_that_cannot_be_sent_are_left_out(header):
    assert wire.header_lines([header, ("B", "c")]) == {"b": b"B: c"}


def test_policy_lines_are_replaced_in_place_by_the_users():
    policy = FetchPolicy("bot/1", headers=(("accept", "text/plain"), ("X-Team", "é")))
    assert list(wire.policy_lines(policy, ["gzip", "br"]).values()) == [
        b"User-Agent: bot/1",
        b"accept: text/plain",
        b"Accept-Encoding: gzip, br",
        "X-Team: é".encode(),
    ]


OK, END = b"HTTP/1.1 200 OK\r\n", b"\r\n"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], (0, b"")),
        ([OK, b"A: b\r\n"], (0, b"")),
        ([OK, b"A: b\r\n", END], (200, OK + b"A: b\r\n\r\n")),
        ([b"HTTP/1.0 404\n", b"\n"], (404, b"HTTP/1.0 404\n\n")),
        ([OK, END, b"Trailer: late\r\n", END], (200, OK + END)),
        ([b"HTTP/1.1 103 Early Hints\r\n", b"Link: x\r\n", END, OK, END], (200, OK + END)),
        ([b"HTTP/1.1 100 Continue\r\n", END], (0, b"")),
        ([OK, b"A: " + b"b" * wire.MAX_HEAD, END], (0, b"")),
    ],
)
def test_read_head(lines, expected):
    assert wire.read_head(lines) == expected


@pytest.mark.parametrize(
    ("status", "fields", "any_type", "failure"),
    [
        (200, b"Content-Type: text/html", False, ""),
        (200, b"content-type:image/png", False, UNWANTED),
        (200, b"X-Content-Type: text/html\r\nCONTENT-TYPE: video/mp4", False, UNWANTED),
        (200, b"X: y", False, ""),
        (200, b"Content-Type: image/png", True, ""),
        (404, b"Content-Type: image/png", False, ""),
        (200, b"Content-Length: 11", False, TOO_LARGE),
        (200, b"Content-Length: 10", False, ""),
        (200, b"Content-Length: 11", True, ""),
        (200, b"Content-Length: many", False, ""),
        (304, b"Content-Length: 11", False, ""),
    ],
)
def test_verdict(status, fields, any_type, failure):
    head = b"HTTP/1.1 %d X\r\n%s\r\n\r\n" % (status, fields)
    request = Request(None, "http://h/", any_type=any_type)
    found, error = wire.verdict(request, head, status, max_body=10)
    assert found == failure
    assert bool(error) == bool(failure)


def test_trusted_roots_follow_the_environment(monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    assert wire.trusted_roots() == certifi.where()
    monkeypatch.setenv("SSL_CERT_FILE", "/some/roots.pem")
    assert wire.trusted_roots() == "/some/roots.pem"
