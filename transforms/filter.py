"""Filter: which links belong to the crawl.

One ordered list of refusals, cheapest first. A refusal's name is the reason in the
`links` table, the count in the manifest and the word in the README.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

import apache_beam as beam

from transforms import shape
from transforms.canonical import ALL_RULES, Canonical
from transforms.deny import Denied, denies_host
from transforms.fingerprints import fingerprint_url, fingerprint_written
from transforms.records import NOFOLLOW_MARK, Page
from transforms.urls import host_of

SCOPES = ("page", "prefix", "host", "domain", "any")

NOFOLLOW = "nofollow"  # says its page; of the link, not of the URL: another link may admit it
SCHEME, SCOPE, EXCLUDED, NOT_INCLUDED = "scheme", "scope", "excluded", "not_included"
DENIED = "denied"

# Said of a URL as written, so nothing is said of others with its canonical key.
BY_PATTERN = frozenset((EXCLUDED, NOT_INCLUDED, DENIED))
# What a seed redirects to is wanted wherever it is, and whatever it is called.
_LIFTED_FOR_SEEDS = (SCOPE, shape.EXTENSION)

_WEB = ("http://", "https://")
_CACHE_URLS = 100_000  # verdicts remembered: most links of a page stood on the last one too


NOTHING_DENIED = Denied()


class FilterRules(NamedTuple):
    scope: str  # one of SCOPES
    seeds: tuple[str, ...]
    include: tuple[str, ...] = ()  # regular expressions, searched in the whole URL
    exclude: tuple[str, ...] = ()
    canonical: Canonical = ALL_RULES
    allow: tuple[str, ...] = ()  # of shape.BY_SHAPE: not refused
    deny: Denied = NOTHING_DENIED
    horizon: str = shape.NEVER  # dates after this are a calendar's


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


class Look(NamedTuple):
    """A URL as the filters look at it."""

    url: str  # as found
    key: str  # its canonical key,
    path: str  # the path of that,
    query: str  # and the query


class Filter(NamedTuple):
    """A reason, what it refuses, and whether it refuses this."""

    reason: str
    refuses: str
    check: Callable[[UrlFilter, Look], bool]


class UrlFilter:
    """Says of a URL why it is refused, or None."""

    def __init__(self, rules: FilterRules, redirected: Iterable[str] = ()) -> None:
        self.rules = rules
        self.scope = rules.scope
        self.canonical = rules.canonical
        self.starts = frozenset(rules.canonical.key(url) for url in (*rules.seeds, *redirected))
        self.keys = frozenset(scope_key(rules.scope, key) for key in self.starts)
        self.prefixes = tuple(self.keys)
        self.exclude = [re.compile(pattern) for pattern in rules.exclude]
        self.include = [re.compile(pattern) for pattern in rules.include]
        self.deny = [re.compile(pattern) for pattern in rules.deny.patterns]
        idle = {
            SCOPE: self.scope == "any",
            DENIED: not any(rules.deny),
            EXCLUDED: not self.exclude,
            NOT_INCLUDED: not self.include,
            **dict.fromkeys(rules.allow, True),
        }
        self.checks = [(row.reason, row.check) for row in FILTERS if not idle.get(row.reason)]

    def refusal(self, url: str, *, of_seed: bool = False) -> str | None:
        """The first reason that holds. `of_seed`: what a seed redirects to is in scope."""
        look = self._look(url)
        for reason, refuses in self.checks:
            if refuses(self, look) and not self._is_lifted(reason, look.key, of_seed):
                return reason
        return None

    def verdicts(self, url: str) -> list[tuple[Filter, bool]]:
        """Each filter, in their order, and whether it refuses an http(s) URL."""
        look, on = self._look(url), dict(self.checks)
        return [
            (
                row,
                row.reason in on
                and row.check(self, look)
                and not self._is_lifted(row.reason, look.key, False),
            )
            for row in FILTERS
        ]

    def _look(self, url: str) -> Look:
        key = self.canonical.key(url)
        path, _, query = key[key.find("/", 8) :].partition("?")
        return Look(url, key, path, query)

    def _is_lifted(self, reason: str, key: str, of_seed: bool) -> bool:
        if of_seed and reason in _LIFTED_FOR_SEEDS:
            return True
        return reason in shape.BY_SHAPE and key in self.starts

    def identity(self, url: str, reason: str | None) -> int:
        """The fingerprint of a URL on which that was the verdict."""
        if reason in BY_PATTERN:
            return fingerprint_written(url)
        return fingerprint_url(url, self.canonical)

    def _is_out_of_scope(self, look: Look) -> bool:
        if self.scope == "prefix":
            return not look.key.partition("://")[2].startswith(self.prefixes)
        return scope_key(self.scope, look.key) not in self.keys

    def _is_denied(self, look: Look) -> bool:
        if denies_host(self.rules.deny.hosts, host_of(look.key)):
            return True
        return any(pattern.search(look.url) for pattern in self.deny)

    def _is_excluded(self, look: Look) -> bool:
        return any(pattern.search(look.url) for pattern in self.exclude)

    def _is_not_included(self, look: Look) -> bool:
        return not any(p.search(look.url) for p in self.include)


# Cheapest first; the scope before those that look closer, for it refuses the most.
FILTERS = (
    Filter(SCHEME, "what is neither http nor https", lambda _, it: not it.url.startswith(_WEB)),
    Filter(SCOPE, "what is outside `--scope`", UrlFilter._is_out_of_scope),
    Filter(shape.LENGTH, f"a URL of more than {shape.MAX_LENGTH:,} characters",
           lambda _, it: shape.is_long(it.key)),
    Filter(shape.QUERY, f"a query of more than {shape.MAX_QUERY:,} characters",
           lambda _, it: shape.has_long_query(it.query)),
    Filter(shape.SEGMENTS, f"a path of more than {shape.MAX_SEGMENTS} segments",
           lambda _, it: shape.is_deep(it.path)),
    Filter(shape.EXTENSION, "what is no page by its extension (`transforms/data/extensions.txt`)",
           lambda _, it: shape.is_file(it.path)),
    Filter(shape.REPEATS, f"segments, or blocks of them, {shape.REPETITIONS} times in a row",
           lambda _, it: shape.repeats(it.path)),
    Filter(shape.CALENDAR, "a calendar's page about a day more than a year ahead",
           lambda of, it: shape.is_ahead(it.path, it.query, of.rules.horizon)),
    Filter(DENIED, "what is listed in the `--deny` file", UrlFilter._is_denied),
    Filter(EXCLUDED, "what matches an `--exclude`", UrlFilter._is_excluded),
    Filter(NOT_INCLUDED, "what matches no `--include`", UrlFilter._is_not_included),
)  # fmt: skip
REASONS = (NOFOLLOW, *(row.reason for row in FILTERS))


def reasons_table() -> str:
    """The reasons for a refusal as the README has them."""
    rows = [(NOFOLLOW, "a link that its page says not to follow"), *(row[:2] for row in FILTERS)]
    return "\n".join(
        ["| reason | refuses |", "|---|---|", *(f"| `{name}` | {what} |" for name, what in rows)]
    )


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


if __name__ == "__main__":
    print(reasons_table())
