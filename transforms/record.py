"""Record: pages and links become table rows, packed, as they leave the fetching worker.

Links are written to disk here, once, and stay there: what follows sends only the paths
and, after the verdict on contents, each distinct target once. Within a chunk every
target is interned, so a link that stands on every page costs one dictionary look-up.
"""

from __future__ import annotations

import secrets
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from transforms import layout, storage
from transforms.canonical import ALL_RULES, Canonical
from transforms.dedup_content import ContentSeen, GistSeen
from transforms.filter import BY_PATTERN
from transforms.fingerprints import (
    fingerprint_url,
    fingerprint_written,
    shard_of_content,
    shard_of_url,
)
from transforms.grouping import at_the_end
from transforms.near_duplicates import Sketched, bands_of
from transforms.records import (
    NOFOLLOW_MARK,
    PAGE,
    ROBOTS_TXT,
    ContentBlock,
    LinkPart,
    Page,
    PageBlock,
    SketchBlock,
    Slot,
)
from transforms.tables import LINKS, PAGES, pack_in_blocks, words
from transforms.urls import host_of

CHUNK_URLS = 200_000  # distinct link targets held in memory: about 60 MB
CHUNK_LINKS = 2_000_000
CHUNK_PAGES = 20_000

BODY, TEXT = "body", "text"  # what two pages have to share for one to be a duplicate
CONTENTS, SKETCHES = "contents", "sketches"  # the outputs beside the shards' own


class Chunk:
    """Pages and their links, until there are enough to write."""

    def __init__(self, slot: Slot, attempt: str, number: int) -> None:
        self.slot = slot
        self.attempt = attempt
        self.number = number
        self.pages: list[Page] = []
        self.targets: dict[str, int] = {}  # URL → its index
        self.reasons: dict[str | None, int] = {}
        self.source = array("I")  # for each link: the index of its page,
        self.target = array("I")  # of its target,
        self.reason = array("B")  # of the reason why its page does not follow it,
        self.kind = array("B")  # and of its kind
        self.kinds: dict[str, int] = {}

    def add(self, page: Page) -> None:
        index = len(self.pages)
        self.pages.append(page._replace(links=[], refused=[]))
        targets, reasons, kinds = self.targets, self.reasons, self.kinds
        for (url, kind), reason in zip(page.links, page.refused, strict=True):
            target = targets.get(url)
            if target is None:
                target = targets[url] = len(targets)
            self.target.append(target)
            self.reason.append(reasons.setdefault(reason, len(reasons)))
            self.kind.append(kinds.setdefault(kind, len(kinds)))
        self.source.extend(array("I", [index]) * len(page.links))

    def is_full(self) -> bool:
        return (
            len(self.targets) >= CHUNK_URLS
            or len(self.target) >= CHUNK_LINKS
            or len(self.pages) >= CHUNK_PAGES
        )


def content_of(page: Page, duplicates: str) -> int:
    """The fingerprint by which a page is compared with all others; 0: it is not.

    A page without enough text is compared by its body, whatever `duplicates` says.
    """
    if page.outcome != PAGE:
        return 0
    return (duplicates == TEXT and page.text_fingerprint) or page.fingerprint


def page_table(pages: list[Page]) -> pa.Table:
    """PAGES rows, in the order given. What they are duplicates of is not known yet."""
    columns: dict[str, Any] = {
        "url": [page.url.url for page in pages],
        "host": words(host_of(page.url.url) for page in pages),
        "depth": [page.url.depth for page in pages],
        "outcome": words(page.outcome for page in pages),
        "status": [page.status for page in pages],
        "content_type": words(page.content_type for page in pages),
        "bytes": [page.size for page in pages],
        "fetched_at": pa.array([int(page.fetched_at * 1000) for page in pages], pa.int64()).cast(
            PAGES.field("fetched_at").type
        ),
        "elapsed_ms": [page.elapsed_ms for page in pages],
        "url_fingerprint": pa.array([page.url.fingerprint for page in pages], pa.uint64()),
        "fingerprint": pa.array([page.fingerprint for page in pages], pa.uint64()),
        "text_fingerprint": pa.array(
            [page.text_fingerprint or None for page in pages], pa.uint64()
        ),
        "sketch": pa.array([page.sketch for page in pages], pa.uint64()),
        "duplicate_of": pa.nulls(len(pages), pa.string()),
        "near_duplicate_of": pa.nulls(len(pages), pa.string()),
        "canonical": [page.canonical or None for page in pages],
        "redirect_to": [page.redirect_to or None for page in pages],
        "title": [page.title or None for page in pages],
        "note": words(page.note or None for page in pages),
        "doubt": pa.array([page.url.doubt for page in pages], pa.int8()),
        "noindex": [page.noindex for page in pages],
        "referrer": [page.url.referrer or None for page in pages],
        "error": [page.error or None for page in pages],
        "etag": [page.etag or None for page in pages],
        "last_modified": [page.last_modified or None for page in pages],
        "warc_file": words(page.warc_file or None for page in pages),
        "warc_offset": [page.warc_offset if page.warc_offset >= 0 else None for page in pages],
    }
    return pa.table(columns, schema=PAGES)


