"""The hosts of a slot: what is known of each, kept in step with its place in the queue."""

from __future__ import annotations

from transforms.host_waits import HostWaits
from transforms.hosts import HostRecord
from transforms.pace import PacePolicy, after_exchange, after_robots, due_gap, is_unanswered
from transforms.robots_gate import RobotsGate
from transforms.scheduler import Host, Scheduler
from transforms.slot_rows import SlotRows
from transforms.transport import Response


class SlotHosts:
    def __init__(
        self,
        rows: SlotRows,
        scheduler: Scheduler,
        gate: RobotsGate,
        pace: PacePolicy,
        began: float,
    ) -> None:
        """`began`: when the slot did, in seconds since the epoch."""
        self.began = began
        self.rows = rows
        self.scheduler = scheduler
        self.gate = gate
        self.pace = pace
        self.waits = HostWaits(rows.base, rows.slot)

    def enter(self, name: str) -> Host:
        """The host of that name, as its record says; one that is in the slot is as it is."""
        known = self.scheduler.hosts.get(name)
        if known is not None:
            return known
        record = self.waits.recall(self.rows.record(name), self.began, self.pace.delay)
        if name in self.waits.earlier:
            self.rows.note_host(record)
        host = self.scheduler.host(name)
        # Who was never asked has waited no longer than any other.
        host.ready_at = max(record.ready_at, self.began)
        host.address = record.address
        self.gate.learn(record.robots)
        host.seconds_each = self._due_gap(record) + record.latency
        return host

    def record(self, host: Host) -> HostRecord:
        return self.rows.record(host.name)

    def exchanged(self, host: Host, response: Response, ended_at: float) -> HostRecord:
        """Take over what `pace` makes of a page's exchange."""
        record = self.rows.record(host.name)
        crawl_delay = self.gate.crawl_delay(host.name)
        record = after_exchange(record, response, ended_at, self.pace, crawl_delay)
        return self._keep(host, record, ended_at)

    def exchanged_robots(self, host: Host, response: Response, ended_at: float) -> HostRecord:
        """The same of the exchange of a robots.txt."""
        record = self.rows.record(host.name)
        crawl_delay = self.gate.crawl_delay(host.name)
        after = after_exchange if is_unanswered(response) else after_robots
        record = after(record, response, ended_at, self.pace, crawl_delay)
        return self._keep(host, record, ended_at)

    def learn_robots(self, host: Host, now: float) -> None:
        """A robots.txt has come: its Crawl-delay holds from the next request on."""
        record = self.rows.record(host.name)
        gap = self._due_gap(record)
        if record.ready_at:  # it was asked before
            host.ready_at = max(host.ready_at, host.ready_at - record.gap + gap)
        robots = self.gate.records_of(host.name)
        record = record._replace(robots=robots, gap=gap, ready_at=host.ready_at)
        self.rows.note_host(record)
        # Should this attempt die, whose robots.txt can not be had is left alone altogether.
        retry_at = (known.retry_at for known in robots if not known.state)
        self.waits.note(record, max(retry_at, default=host.ready_at), now)
        host.seconds_each = gap + record.latency

    def ended_url(self, host: Host) -> None:
        """One more of its URLs has been fetched."""
        record = self.rows.record(host.name)
        self.rows.note_host(record._replace(fetched=record.fetched + 1))

    def put_aside(self, host: Host, reason: str, until: float) -> None:
        """All that it has is held back by a robots.txt, and nothing by its pace."""
        record = self.rows.record(host.name)
        held = record._replace(reason=reason, held_until=until)
        if held != record:
            self.rows.note_host(held)

    def abandon(self, now: float) -> None:
        """Requests are still under way, and nobody waits for them: their hosts saw them."""
        for host in self.scheduler.hosts.values():
            if host.busy:
                record = self.rows.record(host.name)
                ready_at = max(record.ready_at, now + self._due_gap(record))
                self.rows.note_host(record._replace(ready_at=ready_at))

    def _due_gap(self, record: HostRecord) -> float:
        return due_gap(record.latency, self.pace, self.gate.crawl_delay(record.host))

    def _keep(self, host: Host, record: HostRecord, now: float) -> HostRecord:
        host.ready_at = record.ready_at
        host.address = record.address
        host.seconds_each = record.gap + record.latency
        self.rows.note_host(record)
        self.waits.note(record, record.ready_at, now)
        return record
