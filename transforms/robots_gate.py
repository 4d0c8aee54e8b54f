"""The gate in front of every request of a slot: what robots.txt says, or that it is to be asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from transforms.robots import Robots
from transforms.robots_cache import (
    ASK,
    CLOSED,
    RULES,
    WAIT,
    RobotsRecord,
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

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.records: dict[str, RobotsRecord] = {}
        self.rules: dict[str, Robots] = {}
        self.origins: dict[str, set[str]] = defaultdict(set)  # by host

    def learn(self, records: Iterable[RobotsRecord]) -> None:
        for record in records:
            self.records[record.origin] = record
            self.origins[host_of(record.origin + "/")].add(record.origin)
            self.rules.pop(record.origin, None)

    def decide(self, url: str, now: float) -> Decision:
        origin = origin_of(url)
        record = self.records.get(origin) or RobotsRecord(origin)
        word = access(record, now)
        if word == ASK:
            request = next_request(record)
            return Decision(ASK, origin=origin, url=request.url, headers=request.headers)
        if word == WAIT:
            return Decision(WAIT, until=record.retry_at, reason=record.cause)
        if word == CLOSED:
            return Decision(DENY, reason=f"robots.txt: {record.cause}, the whole site is closed")
        if word == RULES:
            rules = self.rules.get(origin)
            if rules is None:
                rules = self.rules[origin] = rules_of(record, self.agent)
            verdict = rules.verdict(url)
            if not verdict.allowed:
                return Decision(
                    DENY, reason=f"robots.txt line {verdict.line_number}: {verdict.line_text}"
                )
        return Decision(GO)

    def answer(self, origin: str, response: Response, now: float) -> None:
        """Take the end of an exchange that `decide` asked for."""
        record = self.records.get(origin) or RobotsRecord(origin)
        self.learn([after_response(record, response, now)])

    def records_of(self, host: str) -> tuple[RobotsRecord, ...]:
        return tuple(self.records[origin] for origin in sorted(self.origins[host]))
