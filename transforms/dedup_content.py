"""Dedup by content: a page whose body (or text) was seen before is a duplicate of the first.

The first is the one nearest to a seed, then the one with the shortest and then the
smallest URL: the same in every run of the same crawl, whatever order answers came in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa

from transforms import layout
from transforms.grouping import GroupParts, Parts
from transforms.records import ContentBlock, ContentRuns, ShardState, Verdicts
from transforms.runs import compact, look_up, write_run
from transforms.tables import CONTENTS

Verdict = tuple[int, str]  # the URL fingerprint of a duplicate, and the URL of the first


class GistSeen(NamedTuple):
    """One of a page's gists, to be looked for among all others."""

    gist: int
    depth: int
    length: int  # of its URL
    url_fingerprint: int
    shard: int  # of the page
    told: bool  # of what the page tells; else of what it says


class ContentSeen(NamedTuple):
    """A page's content, to be compared with all others."""

    fingerprint: int
    depth: int
    url: str
    url_fingerprint: int
    shard: int  # of the page


def judge_contents(
    seen: Iterable[ContentSeen], known: dict[int, str]
) -> tuple[dict[int, list[Verdict]], dict[int, str]]:
    """The duplicates, by the shard of their page, and the contents that are new.

    >>> one = ContentSeen(7, 0, "http://a/", 1, shard=0)
    >>> two = ContentSeen(7, 1, "http://b/", 2, shard=5)
    >>> judge_contents([two, one], known={})
    ({5: [(2, 'http://a/')]}, {7: 'http://a/'})
    """
    firsts = dict(known)
    duplicates: dict[int, list[Verdict]] = defaultdict(list)
    for page in sorted(seen, key=lambda page: (page.depth, len(page.url), page.url)):
        first = firsts.setdefault(page.fingerprint, page.url)
        if first != page.url:
            duplicates[page.shard].append((page.url_fingerprint, first))
    new = {content: url for content, url in firsts.items() if content not in known}
    return dict(duplicates), new


def judge_gists(
    seen: Iterable[GistSeen], known: Container[int]
) -> tuple[dict[int, list[tuple[int, bool]]], set[int]]:
    """The pages with a gist that was had before, by their shard, and the gists that are new.

    Of pages of one round the first is the one nearest to a seed, with the shortest URL.
    """
    again: dict[int, list[tuple[int, bool]]] = defaultdict(list)
    new: set[int] = set()
    for page in sorted(seen, key=lambda page: (page.depth, page.length, page.url_fingerprint)):
        if page.gist in known or page.gist in new:
            again[page.shard].append((page.url_fingerprint, page.told))
        new.add(page.gist)
    return dict(again), {gist for gist in new if gist not in known}


def look_up_all(fingerprints: Iterable[int], runs: tuple[str, ...]) -> dict[int, str | None]:
    """Which of these an earlier round saw; of a content at what URL first, of a gist None."""
    return look_up(np.unique(np.fromiter(fingerprints, np.uint64)), runs, "url")


def write_contents(path: str, new: Mapping[int, str | None]) -> str:
    fingerprints = pa.array(list(new), pa.uint64())
    return write_run(path, pa.table([fingerprints, list(new.values())], schema=CONTENTS))


class _DedupContent(beam.DoFn):  # type: ignore[misc]
    def __init__(self, base: str, shards: int) -> None:
        self.base = base
        self.shards = shards

    def process(self, element: tuple[int, Iterable[Any]]) -> Iterator[Any]:
        shard, values = element
        parts = Parts(values)
        blocks = parts.all(ContentBlock)
        if not blocks:
            return
        seen = [ContentSeen(*page) for block in blocks for page in block.seen]
        gists = [GistSeen(*page) for block in blocks for page in block.gists]
        state = parts.one(ShardState)
        fingerprints = [*(page.fingerprint for page in seen), *(page.gist for page in gists)]
        known = look_up_all(fingerprints, state.contents)
        contents = {content: url for content, url in known.items() if url is not None}
        duplicates, new = judge_contents(seen, contents)
        again, new_gists = judge_gists(gists, known)
        if new or new_gists:
            all_new = {**dict.fromkeys(sorted(new_gists)), **new}
            runs = (*state.contents, write_contents(self._path(state, ""), all_new))
            runs = compact(runs, self._path(state, "merged"))
            yield beam.pvalue.TaggedOutput("runs", (shard, ContentRuns(runs)))
        for owner in sorted({*duplicates, *again}):
            yield owner, Verdicts(duplicates.get(owner, []), tuple(again.get(owner, ())))

    def _path(self, state: ShardState, part: str) -> str:
        return layout.shard_file(
            self.base, layout.CONTENTS, state.round, state.shard, self.shards, part
        )


class DedupContent(beam.PTransform):  # type: ignore[misc]
    """(shard, ContentBlock or ShardState) → `.verdicts`: (shard of the pages, Verdicts);
    `.runs`: (shard, ContentRuns).
    """

    def __init__(self, base: str, shards: int) -> None:
        super().__init__()
        self.base = base
        self.shards = shards

    def expand(self, inputs: tuple[beam.PCollection, ...]) -> Any:
        dedup = beam.ParDo(_DedupContent(self.base, self.shards))
        return inputs | GroupParts() | dedup.with_outputs("runs", main="verdicts")
