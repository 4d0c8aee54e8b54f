"""What the tests of the fetch loop share: hosts, URLs, policies, and sites that fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.simulation import POLICY, Ask, Reply, Web
from transforms.slot_fetcher import SlotPolicy

A, B, C = "a.example", "b.example", "c.example"
OK = Reply()


def urls(host: str, count: int) -> list[str]:
    return [f"http://{host}/{number}" for number in range(count)]


def with_pace(policy: SlotPolicy = POLICY, **changes: Any) -> SlotPolicy:
    return policy._replace(pace=policy.pace._replace(**changes))


def with_connections(count: int, **changes: Any) -> SlotPolicy:
    return POLICY._replace(fetch=POLICY.fetch._replace(concurrency=count), **changes)


def failing_at(path: str, reply: Reply) -> Callable[[Ask], Reply]:
    return lambda ask: reply if ask.path == path else OK


def down(since: float, until: float, reply: Reply) -> Callable[[Ask], Reply]:
    return lambda ask: reply if since <= ask.now < until else OK


def pages_asked(web: Web, host: str) -> list[str]:
    return [path for path in web.paths(host) if path != "/robots.txt"]
