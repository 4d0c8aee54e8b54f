"""The loop of a fetch slot: start whatever may be asked, wait, hand on what has ended.

Who may be asked is the scheduler's to say, how long a host is left alone `pace`'s, what
a site allows `robots_gate`'s, how an exchange is made the transport's. A fetch ends
once. A URL that was not reached when the round must stop rolls over as it was.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from transforms.attempts import Attempts
from transforms.exchange import Errand, Ticket, may_be_told
from transforms.hosts import HostRecord
from transforms.live import LIVE
from transforms.outcome import is_passing
from transforms.pace import (
    MAX_CLOSURES,
    PacePolicy,
    after_exchange,
    after_robots,
    due_gap,
    is_suspect,
    is_unanswered,
)
from transforms.records import PAGE, ROBOTS_DENIED, Fetched, Slot
from transforms.robots_gate import ASK, DENY, WAIT, Decision, RobotsGate
from transforms.scheduler import Host, Scheduler
from transforms.slot_ends import SlotEnds
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
)
from transforms.urls import host_of

LOOK_BEHIND = 100  # URLs of a host that are looked at for one that need not wait
LAST_FEW = 2  # URLs that alone still fail, after a host was closed and tried again
GRACE = 5.0  # seconds that requests under way are given when a round must stop
LOOK_UP = 1.0  # seconds between two looks at the clock and for a reason to stop


class SlotPolicy(NamedTuple):
    """What a slot is told of its work. Times in seconds."""

    fetch: FetchPolicy
    pace: PacePolicy
    robots: bool
    robots_forbidden: str  # what 401 and 403 mean: "deny" or "allow"
    per_address: int
    patience: float  # do not wait longer than this for a host
    round_time: float | None  # stop after this
    deadline: float | None  # stop at this time (epoch)


class SlotFetcher:
    """One attempt at one slot: `run` yields what ends; then `rows` says what is left."""

    def __init__(
        self,
        policy: SlotPolicy,
        slot: Slot,
        rows: SlotRows,
        transport: Transport,
        must_stop: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.policy = policy
        self.slot = slot
        self.rows = rows
        self.transport = transport
        self.must_stop = must_stop
        self.clock = clock
        self.began = clock()
        self.gate = RobotsGate(
            policy.fetch.user_agent, policy.robots_forbidden, policy.pace.max_crawl_delay
        )
        # Behind a proxy every host has the address of the proxy.
        self.scheduler = Scheduler(0 if policy.fetch.proxy else policy.per_address)
        self.attempts = Attempts(policy.pace.retries)
        self.ends = SlotEnds(slot, rows, clock)
        self.dead: dict[str, Response] = {}  # origins given up while their host answers
        self.pages = 0  # had, and possibly on their way
        self.in_flight = 0
        self.last_look = 0.0
        for record, queue in rows.by_host():
            self.scheduler.add(self._enter(record), queue)
            LIVE.waiting += len(queue)

    def run(self) -> Iterator[Fetched]:
        try:
            yield from self._turns()
        finally:
            self.transport.drop()

    def _turns(self) -> Iterator[Fetched]:
        end_at: float | None = None  # when to stop waiting for what is under way
        while True:
            now = self.clock()
            if end_at is None and self._is_to_stop(now):
                end_at = now + GRACE
            if end_at is None:
                self._start_requests(now)
            elif now >= end_at:
                self._abandon(now)
                break
            if self.ends.ended:
                # What was just started is on its way while these pages are parsed.
                ended = self.ends.hand_on()
                self._take(self.transport.wait(0.0))
                yield from ended
            wait = self._waiting_time(now, end_at)
            if wait is None:
                break
            self._take(self.transport.wait(wait))
        yield from self.ends.hand_on()

    def _abandon(self, now: float) -> None:
        """Requests are still under way, and nobody waits for them: their hosts saw them."""
        for host in self.scheduler.hosts.values():
            if host.busy:
                record = self.rows.record(host.name)
                gap = due_gap(record, self.policy.pace, self.gate.crawl_delay(host.name))
                ready_at = max(record.ready_at, now + gap)
                self.rows.note_host(record._replace(ready_at=ready_at))

    def _enter(self, record: HostRecord) -> Host:
        host = self.scheduler.host(record.host)
        host.ready_at = max(record.ready_at, self.began)
        host.address = record.address
        self.gate.learn(record.robots)
        gap = due_gap(record, self.policy.pace, self.gate.crawl_delay(record.host))
        host.seconds_each = gap + record.latency
        return host

    def _is_to_stop(self, now: float) -> bool:
        if now - self.last_look < LOOK_UP:
            return False
        self.last_look = now
        deadline, round_time = self.policy.deadline, self.policy.round_time
        late = deadline is not None and now >= deadline
        long = round_time is not None and now - self.began >= round_time
        return late or long or self.must_stop()

    def _waiting_time(self, now: float, end_at: float | None) -> float | None:
        """Seconds to wait for the transport; None when nothing more can come."""
        if end_at is not None:
            return max(0.0, min(LOOK_UP, end_at - now)) if self.in_flight else None
        next_time = None if self._is_full() else self.scheduler.next_time()
        if self.in_flight:
            return LOOK_UP if next_time is None else max(0.0, min(LOOK_UP, next_time - now))
        if next_time is None or next_time - now > self.policy.patience:
            return None
        return max(0.0, min(LOOK_UP, next_time - now))

    def _is_full(self) -> bool:
        """Whether nothing more may be started for now: no connection free, or limit reached."""
        limit = self.slot.limit
        return self.in_flight >= self.policy.fetch.concurrency or (
            limit is not None and self.pages >= limit
        )

    def _start_requests(self, now: float) -> None:
        """Ask every host that may be asked, as long as a connection is free."""
        while not self._is_full():
            host = self.scheduler.next(now)
            if host is None:
                return
            self._ask(host, now)

    def _ask(self, host: Host, now: float) -> None:
        """Make the next request to a host that may be asked: a page, or first a robots.txt.

        A host has an origin for each scheme and port. While the robots.txt of one is
        waited for, the URLs of the others go on.
        """
        if host.errands:
            self._run_errand(host, host.errands.popleft())
            return
        soonest = math.inf
        for _ in range(min(len(host.queue), LOOK_BEHIND)):
            decision = self._try(host, now)
            if decision is None:
                return
            soonest = min(soonest, decision.until)
            self._put_aside(host, decision)
            host.queue.rotate(-1)
        self.scheduler.release(host, max(host.ready_at, soonest))

    def _try(self, host: Host, now: float) -> Decision | None:
        """Take up the first row of a host's queue; returns a decision to wait, if that is it."""
        row = host.queue[0]
        url = self.rows.waiting(row)
        decision = self.gate.decide(url.url, now) if self.policy.robots else None
        if decision is None or decision.word not in (ASK, DENY, WAIT):
            host.queue.popleft()
            self.pages += 1
            referer = (("Referer", url.referrer),) if may_be_told(url) else ()
            self._start(Request(Ticket(host, row, url), url.url, referer))
        elif decision.word == DENY:
            host.queue.popleft()
            self.ends.end_unasked(row, url, ROBOTS_DENIED, decision.reason)
            self.scheduler.release(host, host.ready_at)
        elif decision.origin in self.dead:
            host.queue.popleft()
            self.ends.end_asked(host, row, url, self.dead[decision.origin])
            self.scheduler.release(host, host.ready_at)
        elif decision.word == WAIT:
            return decision
        else:
            self._send_for_robots(host, decision)
        return None

    def _send_for_robots(self, host: Host, decision: Decision) -> None:
        """Ask for a robots.txt: at this host, or as an errand at the one that a redirect names.

        Until that is done the host stays busy: it has nothing else that may be asked. No
        circle of hosts waits for itself: a host runs the errands of others first, so
        whoever sends one of its own has none left to run.
        """
        errand = Errand(host, decision.origin, decision.url, decision.headers)
        name = host_of(decision.url)
        if name == host.name:
            self._run_errand(host, errand)
            return
        known = name in self.scheduler.hosts
        other = self.scheduler.host(name) if known else self._enter(self.rows.record(name))
        self.scheduler.hold(host)
        self.scheduler.add_errand(other, errand)

    def _run_errand(self, asked: Host, errand: Errand) -> None:
        ticket = Ticket(asked, errand=errand)
        self._start(Request(ticket, errand.url, errand.headers, any_type=True))

    def _start(self, request: Request) -> None:
        self.in_flight += 1
        self.transport.start(request)

    def _put_aside(self, host: Host, decision: Decision) -> None:
        record = self.rows.record(host.name)
        if record.reason != decision.reason:
            self.rows.note_host(record._replace(reason=decision.reason))

    def _end_exchange(self, response: Response) -> None:
        self.in_flight -= 1
        ticket: Ticket = response.request.ticket
        if ticket.errand:
            self._end_errand(ticket.asked, ticket.errand, response)
        else:
            self._end_page(ticket, response)

    def _end_errand(self, asked: Host, errand: Errand, response: Response) -> None:
        """Take a robots.txt, or note that there was none to be had, and give hosts back."""
        ended_at = response.started + response.elapsed
        record = self.rows.record(asked.name)
        crawl_delay = self.gate.crawl_delay(asked.name)
        pace = self.policy.pace
        after = after_exchange if is_unanswered(response) else after_robots
        self._note(asked, after(record, response, ended_at, pace, crawl_delay))
        if response.failure in (ADDRESS, TLS, BAD_URL) and errand.host is asked:
            # No server was reached whose robots.txt could be obeyed: the page fares alike.
            self._end_row(asked, asked.queue.popleft(), response)
        elif errand.host is asked and self.attempts.is_dead(errand, response):
            self.dead[errand.origin] = response
            self._end_row(asked, asked.queue.popleft(), response)
        else:
            self.gate.answer(errand.origin, response, ended_at, asked.ready_at)
            self.ends.end_robots(errand, response)
            self._learn_pace(errand.host)
            if is_unanswered(response):
                errand.host.queue.rotate(-1)  # another origin may answer: it is next
        if errand.host is not asked:
            self.scheduler.release(errand.host, errand.host.ready_at)
        self._give_back(asked, response)

    def _learn_pace(self, host: Host) -> None:
        """A robots.txt has come: its Crawl-delay holds from the next request on."""
        record = self.rows.record(host.name)
        robots = self.gate.records_of(host.name)
        gap = due_gap(record, self.policy.pace, self.gate.crawl_delay(host.name))
        if record.ready_at:  # it was asked before
            host.ready_at = max(host.ready_at, host.ready_at - record.gap + gap)
        self.rows.note_host(record._replace(robots=robots, gap=gap, ready_at=host.ready_at))
        host.seconds_each = gap + record.latency

    def _end_page(self, ticket: Ticket, response: Response) -> None:
        host, row = ticket.asked, ticket.row
        ended_at = response.started + response.elapsed
        record = self.rows.record(host.name)
        crawl_delay = self.gate.crawl_delay(host.name)
        record = after_exchange(record, response, ended_at, self.policy.pace, crawl_delay)
        self._note(host, record)
        host.failures += is_suspect(response)
        if is_passing(response) and not self.attempts.is_last(host, row, response):
            self.pages -= 1
            host.queue.append(row)
            if not is_suspect(response):
                pause = 2.0 ** (self.attempts.of_row(row) - 1)
                host.ready_at = max(host.ready_at, ended_at + pause)
        else:
            host.successes += not is_suspect(response)
            self.pages -= self.ends.end_asked(host, row, ticket.url, response) != PAGE
        self._give_back(host, response)

    def _note(self, host: Host, record: HostRecord) -> None:
        """Take over what `pace` made of an exchange."""
        host.ready_at = record.ready_at
        host.address = record.address
        host.seconds_each = record.gap + record.latency
        self.rows.note_host(record)

    def _give_back(self, host: Host, response: Response) -> None:
        """Give a host back to the scheduler, or close its queue: for this round, or for good."""
        record = self.rows.record(host.name)
        gone = response.failure == DNS and record.failures > self.policy.pace.retries
        # A host that answered all but its last few URLs is well; these are not.
        ill = record.closures > 2 and record.fetched > 0 and len(host.queue) <= LAST_FEW
        if response.failure == ADDRESS or gone or ill or record.closures >= MAX_CLOSURES:
            self._end_queue(host, response)
        elif record.closures:
            self._hand_back_errands(host, response)
            LIVE.waiting -= len(host.queue)
            host.queue.clear()
        self.scheduler.release(host, host.ready_at)

    def _end_queue(self, host: Host, response: Response) -> None:
        """End every URL of a host that can not be asked at all."""
        self._hand_back_errands(host, response)
        while host.queue:
            self._end_row(host, host.queue.popleft(), response)

    def _hand_back_errands(self, host: Host, response: Response) -> None:
        """Errands that a closed host can not serve end as the exchange that closed it."""
        while host.errands:
            errand = host.errands.popleft()
            self.gate.answer(errand.origin, response, self.clock(), host.ready_at)
            self._learn_pace(errand.host)
            self.scheduler.release(errand.host, errand.host.ready_at)

    def _end_row(self, host: Host, row: int, response: Response) -> None:
        self.ends.end_asked(host, row, self.rows.waiting(row), response)

    def _take(self, responses: list[Response]) -> None:
        for response in responses:
            self._end_exchange(response)
