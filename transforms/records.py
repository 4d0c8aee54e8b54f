"""The words of the crawl: what travels between the stages, in the order it is met.

One vocabulary, used everywhere. A URL is *waiting* in the frontier until a round
*takes* it; a fetch then ends in exactly one *outcome*. A link that a filter turns
away is *refused*, with a reason, and never waits. A URL that a round took but did
not reach *rolls over* into the next frontier. One of a pattern that has brought too
little is *set aside*: it waits no more, unless that pattern is lifted.

Everything here is a flat NamedTuple: cheap to pass on, cheap to pickle, and equal
when its parts are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

PAGE = "page"  # a document that may be parsed and kept
DUPLICATE = "duplicate"  # a page whose content was seen before
REDIRECT = "redirect"  # its target is a URL of the same depth, in the next round
NOT_MODIFIED = "not_modified"  # 304 to a conditional request
ROBOTS_DENIED = "robots_denied"  # never asked for
TOO_LARGE = "too_large"  # cut at --max-body
UNSUPPORTED_TYPE = "unsupported_type"  # dropped on seeing its headers
HTTP_ERROR = "http_error"  # any other answer
NETWORK_ERROR = "network_error"  # no answer
ADDRESS_REFUSED = "address_refused"  # resolves to an address that may not be asked

ERRORS = (HTTP_ERROR, NETWORK_ERROR, ADDRESS_REFUSED)

ROBOTS_TXT = "robots_txt"  # not a URL of the crawl: archived, in no table

OUTCOMES = (
    PAGE,
    DUPLICATE,
    REDIRECT,
    NOT_MODIFIED,
    ROBOTS_DENIED,
    TOO_LARGE,
    UNSUPPORTED_TYPE,
    HTTP_ERROR,
    NETWORK_ERROR,
    ADDRESS_REFUSED,
)


class ShardState(NamedTuple):
    """One shard of the crawl between two rounds: a few paths, never the URLs themselves.

    `round` is the round that will read this state. Every tuple of paths is in the
    order in which the files came to be.
    """

    shard: int
    round: int
    frontier: tuple[str, ...] = ()  # what waits, oldest first
    visited: tuple[str, ...] = ()  # runs of URL fingerprints, each sorted
    contents: tuple[str, ...] = ()  # runs of fingerprints of contents and gists, each sorted
    hosts: tuple[str, ...] = ()  # runs of host state; the last row of a host counts
    waiting: int = 0  # URLs in `frontier`
    discovered: int = 0  # URLs ever seen: fetched + refused + waiting + set aside
    fetched: int = 0  # fetches that ended, ever
    refused: int = 0  # turned away by a filter, ever
    pages: int = 0  # fetched pages, duplicates among them
    scope: tuple[str, ...] = ()  # where seeds redirected to: they extend the scope
    seeds: int = 0  # of those that wait: seeds, and what seeds redirected to
    opening: bool = False  # seeds wait in some shard, so the scope may still grow
    held: tuple[str, ...] = ()  # links out of scope that are not decided while it may
    seconds: float = 0.0  # that a response took, in the last round that had any; 0: unknown
    sketches: tuple[str, ...] = ()  # runs of sketches of texts, each sorted by band
    patterns: tuple[str, ...] = ()  # runs of evidence; the last row of a pattern counts
    aside: tuple[str, ...] = ()  # URLs of closed patterns
    set_aside: int = 0  # URLs in `aside`
    lifted: tuple[str, ...] = ()  # regular expressions: what they find is of no pattern


class Slot(NamedTuple):
    """The work of one fetch slot in one round: its shards, and no other slot's."""

    slot: int
    round: int
    attempt: str  # random: two attempts at one slot never write the same file
    states: tuple[ShardState, ...]
    limit: int | None  # most pages this slot may fetch in this round
    scope: tuple[str, ...]


class Waiting(NamedTuple):
    """A URL in the frontier."""

    url: str
    fingerprint: int  # 64 bits, of its canonical key
    depth: int  # links from a seed; a redirect adds none
    referrer: str  # the page it was first found on; "" for a seed
    seed: bool  # a seed, or what a seed redirected to
    doubt: int = 0  # see `traps`


class Fetched(NamedTuple):
    """A URL whose fetch ended, with what came back. Its body never leaves the worker."""

    slot: Slot
    url: Waiting
    outcome: str
    status: int  # 0: there was no answer
    head: bytes  # status line and header lines as received, ending in an empty line
    body: bytes  # content decoded, at most --max-body
    request_head: bytes  # as sent
    ip: str
    fetched_at: float  # seconds since the epoch
    elapsed_ms: int
    error: str


NOFOLLOW_MARK = " nofollow"  # ends the kind of a link that is not to be followed


