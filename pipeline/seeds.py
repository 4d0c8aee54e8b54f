"""Seeds: from what a person types to the first frontier."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable

import pyarrow as pa

from pipeline.options import UsageError
from transforms import layout, storage
from transforms.canonical import ALL_RULES, Canonical
from transforms.fingerprints import fingerprint_url, shard_of_host
from transforms.frontier import write_frontier
from transforms.records import ShardState
from transforms.runs import write_run
from transforms.tables import FRONTIER, VISITED, words
from transforms.urls import host_of, parse_seed


def read_seeds(given: Iterable[str], input_file: str | None) -> tuple[str, ...]:
    """The seed URLs, each once, in the order given.

    Raises UsageError that names the first one that is no http or https URL.
    """
    lines = [(text, "") for text in given]
    if input_file:
        lines += [
            (text, f" ({input_file}, line {number})")
            for number, line in enumerate(read_lines(input_file, "seeds"), 1)
            if (text := line.split(" #", 1)[0].strip()) and not text.startswith("#")
        ]
    seeds: dict[str, None] = {}
    for text, place in lines:
        url = parse_seed(text)
        if url is None:
            raise UsageError(f"{text!r} is no http or https URL{place}")
        seeds[url] = None
    return tuple(seeds)


def read_lines(path: str, what: str) -> list[str]:
    """The lines of a file that a person names. Raises UsageError when it can not be read."""
    try:
        if path == "-":
            data = sys.stdin.buffer.read()
        elif storage.is_local(path):
            with open(path, "rb") as file:
                data = file.read()
        else:
            data = storage.read_bytes(path)
    except OSError as error:
        raise UsageError(f"cannot read {what} from {path}: {error.strerror or error}") from None
    return data.decode("utf-8-sig", "replace").splitlines()


def first_of_each_key(urls: Iterable[str], canonical: Canonical) -> list[str]:
    first: dict[str, str] = {}
    for url in urls:
        first.setdefault(canonical.key(url), url)
    return list(first.values())


def seed_states(
    base: str, seeds: Iterable[str], shards: int, canonical: Canonical = ALL_RULES
) -> tuple[ShardState, ...]:
    """The states that round 0 reads. Writes the first frontier, and marks it visited."""
    by_shard: dict[int, list[str]] = defaultdict(list)
    for url in first_of_each_key(seeds, canonical):
        by_shard[shard_of_host(host_of(url), shards)].append(url)
    states = []
    for shard in range(shards):
        urls = by_shard.get(shard, [])
        if not urls:
            states.append(ShardState(shard, 0, opening=True))
            continue
        table = seed_table(urls, canonical)
        visited = layout.shard_file(base, layout.VISITED, 0, shard, shards, "seeds")
        refused = words([None] * len(urls))
        write_run(visited, pa.table([table["fingerprint"], refused], schema=VISITED))
        frontier = write_frontier(base, 0, shard, shards, table)
        states.append(
            ShardState(
                shard,
                0,
                frontier=frontier,
                visited=(visited,),
                waiting=len(urls),
                discovered=len(urls),
                seeds=len(urls),
                opening=True,
            )
        )
    return tuple(states)


def seed_table(urls: list[str], canonical: Canonical = ALL_RULES) -> pa.Table:
    columns = [
        urls,
        pa.array([fingerprint_url(url, canonical) for url in urls], pa.uint64()),
        words(host_of(url) for url in urls),
        pa.array([0] * len(urls), pa.int32()),
        [""] * len(urls),
        [True] * len(urls),
        pa.array([0] * len(urls), pa.int8()),
    ]
    return pa.table(columns, schema=FRONTIER)


def seeds_of(states: Iterable[ShardState]) -> tuple[str, ...]:
    """The seeds of a crawl, from the states it began with."""
    paths = [path for state in states for path in state.frontier]
    return tuple(
        url for path in paths for url in storage.read_table(path, ["url"])["url"].to_pylist()
    )
