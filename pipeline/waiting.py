"""What a crawl that can not go on right now is waiting for."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import pyarrow.compute as pc

from transforms import storage
from transforms.hosts import HostRecord, read_hosts
from transforms.records import ShardState


class HostWaits(NamedTuple):
    """A host with URLs that are due, when it may be asked, and why not before."""

    ready_at: float  # seconds since the epoch
    host: str
    urls: int
    reason: str


class Waits(NamedTuple):
    """Hosts with URLs that are due, the soonest first."""

    hosts: tuple[HostWaits, ...]


def what_waits(states: tuple[ShardState, ...], depth: int | None, host_limit: int | None) -> Waits:
    """Which hosts still have URLs within `depth` and their budget, and when each may be asked."""
    found = []
    for state in states:
        urls: Counter[str] = Counter()
        for path in state.frontier:
            table = storage.read_table(path, ["host", "depth"])
            if depth is not None:
                table = table.filter(pc.less_equal(table["depth"], depth))
            for row in table["host"].value_counts().to_pylist():
                urls[row["values"]] += row["counts"]
        records = read_hosts(state.hosts, urls)
        for host, count in urls.items():
            record = records.get(host) or HostRecord(host)
            if host_limit is None or record.fetched < host_limit:
                found.append(HostWaits(record.waits_until, host, count, record.reason))
    return Waits(tuple(sorted(found)))
