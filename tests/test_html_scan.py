from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.html import parse_document
from transforms.html_scan import MAX_TREE_BYTES, MAX_TREE_TAGS, is_tame, scan
from transforms.records import Link

URL = "http://example.org/"
N = 300_000


@pytest.mark.parametrize(
    ("html", "elements"),
    [
        ("<A HREF=x>", [("a", {"href": "x"})]),
        ("<a/href='x'title>", [("a", {"href": "x", "title": None})]),
        ("<a href = x =y z>", [("a", {"href": "x", "=y": None, "z": None})]),
        ("<a href='' HREF=x>", [("a", {"href": ""})]),
        (
            "<a href=?a&amp;b&copy=1&copy;&#38;&#x26;&nosuch;>",
            [("a", {"href": "?a&b&copy=1©&&&nosuch;"})],
        ),
        ("<a href=é\0>", [("a", {"href": "é\ufffd"})]),
        ("<title>a&lt;b</title>", [("title", {"": "a<b"})]),
        (
            "<svg><title>a</title><a href=x></svg><title>b</title>",
            [("a", {"href": "x"}), ("title", {"": "b"})],
        ),
        ("<svg/><title>b", [("title", {"": "b"})]),
        ("<iframe src=x><a href=y></iframe>", [("iframe", {"src": "x"})]),
        ("<template><a></template><plaintext><a>", []),
        ("</template><a>", [("a", {})]),
        ("<abbr><a-b><!a><?a></a><", []),
        ("<!--><a>-->", [("a", {})]),
        ("<!-- --!><a>", [("a", {})]),
        ("<!-- <a>", []),
        ("</ <a>><a>", [("a", {})]),
        ("<b x='<a>'><a>", [("a", {})]),
        ("<b x=<a><a>", [("a", {})]),
        ("<script><a></scripts></SCRIPT ><a>", [("a", {})]),
        ("<a href='x", []),
    ],
)
def test_scan_cuts_tags_as_the_standard_does(
    html: str, elements: list[tuple[str, dict[str, str | None]]]
) -> None:
    assert list(scan(html.encode())) == elements


PIECES = """<a|href=x1>|<a|href="x2">|<A|HREF='x3'>|<a/href=x4/>|<a|href|=|x5|>|</a>|<!--|-->|--!>
<!-->|<script>|</script>|<style>|</STYLE|>|<title>|</title>|<template>|</template>|<p>|</p>|"|'|>|<
=|/|&amp;|<a|title="|<img|alt="<a|href=x6>">|<x|y='>|<?x|<!d|</|</|a>|<area|href=ar>|<iframe|src=if>
</iframe>|<meta|http-equiv=refresh|content="0;url=re">|<link|rel=next|href=nx>|<base|href=/b/>|<div>
<noscript>|</noscript>|<textarea>|</textarea>|<a|href="?a&copy=1&copy;2&reg3&lt;">|<aa|href=n1>"""


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from([*PIECES.replace("\n", "|").split("|"), " ", "\0", "é"])))
def test_scan_and_the_tree_find_the_same(pieces: list[str]) -> None:
    html = " ".join(pieces).encode()
    page = parse_document(html, "text/html; charset=utf-8", URL)
    # What stands first is ignored, and too long for a tree.
    large = b"<!--" + b" " * MAX_TREE_BYTES + b"-->" + html
    assert is_tame(html) and not is_tame(large)
    found = parse_document(large, "text/html; charset=utf-8", URL)
    # Its text is had in a simpler way, see `text_of_source`.
    assert found._replace(text=page.text) == page


def many(tag: str, count: int) -> bytes:
    return "".join(tag.replace("#", str(i)) for i in range(count)).encode()


