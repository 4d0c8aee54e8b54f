"""Pace: when a host may next be asked, from what it just answered.

The gap between two requests is the longest of `--delay`, the site's Crawl-delay and a
multiple of the host's own response time (Heritrix's habit: a slow host is a busy one).
A host that says "not now" (429, 503) is believed; one that does not answer is put aside
for longer each time, and closed for the round when it keeps failing. A closed host is
tried once, later: if it fails again it is closed at once, for four times as long.

Pure functions from one host's record to the next; times are seconds since the epoch.
"""

from __future__ import annotations

from typing import NamedTuple

from transforms.hosts import HostRecord
from transforms.http_head import first, parse_head
from transforms.robots_cache import seconds_until
from transforms.transport import CONNECT, DNS, TIMEOUT, Response

LONGEST_ADAPTIVE = 30.0  # Heritrix's and Nutch's bound for a gap that nobody asked for
# A host that is up half of the time would else be left alone for longer without end.
LONGEST_SLOWDOWN = 30.0  # that doubling leads to; a longer gap is doubled once
FIRST_SETBACK = 1.0  # the least gap after a failure; doubles with each in a row
LONGEST_RETRY_AFTER = 7 * 86400.0
MAX_FAILURES = 6  # in a row, and a host is closed: 31 s after the first at the least
FIRST_CLOSURE = 60.0
CLOSURE_GROWTH = 4
MAX_CLOSURES = 7  # in a row, and its URLs are given up: 23 hours after the first at the least
LONGEST_STRAY = 0.5  # a setback is longer than due by up to this part of itself
_LATENCY_WEIGHT = 0.25  # of the newest response, in the running mean
_EASING = 0.75  # what a good answer leaves of a slowdown

# "Not now", from the host itself, or from a gateway that does not reach it.
BUSY_STATUSES = (429, 502, 503, 504, 522, 524)
NO_ANSWER = (CONNECT, DNS, TIMEOUT)


class PacePolicy(NamedTuple):
    """What is asked of a slot's pace. Times in seconds."""

    delay: float  # 0: no gap but the site's own
    adaptive: float  # the gap is at least this many response times; 0: is not
    max_crawl_delay: float  # a host that wants more is put aside
    retries: int  # more attempts at a URL, while its host answers others


def is_unanswered(response: Response) -> bool:
    """Whether nothing came back: the host's fault, or the way's, and not the URL's."""
    return response.status == 0 and response.failure in NO_ANSWER


def is_busy(response: Response) -> bool:
    return not response.failure and response.status in BUSY_STATUSES


def is_suspect(response: Response) -> bool:
    """Whether the host is at fault rather than the URL."""
    return is_unanswered(response) or is_busy(response)


def due_gap(latency: float, policy: PacePolicy, crawl_delay: float) -> float:
    """Seconds from the end of a response to the next request, the host being well.

    >>> due_gap(2.0, PacePolicy(1.0, 2.0, 60.0, 2), crawl_delay=3.0)
    4.0
    """
    if policy.delay == 0:
        return crawl_delay
    adaptive = min(policy.adaptive * latency, LONGEST_ADAPTIVE)
    return max(policy.delay, crawl_delay, adaptive)


def after_exchange(
    record: HostRecord, response: Response, ended_at: float, policy: PacePolicy, crawl_delay: float
) -> HostRecord:
    """The host's record after an exchange: `ready_at` says when it may next be asked."""
    if is_unanswered(response):
        cause = response.error or response.failure
        counted = record._replace(requests=record.requests + 1)
        return _set_back(counted, ended_at, policy, crawl_delay, cause)
    if is_busy(response):
        counted = record._replace(
            requests=record.requests + 1,
            address=response.ip or record.address,
            latency=_mean_latency(record.latency, response.elapsed),
        )
        until = _told_until(response, ended_at)
        cause = f"HTTP {response.status}"
        set_back = _set_back(counted, ended_at, policy, crawl_delay, cause, told=until > ended_at)
        return set_back._replace(ready_at=max(set_back.ready_at, until))
    return _go_on(record, response, ended_at, policy, crawl_delay)


def after_robots(
    record: HostRecord, response: Response, ended_at: float, policy: PacePolicy, crawl_delay: float
) -> HostRecord:
    """The same after an answer, whatever its status, to a request for robots.txt.

    How long a robots.txt that is not to be had is waited for is `robots_cache`'s to say.
    """
    record = _go_on(record, response, ended_at, policy, crawl_delay)
    if is_busy(response):
        return record._replace(ready_at=max(record.ready_at, _told_until(response, ended_at)))
    return record


def _told_until(response: Response, ended_at: float) -> float:
    """Until when the host asked to be left alone (RFC 9110 §10.2.3)."""
    told = seconds_until(first(parse_head(response.head), "retry-after"), ended_at)
    return ended_at + min(told, LONGEST_RETRY_AFTER)


def _go_on(
    record: HostRecord,
    response: Response,
    ended_at: float,
    policy: PacePolicy,
    crawl_delay: float,
) -> HostRecord:
    """All is well: the due gap, or what is left of a slowdown."""
    latency = _mean_latency(record.latency, response.elapsed)
    # A mean follows slowly, and begins with a robots.txt that is soon sent.
    gap = due_gap(max(latency, response.elapsed), policy, crawl_delay)
    eased = record.slowdown * _EASING
    slowdown = eased if eased > max(gap, FIRST_SETBACK) else 0.0
    gap = max(gap, slowdown)
    return record._replace(
        requests=record.requests + 1,
        address=response.ip or record.address,
        latency=latency,
        failures=0,
        closures=0,
        reopened=record.reopened + bool(record.closures),
        reason="",
        held_until=0.0,
        slowdown=slowdown,
        gap=gap,
        ready_at=ended_at + gap,
    )


def _set_back(
    record: HostRecord,
    ended_at: float,
    policy: PacePolicy,
    crawl_delay: float,
    cause: str,
    told: bool = False,
) -> HostRecord:
    """One more failure in a row: twice the gap, or closed. `told`: the host said how long."""
    failures = record.failures + 1
    stray = 1 + LONGEST_STRAY * _stray(record.requests)
    if record.closures or failures >= MAX_FAILURES:
        closures = record.closures + 1
        closed_for = max(FIRST_CLOSURE * CLOSURE_GROWTH ** (closures - 1), 2 * record.slowdown)
        return record._replace(
            failures=failures,
            closures=closures,
            reason=cause,
            held_until=0.0,
            ready_at=ended_at + closed_for * stray,
        )
    gap = due_gap(record.latency, policy, crawl_delay)
    slowdown = record.slowdown
    if not told:
        doubled = min(2 * slowdown, LONGEST_SLOWDOWN)
        slowdown = max(FIRST_SETBACK, slowdown, doubled, 2 * gap)
    return record._replace(
        failures=failures,
        reason=cause,
        held_until=0.0,
        slowdown=slowdown,
        gap=max(gap, slowdown),
        ready_at=ended_at + max(gap, slowdown) * stray,
    )


def _stray(number: int) -> float:
    """From 0 to 1, evenly, and never in step: a host may be down in a rhythm of its own.

    (Gaps that only double meet a host that is up every other 3 s always in the wrong ones.)
    """
    return number * 0.618034 % 1


def _mean_latency(mean: float, latest: float) -> float:
    return latest if mean == 0 else mean + _LATENCY_WEIGHT * (latest - mean)
