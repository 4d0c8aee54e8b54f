"""Fetch: one event loop per slot asks all its hosts, each one connection at a time.

The loop is plain: start whatever may be asked, wait for what comes back, hand it on.
Who may be asked is the scheduler's to say, what a site allows `robots_gate`'s, how an
exchange is made the transport's. A fetch ends once; a URL that was not reached when
the round must stop rolls over as it was.
"""

from __future__ import annotations

import resource
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import apache_beam as beam

from transforms import layout, storage
from transforms.hosts import HostRecord
from transforms.live import LIVE
from transforms.outcome import is_passing, outcome_of
from transforms.records import ERRORS, PAGE, ROBOTS_DENIED, ROBOTS_TXT, Fetched, Slot, Waiting
from transforms.robots_gate import ASK, DENY, WAIT, RobotsGate
from transforms.scheduler import Host, Scheduler
from transforms.slot_rows import SlotRows
from transforms.transport import (
    ADDRESS,
    BAD_URL,
    DNS,
    TLS,
    FetchPolicy,
    Request,
    Response,
    Transport,
    open_transport,
)

GRACE = 5.0  # seconds that requests under way are given when a round must stop
LOOK_UP = 1.0  # seconds between two looks at the clock and for a reason to stop

# No server was reached, so there is none whose robots.txt could be obeyed: the page
# fares as its robots.txt did.
UNREACHED = (DNS, ADDRESS, TLS, BAD_URL)


class FetchStage(NamedTuple):
    """Everything that a fetch slot is told. Times in seconds."""

    base: str
    shards: int
    transport: str  # "curl" or "requests"
    policy: FetchPolicy
    delay: float  # least gap between two requests to one host
    retries: int  # more attempts at what may pass
    robots: bool
    depth: int | None  # URLs deeper than this stay waiting
    patience: float  # do not wait longer than this for a host
    deadline: float | None  # epoch; no request starts after it


class Ticket(NamedTuple):
    """What a request under way is for."""

    host: Host
    row: int
    origin: str  # of a robots.txt; "" for a page