class Link(NamedTuple):
    """A link as found, or after `Normalize` as resolved: `url` is then absolute."""

    url: str
    kind: str  # a, area, link, canonical, frame, iframe, refresh, redirect, or NOFOLLOW_MARK


class Page(NamedTuple):
    """A fetch that ended, without its body: the row in `pages` and the links found."""

    slot: Slot
    url: Waiting
    outcome: str
    status: int
    content_type: str
    size: int  # bytes of body
    fetched_at: float
    elapsed_ms: int
    fingerprint: int  # of the body; 0: there is none to compare
    redirect_to: str
    title: str
    error: str
    etag: str
    last_modified: str
    base: str  # what links resolve against
    encoding: str  # the codec of the page, for the queries of its links
    links: list[Link]
    refused: list[str | None]  # for each link after `Filter`: why not; None is admitted
    noindex: bool = False
    noarchive: bool = False  # its body is not to be kept
    text_fingerprint: int = 0  # see `text`; 0: there is no text to compare
    canonical: str = ""  # the URL that the page itself says is its own
    note: str = ""  # see `soft_404`
    sketch: int | None = None  # of the text; None: too little of it, or not asked for
    gists: tuple[int, int] | None = None  # see `gist`; None: it is no page
    warc_file: str = ""
    warc_offset: int = -1


class WarcFile(NamedTuple):
    """A WARC file that a slot wrote; its name is relative to the crawl's folder."""

    name: str
    bytes: int
    records: int


class SlotReport(NamedTuple):
    """What a fetch slot leaves behind of one shard, beside the pages it brought."""

    shard: int
    taken: int  # URLs that were due in this round
    fetched: int  # of these, fetches that ended; the rest rolled over
    pages: int  # of these, pages (duplicates too)
    frontier: tuple[str, ...]  # rolled over first, then what was not opened
    waiting: int  # URLs in `frontier`
    hosts: str  # the run of host state, "" for none
    seeds: int = 0  # of what was fetched: seeds, and what seeds redirected to
    seconds: float = 0.0  # that a response took, on average; 0: there was none
    aside: str = ""  # the file of URLs that were set aside, "" for none
    set_aside: int = 0  # URLs in it


class PageBlock(NamedTuple):
    """Rows of `pages`, of one shard, before the verdict on their contents."""

    packed: bytes  # see tables.pack


class ContentBlock(NamedTuple):
    """Contents of pages, on their way to the shard that knows which were seen before."""

    seen: list[tuple[int, int, str, int, int]]  # dedup_content.ContentSeen, flat
    gists: Sequence[tuple[int, int, int, int, int, bool]] = ()  # dedup_content.GistSeen, flat


class Verdicts(NamedTuple):
    """The duplicates among a shard's pages: URL fingerprint, and URL of the first. And of its
    pages with a gist that was had before: URL fingerprint, and whether that is of what it
    tells, or says (see `gist`).
    """

    duplicates: list[tuple[int, str]]
    known_gists: Sequence[tuple[int, bool]] = ()


class ContentRuns(NamedTuple):
    """A shard's runs of content fingerprints, after a round that added one."""

    paths: tuple[str, ...]


class SketchBlock(NamedTuple):
    """Sketches of pages, on their way to the shards of their bands."""

    seen: list[tuple[int, int, int, str, int, int]]  # near_duplicates.Sketched, flat


class NearVerdicts(NamedTuple):
    """Near duplicates among a shard's pages: URL fingerprint, distance, URL of the earlier."""

    near: list[tuple[int, int, str]]


class NearRuns(NamedTuple):
    """A shard's runs of sketches, after a round that added one."""

    paths: tuple[str, ...]


class CandidateBlock(NamedTuple):
    """Links on their way to the shard that owns their targets."""

    packed: bytes


class LinkPart(NamedTuple):
    """The links of one shard's pages in a file of links: one row group of it."""

    path: str
    row_group: int
    rows: int


class Settled(NamedTuple):
    """One shard's pages after the verdict on their contents."""

    pages: str  # the file, "" for none
    links: tuple[str, ...]  # the files its links lie in
    outcomes: dict[str, int]
    bytes: int
    scope: tuple[str, ...]  # where its seeds redirected to
    sent: dict[int, int]  # candidate links, by the shard they went to
    evidence: tuple[tuple[str, str, int, int, int], ...] = ()  # evidence.Brought, flat


class ShardResult(NamedTuple):
    """All that the commit needs to know of one shard."""

    state: ShardState  # the next one
    taken: int
    received: int  # candidate links
    discovered: int  # URLs never seen before
    refused: dict[str, int]  # of these, turned away by a filter, by reason
    settled: Settled
    fetched: int  # as the slot counted them
    changed: bool  # a fetch ended, something was learnt of a host, or held links were judged
