"""What the committed files say about one URL, found without reading them whole.

Everything is looked up by the URL's fingerprint, and in the files of its shard alone;
only a URL that was refused at once is looked for in the links, which are not sorted.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq

from pipeline.manifest import Manifest
from transforms import layout, storage
from transforms.canonical import ALL_RULES, Canonical
from transforms.evidence import read_patterns
from transforms.fingerprints import (
    fingerprint_url,
    fingerprint_written,
    shard_of_host,
    shard_of_url,
)
from transforms.hosts import HostRecord, read_hosts
from transforms.records import ShardState
from transforms.runs import look_up, seen_in
from transforms.traps import Evidence as PatternEvidence
from transforms.urls import host_of

LONGEST_PATH = 50  # steps back to a seed that are looked up

Row = dict[str, Any]


class Found(NamedTuple):
    """A row, and the round that wrote it."""

    round: int
    row: Row


class Evidence:
    """The files of a crawl as its last manifest left them."""

    def __init__(
        self,
        manifests: list[Manifest],
        states: tuple[ShardState, ...],
        canonical: Canonical = ALL_RULES,
    ) -> None:
        self.manifests = manifests
        self.states = states
        self.canonical = canonical

    def identities(self, url: str) -> tuple[int, int]:
        """The fingerprints under which something may be known of the URL."""
        return fingerprint_url(url, self.canonical), fingerprint_written(url)

    def state_of(self, url: str) -> ShardState:
        return self.states[shard_of_url(url, len(self.states))]

    def fetches(self, url: str) -> list[Found]:
        """The URL's rows in `pages`, oldest first."""
        shard = self.state_of(url).shard
        name = layout.shard_file("", layout.PAGES, 0, shard, len(self.states)).rpartition("/")[2]
        return [
            Found(manifest.round, row)
            for manifest in self.manifests
            for path in manifest.files[layout.PAGES]
            if path.endswith(f"/{name}")
            for row in _rows(path, "url_fingerprint", self.identities(url))
        ]

    def waiting(self, url: str) -> Row | None:
        """The URL's row in the frontier."""
        return _first_row(self.state_of(url).frontier, "fingerprint", self.identities(url))

    def held(self, url: str) -> Row | None:
        """The URL's row among links out of a scope that may still grow."""
        return _first_row(self.state_of(url).held, "fingerprint", self.identities(url))

    def set_aside(self, url: str) -> Row | None:
        """The URL's row among those of closed patterns."""
        return _first_row(self.state_of(url).aside, "fingerprint", self.identities(url))

    def pattern(self, host: str, pattern: str) -> PatternEvidence:
        """What the pages of a pattern have brought."""
        runs = self.states[shard_of_host(host, len(self.states))].patterns
        return read_patterns(runs, [host]).get(host, {}).get(pattern, PatternEvidence())

    def is_decided(self, url: str) -> bool:
        """Whether the URL was ever admitted or refused."""
        known_as = np.sort(np.array(self.identities(url), np.uint64))
        return bool(seen_in(known_as, self.state_of(url).visited).any())

    def refused(self, url: str) -> str | None:
        """The reason with which the URL was turned away."""
        known_as = np.sort(np.array(self.identities(url), np.uint64))
        reasons = look_up(known_as, self.state_of(url).visited, "refused")
        return next((reason for reason in reasons.values() if reason), None)

    def first_link(self, url: str) -> Found | None:
        """The first link to the URL that counted, by round and depth."""
        for manifest in self.manifests:
            rows = [
                row
                for path in manifest.files[layout.LINKS]
                for row in _rows(path, "target_fingerprint", self.identities(url))
            ]
            if rows:
                return Found(manifest.round, min(rows, key=lambda row: int(row["depth"])))
        return None

    def path_from_seed(self, url: str, referrer: str | None) -> list[str]:
        """The URLs by which the crawl came to `url`, a seed first, `url` last."""
        path = [url]
        while referrer and referrer not in path and len(path) < LONGEST_PATH:
            path.append(referrer)
            found = self.fetches(referrer)
            referrer = found[0].row["referrer"] if found else None
        return path[::-1]

    def host(self, url: str) -> HostRecord:
        name = host_of(url)
        return read_hosts(self.state_of(url).hosts, [name]).get(name) or HostRecord(name)


@cache
def _column(path: str, column: str) -> list[np.ndarray]:
    """A column of fingerprints, an array for each row group."""
    with storage.open_input(path) as source:
        file = pq.ParquetFile(source)
        groups = range(file.num_row_groups)
        return [file.read_row_group(group, [column])[column].to_numpy() for group in groups]


def _rows(path: str, column: str, identities: tuple[int, ...]) -> list[Row]:
    """The rows with one of these fingerprints. Only their row groups are read whole."""
    found: list[Row] = []
    for group, known in enumerate(_column(path, column)):
        places = np.flatnonzero(np.isin(known, np.array(identities, np.uint64)))
        if len(places):
            with storage.open_input(path) as source:
                found += pq.ParquetFile(source).read_row_group(group).take(places).to_pylist()
    return found


def _first_row(paths: tuple[str, ...], column: str, identities: tuple[int, ...]) -> Row | None:
    return next((row for path in paths for row in _rows(path, column, identities)), None)
