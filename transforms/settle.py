"""Settle: with the verdict on contents known, the pages table is written and links set out.

A duplicate's links are not followed: the first of its kind has the same. Of all others
each distinct target leaves a shard once, for the shard that owns it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from transforms import layout, storage
from transforms.evidence import Ended, gather
from transforms.filter import NOFOLLOW, SCOPE
from transforms.fingerprints import shard_of_url
from transforms.grouping import GroupParts, Parts
from transforms.near_duplicates import nearest_of
from transforms.records import (
    DUPLICATE,
    CandidateBlock,
    LinkPart,
    NearVerdicts,
    PageBlock,
    Settled,
    ShardState,
    Verdicts,
)
from transforms.tables import CANDIDATES, LINKS, PAGES, pack_in_blocks, unpack, words


def settle_pages(
    pages: pa.Table, verdicts: dict[int, str], near: dict[int, str] | None = None
) -> pa.Table:
    """Pages sorted by URL fingerprint, with duplicates marked as such, and near ones.

    A duplicate is not called a near one too.
    """
    pages = pages.take(np.argsort(pages["url_fingerprint"].to_numpy(), kind="stable"))
    if near:
        fingerprints = pages["url_fingerprint"].to_pylist()
        urls = [None if each in verdicts else near.get(each) for each in fingerprints]
        place = PAGES.get_field_index("near_duplicate_of")
        pages = pages.set_column(place, PAGES.field(place), pa.array(urls, pa.string()))
    if not verdicts:
        return pages
    first = [verdicts.get(fingerprint) for fingerprint in pages["url_fingerprint"].to_pylist()]
    outcomes = [
        DUPLICATE if url else outcome
        for url, outcome in zip(first, pages["outcome"].to_pylist(), strict=True)
    ]
    for name, column in (
        ("outcome", words(outcomes)),
        ("duplicate_of", pa.array(first, pa.string())),
    ):
        pages = pages.set_column(PAGES.get_field_index(name), PAGES.field(name), column)
    return pages


def read_links(parts: Iterable[LinkPart]) -> pa.Table:
    tables = [LINKS.empty_table()]
    for part in sorted(parts):
        with storage.open_input(part.path) as source:
            tables.append(
                pq.ParquetFile(source).read_row_group(part.row_group, use_threads=False).cast(LINKS)
            )
    return pa.concat_tables(tables).unify_dictionaries()


def first_links(links: pa.Table, duplicates: np.ndarray) -> pa.Table:
    """Each distinct target once, by its best link: admitted before refused, then the one
    nearest to a seed. Links of pages in `duplicates` (URL fingerprints) do not count.
    """
    if len(duplicates):
        links = links.filter(~np.isin(links["source_fingerprint"].to_numpy(), duplicates))
    # Not a word about the URL: another page may link to it without such a mark.
    links = links.filter(
        pc.not_equal(pc.fill_null(links["refused"].cast(pa.string()), ""), NOFOLLOW)
    )
    return links.take(best_first(links, "target_fingerprint"))


def best_first(links: pa.Table, identity: str) -> np.ndarray:
    """The rows with the best link for each distinct `identity`, best first.

    The order depends on what the links are, not on when they came: refused last, then
    by depth, by source, and within a page as in the document.
    """
    refused = pc.is_valid(links["refused"]).to_numpy(zero_copy_only=False)
    keys = (links["source_fingerprint"].to_numpy(), links["depth"].to_numpy(), refused)
    order = np.lexsort(keys)  # stable; the last key is the first to sort by
    _, first = np.unique(links[identity].to_numpy()[order], return_index=True)
    return order[np.sort(first)]


def ends_of(pages: pa.Table, known_gists: Iterable[tuple[int, bool]]) -> list[Ended]:
    """The fetches that settled pages tell of, as evidence of the patterns of their URLs."""
    before: tuple[set[int], set[int]] = (set(), set())  # by what they say, by what they tell
    for fingerprint, told in known_gists:
        before[told].add(fingerprint)
    said, told_before = before
    names = ("url_fingerprint", "url", "referrer", "doubt", "outcome", "note")
    rows = zip(*(pages[name].to_pylist() for name in names), strict=True)
    return [
        Ended(url, referrer or "", doubt, outcome, note, known in said, known in told_before)
        for known, url, referrer, doubt, outcome, note in rows
    ]


def found_only_on(sources: np.ndarray, links: pa.Table, targets: pa.ChunkedArray) -> np.ndarray:
    """For each target (all fingerprints): whether of `links` only these sources' lead there."""
    if not len(sources):
        return np.zeros(len(targets), bool)
    elsewhere = ~np.isin(links["source_fingerprint"].to_numpy(), sources)
    return ~np.isin(targets.to_numpy(), links["target_fingerprint"].to_numpy()[elsewhere])


