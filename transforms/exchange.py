"""An exchange from both ends: what a request is for, and what its end is to the next stage."""

from __future__ import annotations

from typing import NamedTuple

from transforms.records import Fetched, Slot, Waiting
from transforms.scheduler import Host
from transforms.transport import Response


class Errand(NamedTuple):
    """A robots.txt to ask for: on behalf of a host, perhaps (by a redirect) at another one."""

    host: Host
    origin: str
    url: str
    headers: tuple[tuple[str, str], ...]


class Ticket(NamedTuple):
    """What a request under way is for: a row and its URL, or an errand."""

    asked: Host
    row: int
    url: Waiting | None
    errand: Errand | None


def fetched(
    slot: Slot, url: Waiting, outcome: str, response: Response | None, now: float, error: str
) -> Fetched:
    """The end of a fetch; without a response when nothing was asked."""
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


def may_be_told(url: Waiting) -> bool:
    """Whether the referrer may be told: never a secure page's to a plain one (RFC 9110 §10.1.3)."""
    secure_to_plain = url.referrer.startswith("https:") and url.url.startswith("http:")
    return bool(url.referrer) and not secure_to_plain
