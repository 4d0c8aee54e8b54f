"""Parse: a response becomes a row, and its links as they were written."""

from __future__ import annotations

import pytest
from apache_beam import Create
from apache_beam.testing.util import assert_that, equal_to

from tests.samples import make_fetched, pipeline_of_stage
from transforms.fingerprints import fingerprint_content
from transforms.parse import ParsePages, mark_nofollow, parse_page
from transforms.records import (
    HTTP_ERROR,
    NETWORK_ERROR,
    NOFOLLOW_MARK,
    NOT_MODIFIED,
    OUTCOMES,
    PAGE,
    REDIRECT,
    ROBOTS_TXT,
    TOO_LARGE,
    Fetched,
    Link,
    Page,
)
from transforms.soft_404 import EMPTY, SOFT_404

BODY = b"<title>Hello</title><a href=/one>1</a><a href=two>2</a>"


AGENT = "beamcrawl"


def parse(fetched: Fetched, agent: str = AGENT) -> Page:
    return parse_page(fetched, agent)


def head(*lines: str) -> bytes:
    return "".join(f"{line}\r\n" for line in ("HTTP/1.1 200 OK", *lines, "")).encode()


def test_parse_page_of_html_has_title_links_and_fingerprint():
    page = parse(make_fetched("http://a.example/x/", BODY))
    assert page.title == "Hello"
    assert page.links == [Link("/one", "a"), Link("two", "a")]
    assert page.fingerprint == fingerprint_content(BODY)
    assert (page.size, page.content_type) == (len(BODY), "text/html; charset=utf-8")
    assert (page.base, page.encoding) == ("http://a.example/x/", "utf-8")
    assert page.refused == []
    assert (page.warc_file, page.warc_offset) == ("", -1)


def test_parse_page_passes_on_what_the_fetch_says():
    fetched = make_fetched(error="because", status=503, outcome=HTTP_ERROR)
    page = parse(fetched)
    for name in ("slot", "url", "outcome", "status", "fetched_at", "elapsed_ms", "error"):
        assert getattr(page, name) == getattr(fetched, name)


@pytest.mark.parametrize(
    "outcome", [o for o in (*OUTCOMES, ROBOTS_TXT) if o not in (PAGE, REDIRECT)]
)
def test_parse_page_reads_no_body_but_a_pages(outcome):
    page = parse(make_fetched("http://a.example/", BODY, outcome=outcome))
    assert (page.links, page.title, page.fingerprint) == ([], "", 0)
    assert page.size == len(BODY)


def test_parse_page_of_an_empty_body_has_nothing_to_compare():
    page = parse(make_fetched(body=b""))
    assert (page.fingerprint, page.links, page.size) == (0, [], 0)


def test_parse_page_takes_the_base_and_encoding_of_the_document():
    body = b"<meta charset=windows-1252><base href=/elsewhere/><a href=x>"
    page = parse(make_fetched(body=body, head=head("Content-Type: text/html")))
    assert (page.base, page.encoding) == ("http://a.example/elsewhere/", "cp1252")


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/there", "http://a.example/there"),
        ("//b.example", "http://b.example/"),
        ("https://b.example/x#part", "https://b.example/x"),
        ("mailto:a@b.example", "mailto:a@b.example"),
        ("http://[", ""),
        ("", "http://a.example/x"),
        ("/caf\u00e9", "http://a.example/caf%C3%A9"),
    ],
)
def test_parse_page_of_a_redirect_has_its_target(location, target):
    fetched = make_fetched(
        "http://a.example/x",
        BODY,
        outcome=REDIRECT,
        status=302,
        head=head(f"Location: {location}"),
    )
    page = parse(fetched)
    assert page.redirect_to == target
    assert page.links == ([Link(target, "redirect")] if target else [])


def test_parse_page_takes_a_refresh_header_for_a_link():
    page = parse(
        make_fetched(body=BODY, head=head("Content-Type: text/html", "Refresh: 5; url=/next"))
    )
    assert page.links[-1] == Link("/next", "refresh")
    assert len(page.links) == 3


@pytest.mark.parametrize(
    ("element", "header", "canonical"),
    [
        ("", "", ""),
        ("<link rel=canonical href=c>", "", "http://a.example/base/c"),
        ("", "<c>; rel=canonical", "http://a.example/x/c"),  # RFC 8288 §3.2
        ("<link rel=canonical href=c>", "<d>; rel=canonical", "http://a.example/base/c"),
        ("<link rel=canonical href=//b.example/#x>", "", "http://b.example/"),
        ("<link rel=canonical>", "", ""),
        ("<link rel=canonical href='http://['>", "", ""),
        ("", "<http://[>; rel=canonical", ""),
        ("", "<c>; rel=next", ""),
    ],
)
def test_parse_page_records_which_url_it_says_is_its_own(element, header, canonical):
    body = f"<base href=/base/>{element}<a href=/one>1</a>".encode()
    lines = head("Content-Type: text/html", *([f"Link: {header}"] if header else []))
    page = parse(make_fetched("http://a.example/x/y", body, head=lines))
    assert page.canonical == canonical
    assert Link("/one", "a") in page.links  # its links are followed all the same
    kinds = [link.kind for link in page.links]
    assert ("canonical" in kinds) == bool(canonical or "[" in element)


TEXT = "<p>Enough text to tell this page from any other. " * 10


def test_parse_page_has_the_fingerprint_of_its_text_and_notes():
    one, two = (
        parse(make_fetched(body=f"<title>T</title>{TEXT} Read {n} times.".encode()))
        for n in (1, 20)
    )
    assert one.fingerprint != two.fingerprint
    assert one.text_fingerprint == two.text_fingerprint != 0
    assert one.note == two.note == ""
    lost = parse(make_fetched(body=b"<title>Page not found</title>"))
    assert (lost.text_fingerprint, lost.note) == (0, SOFT_404)


