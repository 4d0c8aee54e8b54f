"""The frontier: what waits to be fetched, as segment files that a round opens in turn.

A shard's frontier is a list of segments, oldest first. A round opens as many as it may
hold in memory and leaves the rest alone: they stay the files they are, and cost
nothing. Within a segment the hosts take turns (every host's first URL, then every
host's second, …), so that whatever part of a frontier is opened, many hosts are in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from transforms import layout, storage
from transforms.records import ShardState
from transforms.tables import FRONTIER, complete

SEGMENT_ROWS = 25_000  # a segment is what is opened at once: about 4 MB in memory
OPEN_ROWS = 500_000  # most rows a slot holds: about 80 MB


class Opened(NamedTuple):
    """The rows that a slot holds in this round."""

    table: pa.Table  # FRONTIER, one chunk a column
    shards: np.ndarray  # the shard of each row
    carried: dict[int, tuple[str, ...]]  # by shard: the segments left unopened


def open_frontier(states: tuple[ShardState, ...], most: int = OPEN_ROWS) -> Opened:
    """Open the oldest segments of each shard, up to `most` rows in all (or one segment each)."""
    share = most // max(1, len(states))
    tables, shards, carried = [FRONTIER.empty_table()], [], {}
    for state in states:
        rows, opened = 0, 0
        for path in state.frontier:
            if rows and rows + SEGMENT_ROWS > share:
                break
            table = complete(storage.read_table(path), FRONTIER)
            tables.append(table)
            rows, opened = rows + table.num_rows, opened + 1
        shards.append(np.full(rows, state.shard, np.int32))
        carried[state.shard] = state.frontier[opened:]
    table = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
    return Opened(table, np.concatenate([*shards, np.empty(0, np.int32)]), carried)


def write_frontier(
    base: str, round_: int, shard: int, shards: int, table: pa.Table, part: str = ""
) -> tuple[str, ...]:
    """Write rows as segments of `round_`; no file at all for no rows."""
    rows = table.take(take_turns(table["host"]))
    paths = []
    for start in range(0, rows.num_rows, SEGMENT_ROWS):
        names = [part] if part else []
        if start:
            names.append(f"{start // SEGMENT_ROWS:05d}")
        path = layout.shard_file(base, layout.FRONTIER, round_, shard, shards, ".".join(names))
        segment = rows.slice(start, SEGMENT_ROWS)
        paths.append(storage.write_table(path, segment, dictionaries=("host", "depth", "referrer")))
    return tuple(paths)


def host_codes(hosts: pa.ChunkedArray) -> tuple[list[str], np.ndarray]:
    """The distinct hosts of a dictionary column, and each row's index among them."""
    column = hosts.unify_dictionaries().combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks else FRONTIER.empty_table()["host"].chunk(0)
    return column.dictionary.to_pylist(), column.indices.to_numpy(zero_copy_only=False)


def rows_by_host(codes: np.ndarray) -> list[np.ndarray]:
    """For each host code in ascending order: its rows, in table order."""
    order = np.argsort(codes, kind="stable")
    cuts = np.flatnonzero(np.diff(codes[order])) + 1
    return np.split(order, cuts) if len(order) else []


def take_turns(hosts: pa.ChunkedArray) -> np.ndarray:
    """The order in which hosts take turns; a host's own rows keep theirs.

    >>> take_turns(pa.chunked_array([pa.array(["a", "a", "b"]).dictionary_encode()])).tolist()
    [0, 2, 1]
    """
    _, codes = host_codes(hosts)
    turn = np.empty(len(codes), np.int64)
    for rows in rows_by_host(codes):
        turn[rows] = np.arange(len(rows))
    return np.argsort(turn, kind="stable")