def link_table(chunk: Chunk, links: np.ndarray, canonical: Canonical = ALL_RULES) -> pa.Table:
    """LINKS rows for the given links of a chunk."""
    pages = chunk.pages
    source, source_pages = _distinct(chunk.source, links)
    target, target_urls = _distinct(chunk.target, links)
    kind = np.frombuffer(chunk.kind, np.uint8)[links].astype(np.int32)
    urls = list(chunk.targets)
    targets = [urls[index] for index in target_urls]
    reason = np.frombuffer(chunk.reason, np.uint8)[links]
    kinds = [kind.removesuffix(NOFOLLOW_MARK) for kind in chunk.kinds]
    is_redirect = np.array([name == "redirect" for name in kinds], bool)[kind]
    depths = np.array([pages[index].url.depth for index in source_pages], np.int32)
    seeds = np.array([pages[index].url.seed for index in source_pages], bool)
    source_fingerprint = _fingerprints(pages[index].url.fingerprint for index in source_pages)
    known_as = _fingerprints(fingerprint_url(url, canonical) for url in targets)
    written = np.array([name in BY_PATTERN for name in chunk.reasons], bool)[reason]
    for link in np.flatnonzero(is_redirect & (source_fingerprint[source] == known_as[target])):
        written[link] |= targets[target[link]] != pages[source_pages[source[link]]].url.url
    target_fingerprint = known_as[target]
    if written.any():
        to_the_letter = _fingerprints(fingerprint_written(url) for url in targets)
        target_fingerprint = np.where(written, to_the_letter[target], target_fingerprint)
    columns = {
        "source": _dictionary(source, [pages[index].url.url for index in source_pages]),
        "target": _dictionary(target, targets),
        "kind": _dictionary(kind, kinds),
        "refused": words(chunk.reasons).take(pa.array(reason)),
        "depth": depths[source] + ~is_redirect,
        "source_fingerprint": source_fingerprint[source],
        "target_fingerprint": target_fingerprint,
        "seed": is_redirect & seeds[source],
    }
    return pa.table(columns, schema=LINKS)


def write_links(
    base: str,
    chunk: Chunk,
    shards: np.ndarray,
    numbers: list[int],
    canonical: Canonical = ALL_RULES,
) -> dict[int, LinkPart]:
    """Write a chunk's links, one row group for each shard that has any. `shards` is the
    shard of each page.
    """
    shard_of_link = shards[np.frombuffer(chunk.source, np.uint32)]
    slot = chunk.slot
    path = layout.attempt_file(
        base, layout.LINKS, slot.round, slot.slot, chunk.attempt, chunk.number, "parquet"
    )
    parts: dict[int, LinkPart] = {}
    with (
        storage.create(path) as file,
        pq.ParquetWriter(
            file,
            LINKS,
            compression="zstd",
            use_dictionary=["source", "target", "kind", "refused", "depth", "source_fingerprint"],
            dictionary_pagesize_limit=16 << 20,
        ) as writer,
    ):
        for shard in numbers:
            links = np.flatnonzero(shard_of_link == shard)
            if len(links):
                table = link_table(chunk, links, canonical)
                writer.write_table(table, row_group_size=max(1, len(links)))
                parts[shard] = LinkPart(path, len(parts), len(links))
    return parts


