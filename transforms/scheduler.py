"""Who may be asked next: every host of a fetch slot in one queue, ordered by time.

A pure object. It opens no connection and reads no clock: the time is passed in, so a
test can run a month in a second. What it promises, whatever the order of events:

- a host is handed out again only after it was given back: one connection per host;
- and not before the time that was said when it was given back;
- no address has more than `per_address` of its hosts handed out at once;
- while any host may be asked, `next` finds one in O(log hosts): no worker is idle
  behind a slow host, because nothing is split among workers beforehand.

When more hosts may be asked than there are connections, the one with most time of its
own still ahead of it goes first, so that the longest queue does not run on alone at the
end; but every second that another waits counts for it, so that none starves.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from itertools import count
from threading import Lock
from typing import Any

# How many seconds earlier a host goes for each second of work that it has ahead. Measured
# by tests.benchmarks.scheduling, two webs of 1,000 hosts, 4 connections: 0 takes 58 % and 37 %
# longer than the least time, 0.05 32 % and 4 %, 0.1 10 % and 4 %, 0.2 0.3 % and 4 %. More than
# that gains nothing, and lets a short queue wait longer.
HEAD_START = 0.2


class Host:
    """The queue of one host."""

    __slots__ = (
        "_charged",
        "address",
        "busy",
        "errands",
        "name",
        "queue",
        "ready_at",
        "seconds_each",
        "successes",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.queue: deque[int] = deque()
        self.errands: deque[Any] = deque()  # what is to be asked before the queue, for others
        self.ready_at = 0.0  # may not be asked before
        self.seconds_each = 0.0  # the least time that each of its URLs takes
        self.address = ""  # hosts of one address share `per_address` connections
        self.busy = False  # a request is under way
        self.successes = 0  # URLs that it answered well in this round
        self._charged: list[str] = []  # the addresses that the request under way counts for

    def time_ahead(self) -> float:
        """Seconds that this host's queue takes at the least, however many connections."""
        return len(self.queue) * self.seconds_each


class Scheduler:
    def __init__(self, per_address: int = 0) -> None:
        """`per_address`: most hosts of one address asked at once; 0 is no limit."""
        self.per_address = per_address
        self.hosts: dict[str, Host] = {}
        self._ready: list[tuple[float, int, Host]] = []  # the most urgent first
        self._later: list[tuple[float, int, Host]] = []  # by ready_at
        self._queued: set[str] = set()  # hosts in one of these, or parked
        self._busy_at: Counter[str] = Counter()  # by address
        self._parked: dict[str, deque[Host]] = defaultdict(deque)  # their address is full
        self._ticket = count()
        self._lock = Lock()  # over what is charged: `admit` may be called from any thread

    def host(self, name: str) -> Host:
        """The host of that name, new or known."""
        known = self.hosts.get(name)
        if known is None:
            known = self.hosts[name] = Host(name)
        return known

    def add(self, host: Host, items: Iterable[int]) -> None:
        host.queue.extend(items)
        self._enqueue(host)

    def add_errand(self, host: Host, errand: Any) -> None:
        """Something to ask a host before its own queue, for the sake of another host."""
        host.errands.append(errand)
        self._enqueue(host)

    def next(self, now: float) -> Host | None:
        """A host that may be asked at `now`, and is busy from here until `release`."""
        while self._later and self._later[0][0] <= now:
            _, ticket, host = heapq.heappop(self._later)
            self._make_ready(host, ticket)
        while self._ready:
            host = heapq.heappop(self._ready)[2]
            address = host.address
            if self.per_address and address and self._busy_at[address] >= self.per_address:
                self._parked[address].append(host)
                continue
            self._queued.discard(host.name)
            host.busy = True
            if address:
                with self._lock:
                    self._busy_at[address] += 1
                    host._charged.append(address)
            return host
        return None

    def admit(self, host: Host, address: str) -> bool:
        """Whether a busy host may be connected to at that address; it then counts for it.

        Before a host has answered nobody knows its address, and `next` can not heed it:
        of many new hosts of one address, all may have been handed out.
        """
        with self._lock:
            if address in host._charged:
                return True
            if self.per_address and self._busy_at[address] >= self.per_address:
                return False
            self._busy_at[address] += 1
            host._charged.append(address)
            return True

    def release(self, host: Host, ready_at: float) -> None:
        """Give a host back: nothing is under way, and it may be asked from `ready_at` on."""
        host.busy = False
        host.ready_at = ready_at
        self.hold(host)
        self._enqueue(host)

    def hold(self, host: Host) -> None:
        """Nothing is under way at a host that stays busy: its address is free for others."""
        while host._charged:
            with self._lock:
                address = host._charged.pop()
                self._busy_at[address] -= 1
            if self._parked[address]:
                self._make_ready(self._parked[address].popleft(), next(self._ticket))

    def next_time(self) -> float | None:
        """When the next host may be asked; None when no host is waiting to be."""
        if self._ready:
            return self._ready[0][2].ready_at
        return self._later[0][0] if self._later else None

    def _make_ready(self, host: Host, ticket: int) -> None:
        urgency = host.ready_at - HEAD_START * host.time_ahead()
        heapq.heappush(self._ready, (urgency, ticket, host))

    def _enqueue(self, host: Host) -> None:
        if (host.errands or host.queue) and not host.busy and host.name not in self._queued:
            self._queued.add(host.name)
            heapq.heappush(self._later, (host.ready_at, next(self._ticket), host))
