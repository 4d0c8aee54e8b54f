"""The gate in front of every request of a slot: what robots.txt says, or that it is to be asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from transforms.pace import is_unanswered
from transforms.robots import Robots
from transforms.robots_cache import (
    ASK,
    CLOSED,
    RULES,
    WAIT,
    RobotsRecord,
    RobotsRequest,
    access,
    after_response,
    next_request,
    rules_of,
)
from transforms.transport import Response
from transforms.urls import host_of, origin_of

GO, DENY = "go", "deny"  # beside ASK and WAIT

__all__ = ["ASK", "DENY", "GO", "WAIT", "Decision", "RobotsGate"]


class Decision(NamedTuple):
    """GO; DENY with a reason; WAIT until a time; or ASK for a robots.txt first."""

    word: str
    reason: str = ""
    until: float = 0.0  # seconds since the epoch
    origin: str = ""
    url: str = ""
    headers: tuple[tuple[str, str], ...] = ()


class RobotsGate:
    """Knows the robots.txt of each origin of a slot's hosts."""

    def __init__(self, agent: str, forbidden: str, max_crawl_delay: float) -> None:
        """`forbidden`: what 401 and 403 mean. `max_crawl_delay`: seconds; more is a WAIT."""
        self.agent = agent
        self.forbidden = forbidden
        self.max_crawl_delay = max_crawl_delay
        self.records: dict[str, RobotsRecord] = {}
        self.rules: dict[str, Robots] = {}
        self.origins: dict[str, set[str]] = defaultdict(set)  # by host
        self.delays: dict[str, float] = {}  # by host: `crawl_delay`, once it is known

    def learn(self, records: Iterable[RobotsRecord]) -> None:
        for record in records:
            host = host_of(record.origin + "/")
            self.records[record.origin] = record
            self.origins[host].add(record.origin)
            self.delays.pop(host, None)
            self.rules.pop(record.origin, None)

    def decide(self, url: str, now: float) -> Decision:
        origin = origin_of(url)
        record = self.records.get(origin) or RobotsRecord(origin)
        word = access(record, now)
        if word == ASK:
            request = next_request(record)
            if request.url != f"{origin}/robots.txt" and self.knows(request.url, now):
                self.learn([self.records[origin_of(request.url)]._replace(origin=origin)])
                return self.decide(url, now)
            return Decision(ASK, origin=origin, url=request.url, headers=request.headers)
        if word == WAIT:
            return Decision(WAIT, until=record.retry_at, reason=record.cause, origin=origin)
        if word == CLOSED:
            return Decision(DENY, reason=f"robots.txt: {record.cause}, the whole site is closed")
        if word == RULES:
            rules = self._rules(record)
            if (rules.crawl_delay or 0.0) > self.max_crawl_delay:
                reason = f"Crawl-delay of {rules.crawl_delay:g}s, over --max-crawl-delay"
                return Decision(WAIT, until=record.expires_at, reason=reason, origin=origin)
            verdict = rules.verdict(url)
            if not verdict.allowed:
                return Decision(
                    DENY, reason=f"robots.txt line {verdict.line_number}: {verdict.line_text}"
                )
        return Decision(GO)

    def knows(self, url: str, now: float) -> bool:
        """Whether a URL is the robots.txt of an origin of which it is known what it says."""
        record = self.records.get(origin_of(url))
        return bool(
            record
            and record.state
            and now < record.expires_at
            and url == f"{record.origin}/robots.txt"
        )

    def is_asking(self, origin: str, url: str, now: float) -> bool:
        """Whether an origin's next request, too, is for that URL, without conditions."""
        record = self.records.get(origin) or RobotsRecord(origin)
        return access(record, now) == ASK and next_request(record) == RobotsRequest(url)

    def answer(self, origin: str, response: Response, now: float, ready_at: float) -> None:
        """Take the end of an exchange that `decide` asked for.

        When the host did not answer at all, `ready_at` says when it is tried again.
        """
        record = self.records.get(origin) or RobotsRecord(origin)
        record = after_response(record, response, now, self.forbidden)
        if is_unanswered(response):
            record = record._replace(retry_at=min(record.retry_at, ready_at))
        self.learn([record])

    def crawl_delay(self, host: str) -> float:
        """The longest Crawl-delay that a robots.txt of the host asks for, in seconds."""
        if host in self.delays:
            return self.delays[host]
        records = [self.records[origin] for origin in self.origins.get(host, ())]
        known = [self._rules(record) for record in records if record.state == RULES]
        delays = [rules.crawl_delay or 0.0 for rules in known]
        # One that is over the limit is not kept: `decide` puts its origin aside.
        kept = (delay for delay in delays if delay <= self.max_crawl_delay)
        longest = self.delays[host] = max(kept, default=0.0)
        return longest

    def _rules(self, record: RobotsRecord) -> Robots:
        rules = self.rules.get(record.origin)
        if rules is None:
            rules = self.rules[record.origin] = rules_of(record, self.agent)
        return rules

    def records_of(self, host: str) -> tuple[RobotsRecord, ...]:
        return tuple(self.records[origin] for origin in sorted(self.origins[host]))
