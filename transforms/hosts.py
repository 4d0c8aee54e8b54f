"""What is known of a host between rounds: its robots.txt, its pace, its failures.

A round writes the hosts it touched, as one more run; the last row of a host counts.
So a new round, or a restart, is as polite as if the crawl had never stopped.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, get_type_hints

import pyarrow as pa
import pyarrow.compute as pc

from transforms import storage
from transforms.robots_cache import RobotsRecord

_ARROW = {str: pa.string(), bytes: pa.binary(), int: pa.int64(), float: pa.float64()}
ROBOTS = pa.struct(
    [pa.field(name, _ARROW[kind]) for name, kind in get_type_hints(RobotsRecord).items()]
)
HOSTS = pa.schema(
    [
        ("host", pa.string()),
        ("ready_at", pa.float64()),
        ("gap", pa.float64()),
        ("latency", pa.float64()),
        ("slowdown", pa.float64()),
        ("failures", pa.int64()),
        ("closures", pa.int64()),
        ("reopened", pa.int64()),
        ("reason", pa.string()),
        ("held_until", pa.float64()),
        ("address", pa.string()),
        ("requests", pa.int64()),
        ("fetched", pa.int64()),
        ("robots", pa.list_(ROBOTS)),
    ]
)


class HostRecord(NamedTuple):
    """One host. Times are seconds since the epoch, spans seconds."""

    host: str
    ready_at: float = 0.0  # may not be asked before
    gap: float = 0.0  # from the end of a response to the next request, as last due
    latency: float = 0.0  # running mean of its response times
    slowdown: float = 0.0  # a gap forced by failures; eases with good answers
    failures: int = 0  # in a row: no answer, or "not now"
    closures: int = 0  # in a row: put aside for the rest of a round
    reopened: int = 0  # closed, and then answered well, ever: its failures pass
    reason: str = ""  # why it is being left alone; "" when all is well
    held_until: float = 0.0  # by a robots.txt, all the URLs that wait; `ready_at` is its pace
    address: str = ""  # the IP address that answered last
    requests: int = 0  # ever, for robots.txt too
    fetched: int = 0  # URLs whose fetch ended, ever: the budget used
    robots: tuple[RobotsRecord, ...] = ()  # one for each scheme and port

    @property
    def waits_until(self) -> float:
        """When a URL that waits may be asked for."""
        return max(self.ready_at, self.held_until)


def read_hosts(paths: Iterable[str], wanted: Iterable[str]) -> dict[str, HostRecord]:
    """The last record of each wanted host, from runs given oldest first."""
    names = pa.array(list(wanted), pa.string())
    found: dict[str, HostRecord] = {}
    for path in paths:
        table = storage.read_table(path)
        for row in table.filter(pc.is_in(table["host"], names)).to_pylist():
            row["robots"] = tuple(RobotsRecord(**record) for record in row["robots"])
            found[row["host"]] = HostRecord(**row)
    return found


def write_hosts(path: str, records: Iterable[HostRecord]) -> str:
    rows = [
        {**record._asdict(), "robots": [robots._asdict() for robots in record.robots]}
        for record in sorted(records)
    ]
    return storage.write_table(path, pa.Table.from_pylist(rows, HOSTS))


def merge_host_runs(path: str, runs: Iterable[str]) -> str:
    """Several runs as one: what `read_hosts` would find in them."""
    last = {row["host"]: row for run in runs for row in storage.read_table(run).to_pylist()}
    # A run of an earlier version may lack a column.
    rows = [{**HostRecord(name)._asdict(), **last[name]} for name in sorted(last)]
    return storage.write_table(path, pa.Table.from_pylist(rows, HOSTS))
