"""State of a crawl that has been at work for long, made up and kept under .bench/.

What was visited lies in sorted runs, what waits in frontier segments, both written by the
functions that crawls write them with.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from tests.benchmarks.web import CACHE
from transforms.fingerprints import fingerprint_url, shard_of_host
from transforms.frontier import write_frontier
from transforms.records import ShardState
from transforms.runs import write_run
from transforms.tables import FRONTIER, VISITED, words
from transforms.urls import host_of

SHARDS = 16
SHARES = (0.7, 0.2, 0.08, 0.02)  # of a shard's fingerprints, by run: some old and large
CANDIDATES = 1_000_000  # half of them visited
URLS_A_HOST = 1_000
ROUND = 1  # the round that reads these states


def visited_runs(store: Path) -> list[tuple[str, ...]]:
    """The runs of each shard."""
    return [tuple(sorted(map(str, store.glob(f"shard-{n:02d}-*")))) for n in range(SHARDS)]


def make_visited(count: int) -> Path:
    """Runs of `count` random fingerprints, and candidates.npy: a row of them a shard."""

    def fill(folder: Path) -> None:
        rows = []
        for shard in range(SHARDS):
            draw = np.random.default_rng(shard)
            fingerprints = draw.integers(0, 1 << 64, count // SHARDS, np.uint64)
            cuts = np.cumsum([int(len(fingerprints) * share) for share in SHARES[:-1]])
            for number, part in enumerate(np.split(fingerprints, cuts)):
                table = pa.table([part, _nothing_refused(len(part))], schema=VISITED)
                write_run(str(folder / f"shard-{shard:02d}-run-{number}.parquet"), table)
            half = CANDIDATES // SHARDS // 2
            new = draw.integers(0, 1 << 64, half, np.uint64)
            rows.append(np.concatenate([draw.choice(fingerprints, half, replace=False), new]))
        np.save(folder / "candidates.npy", np.array(rows))

    return _made_once(f"visited-{count}", fill)


def make_frontier(count: int) -> Path:
    """A crawl's folder in which `count` URLs wait."""

    def fill(folder: Path) -> None:
        for shard, urls in enumerate(waiting_urls(count)):
            write_frontier(str(folder), ROUND, shard, SHARDS, frontier_table(urls))

    return _made_once(f"frontier-{count}-of-{len(FRONTIER)}-columns", fill)


def waiting_urls(count: int) -> list[list[str]]:
    """Made-up URLs that wait, by shard; of hosts that are alike in size."""
    shards: list[list[str]] = [[] for _ in range(SHARDS)]
    for number in range(max(1, count // URLS_A_HOST)):
        host = f"host-{number}.example"
        some = min(count, URLS_A_HOST)
        urls = [f"http://{host}/some/folder/page-{page}.html" for page in range(some)]
        shards[shard_of_host(host, SHARDS)] += urls
    return shards


def frontier_table(urls: list[str]) -> pa.Table:
    fingerprints = np.array([fingerprint_url(url) for url in urls], np.uint64)
    columns = [
        urls,
        fingerprints,
        words(host_of(url) for url in urls),
        np.ones(len(urls), np.int32),
        [""] * len(urls),
        np.zeros(len(urls), bool),
        np.zeros(len(urls), np.int8),
    ]
    return pa.table(columns, schema=FRONTIER)


def states_of(frontier: Path, store: Path | None) -> tuple[ShardState, ...]:
    """The states of a crawl with this frontier that has visited what is in the store."""
    from transforms.storage import read_table

    visited = visited_runs(store) if store else [()] * SHARDS
    states = []
    for shard in range(SHARDS):
        name = f"shard-{shard:05d}-of-{SHARDS:05d}*.parquet"
        paths = sorted(map(str, frontier.glob(f"frontier/round={ROUND:05d}/{name}")), key=_order)
        waiting = sum(read_table(path, ["fingerprint"]).num_rows for path in paths)
        states.append(
            ShardState(
                shard,
                ROUND,
                frontier=tuple(paths),
                visited=visited[shard],
                waiting=waiting,
                discovered=waiting,
            )
        )
    return tuple(states)


def _order(path: str) -> tuple[int, str]:
    return len(path), path  # the first segment has no number


def _nothing_refused(count: int) -> pa.Array:
    return pa.nulls(count, VISITED.field("refused").type)


def _made_once(name: str, fill: Callable[[Path], None]) -> Path:
    folder = CACHE / name
    if not folder.exists():
        print(f"making {folder}", flush=True)
        half_done = folder.with_suffix(".part")
        shutil.rmtree(half_done, ignore_errors=True)
        half_done.mkdir(parents=True)
        fill(half_done)
        half_done.rename(folder)
    return folder