class SlotFetcher:
    """One attempt at one slot: `run` yields what ends, and then `rows` says what is left."""

    def __init__(
        self,
        stage: FetchStage,
        slot: Slot,
        transport: Transport,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.stage = stage
        self.slot = slot
        self.transport = transport
        self.clock = clock
        self.rows = SlotRows(stage.base, stage.shards, slot, stage.depth)
        self.gate = RobotsGate(stage.policy.user_agent)
        self.scheduler = Scheduler()
        self.attempts: Counter[int] = Counter()  # by row, of those that failed
        self.pages = 0  # had, and possibly on their way
        self.in_flight = 0
        self.ended: list[Fetched] = []
        self.last_look = 0.0
        for record, rows in self.rows.by_host():
            self.gate.learn(record.robots)
            host = self.scheduler.host(record.host, stage.delay, record.ready_at)
            self.scheduler.add(host, rows)
            LIVE.waiting += len(rows)

    def run(self) -> Iterator[Fetched]:
        stopping_since: float | None = None
        while True:
            now = self.clock()
            if stopping_since is None and self._must_stop(now):
                stopping_since = now
            if stopping_since is None:
                self._start_requests(now)
            elif now - stopping_since > GRACE:
                break
            yield from self._hand_on()
            wait = self._waiting_time(now, stopping_since)
            if wait is None:
                break
            for response in self.transport.wait(wait):
                self._end_exchange(response)
        yield from self._hand_on()

    def _must_stop(self, now: float) -> bool:
        if now - self.last_look < LOOK_UP:
            return False
        self.last_look = now
        late = self.stage.deadline is not None and now >= self.stage.deadline
        return late or storage.exists(layout.stop_file(self.stage.base))

    def _waiting_time(self, now: float, stopping_since: float | None) -> float | None:
        """Seconds to wait for the transport; None when nothing more can come."""
        if self.in_flight:
            if stopping_since is not None:
                return max(0.0, min(LOOK_UP, stopping_since + GRACE - now))
            next_time = self.scheduler.next_time()
            has_room = self.in_flight < self.stage.policy.concurrency and not self._limit_reached()
            until_next = LOOK_UP if next_time is None or not has_room else next_time - now
            return max(0.0, min(LOOK_UP, until_next))
        next_time = self.scheduler.next_time()
        if stopping_since is not None or next_time is None or self._limit_reached():
            return None
        if next_time - now > self.stage.patience:
            return None
        return max(0.0, min(LOOK_UP, next_time - now))

    def _limit_reached(self) -> bool:
        return self.slot.limit is not None and self.pages >= self.slot.limit

    def _start_requests(self, now: float) -> None:
        """Ask every host that may be asked, as long as a connection is free."""
        while self.in_flight < self.stage.policy.concurrency and not self._limit_reached():
            host = self.scheduler.next(now)
            if host is None:
                return
            self._ask(host, now)

    def _ask(self, host: Host, now: float) -> None:
        """Make the next request to a host that may be asked: a page, or first its robots.txt."""
        row = host.queue[0]
        url = self.rows.waiting(row)
        if self.stage.robots:
            decision = self.gate.decide(url.url, now)
            if decision.word == DENY:
                host.queue.popleft()
                self._end_fetch(row, url, ROBOTS_DENIED, error=decision.reason)
                self.scheduler.release(host, host.ready_at)
                return
            if decision.word == WAIT:
                self.scheduler.release(host, decision.until)
                return
            if decision.word == ASK:
                ticket = Ticket(host, row, decision.origin)
                self._start(Request(ticket, decision.url, decision.headers, any_type=True))
                return
        host.queue.popleft()
        self.pages += 1
        referer = (("Referer", url.referrer),) if _may_be_told(url) else ()
        self._start(Request(Ticket(host, row, ""), url.url, referer))

    def _start(self, request: Request) -> None:
        self.in_flight += 1
        self.transport.start(request)

    def _end_exchange(self, response: Response) -> None:
        """Give the host back, and decide what the answer means for the URL."""
        self.in_flight -= 1
        ticket: Ticket = response.request.ticket
        host, row = ticket.host, ticket.row
        ended_at = response.started + response.elapsed
        ready_at = ended_at + host.gap
        if ticket.origin and response.failure not in UNREACHED:
            self.gate.answer(ticket.origin, response, ended_at)
            self._archive_robots(ticket, response)
        elif is_passing(response) and self.attempts[row] < self.stage.retries:
            self.attempts[row] += 1
            if not ticket.origin:
                self.pages -= 1
                host.queue.appendleft(row)
            ready_at = ended_at + max(host.gap, 1.0) * 2 ** (self.attempts[row] - 1)
        else:
            outcome = outcome_of(response)
            if ticket.origin:
                host.queue.popleft()
            else:
                self.pages -= outcome != PAGE
            self._end_fetch(row, self.rows.waiting(row), outcome, response, response.error)
        self._note_host(host, ready_at)
        self.scheduler.release(host, ready_at)

    def _note_host(self, host: Host, ready_at: float) -> None:
        known = self.rows.records.get(host.name) or HostRecord(host.name)
        self.rows.note_host(
            known._replace(
                ready_at=ready_at,
                requests=known.requests + 1,
                robots=self.gate.records_of(host.name),
            )
        )

    def _end_fetch(
        self,
        row: int,
        url: Waiting,
        outcome: str,
        response: Response | None = None,
        error: str = "",
    ) -> None:
        self.rows.end(row, is_page=outcome == PAGE)
        LIVE.pages += outcome == PAGE
        LIVE.bytes += len(response.body) if response else 0
        LIVE.errors += outcome in ERRORS
        LIVE.waiting -= 1
        LIVE.depth = url.depth
        self.ended.append(fetched(self.slot, url, outcome, response, self.clock(), error))

    def _archive_robots(self, ticket: Ticket, response: Response) -> None:
        url = Waiting(response.request.url, 0, 0, "", False)
        self.ended.append(
            fetched(self.slot, url, ROBOTS_TXT, response, response.started, response.error)
        )

    def _hand_on(self) -> Iterator[Fetched]:
        ended, self.ended = self.ended, []
        yield from ended


def fetched(
    slot: Slot, url: Waiting, outcome: str, response: Response | None, now: float, error: str
) -> Fetched:
    if response is None:
        return Fetched(slot, url, outcome, 0, b"", b"", b"", "", now, 0, error)
    return Fetched(
        slot=slot,
        url=url,
        outcome=outcome,
        status=response.status,
        head=response.head,
        body=response.body,
        request_head=response.request_head,
        ip=response.ip,
        fetched_at=response.started,
        elapsed_ms=round(response.elapsed * 1000),
        error=error,
    )


def allow_many_connections() -> None:
    """Lift this process's soft limit of open files to the hard one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _may_be_told(url: Waiting) -> bool:
    """Whether the referrer may be told: never a secure page's to a plain one (RFC 9110 §10.1.3)."""
    secure_to_plain = url.referrer.startswith("https:") and url.url.startswith("http:")
    return bool(url.referrer) and not secure_to_plain


class _FetchPages(beam.DoFn):  # type: ignore[misc]
    def __init__(self, stage: FetchStage) -> None:
        self.stage = stage

    def setup(self) -> None:
        allow_many_connections()
        self.transport = open_transport(self.stage.transport, self.stage.policy)

    def process(self, element: tuple[int, Iterable[Slot]]) -> Iterator[Any]:
        [slot] = element[1]
        # Another attempt at this slot finds the same URLs waiting, and files of its own.
        slot = slot._replace(attempt=secrets.token_hex(4))
        fetcher = SlotFetcher(self.stage, slot, self.transport)
        yield from fetcher.run()
        for report in fetcher.rows.reports():
            yield beam.pvalue.TaggedOutput("reports", (report.shard, report))

    def teardown(self) -> None:
        self.transport.close()


class FetchPages(beam.PTransform):  # type: ignore[misc]
    """(number, [Slot]) → `.fetched`: Fetched; `.reports`: (shard, SlotReport)."""

    def __init__(self, stage: FetchStage) -> None:
        super().__init__()
        self.stage = stage

    def expand(self, slots: beam.PCollection) -> Any:
        fetch = beam.ParDo(_FetchPages(self.stage))
        return slots | fetch.with_outputs("reports", main="fetched")
