"""Sorted runs of fingerprints: what the crawl remembers of URLs and of contents.

A round adds one run and rewrites none. A check sorts its candidates and reads the
runs' fingerprint column, one row group after the other, so its memory does not grow
with the crawl. When runs of about one size get many they are merged (a log-structured
merge by tiers: each fingerprint is rewritten at most log₈ times).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from transforms import storage

TIER = 8  # this many runs of one size class become one of the next
ROW_GROUP = 1 << 20  # 8 MB in memory


def write_run(path: str, table: pa.Table) -> str:
    """Write rows as one run, sorted by `fingerprint`; returns the path."""
    ordered = table.take(np.argsort(table["fingerprint"].to_numpy(), kind="stable"))
    words = [field.name for field in table.schema if pa.types.is_dictionary(field.type)]
    return storage.write_table(
        path, ordered, deltas=("fingerprint",), dictionaries=tuple(words), row_group=ROW_GROUP
    )


def seen_in(candidates: np.ndarray, runs: Sequence[str]) -> np.ndarray:
    """For sorted, distinct uint64 candidates: which of them stand in a run."""
    seen = np.zeros(len(candidates), bool)
    for run in runs:
        for _, first, hits in _matches(candidates, run):
            seen[first + hits] = True
    return seen


def look_up(candidates: np.ndarray, runs: Sequence[str], column: str) -> dict[int, Any]:
    """The value that `column` has for each candidate that stands in a run.

    Only row groups with a hit are read beyond their fingerprints.
    """
    found: dict[int, Any] = {}
    for run in runs:
        for group, first, hits in _matches(candidates, run):
            if len(hits):
                with storage.open_input(run) as source:
                    table = pq.ParquetFile(source).read_row_group(
                        group, ["fingerprint", column], use_threads=False
                    )
                wanted = candidates[first + hits]
                rows = np.searchsorted(table["fingerprint"].to_numpy(), wanted)
                values = table[column].take(rows).to_pylist()
                found.update(zip(wanted.tolist(), values, strict=True))
    return found


def _matches(candidates: np.ndarray, run: str) -> Iterator[tuple[int, int, np.ndarray]]:
    """For each row group that may hold candidates: its number, the index of the first
    candidate in its range, and which candidates from there on it holds.
    """
    if not len(candidates):
        return
    with storage.open_input(run) as source:
        file = pq.ParquetFile(source)
        for group in range(file.num_row_groups):
            statistics = file.metadata.row_group(group).column(0).statistics
            first, last = 0, len(candidates)
            if statistics is not None and statistics.has_min_max:
                first = int(np.searchsorted(candidates, np.uint64(statistics.min)))
                last = int(np.searchsorted(candidates, np.uint64(statistics.max), side="right"))
            if first == last or not file.metadata.row_group(group).num_rows:
                continue
            known = file.read_row_group(group, ["fingerprint"], use_threads=False)[
                "fingerprint"
            ].to_numpy()
            wanted = candidates[first:last]
            places = np.searchsorted(known, wanted)
            places[places == len(known)] = 0
            yield group, first, np.flatnonzero(known[places] == wanted)


def rows_in(run: str) -> int:
    with storage.open_input(run) as source:
        return int(pq.ParquetFile(source).metadata.num_rows)


def compact(runs: tuple[str, ...], path: str) -> tuple[str, ...]:
    """The same fingerprints in fewer files, when runs of one size class have become many.

    The merged run is written to `path`; the files that went into it are left for
    whoever owns them, since the manifests before this one still name them.
    """
    if len(runs) < TIER:
        return runs
    tiers: dict[int, list[str]] = {}
    for run in runs:
        tiers.setdefault((rows_in(run).bit_length() - 1) // 3, []).append(run)
    crowded = [tier for tier, members in sorted(tiers.items()) if len(members) >= TIER]
    if not crowded:
        return runs
    members = tiers[crowded[0]]
    table = pa.concat_tables([storage.read_table(run) for run in members]).unify_dictionaries()
    merged = write_run(path, table)
    return (*(run for run in runs if run not in members), merged)
