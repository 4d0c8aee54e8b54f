"""Parse: what a response is, and which links stand in it.

The rules for HTML are in `html`, those for character sets in `charset`. What is not a
document has no links, but its row in `pages` all the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import apache_beam as beam

from transforms.fingerprints import fingerprint_content
from transforms.gist import gists_of
from transforms.html import parse_document
from transforms.http_head import first, parse_head
from transforms.link_header import canonical_of
from transforms.records import (
    NOFOLLOW_MARK,
    NOT_MODIFIED,
    PAGE,
    REDIRECT,
    Fetched,
    Link,
    Page,
)
from transforms.refresh import parse_refresh
from transforms.robots_meta import Directives, directives
from transforms.sketch import sketch_text
from transforms.soft_404 import EMPTY, note_on
from transforms.text import essence, fingerprint_text
from transforms.urls import resolve


def mark_nofollow(links: list[Link], which: frozenset[int] | None) -> list[Link]:
    """The links with those not to be followed (None: all) marked, and behind all others.

    A target that is also linked without the mark may be followed: of two links to one
    URL the first counts.
    """
    marked = range(len(links)) if which is None else which
    others = [link for index, link in enumerate(links) if index not in marked]
    return others + [Link(links[i].url, links[i].kind + NOFOLLOW_MARK) for i in sorted(marked)]


def parse_page(fetched: Fetched, agent: str, sketches: bool = False) -> Page:
    """The page that a fetch brought home: its row, and its links as they were written.

    `agent` is the name that directives for robots may address; "" obeys none. `sketches`
    says whether a sketch is made of its text.
    """
    headers = parse_head(fetched.head)
    url = fetched.url.url
    content_type = first(headers, "content-type")
    base, encoding, title, redirect_to = url, "utf-8", "", ""
    text_fingerprint, canonical, note = 0, "", ""
    sketch: int | None = None
    gists: tuple[int, int] | None = None
    wishes = Directives()
    links: list[Link] = []
    if fetched.outcome == REDIRECT:
        redirect_to = resolve(url, first(headers, "location")) or ""
        links = [Link(redirect_to, "redirect")] if redirect_to else []
    elif fetched.outcome == PAGE:
        document = parse_document(fetched.body, content_type, url)
        base, encoding, title = document.base, document.encoding, document.title
        refresh = parse_refresh(first(headers, "refresh")) if "refresh" in headers else None
        links = document.links
        if document.canonical:
            canonical = resolve(base, document.canonical, encoding) or ""
        if "link" in headers and (named := canonical_of(headers["link"])):
            # Relative to the page's own URL, whatever its <base> says (RFC 8288 §3.2).
            named = resolve(url, named) or ""
            canonical = canonical or named
            links = [*links, Link(named, "canonical")] if named else links
        if document.text is not None:
            left = essence(document.text)
            text_fingerprint = fingerprint_text(title, left)
            gists = gists_of(title, document.text, left, url)
            if sketches and text_fingerprint:
                sketch = sketch_text(left)
            note = note_on(fetched.status, title, document.text, has_links=bool(links))
        elif not fetched.body:
            note = EMPTY
        if refresh is not None and refresh[1]:
            links = [*links, Link(refresh[1], "refresh")]
        if agent and (document.robots or "x-robots-tag" in headers):
            tags = headers.get("x-robots-tag", ())
            wishes = directives(document.robots, tags, agent, fetched.fetched_at)
        if agent and (document.nofollow or wishes.nofollow):
            links = mark_nofollow(links, None if wishes.nofollow else document.nofollow)
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
        noindex=wishes.noindex,
        noarchive=wishes.noarchive,
        text_fingerprint=text_fingerprint,
        canonical=canonical,
        note=note,
        sketch=sketch,
        gists=gists,
    )


class _ParsePages(beam.DoFn):  # type: ignore[misc]
    def __init__(self, agent: str, sketches: bool) -> None:
        self.agent = agent
        self.sketches = sketches

    def process(self, fetched: Fetched) -> Iterator[tuple[Fetched, Page]]:
        yield fetched, parse_page(fetched, self.agent, self.sketches)


class ParsePages(beam.PTransform):  # type: ignore[misc]
    """Fetched → (Fetched, Page)."""

    def __init__(self, agent: str, sketches: bool = False) -> None:
        super().__init__()
        self.agent = agent
        self.sketches = sketches

    def expand(self, fetched: beam.PCollection) -> beam.PCollection:
        return fetched | beam.ParDo(_ParsePages(self.agent, self.sketches))
