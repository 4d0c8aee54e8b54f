"""Who may be asked next: every host of a fetch slot in one queue, ordered by time.

A pure object. It opens no connection and reads no clock: the time is passed in, so a
test can run a month in a second. What it promises, whatever the order of events:

- a host is handed out again only after it was given back: one connection per host;
- and not before its gap, counted from when it was given back, has passed;
- while any host may be asked, `next` finds one in O(log hosts): no worker is idle
  behind a slow host, because nothing is split among workers beforehand.

Among hosts that may be asked now, the one with most time of its own still ahead of it
goes first, so that the longest queue does not run on alone at the end.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable
from itertools import count


class Host:
    """The queue of one host, and the least seconds between two requests to it."""

    __slots__ = ("busy", "gap", "name", "queue", "ready_at")

    def __init__(self, name: str, gap: float = 0.0, ready_at: float = 0.0) -> None:
        self.name = name
        self.queue: deque[int] = deque()
        self.gap = gap
        self.ready_at = ready_at  # may not be asked before
        self.busy = False  # a request is under way

    def time_ahead(self) -> float:
        """Seconds that this host's queue takes at the least, however many connections."""
        return len(self.queue) * self.gap


class Scheduler:
    def __init__(self) -> None:
        self.hosts: dict[str, Host] = {}
        self._ready: list[tuple[float, int, Host]] = []  # by time ahead, longest first
        self._later: list[tuple[float, int, Host]] = []  # by ready_at
        self._queued: set[str] = set()  # hosts in either heap
        self._ticket = count()

    def host(self, name: str, gap: float = 0.0, ready_at: float = 0.0) -> Host:
        """The host of that name; a new one starts with this gap and ready time."""
        known = self.hosts.get(name)
        if known is None:
            known = self.hosts[name] = Host(name, gap, ready_at)
        return known

    def add(self, host: Host, items: Iterable[int]) -> None:
        host.queue.extend(items)
        self._enqueue(host)

    def next(self, now: float) -> Host | None:
        """A host that may be asked at `now`, and is busy from here until `release`."""
        while self._later and self._later[0][0] <= now:
            _, ticket, host = heapq.heappop(self._later)
            heapq.heappush(self._ready, (-host.time_ahead(), ticket, host))
        if not self._ready:
            return None
        host = heapq.heappop(self._ready)[2]
        self._queued.discard(host.name)
        host.busy = True
        return host

    def release(self, host: Host, ready_at: float) -> None:
        """Give a host back: nothing is under way, and it may be asked from `ready_at` on."""
        host.busy = False
        host.ready_at = ready_at
        self._enqueue(host)

    def next_time(self) -> float | None:
        """When the next host may be asked; None when no host is waiting to be."""
        if self._ready:
            return self._ready[0][2].ready_at
        return self._later[0][0] if self._later else None

    def _enqueue(self, host: Host) -> None:
        if host.queue and not host.busy and host.name not in self._queued:
            self._queued.add(host.name)
            heapq.heappush(self._later, (host.ready_at, next(self._ticket), host))
