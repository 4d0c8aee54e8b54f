"""Near duplicates: a page whose text is nearly that of an earlier one. Recorded, not dropped.

Sketches within NEAR = 3 bits agree in at least one of four bands of 16 bits. So each
sketch goes to the shards of its four bands, and is compared there with those that have
the same band. A shard remembers only pages that were near to none it knew: of a thousand
pages made from one template, one. No more than MOST of one band are compared, so that
neither time nor memory grows with what a site repeats.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from transforms import layout, storage
from transforms.grouping import GroupParts, Parts
from transforms.records import NearRuns, NearVerdicts, ShardState, SketchBlock
from transforms.runs import compact, write_run
from transforms.sketch import NEAR, distance
from transforms.tables import SKETCHES

BAND_BITS = 16
BANDS = 64 // BAND_BITS  # more than NEAR: of four bands three bits leave one untouched
MOST = 256  # pages of one band that a page is compared with

Known = dict[int, list[tuple[int, str]]]  # by band: sketch and URL


class Sketched(NamedTuple):
    """A page's sketch on its way to the shard of one of its bands."""

    band: int
    sketch: int
    depth: int
    url: str
    url_fingerprint: int
    shard: int  # of the page


def bands_of(sketch: int) -> list[int]:
    """The bands of a sketch, each with its number in front of its bits.

    >>> [hex(band) for band in bands_of(0x4444333322221111)]
    ['0x1111', '0x12222', '0x23333', '0x34444']
    """
    mask = (1 << BAND_BITS) - 1
    return [n << BAND_BITS | sketch >> n * BAND_BITS & mask for n in range(BANDS)]


def judge_sketches(
    seen: Iterable[Sketched], known: Known
) -> tuple[dict[int, list[tuple[int, int, str]]], list[tuple[int, int, str]]]:
    """Who is near to an earlier page, and what is to be remembered.

    The first by shard of the page: its URL fingerprint, the distance in bits, and the URL
    of the earlier page, the nearest. The second are rows of SKETCHES.
    """
    near: dict[int, list[tuple[int, int, str]]] = defaultdict(list)
    new: list[tuple[int, int, str]] = []
    before: Known = defaultdict(list, {band: list(pages) for band, pages in known.items()})
    for page in sorted(seen, key=lambda page: (page.depth, len(page.url), page.url)):
        rivals = before[page.band]
        nearest = min(
            ((distance(sketch, page.sketch), url) for sketch, url in rivals if url != page.url),
            default=(NEAR + 1, ""),
        )
        if nearest[0] <= NEAR:
            near[page.shard].append((page.url_fingerprint, *nearest))
        elif len(rivals) < MOST:
            rivals.append((page.sketch, page.url))
            new.append((page.band, page.sketch, page.url))
    return dict(near), new


def known_sketches(bands: np.ndarray, runs: Iterable[str]) -> Known:
    """What the runs hold of these bands (sorted, distinct), at most MOST of each."""
    known: Known = defaultdict(list)
    for run in runs:
        with storage.open_input(run) as source:
            file = pq.ParquetFile(source)
            for group in range(file.num_row_groups):
                held = file.read_row_group(group, ["fingerprint"], use_threads=False)
                rows = np.flatnonzero(np.isin(held["fingerprint"].to_numpy(), bands))
                if len(rows):
                    table = file.read_row_group(group, use_threads=False).take(rows)
                    columns = (table[name].to_pylist() for name in SKETCHES.names)
                    for band, sketch, url in zip(*columns, strict=True):
                        if len(known[band]) < MOST:
                            known[band].append((sketch, url))
    return known


def write_sketches(path: str, new: list[tuple[int, int, str]]) -> str:
    bands, sketches, urls = zip(*new, strict=True)
    columns = [pa.array(bands, pa.uint64()), pa.array(sketches, pa.uint64()), pa.array(urls)]
    return write_run(path, pa.table(columns, schema=SKETCHES))


def nearest_of(verdicts: Iterable[tuple[int, int, str]]) -> dict[int, str]:
    """Of what the shards of its bands say of a page, the nearest: URL by URL fingerprint."""
    return {fingerprint: url for fingerprint, _, url in sorted(verdicts, reverse=True)}


class _FindNearDuplicates(beam.DoFn):  # type: ignore[misc]
    def __init__(self, base: str, shards: int) -> None:
        self.base = base
        self.shards = shards

    def process(self, element: tuple[int, Iterable[Any]]) -> Iterator[Any]:
        shard, values = element
        parts = Parts(values)
        seen = [Sketched(*page) for block in parts.all(SketchBlock) for page in block.seen]
        if not seen:
            return
        state = parts.one(ShardState)
        bands = np.unique(np.array([page.band for page in seen], np.uint64))
        near, new = judge_sketches(seen, known_sketches(bands, state.sketches))
        if new:
            runs = (*state.sketches, write_sketches(self._path(state, ""), new))
            runs = compact(runs, self._path(state, "merged"))
            yield beam.pvalue.TaggedOutput("runs", (shard, NearRuns(runs)))
        for owner, verdicts in near.items():
            yield owner, NearVerdicts(verdicts)

    def _path(self, state: ShardState, part: str) -> str:
        return layout.shard_file(
            self.base, layout.SKETCHES, state.round, state.shard, self.shards, part
        )


class FindNearDuplicates(beam.PTransform):  # type: ignore[misc]
    """(shard, SketchBlock or ShardState) → `.verdicts`: (shard of the pages, NearVerdicts);
    `.runs`: (shard, NearRuns).
    """

    def __init__(self, base: str, shards: int) -> None:
        super().__init__()
        self.base = base
        self.shards = shards

    def expand(self, inputs: tuple[beam.PCollection, ...]) -> Any:
        find = beam.ParDo(_FindNearDuplicates(self.base, self.shards))
        return inputs | GroupParts() | find.with_outputs("runs", main="verdicts")