PARAGRAPHS = b"<p>x" * 3000
TAME = {
    "as many tags as may be": b"<p>" * MAX_TREE_TAGS,
    "equal formatting": b"<code class=x>y</code> " * 3000,
    "little open formatting": many("<i a=#>", 1000) + b"<p>x" * 900,
    "open links": many("<a href=#>", 3000) + PARAGRAPHS,
}
WILD = {
    "too many tags": b"<p>" * (MAX_TREE_TAGS + 1),
    "too many bytes": b" " * (MAX_TREE_BYTES + 1),
    "much open formatting": many("<i a=#>", 1000) + PARAGRAPHS,
    "in capitals": many("<I A='#'>", 1000) + PARAGRAPHS,
    "with quoted ends of tags": many("<i a=\">\" b='#>'>", 1000) + PARAGRAPHS,
}


@pytest.mark.parametrize("name", [*TAME, *WILD])
def test_only_a_page_whose_tree_stays_small_is_tame(name: str) -> None:
    assert is_tame((TAME | WILD)[name]) is (name in TAME)


HOSTILE = {
    "nested": b"<div>" * N,
    "nested 19,000 deep": b"<div>" * 19_000,
    "nested and closed": b"<div>" * N + b"</div>" * N,
    "nested lists": b"<ul><li>" * (N // 2),
    "nested tables": b"<table><td>" * (N // 2),
    "nested drawings": b"<svg>" * N,
    "nested templates": b"<template>" * N,
    "open links": b"<a href=x>" * (N // 2),
    "open formatting": many("<b a=#>", 200_000) + b"<p>x" * 200_000,
    "open formatting of a small page": many("<b a=#>", 2_500) + b"<p>x" * 2_500,
    "less-than": b"<" * N,
    "end tags": b"</" * N,
    "comments": b"<!--" * N,
    "open quotes": b"<a href=\"<a href='" * (N // 4),
    "one tag": b"<a " + many("a#=1 ", 300_000),
    "two bodies": (b"<body " + many("a#=1 ", 5_000) + b">") * 2,
    "one attribute": b"<a href='" + b"x" * N,
    "spaces in a tag": b"<a" + b" " * N,
    "references": b"<a href='" + b"&" * N,
    "a number": b"<title>&#" + b"1" * N + b"</title><a href='&#" + b"1" * N + b"'>",
    "scripts": b"<script>" * N,
    "NULs": b"\0" * N,
    "200,000 links": many("<a href='/p#'>x</a>", 200_000),
    "declarations": b"<?xml " * N,
    "ampersands": b"&" * N,
}


@pytest.mark.parametrize("content_type", ["text/html", "application/xhtml+xml"])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_page_takes_no_longer_than_its_size_allows(name: str, content_type: str) -> None:
    start = time.process_time()
    parse_document(HOSTILE[name] + b"<a href=last>", content_type, URL)
    # Seconds where quadratic time would take minutes.
    assert time.process_time() - start < 5


def test_links_are_found_at_any_depth() -> None:
    page = b"<div>" * 1_000_000 + b"<a href=x>"
    assert parse_document(page, "text/html", URL).links == [Link("x", "a")]


@pytest.mark.parametrize("entity", ["&e9;", "<a href='&e9;'/>"])
def test_entities_that_multiply_are_not_expanded(entity: str) -> None:
    declared = '<!ENTITY e0 "aaaaaaaaaa"><!ENTITY file SYSTEM "file:///etc/passwd">'
    for i in range(1, 10):
        declared += f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">'
    page = f"<!DOCTYPE html [{declared}]><html><title>t&file;</title>{entity}<a href='x'/></html>"
    document = parse_document(page.encode(), "application/xhtml+xml", URL)
    assert Link("x", "a") in document.links
    assert len(document.title) < 100 and "root:" not in document.title


def test_xhtml_that_is_not_well_formed_is_read_all_the_same() -> None:
    head = b"<html xmlns='http://www.w3.org/1999/xhtml'><head><title>x</title></head>"
    assert parse_document(head + b"<a href='?a=1&b=2'>", "application/xhtml+xml", URL).links == [
        Link("?a=1&b=2", "a")
    ]
    assert parse_document(head + b"<p><a href=x>", "application/xhtml+xml", URL).links == [
        Link("x", "a")
    ]
    assert parse_document(
        head + b"<script src='s'/><a href='&eacute;&amp;'/><br>", "application/xhtml+xml", URL
    ).links == [Link("é&", "a")]
