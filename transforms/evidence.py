"""Evidence: what the pages of a round brought, by host and pattern, and what is known of it.

A host's pages, and the evidence of its patterns, are its own shard's. A round writes the
patterns that it changed, as one more run; the last row of a pattern counts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from transforms import storage
from transforms.patterns import is_kin, patterns_of
from transforms.records import HTTP_ERROR, PAGE, REDIRECT, TOO_LARGE, UNSUPPORTED_TYPE
from transforms.runs import TIER
from transforms.traps import (
    FOUND_ON_DULL,
    IN_DOUBT,
    UNKNOWN,
    Evidence,
    after,
    is_closed,
    patterns_in_doubt,
)
from transforms.urls import host_of

PATTERNS = pa.schema(
    [
        ("host", pa.string()),
        ("pattern", pa.string()),
        ("good", pa.int64()),
        ("dull", pa.int64()),
        ("debt", pa.int64()),
        ("lately", pa.int64()),
    ]
)
MOST_PATTERNS = 5_000  # of a host that are remembered, those with the most pages

Known = dict[str, dict[str, Evidence]]  # by host and pattern


class Brought(NamedTuple):
    """What a round's pages of one pattern brought."""

    host: str
    pattern: str
    good: int
    dull: int
    credit: int  # good pages of other patterns that were first found on its pages


class Ended(NamedTuple):
    """A fetch that ended, as far as it is evidence."""

    url: str
    referrer: str
    doubt: int
    outcome: str
    note: str | None
    said_before: bool  # see `gist`
    told_before: bool


def worth(end: Ended) -> int:
    """1 for a good page, -1 for a dull one, 0 for what says nothing of its pattern.

    By what a page tells, when it may be one of many that a rule made: one that was found
    on a dull page or on one of its kin. Else what it says is enough.
    """
    if end.outcome in (HTTP_ERROR, REDIRECT) or end.note:
        return -1
    if end.outcome in (TOO_LARGE, UNSUPPORTED_TYPE):
        return 1
    if end.outcome != PAGE:  # a duplicate, or what was not asked for
        return -1 if end.outcome == "duplicate" else 0
    if end.said_before:
        return -1
    if end.told_before and (end.doubt == FOUND_ON_DULL or is_kin(end.url, end.referrer)):
        return -1
    return 1


def gather(ends: Iterable[Ended]) -> tuple[tuple[Brought, ...], list[bool]]:
    """What these fetches brought, by pattern; and of each whether it is a dull page.

    A page found on another host is credited to none of its own.
    """
    pages: Counter[tuple[str, tuple[str, ...], int]] = Counter()  # of one kind and worth
    found: Counter[tuple[str, str, tuple[str, ...]]] = Counter()  # good ones, by referrer
    dull: list[bool] = []
    for end in ends:
        value = worth(end)
        dull.append(value < 0 and end.outcome == PAGE)
        host, patterns = host_of(end.url), patterns_in_doubt(end.url, end.doubt)
        pages[host, patterns, value] += 1
        if value > 0 and end.referrer:
            found[host, end.referrer, patterns] += 1
    sums: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for (host, patterns, value), count in pages.items():
        for pattern in patterns if value else ():
            sums[host, pattern][value < 0] += count
    for (host, referrer, patterns), count in found.items():
        if host_of(referrer) == host:
            own = {pattern.removeprefix(IN_DOUBT) for pattern in patterns}
            for pattern in set(patterns_of(referrer)) - own:
                sums[host, pattern][2] += count
                sums[host, IN_DOUBT + pattern][2] += count
    brought = (Brought(*key, *counts) for key, counts in sums.items())
    return tuple(sorted(brought)), dull


class Judged(NamedTuple):
    changed: Known
    has_opened: bool  # a pattern that was closed


def judge(known: Mapping[str, Mapping[str, Evidence]], brought: Iterable[Brought]) -> Judged:
    """The evidence with that of a round. What a pattern without any page led to is no evidence."""
    changed: Known = {}
    has_opened = False
    for host, pattern, good, dull, credit in brought:
        before = known.get(host, {}).get(pattern)
        if before is None and not (good or dull):
            continue
        now = after(before or UNKNOWN, good, dull, credit)
        changed.setdefault(host, {})[pattern] = now
        has_opened |= is_closed(pattern, before or UNKNOWN) and not is_closed(pattern, now)
    return Judged(changed, has_opened)


def read_patterns(paths: Iterable[str], hosts: Iterable[str]) -> Known:
    """The last evidence of each pattern of the wanted hosts, from runs given oldest first."""
    names = pa.array(sorted(set(hosts)), pa.string())
    found: Known = {}
    for path in paths if len(names) else ():
        table = storage.read_table(path)
        rows = table.filter(pc.is_in(table["host"], names)).to_pydict()
        for host, pattern, *counts in zip(*rows.values(), strict=True):
            found.setdefault(host, {})[pattern] = Evidence(*counts)
    return found


def add_evidence(
    path: str, runs: tuple[str, ...], evidence: Iterable[tuple[str, str, int, int, int]]
) -> tuple[tuple[str, ...], bool]:
    """The runs with what a round brought, and whether a closed pattern has opened by it."""
    brought = [Brought(*each) for each in evidence]
    if not brought:
        return runs, False
    changed, has_opened = judge(read_patterns(runs, (each.host for each in brought)), brought)
    if not changed:
        return runs, False
    if len(runs) < TIER:
        return (*runs, write_patterns(path, changed)), has_opened
    return (merge_patterns(path, runs, changed),), has_opened


def write_patterns(path: str, known: Known) -> str:
    rows = [
        {"host": host, "pattern": pattern, **evidence._asdict()}
        for host, patterns in sorted(known.items())
        for pattern, evidence in sorted(patterns.items())
    ]
    return storage.write_table(path, pa.Table.from_pylist(rows, PATTERNS))


def merge_patterns(path: str, runs: Iterable[str], changed: Known) -> str:
    """Several runs, and what changed since, as one: of each host the patterns that tell most."""
    known: Known = {}
    for run in runs:
        rows = storage.read_table(run).to_pydict()
        for host, pattern, *counts in zip(*rows.values(), strict=True):
            known.setdefault(host, {})[pattern] = Evidence(*counts)
    for host, patterns in changed.items():
        known.setdefault(host, {}).update(patterns)
    for host, patterns in known.items():
        if len(patterns) > MOST_PATTERNS:
            most = sorted(
                patterns.items(), key=lambda item: (-item[1].good - item[1].dull, item[0])
            )
            known[host] = dict(most[:MOST_PATTERNS])
    return write_patterns(path, known)
