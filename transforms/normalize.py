"""Normalize: links as written become absolute URLs, each once a page, fragment cut.

A URL is fetched as found (WHATWG form, see `urls`); nothing here decides whether two
URLs name one resource.
"""

from __future__ import annotations

import apache_beam as beam

from transforms.records import Page
from transforms.urls import resolve_all


def normalize_links(page: Page) -> Page:
    """The page with its links resolved against its base, in its own encoding."""
    return page._replace(links=resolve_all(page.base, page.links, page.encoding))


class NormalizeUrls(beam.PTransform):  # type: ignore[misc]
    """Page with links as found → Page with links resolved."""

    def expand(self, pages: beam.PCollection) -> beam.PCollection:
        return pages | beam.Map(normalize_links)
