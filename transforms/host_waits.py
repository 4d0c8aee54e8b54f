"""What hosts are to be left alone for, noted at once: a round that dies loses all else.

A round's hosts are written when it ends. If it is killed before, they have seen its requests
all the same, and one may have asked to be left alone for an hour. So each attempt at a slot
notes the longer waits in a file of its own, and the next attempt at that round heeds them.
It takes nothing else from there: pages and robots.txt are asked for anew. When the round
commits, the file counts for nothing.

On a local disk only: nothing can be appended to an object.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import IO, NamedTuple

from transforms import layout, storage
from transforms.hosts import HostRecord
from transforms.records import Slot

LONG = 2.0  # seconds; what is shorter is over, or nearly, when a new attempt has begun


class Wait(NamedTuple):
    """Why and until when a host is left alone. Times as in `HostRecord`."""

    host: str
    until: float
    gap: float
    slowdown: float
    failures: int
    closures: int
    reason: str


class HostWaits:
    """Of one attempt at a slot: what it notes, and what those before it noted."""

    def __init__(self, base: str, slot: Slot) -> None:
        self.earlier: dict[str, Wait] = {}
        self.is_first = True  # no attempt at one of these shards began before
        self._file: IO[bytes] | None = None
        if storage.is_local(base):
            shards = {state.shard for state in slot.states}
            folder = layout.round_folder(base, layout.HOSTS, slot.round)
            for path in storage.list_files(folder):
                if path.endswith(layout.WAITS):
                    self._read(storage.read_bytes(path), shards)
            path = layout.waits_file(base, slot.round, slot.slot, slot.attempt)
            self._file = storage.append(path)
            self._write(sorted(shards))

    def recall(self, record: HostRecord, began: float, delay: float) -> HostRecord:
        """The record of a host, which an attempt that died may have asked until just now.

        `began`: when this attempt did (epoch seconds). `delay`: seconds, the least gap.
        """
        if self.is_first:
            return record
        wait = self.earlier.get(record.host)
        if wait is None:
            return record._replace(ready_at=max(record.ready_at, began + delay))
        return record._replace(
            ready_at=max(record.ready_at, wait.until, began + max(delay, wait.gap)),
            gap=max(record.gap, wait.gap),
            slowdown=wait.slowdown,
            failures=wait.failures,
            closures=wait.closures,
            reason=wait.reason,
        )

    def note(self, record: HostRecord, until: float, now: float) -> None:
        """A host is left alone until then, `now` being when it last answered."""
        if until > now + LONG:
            gap, slowdown = record.gap, record.slowdown
            failures, closures = record.failures, record.closures
            self._write(Wait(record.host, until, gap, slowdown, failures, closures, record.reason))

    def close(self) -> None:
        if self._file:
            self._file.close()

    def _write(self, line: object) -> None:
        if self._file:
            self._file.write(json.dumps(line).encode() + b"\n")

    def _read(self, data: bytes, shards: set[int]) -> None:
        first, *lines = data.splitlines() or [b"[]"]
        with suppress(ValueError, TypeError):  # the last line may have been cut off
            if shards.isdisjoint(json.loads(first)):
                return
            self.is_first = False
            for line in lines:
                wait = Wait(*json.loads(line))
                known = self.earlier.get(wait.host)
                # A note is never about an earlier time than the one before, of one attempt.
                if known is None or wait.until >= known.until:
                    self.earlier[wait.host] = wait
