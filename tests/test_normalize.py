"""Normalize: links as written become absolute URLs, each once a page."""

from __future__ import annotations

from apache_beam import Create
from apache_beam.testing.util import assert_that, equal_to

from tests.samples import make_page, pipeline_of_stage
from transforms.normalize import NormalizeUrls, normalize_links
from transforms.records import Link


def written(*links: Link, **changes):
    return make_page("http://a.example/d/x", **changes)._replace(links=list(links))


def test_normalize_links_resolves_against_the_base():
    page = written(Link("y", "a"), Link("../z#top", "frame"), base="http://b.example/e/f/")
    assert normalize_links(page).links == [
        Link("http://b.example/e/f/y", "a"),
        Link("http://b.example/e/z", "frame"),
    ]


def test_normalize_links_keeps_the_first_of_equal_targets():
    page = written(Link("y#1", "area"), Link("/d/y", "a"), Link("x", "a"), Link("./y", "a"))
    assert normalize_links(page).links == [
        Link("http://a.example/d/y", "area"),
        Link("http://a.example/d/x", "a"),
    ]


def test_normalize_links_escapes_queries_in_the_encoding_of_the_page():
    page = written(Link("?\u00e7", "a"), encoding="cp1252")
    assert normalize_links(page).links == [Link("http://a.example/d/x?%E7", "a")]


def test_normalize_links_keeps_other_schemes_for_the_filter():
    page = written(Link("mailto:x@a.example", "a"), Link("http://[", "a"))
    assert normalize_links(page).links == [Link("mailto:x@a.example", "a")]


def test_normalize_links_changes_nothing_else():
    page = written(Link("y", "a"), title="T", warc_offset=9)
    assert normalize_links(page)._replace(links=[]) == page._replace(links=[])


def test_normalize_urls_resolves_each_page():
    pages = [written(Link(href, "a")) for href in ("1", "2")]
    with pipeline_of_stage() as pipeline:
        resolved = pipeline | Create(pages) | NormalizeUrls()
        assert_that(
            resolved,
            equal_to([written(Link(f"http://a.example/d/{n}", "a")) for n in ("1", "2")]),
        )