def _distinct(indices: array[int], links: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """The distinct indices of these links, and each link's place among them."""
    distinct, places = np.unique(np.frombuffer(indices, np.uint32)[links], return_inverse=True)
    return places.astype(np.int32), distinct.tolist()


def _fingerprints(values: Iterable[int]) -> np.ndarray:
    return np.fromiter(values, np.uint64)


def _dictionary(indices: np.ndarray, values: list[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(indices, pa.array(values, pa.string()))


class _RecordPages(beam.DoFn):  # type: ignore[misc]
    def __init__(
        self, base: str, shards: int, duplicates: str, canonical: Canonical = ALL_RULES
    ) -> None:
        self.base = base
        self.shards = shards
        self.duplicates = duplicates
        self.canonical = canonical

    def start_bundle(self) -> None:
        self.chunk: Chunk | None = None
        self.attempt = secrets.token_hex(4)  # a bundle may end within a slot
        self.written = 0

    def process(self, page: Page) -> Iterator[Any]:
        if page.outcome == ROBOTS_TXT:
            return
        chunk = self.chunk
        if chunk is None or chunk.slot.slot != page.slot.slot or chunk.is_full():
            yield from self._flush()
            chunk = self.chunk = Chunk(page.slot, self.attempt, self.written)
        chunk.add(page)

    def finish_bundle(self) -> Iterator[Any]:
        for output in self._flush():
            if isinstance(output, beam.pvalue.TaggedOutput):
                yield beam.pvalue.TaggedOutput(output.tag, at_the_end(output.value))
            else:
                yield at_the_end(output)

    def _flush(self) -> Iterator[Any]:
        chunk, self.chunk = self.chunk, None
        if chunk is None:
            return
        self.written += 1
        shards = np.array([shard_of_url(page.url.url, self.shards) for page in chunk.pages])
        numbers = np.unique(shards).tolist()
        parts = {}
        if chunk.target:
            parts = write_links(self.base, chunk, shards, numbers, self.canonical)
        contents: dict[int, list[ContentSeen]] = defaultdict(list)
        gists: dict[int, list[GistSeen]] = defaultdict(list)
        sketches: dict[int, list[Sketched]] = defaultdict(list)
        for page, shard in zip(chunk.pages, shards.tolist(), strict=True):
            content = content_of(page, self.duplicates)
            if content:
                url = page.url
                seen = ContentSeen(content, url.depth, url.url, url.fingerprint, shard)
                contents[shard_of_content(content, self.shards)].append(seen)
            for told, gist in enumerate(page.gists or ()):
                url = page.url
                had = GistSeen(gist, url.depth, len(url.url), url.fingerprint, shard, bool(told))
                gists[shard_of_content(gist, self.shards)].append(had)
            for band in bands_of(page.sketch) if page.sketch is not None else ():
                url = page.url
                sketched = Sketched(
                    band, page.sketch or 0, url.depth, url.url, url.fingerprint, shard
                )
                sketches[shard_of_content(band, self.shards)].append(sketched)
        for number, sketched_list in sketches.items():
            yield beam.pvalue.TaggedOutput(
                SKETCHES, (number, SketchBlock([(*sketched,) for sketched in sketched_list]))
            )
        for number in sorted({*contents, *gists}):
            block = ContentBlock(
                [(*seen,) for seen in contents[number]], tuple((*had,) for had in gists[number])
            )
            yield beam.pvalue.TaggedOutput(CONTENTS, (number, block))
        for shard in numbers:
            mine = [chunk.pages[index] for index in np.flatnonzero(shards == shard)]
            for packed in pack_in_blocks(page_table(mine)):
                yield shard, PageBlock(packed)
            if shard in parts:
                yield shard, parts[shard]


class RecordPages(beam.PTransform):  # type: ignore[misc]
    """Page → `.contents`: (content shard, ContentBlock); `.sketches`: (band's shard,
    SketchBlock); `.shards`: (shard, PageBlock or LinkPart).
    """

    def __init__(
        self, base: str, shards: int, duplicates: str = BODY, canonical: Canonical = ALL_RULES
    ) -> None:
        super().__init__()
        self.base = base
        self.shards = shards
        self.duplicates = duplicates
        self.canonical = canonical

    def expand(self, pages: beam.PCollection) -> Any:
        record = _RecordPages(self.base, self.shards, self.duplicates, self.canonical)
        return pages | beam.ParDo(record).with_outputs(CONTENTS, SKETCHES, main="shards")
