"""Parse: what a response is, and which links stand in it.

The rules for HTML are in `html`, those for character sets in `charset`. What is not a
document has no links, but its row in `pages` all the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import apache_beam as beam

from transforms.fingerprints import fingerprint_content
from transforms.html import parse_document
from transforms.http_head import first, parse_head
from transforms.records import NOT_MODIFIED, PAGE, REDIRECT, Fetched, Link, Page
from transforms.refresh import parse_refresh
from transforms.urls import resolve


def parse_page(fetched: Fetched) -> Page:
    """The page that a fetch brought home: its row, and its links as they were written."""
    headers = parse_head(fetched.head)
    url = fetched.url.url
    content_type = first(headers, "content-type")
    base, encoding, title, redirect_to = url, "utf-8", "", ""
    links: list[Link] = []
    if fetched.outcome == REDIRECT:
        redirect_to = resolve(url, first(headers, "location")) or ""
        links = [Link(redirect_to, "redirect")] if redirect_to else []
    elif fetched.outcome == PAGE:
        document = parse_document(fetched.body, content_type, url)
        base, encoding, title = document.base, document.encoding, document.title
        links = document.links
        refresh = parse_refresh(first(headers, "refresh")) if "refresh" in headers else None
        if refresh is not None and refresh[1]:
            links = [*links, Link(refresh[1], "refresh")]
    return Page(
        slot=fetched.slot,
        url=fetched.url,
        outcome=fetched.outcome,
        status=fetched.status,
        content_type=content_type[:200],
        size=len(fetched.body),
        fetched_at=fetched.fetched_at,
        elapsed_ms=fetched.elapsed_ms,
        fingerprint=fingerprint_content(fetched.body) if fetched.outcome == PAGE else 0,
        redirect_to=redirect_to,
        title=title,
        error=fetched.error,
        etag=first(headers, "etag")[:500] if fetched.outcome in (PAGE, NOT_MODIFIED) else "",
        last_modified=first(headers, "last-modified")[:100],
        base=base,
        encoding=encoding,
        links=links,
        refused=[],
    )


class _ParsePages(beam.DoFn):  # type: ignore[misc]
    def process(self, fetched: Fetched) -> Iterator[tuple[Fetched, Page]]:
        yield fetched, parse_page(fetched)


class ParsePages(beam.PTransform):  # type: ignore[misc]
    """Fetched → (Fetched, Page)."""

    def expand(self, fetched: beam.PCollection) -> beam.PCollection:
        return fetched | beam.ParDo(_ParsePages())
