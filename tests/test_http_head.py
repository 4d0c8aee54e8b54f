"""The head of a response: every value is kept, whatever its bytes."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.http_head import first, parse_head

STATUS = b"HTTP/1.1 200 OK\r\n"
NAMES = st.text(string.ascii_letters + string.digits + "-_", min_size=1, max_size=10)
VALUES = st.text(string.ascii_letters + string.digits + ' :;,="/\u00e9', max_size=20)


@pytest.mark.parametrize(
    ("lines", "headers"),
    [
        (b"", {}),
        (b"A: 1\r\n", {"a": ["1"]}),
        (b"A:1\r\nB:\t2\t\r\n", {"a": ["1"], "b": ["2"]}),
        (b"Link: <x>\r\nB: 2\r\nLINK: <y>\r\n", {"link": ["<x>", "<y>"], "b": ["2"]}),
        (b"Empty:\r\n", {"empty": [""]}),
        (b"When: 12:30:00\r\n", {"when": ["12:30:00"]}),
        (b"Space : 1\r\n", {"space": ["1"]}),
        (b"not a header\r\nA: 1\r\n", {"a": ["1"]}),
        (b"Folded: one\r\n two\r\n\tthree\r\nA: 1\r\n", {"folded": ["one two three"], "a": ["1"]}),
        (b" stray fold\r\nA: 1\r\n", {"a": ["1"]}),
        (b"A: 1\nB: 2\n", {"a": ["1"], "b": ["2"]}),  # bare line feeds, RFC 9112 §2.2
        ("Place: Zürich\r\n".encode(), {"place": ["Zürich"]}),
        (b"Place: Z\xfcrich\r\n", {"place": ["Zürich"]}),
        (b"\xff\xfe: \x00\r\n", {"ÿþ": ["\x00"]}),
    ],
)
def test_parse_head_of_header_lines(lines, headers):
    assert parse_head(STATUS + lines + b"\r\n") == headers


@pytest.mark.parametrize("head", [b"", b"\r\n", STATUS, b"HTTP/1.1 200 A: B\r\n\r\n"])
def test_parse_head_of_a_status_line_alone_is_empty(head):
    assert parse_head(head) == {}


@given(st.binary(max_size=200))
def test_parse_head_never_raises(head):
    headers = parse_head(head)
    assert all(name == name.strip().lower() for name in headers)
    assert all(headers.values())


@given(st.lists(st.tuples(NAMES, VALUES), max_size=10))
def test_parse_head_keeps_every_value_in_order(lines):
    head = STATUS + "".join(f"{name}: {value}\r\n" for name, value in lines).encode() + b"\r\n"
    expected: dict[str, list[str]] = {}
    for name, value in lines:
        expected.setdefault(name.lower(), []).append(value.strip())
    assert parse_head(head) == expected


def test_first_is_the_first_or_nothing():
    assert first({"a": ["1", "2"]}, "a") == "1"
    assert first({"a": ["1"]}, "b") == ""