@pytest.mark.parametrize(
    ("content_type", "body", "note"),
    [
        ("text/plain", b"text " * 200, ""),
        ("text/plain", b"", EMPTY),
        ("text/html", b"<body></body>", EMPTY),
        ("text/html", b"<a href=/>", ""),
    ],
)
def test_parse_page_without_text_has_no_fingerprint_of_it(content_type, body, note):
    page = parse(make_fetched(body=body, head=head(f"Content-Type: {content_type}")))
    assert (page.text_fingerprint, page.note) == (0, note)


@pytest.mark.parametrize("refresh", ["5", "soon; url=/next", ""])
def test_parse_page_takes_no_link_from_a_refresh_without_one(refresh):
    page = parse(
        make_fetched(body=BODY, head=head("Content-Type: text/html", f"Refresh: {refresh}"))
    )
    assert [link.kind for link in page.links] == ["a", "a"]


def test_parse_page_of_what_is_no_document_has_a_row_without_links():
    page = parse(make_fetched(body=BODY, head=head("Content-Type: text/plain")))
    assert (page.links, page.title, page.content_type) == ([], "", "text/plain")
    assert page.fingerprint == fingerprint_content(BODY)


@pytest.mark.parametrize(
    ("outcome", "etag"), [(PAGE, '"v1"'), (NOT_MODIFIED, '"v1"'), (HTTP_ERROR, ""), (TOO_LARGE, "")]
)
def test_parse_page_keeps_the_validators_of_what_was_had(outcome, etag):
    date = "Mon, 01 Jan 2024 00:00:00 GMT"
    fetched = make_fetched(outcome=outcome, head=head('ETag: "v1"', f"Last-Modified: {date}"))
    page = parse(fetched)
    assert (page.etag, page.last_modified) == (etag, date)


def test_parse_page_cuts_headers_that_are_endless():
    fetched = make_fetched(
        head=head("Content-Type: " + "t" * 999, "ETag: " + "e" * 999, "Last-Modified: " + "l" * 999)
    )
    page = parse(fetched)
    assert [len(text) for text in (page.content_type, page.etag, page.last_modified)] == [
        200,
        500,
        100,
    ]


def test_parse_page_of_no_answer_has_a_row():
    page = parse(make_fetched(outcome=NETWORK_ERROR, status=0, head=b"", error="timeout"))
    assert (page.outcome, page.status, page.content_type, page.error) == (
        NETWORK_ERROR,
        0,
        "",
        "timeout",
    )


LINKS = [Link("/1", "a"), Link("/2", "area"), Link("/3", "a")]


@pytest.mark.parametrize(
    ("which", "links"),
    [
        (frozenset(), LINKS),
        (frozenset({0}), [LINKS[1], LINKS[2], Link("/1", "a nofollow")]),
        (frozenset({2, 0}), [LINKS[1], Link("/1", "a nofollow"), Link("/3", "a nofollow")]),
        (None, [Link(url, kind + NOFOLLOW_MARK) for url, kind in LINKS]),
    ],
)
def test_mark_nofollow_puts_marked_links_last(which, links):
    assert mark_nofollow(LINKS, which) == links


WISHES = b"<a href=/1><a href=/2 rel=nofollow>"


@pytest.mark.parametrize(
    ("lines", "meta", "agent", "kinds"),
    [
        ((), b"", "", ["a", "a"]),
        ((), b"", AGENT, ["a", "a nofollow"]),
        ((), b"<meta name=robots content=nofollow>", AGENT, ["a nofollow"] * 2),
        ((), b"<meta name=robots content=nofollow>", "", ["a", "a"]),
        ((), b"<meta name=BeamCrawl content=none>", AGENT, ["a nofollow"] * 2),
        ((), b"<meta name=otherbot content=nofollow>", AGENT, ["a", "a nofollow"]),
        (("X-Robots-Tag: nofollow",), b"", AGENT, ["a nofollow"] * 2),
        (("X-Robots-Tag: otherbot: nofollow",), b"", AGENT, ["a", "a nofollow"]),
        (("X-Robots-Tag: nofollow", "Refresh: 0; url=/3"), b"", AGENT,
         ["a nofollow", "a nofollow", "refresh nofollow"]),
        (("Refresh: 0; url=/3",), b"", AGENT, ["a", "refresh", "a nofollow"]),
    ],
)  # fmt: skip
def test_parse_page_marks_the_links_that_are_not_to_be_followed(lines, meta, agent, kinds):
    fetched = make_fetched(body=meta + WISHES, head=head("Content-Type: text/html", *lines))
    assert [link.kind for link in parse(fetched, agent).links] == kinds


@pytest.mark.parametrize(
    ("tag", "noindex", "noarchive"),
    [("all", False, False), ("noindex", True, False), ("noarchive", False, True),
     ("noindex, noarchive", True, True), ("none", True, False)],
)  # fmt: skip
def test_parse_page_heeds_noindex_and_noarchive(tag, noindex, noarchive):
    fetched = make_fetched(body=BODY, head=head("Content-Type: text/html", f"X-Robots-Tag: {tag}"))
    page = parse(fetched)
    assert (page.noindex, page.noarchive) == (noindex, noarchive)
    page = parse(fetched, agent="")
    assert (page.noindex, page.noarchive) == (False, False)


def test_parse_pages_keeps_the_fetch_beside_its_page():
    fetched = [make_fetched(f"http://a.example/{n}", BODY) for n in range(3)]
    with pipeline_of_stage() as pipeline:
        parsed = pipeline | Create(fetched) | ParsePages(AGENT)
        assert_that(parsed, equal_to([(one, parse_page(one, AGENT)) for one in fetched]))
