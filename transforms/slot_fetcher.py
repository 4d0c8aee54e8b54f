"""The loop of a fetch slot: start whatever may be asked, wait, hand on what has ended.

Who may be asked is the scheduler's to say, how long a host is left alone `pace`'s, what
a site allows `robots_gate`'s, whether a failure is for good `strikes`', how an exchange is
made the transport's. A fetch ends once; what is not reached in a round rolls over as it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from transforms.canonical import ALL_RULES, Canonical
from transforms.exchange import Errand, Ticket, may_be_told
from transforms.live import LIVE
from transforms.outcome import is_passing, outcome_of
from transforms.pace import MAX_CLOSURES, PacePolicy, is_suspect
from transforms.records import PAGE, ROBOTS_DENIED, Fetched, Slot, Waiting
from transforms.robots_errands import RobotsErrands
from transforms.robots_gate import ASK, DENY, GO, WAIT, Decision, RobotsGate
from transforms.scheduler import Host, Scheduler
from transforms.slot_ends import SlotEnds
from transforms.slot_hosts import SlotHosts
from transforms.slot_rows import SlotRows
from transforms.stop import GRACE
from transforms.strikes import Strikes
from transforms.transport import (
    ADDRESS,
    CONNECT,
    CROWDED,
    DNS,
    FetchPolicy,
    Request,
    Response,
    Transport,
)
from transforms.urls import origin_of

LOOK_BEHIND = 100  # URLs of a host that are looked at for one that need not wait
LAST_FEW = 2  # URLs that alone still fail, after a host was closed and tried again …
FEW_CLOSURES = 4  # … so often, which takes 21 minutes at the least
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
    canonical: Canonical = ALL_RULES


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
        self.limit = slot.limit
        self.rows = rows
        self.transport = transport
        self.must_stop = must_stop
        self.clock = clock
        self.gate = RobotsGate(
            policy.fetch.user_agent, policy.robots_forbidden, policy.pace.max_crawl_delay
        )
        # Behind a proxy every host has the address of the proxy.
        self.scheduler = Scheduler(0 if policy.fetch.proxy else policy.per_address)
        transport.may_connect = lambda ticket, ip: self.scheduler.admit(ticket.asked, ip)
        self.strikes = Strikes(policy.pace.retries)
        self.began = clock()
        self.hosts = SlotHosts(rows, self.scheduler, self.gate, policy.pace, self.began)
        self.ends = SlotEnds(slot, rows, clock)
        self.errands = RobotsErrands(
            self.gate, self.scheduler, self.hosts, self.strikes, policy.patience
        )
        self.pages = 0  # had, and possibly on their way
        self.in_flight = 0
        self.last_look = 0.0
        for record, queue in rows.by_host():
            self.scheduler.add(self.hosts.enter(record.host), queue)
            LIVE.waiting += len(queue)

    def run(self) -> Iterator[Fetched]:
        try:
            yield from self._run()
        finally:
            # The transport serves the next slot, too, whatever ended this one.
            self.transport.drop()
            self.hosts.waits.close()

    def _run(self) -> Iterator[Fetched]:
        end_at: float | None = None  # when to stop waiting for what is under way
        while True:
            now = self.clock()
            if end_at is None and self._is_to_stop(now):
                end_at = now + GRACE
            if end_at is None:
                self._start_requests(now)
            elif now >= end_at:
                self.hosts.abandon(now)
                break
            if self.ends.ended:
                # What was just started is on its way while these pages are parsed.
                ended = self.ends.hand_on()
                self._take(self.transport.wait(0.0))
                yield from ended
                continue  # that took its time: what came meanwhile goes first
            wait = self._waiting_time(now, end_at)
            if wait is None:
                break
            self._take(self.transport.wait(wait))
        yield from self.ends.hand_on()

    def _is_to_stop(self, now: float) -> bool:
        if now - self.last_look < LOOK_UP:
            return False
        self.last_look = now
        deadline, round_time = self.policy.deadline, self.policy.round_time
        late = deadline is not None and now >= deadline
        # A round that has only waited has nothing to commit, and patience for more.
        done = bool(self.rows.touched)
        long = done and round_time is not None and now - self.began >= round_time
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
        return self.in_flight >= self.policy.fetch.concurrency or (
            self.limit is not None and self.pages >= self.limit
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
        errand = self.errands.next(host, now) if host.errands else None
        if errand:
            self._start(Ticket(host, -1, None, errand), errand.url, errand.headers, any_type=True)
            return
        soonest: Decision | None = None
        for _ in range(min(len(host.queue), LOOK_BEHIND)):
            decision = self._try(host, now)
            if decision is None:
                return
            if soonest is None or decision.until < soonest.until:
                soonest = decision
            host.queue.rotate(-1)
        if soonest:
            self.hosts.put_aside(host, soonest.reason, soonest.until)
        self.scheduler.release(host, max(host.ready_at, soonest.until if soonest else 0.0))

    def _try(self, host: Host, now: float) -> Decision | None:
        """Take up the first row of a host's queue; returns a decision to wait, if that is it."""
        row = host.queue[0]
        url, decision = self._decide(self.rows.waiting(row), now)
        if decision is None or decision.word not in (ASK, DENY, WAIT):
            host.queue.popleft()
            self.pages += 1
            referer = (("Referer", url.referrer),) if may_be_told(url) else ()
            self._start(Ticket(host, row, url, None), url.url, referer)
        elif decision.word == DENY:
            host.queue.popleft()
            self.ends.end(row, url, ROBOTS_DENIED, error=decision.reason)
            self.scheduler.release(host, host.ready_at)
        elif decision.origin in self.errands.dead:
            host.queue.popleft()
            self._end_unasked(host, row, self.errands.dead[decision.origin])
            self.scheduler.release(host, host.ready_at)
        elif decision.word == WAIT:
            return decision
        else:
            return self._send_for_robots(host, decision, now)
        return None

    def _decide(self, url: Waiting, now: float) -> tuple[Waiting, Decision | None]:
        """What robots.txt says of a URL; None when it is not asked.

        Where it denies the spelling that was found and not the canonical one (`Disallow: /*?`
        means no page, but its trackers), that is the one to fetch: no other will come.
        """
        if not self.policy.robots:
            return url, None
        decision = self.gate.decide(url.url, now)
        if decision.word == DENY:
            other = url._replace(url=self.policy.canonical.key(url.url))
            if other != url and self.gate.decide(other.url, now).word == GO:
                return other, None
        return url, decision

    def _send_for_robots(self, host: Host, decision: Decision, now: float) -> Decision | None:
        todo = self.errands.send(host, decision, now)
        if isinstance(todo, Decision):
            return todo
        if todo:
            self._start(Ticket(host, -1, None, todo), todo.url, todo.headers, any_type=True)
        return None

    def _start(
        self,
        ticket: Ticket,
        url: str,
        headers: tuple[tuple[str, str], ...],
        any_type: bool = False,
    ) -> None:
        self.in_flight += 1
        self.transport.start(Request(ticket, url, headers, any_type))

    def _take(self, responses: list[Response]) -> None:
        for response in responses:
            self.in_flight -= 1
            ticket: Ticket = response.request.ticket
            if response.failure == CROWDED:
                self._put_back(ticket, response.ip)
            elif ticket.errand:
                self._end_errand(ticket.asked, ticket.errand, response)
            else:
                self._end_page(ticket, response)

    def _put_back(self, ticket: Ticket, address: str) -> None:
        """Nothing was asked, as its address is asked enough already; now that is known."""
        host, errand = ticket.asked, ticket.errand
        host.address = address
        if errand is None:
            self.pages -= 1
            host.queue.appendleft(ticket.row)
        elif errand.host is not host:
            host.errands.appendleft(errand)
        self.scheduler.release(host, host.ready_at)

    def _end_errand(self, asked: Host, errand: Errand, response: Response) -> None:
        if self.errands.end(asked, errand, response):
            self._end_unasked(asked, asked.queue.popleft(), response)
        else:
            self.ends.archive_robots(errand.url, response)
        self._give_back(asked, response)

    def _end_page(self, ticket: Ticket, response: Response) -> None:
        host, row = ticket.asked, ticket.row
        ended_at = response.started + response.elapsed
        self.hosts.exchanged(host, response, ended_at)
        assert ticket.url is not None
        suspect = is_suspect(response)
        # That it can not be reached is no URL's fault, but perhaps that of a port.
        key = origin_of(ticket.url.url) if response.failure == CONNECT else row
        if is_passing(response) and not self.strikes.strike(key, host, is_host_suspect=suspect):
            self.pages -= 1
            host.queue.append(row)
            if not suspect:
                again_at = ended_at + 2.0 ** (self.strikes.attempts(row) - 1)
                host.ready_at = max(host.ready_at, again_at)
        else:
            if not suspect:
                self.strikes.answered(row, ticket.url.url, host)
            self._end_as(host, ticket, response, outcome_of(response))
        self._give_back(host, response)

    def _end_as(self, host: Host, ticket: Ticket, response: Response, outcome: str) -> None:
        self.pages -= outcome != PAGE
        self.hosts.ended_url(host)
        assert ticket.url is not None
        self.ends.end(ticket.row, ticket.url, outcome, response, response.error)

    def _end_unasked(self, host: Host, row: int, response: Response) -> None:
        """End a URL as the exchange that shows that it can not be asked for."""
        self.pages += 1
        ticket = Ticket(host, row, self.rows.waiting(row), None)
        self._end_as(host, ticket, response, outcome_of(response))

    def _give_back(self, host: Host, response: Response) -> None:
        """Give a host back to the scheduler; close its queue first when it is left alone."""
        record = self.hosts.record(host)
        gone = response.failure == DNS and record.failures > self.policy.pace.retries
        if response.failure == ADDRESS or gone or record.closures:
            self._close(host, response, for_good=not record.closures)
        elif host.errands and host.ready_at > self.clock() + self.policy.patience:
            self.errands.hand_back(host, response, self.clock())
        self.scheduler.release(host, host.ready_at)

    def _close(self, host: Host, response: Response, for_good: bool) -> None:
        """Close a host's queue for this round; end those of its URLs that have had their time."""
        self.errands.hand_back(host, response, self.clock())
        record = self.hosts.record(host)
        # A host that answered all but its last few URLs is well; these are not. (Unless it was
        # closed before, and came back; and that none can be reached is the fault of no URL.)
        few = len(host.queue) <= LAST_FEW and record.fetched > 0 and not record.reopened
        ill = few and record.closures >= FEW_CLOSURES and response.failure != CONNECT
        for_good = for_good or ill or record.closures >= MAX_CLOSURES
        while host.queue:
            row = host.queue.popleft()
            if for_good or (few and self.strikes.is_out(row, host)):
                self._end_unasked(host, row, response)
            else:
                LIVE.waiting -= 1
