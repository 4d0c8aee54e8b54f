"""A lease on a crawl in an object store: one driver at work, and no one locked out for ever.

The holder renews it; one that has died does not, so another may take over. Every change
of `lease.json` is a write on the condition that it is as it was seen: of two, one wins.

A clock alone can not tell a driver that has died from one that was only asleep, or whose
job goes on elsewhere. So what keeps a crawl sound is not the time but three rules, and a
clock that is wrong costs nothing but a wait:

1. Who takes over first commits the next round as one in which nothing happened
   (`manifest.void_round`). A manifest is never written over: whatever the old holder had
   under way in that round can not be committed any more.
2. A round's files lie under its number. The old holder began its round before it was
   void, so it writes no file that the new one, a round further on, will write or name.
   To that end a driver reads the last manifest, makes sure that the lease is still its
   own (`confirm`), and only then begins the round after it.
3. A sweep ends at the round about to begin (`folder.sweep`). So an old holder that
   sweeps late finds nothing of the new one.

A crawl's seeds are the exception: two drivers that start one crawl, the first asleep for
longer than its lease between two of its first writes, share the names of the seeds'
files. They write the same bytes there, unless they were given different seeds.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from pipeline.manifest import CommitError
from pipeline.options import UsageError
from transforms import gcs, layout

SECONDS = 120.0  # a driver that has died holds up the next one for so long
PATIENCE = 10.0  # seconds that a store which is away is tried for the lease; see `keep`


class Lease:
    """The lease of one driver. Times are seconds since the epoch."""

    def __init__(self, base: str, seconds: float, clock: Callable[[], float] = time.time) -> None:
        self.base = base
        self.path = layout.lease_file(base)
        self.seconds = seconds
        self.clock = clock
        self.holder = f"{socket.gethostname()}, process {os.getpid()}"
        self.key = secrets.token_hex(8)
        self.generation = 0
        self.took_over = False  # from a driver that did not give it back

    def acquire(self) -> None:
        """Raises UsageError when another driver holds it."""
        try:
            data, generation = gcs.read_at(self.path)
            found = json.loads(data)
            holder, expires, in_order = (found[key] for key in ("holder", "expires", "in_order"))
        except FileNotFoundError:
            holder, expires, in_order, generation = "", 0.0, True, 0
        except (ValueError, KeyError, TypeError):
            raise UsageError(f"{self.path} is no crawl's; choose another --out") from None
        left = expires - self.clock()
        if left > 0:
            raise self._refusal(
                f"another run is at work in {self.base} ({holder}); if it has died, "
                f"its lease ends in {math.ceil(left)}s"
            )
        try:
            self._write(generation)
        except FileExistsError:
            raise self._refusal(f"another run has just begun in {self.base}") from None
        self.took_over = not in_order

    def _refusal(self, found: str) -> UsageError:
        return UsageError(f"{found}: wait for it, or choose another --out")

    def renew(self) -> None:
        """Raises FileExistsError when another driver has taken over."""
        self._write(self.generation)

    def confirm(self) -> None:
        """Raises CommitError when another driver has taken over."""
        try:
            document = json.loads(gcs.read_at(self.path, self._retry())[0])
        except FileNotFoundError:
            document = {}
        if document.get("key") != self.key:
            raise CommitError(taken_over(self.base))

    def release(self, *, in_order: bool) -> None:
        """Give it back. A run that failed is not in order: its job may still go on elsewhere,
        so whoever comes next has to take over from it.
        """
        self._write(self.generation, 0.0, in_order)

    def _write(self, generation: int, seconds: float | None = None, in_order: bool = False) -> None:
        document = {
            "holder": self.holder,
            "key": self.key,
            "expires": self.clock() + (self.seconds if seconds is None else seconds),
            "in_order": in_order,
        }
        data = json.dumps(document, indent=1).encode()
        self.generation = gcs.write_if(self.path, data, generation, self._retry())

    def _retry(self) -> Any:
        return gcs.RETRY.with_timeout(min(PATIENCE, self.seconds / 3))


def taken_over(base: str) -> str:
    return f"another run has taken over {base}, since this one did not renew its lease in time"


@contextmanager
def held(lease: Lease, on_lost: Callable[[str], None]) -> Iterator[Lease]:
    """Hold a lease, renewing it.

    `on_lost` is called with a line for a person, on another thread, when that is refused.
    """
    try:
        lease.acquire()
    except OSError as error:
        raise UsageError(f"cannot work in {error}") from None
    ended = threading.Event()
    renewing = threading.Thread(target=keep, args=(lease, ended, on_lost), daemon=True)
    renewing.start()
    in_order = False
    try:
        yield lease
        in_order = True
    except UsageError:
        in_order = True  # nothing was begun
        raise
    except Exception:
        with suppress(OSError):
            lease.confirm()  # if it is another's by now, that explains all else
        raise
    finally:
        ended.set()
        renewing.join()
        with suppress(OSError):  # then it runs out by itself
            lease.release(in_order=in_order)


def keep(lease: Lease, ended: threading.Event, on_lost: Callable[[str], None]) -> None:
    """Renew a lease every third of its time until the run has ended.

    While the store can not be reached there is nothing to do but to try again: as long as
    no other driver takes over, an old lease can be renewed too.
    """
    while not ended.wait(lease.seconds / 3):
        try:
            lease.renew()
        except FileExistsError:
            on_lost(taken_over(lease.base))
            return
        except OSError:
            continue