def candidates_by_shard(
    links: pa.Table, shards: int, opening: bool, dull: np.ndarray | None = None
) -> dict[int, pa.Table]:
    """CANDIDATES rows by the shard that owns their URL.

    `opening`: what the scope refuses is sent whole, for the scope may still grow. `dull`
    says of each link whether its target was found on dull pages alone.
    """
    urls = links["target"].cast(pa.string()).to_pylist()
    owners = np.array([shard_of_url(url, shards) for url in urls], np.int32)
    admitted = pc.is_null(links["refused"])
    if opening:
        admitted = pc.or_(admitted, is_out_of_scope(links))
    columns = [
        pc.if_else(admitted, pa.array(urls, pa.string()), None),
        links["target_fingerprint"],
        links["refused"],
        links["depth"],
        pc.if_else(admitted, links["source"].cast(pa.string()), None),
        links["source_fingerprint"],
        links["seed"],
        pa.array(np.zeros(len(urls), bool) if dull is None else dull),
    ]
    table = pa.table(columns, schema=CANDIDATES)
    return {shard: table.filter(owners == shard) for shard in np.unique(owners).tolist()}


def redirected_seeds(links: pa.Table) -> tuple[str, ...]:
    """Where seeds redirected to: these extend the scope."""
    followed = pc.and_(links["seed"], pc.is_null(links["refused"]))
    return tuple(sorted(set(links.filter(followed)["target"].to_pylist())))


def is_out_of_scope(links: pa.Table) -> pa.ChunkedArray:
    return pc.equal(pc.fill_null(links["refused"].cast(pa.string()), ""), SCOPE)


class _Settle(beam.DoFn):  # type: ignore[misc]
    def __init__(self, base: str, shards: int) -> None:
        self.base = base
        self.shards = shards

    def process(self, element: tuple[int, Iterable[Any]]) -> Iterator[Any]:
        shard, values = element
        parts = Parts(values)
        blocks = [block.packed for block in parts.all(PageBlock)]
        if not blocks:
            return
        state = parts.one(ShardState)
        verdicts = dict(pair for some in parts.all(Verdicts) for pair in some.duplicates)
        near = nearest_of(verdict for some in parts.all(NearVerdicts) for verdict in some.near)
        pages = settle_pages(unpack(blocks, PAGES), verdicts, near)
        known_gists = [gist for some in parts.all(Verdicts) for gist in some.known_gists]
        evidence, is_dull = gather(ends_of(pages, known_gists))
        duplicates = np.fromiter(verdicts, np.uint64, len(verdicts))
        all_links = read_links(parts.all(LinkPart))
        links = first_links(all_links, duplicates)
        sources = np.append(duplicates, pages["url_fingerprint"].to_numpy()[is_dull])
        dull = found_only_on(sources, all_links, links["target_fingerprint"])
        sent = {}
        by_shard = candidates_by_shard(links, self.shards, state.opening, dull)
        for target, candidates in by_shard.items():
            sent[target] = candidates.num_rows
            for packed in pack_in_blocks(candidates):
                yield beam.pvalue.TaggedOutput("candidates", (target, CandidateBlock(packed)))
        outcomes = pages["outcome"].value_counts().to_pylist()
        settled = Settled(
            pages=self._write_pages(state, pages),
            links=tuple(sorted({part.path for part in parts.all(LinkPart)})),
            outcomes={row["values"]: row["counts"] for row in outcomes},
            bytes=pc.sum(pages["bytes"]).as_py() or 0,
            scope=redirected_seeds(links),
            sent=sent,
            evidence=tuple((*brought,) for brought in evidence),
        )
        yield shard, settled

    def _write_pages(self, state: ShardState, pages: pa.Table) -> str:
        path = layout.shard_file(self.base, layout.PAGES, state.round, state.shard, self.shards)
        repeating = ("host", "depth", "outcome", "status", "content_type", "referrer", "warc_file")
        return storage.write_table(path, pages, dictionaries=repeating)


class Settle(beam.PTransform):  # type: ignore[misc]
    """(shard, PageBlock, LinkPart, Verdicts, NearVerdicts or ShardState) → `.settled`:
    (shard, Settled); `.candidates`: (owner's shard, CandidateBlock).
    """

    def __init__(self, base: str, shards: int) -> None:
        super().__init__()
        self.base = base
        self.shards = shards

    def expand(self, inputs: tuple[beam.PCollection, ...]) -> Any:
        settle = beam.ParDo(_Settle(self.base, self.shards))
        return inputs | GroupParts() | settle.with_outputs("candidates", main="settled")
