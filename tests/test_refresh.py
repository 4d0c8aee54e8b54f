from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.refresh import parse_refresh

WPT = Path(__file__).parents[2] / "shared" / "conformance" / "meta-refresh-wpt.json"


@pytest.mark.skipif(not WPT.exists(), reason="the conformance data is not in ../shared")
def test_parse_refresh_agrees_with_web_platform_tests() -> None:
    wrong = []
    for case in json.loads(WPT.read_text()):
        expected = None if case["url"] is None else (case["seconds"], case["url"])
        if parse_refresh(case["content"]) != expected:
            wrong.append((case, parse_refresh(case["content"])))
    assert wrong == []


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("5; url=/next", (5, "/next")),
        ("0;URL='http://example.org/'", (0, "http://example.org/")),
        ("3", (3, "")),
        ("3;", (3, "")),
        ('1; url="a b"', (1, "a b")),
        ("2 http://example.org/", (2, "http://example.org/")),
        ("", None),
        ("soon", None),
        ("5s; url=x", None),
        ("-1; url=x", None),
        ("１; url=x", None),  # a digit, but not an ASCII digit
        ("1\u00a0url=x", None),  # a space, but not an ASCII space
        ("1;ſurl=x", (1, "ſurl=x")),
    ],
)
def test_parse_refresh_of_what_pages_write(content: str, expected: tuple[int, str] | None) -> None:
    assert parse_refresh(content) == expected


@pytest.mark.parametrize("content", ["1" * 1_000_000 + "x", "1" * 1_000_000, " " * 1_000_000])
def test_parse_refresh_of_a_long_text_takes_no_time(content: str) -> None:
    parse_refresh(content)


@given(st.text(alphabet="0123456789.;, \turlURL='\"x"))
def test_parse_refresh_never_raises(content: str) -> None:
    refresh = parse_refresh(content)
    if refresh is not None:
        seconds, target = refresh
        assert seconds >= 0
        assert target == target.strip("\t\n\f\r ")
