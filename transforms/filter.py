"""Filter: which links belong to the crawl.

One ordered list of refusals, cheapest first. A refusal's name is the reason in the
`links` table, the count in the manifest and the word in the README.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import apache_beam as beam

from transforms.canonical import ALL_RULES, Canonical
from transforms.fingerprints import fingerprint_url, fingerprint_written
from transforms.records import NOFOLLOW_MARK, Page
from transforms.urls import host_of

SCOPES = ("page", "prefix", "host", "domain", "any")

SCHEME = "scheme"  # neither http nor https
SCOPE = "scope"  # outside --scope
EXCLUDED = "excluded"  # matches an --exclude
NOT_INCLUDED = "not_included"  # matches no --include
NOFOLLOW = "nofollow"  # says its page; of the link, not of the URL: another link may admit it
REASONS = (NOFOLLOW, SCHEME, SCOPE, EXCLUDED, NOT_INCLUDED)

# Said of a URL as written, so nothing is said of others with its canonical key.
BY_PATTERN = frozenset((EXCLUDED, NOT_INCLUDED))

_CACHE_URLS = 100_000  # verdicts remembered: most links of a page stood on the last one too


class FilterRules(NamedTuple):
    scope: str  # one of SCOPES
    seeds: tuple[str, ...]
    include: tuple[str, ...] = ()  # regular expressions, searched in the whole URL
    exclude: tuple[str, ...] = ()
    canonical: Canonical = ALL_RULES


@cache
def _public_suffixes() -> Any:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()


@cache
def registrable_domain(host: str) -> str:
    """The domain that someone registered, by the Public Suffix List; an address is its own.

    >>> registrable_domain("docs.example.co.uk"), registrable_domain("127.0.0.1")
    ('example.co.uk', '127.0.0.1')
    """
    if host.startswith("[") or host.rsplit(".", 1)[-1].isdigit():
        return host
    return _public_suffixes().privatesuffix(host) or host


def scope_key(scope: str, url: str) -> str:
    """What a URL must share with a seed to be in scope. http and https are one.

    >>> scope_key("prefix", "https://example.com/docs/index.html?q")
    'example.com/docs/'
    """
    if scope == "host":
        return host_of(url)
    if scope == "domain":
        return registrable_domain(host_of(url))
    rest = url.partition("://")[2]
    if scope == "prefix":
        rest = rest.partition("?")[0]
        return rest[: rest.rfind("/") + 1]
    return rest


class UrlFilter:
    """Says of a URL why it is refused, or None."""

    def __init__(self, rules: FilterRules, redirected: Iterable[str] = ()) -> None:
        self.scope = rules.scope
        self.canonical = rules.canonical
        starts = [rules.canonical.key(url) for url in (*rules.seeds, *redirected)]
        self.keys = frozenset(scope_key(rules.scope, key) for key in starts)
        self.prefixes = tuple(self.keys)
        self.exclude = [re.compile(pattern) for pattern in rules.exclude]
        self.include = [re.compile(pattern) for pattern in rules.include]

    def refusal(self, url: str, *, of_seed: bool = False) -> str | None:
        """The first reason that holds. `of_seed`: what a seed redirects to is in scope."""
        if not url.startswith(("http://", "https://")):
            return SCHEME
        if not of_seed and not self._in_scope(self.canonical.key(url)):
            return SCOPE
        if any(pattern.search(url) for pattern in self.exclude):
            return EXCLUDED
        if self.include and not any(pattern.search(url) for pattern in self.include):
            return NOT_INCLUDED
        return None

    def identity(self, url: str, reason: str | None) -> int:
        """The fingerprint of a URL on which that was the verdict."""
        if reason in BY_PATTERN:
            return fingerprint_written(url)
        return fingerprint_url(url, self.canonical)

    def _in_scope(self, key: str) -> bool:
        if self.scope == "any":
            return True
        if self.scope == "prefix":
            return key.partition("://")[2].startswith(self.prefixes)
        return scope_key(self.scope, key) in self.keys


class _FilterUrls(beam.DoFn):  # type: ignore[misc]
    def __init__(self, rules: FilterRules) -> None:
        self.rules = rules

    def start_bundle(self) -> None:
        self.redirected: tuple[str, ...] | None = None

    def process(self, page: Page) -> Iterable[Page]:
        if page.slot.scope != self.redirected:
            self.redirected = page.slot.scope
            self.filter = UrlFilter(self.rules, self.redirected)
            self.verdicts: dict[str, str | None] = {}
        verdicts = self.verdicts
        refused: list[str | None] = []
        if len(verdicts) > _CACHE_URLS:
            verdicts.clear()
        for url, kind in page.links:
            if kind.endswith(NOFOLLOW_MARK):
                refused.append(NOFOLLOW)
            elif kind == "redirect":
                refused.append(self.filter.refusal(url, of_seed=page.url.seed))
            else:
                try:
                    refused.append(verdicts[url])
                except KeyError:
                    reason = verdicts[url] = self.filter.refusal(url)
                    refused.append(reason)
        return [page._replace(refused=refused)]


class FilterUrls(beam.PTransform):  # type: ignore[misc]
    """Page with links → Page with, for each link, the reason why it is refused or None."""

    def __init__(self, rules: FilterRules) -> None:
        super().__init__()
        self.rules = rules

    def expand(self, pages: beam.PCollection) -> beam.PCollection:
        return pages | beam.ParDo(_FilterUrls(self.rules))
