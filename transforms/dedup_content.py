"""Dedup by content: a page whose body (or text) was seen before is a duplicate of the first.

The first is the one nearest to a seed, then the one with the shortest and then the
smallest URL: the same in every run of the same crawl, whatever order answers came in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa

from transforms import layout
from transforms.grouping import GroupParts, Parts
from transforms.records import ContentBlock, ContentRuns, ShardState, Verdicts
from transforms.runs import compact, look_up, seen_in, write_run
from transforms.tables import CONTENTS, GISTS

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


def known_contents(seen: Iterable[ContentSeen], runs: tuple[str, ...]) -> dict[int, str]:
    """Which of these contents an earlier round saw, and at what URL first."""
    fingerprints = np.unique(np.array([page.fingerprint for page in seen], np.uint64))
    return look_up(fingerprints, runs, "url")


def write_contents(path: str, new: dict[int, str]) -> str:
    fingerprints = pa.array(list(new), pa.uint64())
    return write_run(path, pa.table([fingerprints, list(new.values())], schema=CONTENTS))


def judge_gists(
    seen: Iterable[GistSeen], runs: tuple[str, ...]
) -> tuple[dict[int, list[tuple[int, bool]]], np.ndarray]:
    """The pages with a gist that was had before, by their shard, and the gists that are new.

    Of pages of one round the first is the one nearest to a seed, with the shortest URL.
    """
    ordered = sorted(seen, key=lambda page: (page.depth, page.length, page.url_fingerprint))
    distinct = np.unique(np.array([page.gist for page in ordered], np.uint64))
    is_known = seen_in(distinct, runs)
    known = set(distinct[is_known].tolist())
    again: dict[int, list[tuple[int, bool]]] = defaultdict(list)
    for page in ordered:
        if page.gist in known:
            again[page.shard].append((page.url_fingerprint, page.told))
        known.add(page.gist)
    return dict(again), distinct[~is_known]


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
        state = parts.one(ShardState)
        duplicates, new = judge_contents(seen, known_contents(seen, state.contents))
        gists = [GistSeen(*page) for block in blocks for page in block.gists]
        again, new_gists = judge_gists(gists, state.gists)
        runs = ContentRuns(state.contents, state.gists)
        if new:
            paths = (*runs.paths, write_contents(self._path(layout.CONTENTS, state, ""), new))
            paths = compact(paths, self._path(layout.CONTENTS, state, "merged"))
            runs = runs._replace(paths=paths)
        if len(new_gists):
            table = pa.table([new_gists], schema=GISTS)
            paths = (*runs.gists, write_run(self._path(layout.GISTS, state, ""), table))
            paths = compact(paths, self._path(layout.GISTS, state, "merged"))
            runs = runs._replace(gists=paths)
        if new or len(new_gists):
            yield beam.pvalue.TaggedOutput("runs", (shard, runs))
        for owner in sorted({*duplicates, *again}):
            yield owner, Verdicts(duplicates.get(owner, []), tuple(again.get(owner, ())))

    def _path(self, kind: str, state: ShardState, part: str) -> str:
        return layout.shard_file(self.base, kind, state.round, state.shard, self.shards, part)


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
