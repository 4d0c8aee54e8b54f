"""What the log of a simulated web must show of every crawl, whatever its sites did."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from itertools import pairwise
from urllib.parse import urljoin, urlsplit

from tests.simulated_web import BEGAN, Exchange, Web
from transforms.pace import (
    FIRST_CLOSURE,
    LONGEST_RETRY_AFTER,
    LONGEST_SLOWDOWN,
    MAX_FAILURES,
    PacePolicy,
)
from transforms.slot_fetcher import SlotPolicy


def max_parallel(exchanges: Iterable[Exchange]) -> int:
    """The most of these that were under way at once; touching is not overlapping."""
    edges = []
    for exchange in exchanges:
        edges += [(exchange.start, 1), (exchange.end, -1)]
    most = now = 0
    for _, step in sorted(edges):
        now += step
        most = max(most, now)
    return most


def check_politeness(
    web: Web,
    policy: SlotPolicy,
    crawl_delays: Mapping[str, float] = {},
) -> None:
    """Hold the log against the rules, worked out here anew from what the sites answered.

    `crawl_delays`: what the robots.txt of a host asks for. It binds from the host's first
    page on: before, the crawler could not know.
    """
    by_host: dict[str, list[Exchange]] = defaultdict(list)
    for exchange in web.log:
        by_host[exchange.host].append(exchange)
    for host, exchanges in by_host.items():
        assert max_parallel(exchanges) <= 1, host
        seen_page, in_a_row, told_until, quickest = False, 0, 0.0, float("inf")
        for exchange, following in pairwise(exchanges):
            seen_page = seen_page or not exchange.is_robots
            if exchange.is_answered:
                quickest = min(quickest, exchange.end - exchange.start)
            gap = _least_gap(policy.pace, crawl_delays.get(host, 0.0) * seen_page, quickest)
            if not exchange.is_suspect:
                in_a_row = 0
            elif exchange.is_answered and _told(exchange) > 0:
                told_until = max(told_until, exchange.end + _told(exchange))
            elif exchange.is_robots and exchange.is_answered:
                in_a_row = 0  # how long to wait for a robots.txt is the robots cache's to say
            else:
                in_a_row += 1
                doubled = max(1.0, 2 * gap) * 2.0 ** (in_a_row - 1)
                bound = FIRST_CLOSURE if in_a_row >= MAX_FAILURES else LONGEST_SLOWDOWN
                gap = max(2 * gap, min(doubled, bound))
            due = max(exchange.end + gap, told_until)
            assert following.start >= due - 1e-4, f"{following} comes {due - following.start} early"


def _least_gap(pace: PacePolicy, crawl_delay: float, quickest: float) -> float:
    """A running mean is never below the quickest of all responses."""
    if pace.delay == 0:
        return crawl_delay
    adaptive = pace.adaptive * quickest if quickest < float("inf") else 0.0
    return max(pace.delay, crawl_delay, min(adaptive, 30.0))


def _told(exchange: Exchange) -> float:
    """Seconds that the host asked to be left alone, 0 if in no form that HTTP knows."""
    value = dict(exchange.reply.headers).get("Retry-After", "")
    if re.fullmatch("[0-9]+", value):
        return min(float(value), LONGEST_RETRY_AFTER)
    with suppress(ValueError):
        return parsedate_to_datetime(value).timestamp() - BEGAN - exchange.end
    return 0.0


def check_robots(web: Web) -> None:
    """No page before the end of a robots.txt of its origin, or of what that redirected to."""
    known: dict[str, float] = {}
    led_from: dict[str, set[str]] = defaultdict(set)
    for exchange in web.log:
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(exchange.url))
        if not exchange.is_robots:
            assert origin in known, f"{exchange.url} before any robots.txt"
            assert exchange.start >= known[origin]
            continue
        sources = led_from.pop(exchange.url, set())
        if urlsplit(exchange.url).path == "/robots.txt":
            sources.add(origin)
        location = dict(exchange.reply.headers).get("Location")
        for source in sources:
            known.setdefault(source, exchange.end)
            if location:
                led_from[urljoin(exchange.url, location)].add(source)
