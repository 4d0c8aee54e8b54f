"""A page's text: what changes from visit to visit does not count, all else does."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.html import parse_document
from transforms.html_scan import MAX_TREE_BYTES
from transforms.text import LEAST_TEXT, essence, fingerprint_text, text_of_source

WORDS = "A page is a place. Its links are doors, and most of them are open to everyone. " * 6


def fingerprint(html: str) -> int:
    document = parse_document(html.encode(), "text/html; charset=utf-8", "http://a.example/")
    assert document.text is not None
    return fingerprint_text(document.title, essence(document.text))


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Visitors: 9", "Visitors: 1,000"),
        ("It is 9:59.", "It is 10:00:01."),
        ("Updated 2025-03-04 10:15.", "Updated 2026-11-30 9:05."),
        ("On March 4, 2025 we met", "On December 31st, 2026 we met"),
        ("On Tuesday, 4 March 2025", "On Friday, 13 June 2025"),
        ("Am 4. März 2025 war es", "Am 30. Juni 2025 war es"),
        ("El 4 de marzo de 2025", "El 13 de junio de 2026"),
        ("Tue, 04 Mar 2025 10:00:00 GMT", "Wed, 12 Nov 2025 23:59:59 GMT"),
        ("Tue Mar  4 10:15:22 2025", "Wed Nov 12 01:02:03 2026"),
        ("2025年3月4日", "2026年11月30日"),
        ("See https://a.example/?session=abc", "See https://a.example/?session=xyz"),
        ("<p>one two</p>", "<p class=new>one two</p>"),
        ("<a href=/x?id=1>one</a>", "<a href=/x?id=2>one</a>"),
        ("<script>var nonce = 'abc'</script>", "<script>var nonce = 'xyz'</script>"),
        ("<nav>Home &gt; one</nav>", "<nav>Home &gt; <a href=/>two</a></nav>"),
        ("<nav><script>'abc'</script></nav>", "<nav><style>xyz</style></nav>"),
        ("<footer>made by abc</footer>", "<footer>made by xyz</footer>"),
        ("<!-- built by abc -->", "<!-- built by xyz -->"),
    ],
)
def test_fingerprint_text_does_not_see(one, two):
    pages = [f"<title>T</title><body><p>{WORDS}</p>{part}" for part in (one, two)]
    assert fingerprint(pages[0]) == fingerprint(pages[1]) != 0


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("<p>one</p>", "<p>two</p>"),
        ("the + operator", "the - operator"),
        ("Case", "case"),
        ("<a href=/>one</a>", "<a href=/>two</a>"),
        ("<header><h1>one</h1></header>", "<header><h1>two</h1></header>"),
        ("<p>가</p>", "<p>나</p>"),
        ("in March we met", "in June we met"),  # nothing says that this is today
    ],
)
def test_fingerprint_text_sees(one, two):
    pages = [f"<title>T</title><body><p>{WORDS}</p>{part}" for part in (one, two)]
    assert fingerprint(pages[0]) != fingerprint(pages[1])


def test_fingerprint_text_counts_a_title_with_its_numbers():
    pages = [f"<title>Version 1.{n}</title><p>{WORDS}" for n in range(2)]
    assert fingerprint(pages[0]) != fingerprint(pages[1])


@pytest.mark.parametrize(
    "html",
    [
        "",
        "<title>A title is no text, however long it may be</title>" + "<img src=x>" * 100,
        "Loading" + " " * 5000,
        "<p>1, 2, 3: 4.</p>" * 500,
        f"<script>{WORDS}</script><nav>{WORDS}</nav>",
        "a" * (LEAST_TEXT - 1),
    ],
)
def test_fingerprint_text_of_too_little_is_none(html):
    assert fingerprint(html) == 0


def test_fingerprint_text_of_just_enough_is_one():
    assert fingerprint("a" * LEAST_TEXT) != 0


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
def test_essence_is_of_the_text_alone(text):
    left = essence(text).decode()
    assert not set(left) & set("0123456789.,:")
    if " 20" not in text and "http" not in text:
        assert left == "".join(letter for letter in text if letter not in "0123456789.,:")


@given(st.text("ab 20,:/.hStp", max_size=200), st.integers(0, 10**9), st.integers(0, 10**9))
def test_essence_does_not_depend_on_a_counter(text, one, two):
    around = text.rstrip("0123456789.,:")
    assert essence(f"{around} read {one} times") == essence(f"{around} read {two} times")


def test_essence_of_half_a_character_does_not_fail():
    assert essence("\ud800") == b"?"


def test_text_of_source_is_what_stands_between_tags():
    source = b"<html><p>one</p>\n<p class=x>two &amp; <b>three</b><!-- no --></html>"
    assert text_of_source(source).split() == ["one", "two", "&amp;", "three"]


def test_text_of_a_page_too_large_for_a_tree_is_had_all_the_same():
    page = f"<title>T</title><p>{WORDS}</p><p>Read 9 times</p>" + "<p>more</p>" * MAX_TREE_BYTES
    assert fingerprint(page) == fingerprint(page.replace("9", "1,000")) != 0
    assert fingerprint(page) != fingerprint(page.replace("Read", "Seen"))


def test_text_of_xhtml_is_that_of_its_body():
    page = (
        "<html xmlns='http://www.w3.org/1999/xhtml'><head><title>T</title></head><body><p>one</p>"
        "<script>no()</script> two<nav><a href='/'>no</a></nav><!-- no -->"
        " &amp; &eacute;</body></html>"
    )
    document = parse_document(page.encode(), "application/xhtml+xml", "http://a.example/")
    assert document.text == "one two & é"
    assert [link.url for link in document.links] == ["/"]


@pytest.mark.parametrize(
    "part",
    ["<", "<!--", "<nav>", "<script", "<nav><!--", "</", " 20", "a 4 b 20", "http://", "<a "],
)
def test_text_takes_linear_time_whatever_the_page(part):
    source = (part * (2_000_000 // len(part))).encode()
    began = time.process_time()
    essence(text_of_source(source))
    essence(source.decode())
    assert time.process_time() - began < 5
