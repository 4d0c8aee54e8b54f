"""What hosts are to be left alone for, noted at once: a round that dies loses all else.

A round's hosts are written when it ends. If it is killed before, they have seen its requests
all the same, and one may have asked to be left alone for an hour. So each attempt at a slot
notes the longer waits in a file of its own, and the next attempt at that round heeds them.
It takes nothing else from there: pages and robots.txt are asked for anew. When the round
commits, the file counts for nothing.

Nothing can be appended to an object: in an object store an attempt notes no more than that
it has begun, and the next one leaves every host alone for the least gap.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
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


def claim(base: str, round_: int, shards: Sequence[int]) -> bool:
    """Note in an object store that these shards are being fetched; whether none was before."""
    notes = [layout.begun_file(base, round_, shard) for shard in shards]
    return all(storage.side_by_side(base, _is_new, notes))


def _is_new(path: str) -> bool:
    try:
        storage.publish(path, b"")
    except FileExistsError:
        return False
    return True


def hand_on(base: str, round_: int, shards: Sequence[int]) -> None:
    """A round is void: what its attempts noted is for the round after it."""
    if not storage.is_local(base):
        claim(base, round_ + 1, shards)
        return
    for path in storage.list_files(layout.round_folder(base, layout.HOSTS, round_)):
        if path.endswith(layout.WAITS):
            folder = layout.round_folder(base, layout.HOSTS, round_ + 1)
            with storage.create(f"{folder}/{os.path.basename(path)}") as file:
                file.write(storage.read_bytes(path))


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
        else:
            self.is_first = claim(base, slot.round, [state.shard for state in slot.states])

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
