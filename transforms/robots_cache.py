"""What one origin allows, over time: a state machine that is asked and told, with a clock.

    record = RobotsRecord("https://example.com")
    access(record, now)           "ask": send `next_request(record)`, hand its answer to
    record = after_response(…)    `after_response`, and look again
    access(record, now)           "open", "closed", "rules" (ask `rules_of`), or "wait"

The record is a flat row, kept in a table between rounds: a crawl that starts again
neither asks anew for what it knows, nor forgets that a server wanted to be left alone.
"""

from __future__ import annotations

import re
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from transforms.http_head import first, parse_head
from transforms.robots import Robots, clip, parse_robots
from transforms.transport import BAD_URL, TOO_LARGE, Response
from transforms.urls import resolve

OPEN = "open"  # everything is allowed
CLOSED = "closed"  # nothing is
RULES = "rules"  # what the body says
WAIT = "wait"  # unreachable: nothing for now; `retry_at` says when to ask again
ASK = "ask"  # unknown, out of date, or due again: send `next_request`

DENY, ALLOW = "deny", "allow"  # what a robots.txt answered with 401 or 403 means

DAY = 86400.0
# RFC 9309 §2.4: no copy should be used for longer than a day.
LONGEST_LIFE = DAY
# Many sites mark all they send, even a 404, no-cache. Asked every five minutes,
# robots.txt is one request in 300 at the usual pace, and a change is seen soon enough.
SHORTEST_LIFE = 300.0
# A server that restarts is back in seconds, so the first gap is short; each failure in a
# row doubles it, up to four requests a day at a server that may be gone.
FIRST_GAP = 30.0
LONGEST_GAP = DAY / 4
# RFC 9309 §2.3.1.4: after this long unreachable, a robots.txt may be taken as absent.
GIVEN_UP = 30 * DAY
# RFC 9309 §2.3.1.2: follow at least five consecutive redirects.
MAX_HOPS = 5

_MAX_AGE = re.compile(r'(?:^|,)\s*max-age\s*=\s*"?([0-9]{1,10})', re.IGNORECASE)
_UNCACHED = re.compile(r"(?:^|,)\s*no-(?:cache|store)\s*(?:,|$)", re.IGNORECASE)


class RobotsRecord(NamedTuple):
    """What is known of the robots.txt of one origin. Times are epoch seconds; 0: never."""

    origin: str  # scheme://authority
    state: str = ""  # OPEN, CLOSED or RULES, by the last answer that told; "": none did
    cause: str = ""  # the last answer, for a person: "HTTP 503", "timeout"
    fetched_at: float = 0.0  # of the answer behind `state`
    expires_at: float = 0.0
    retry_at: float = 0.0  # not to be asked before, after a failure
    unreachable_since: float = 0.0
    failures: int = 0  # in a row
    ask: str = ""  # where a redirect led; "": begin at the origin
    hops: int = 0  # redirects followed to get to `ask`
    source: str = ""  # the URL that sent `body`
    etag: str = ""
    last_modified: str = ""
    body: bytes = b""


class RobotsRequest(NamedTuple):
    url: str
    headers: tuple[tuple[str, str], ...] = ()


def access(record: RobotsRecord, now: float) -> str:
    """OPEN, CLOSED, RULES or WAIT: what holds at `now`; or ASK, when that is to be found out."""
    if now >= record.expires_at and now >= record.retry_at:
        return ASK
    if record.state:
        # RFC 9309 §2.4: while unreachable, a copy may be used for longer than a day.
        return record.state
    # RFC 9309 §2.3.1.4: unreachable is not open, until it has been so for very long.
    return OPEN if now - record.unreachable_since >= GIVEN_UP else WAIT


def rules_of(record: RobotsRecord, agent: str) -> Robots:
    """The rules of a record in state RULES. Costs a parse: keep them beside the record."""
    return parse_robots(record.body, agent)


def next_request(record: RobotsRecord) -> RobotsRequest:
    """What to ask: for a copy that is out of date, only whether it has changed."""
    url = record.ask or f"{record.origin}/robots.txt"
    if url != record.source:
        return RobotsRequest(url)
    validators = (("If-None-Match", record.etag), ("If-Modified-Since", record.last_modified))
    return RobotsRequest(url, tuple((name, value) for name, value in validators if value))


def after_response(
    record: RobotsRecord, response: Response, now: float, forbidden: str = DENY
) -> RobotsRecord:
    """The record after the answer to its `next_request`."""
    status = response.status
    url, conditions = next_request(record)
    headers = parse_head(response.head)
    cause = f"HTTP {status}" if status else response.failure or "no answer"

    if 200 <= status < 300 and response.failure in ("", TOO_LARGE):
        # RFC 9309 §2.5: of a file too large, what came is parsed.
        return _known(record.origin, RULES, cause, headers, now)._replace(
            source=url,
            etag=_validator(first(headers, "etag")),
            last_modified=_validator(first(headers, "last-modified")),
            body=clip(response.body, broken_off=response.failure == TOO_LARGE),
        )
    if status == 304 and conditions:
        return _known(record.origin, RULES, cause, headers, now)._replace(
            source=url,
            etag=_validator(first(headers, "etag")) or record.etag,
            last_modified=_validator(first(headers, "last-modified")) or record.last_modified,
            body=record.body,
        )
    if 300 <= status < 400 and status != 304:
        target = _target(url, first(headers, "location"))
        if target and record.hops < MAX_HOPS:
            # RFC 9309 §2.3.1.2: also to other hosts; the rules are this origin's.
            return record._replace(cause=cause, ask=target, hops=record.hops + 1)
        # RFC 9309 §2.3.1.2: after that, or led nowhere, it is as good as absent.
        reason = "too many redirects" if target else "redirects to no URL"
        return _known(record.origin, OPEN, f"{cause}, {reason}", headers, now)
    if status in (401, 403) and forbidden == DENY:
        # RFC 9309 §2.3.1.3 would allow all. But a site that shows this crawler the
        # door at its robots.txt hardly wants it inside.
        return _known(record.origin, CLOSED, cause, headers, now)
    if (400 <= status < 500 and status != 429) or (record.hops and response.failure == BAD_URL):
        # RFC 9309 §2.3.1.3: unavailable, so there are no rules.
        return _known(record.origin, OPEN, cause, headers, now)
    return _unreachable(record, cause, headers, now)


def _known(
    origin: str, state: str, cause: str, headers: dict[str, list[str]], now: float
) -> RobotsRecord:
    return RobotsRecord(
        origin, state, cause, fetched_at=now, expires_at=now + _lifetime(headers, now)
    )


def _unreachable(
    record: RobotsRecord, cause: str, headers: dict[str, list[str]], now: float
) -> RobotsRecord:
    """RFC 9309 §2.3.1.4: a server error, 429 or no answer: what is allowed is undefined.

    A copy of the rules, or a closed door, goes on to hold. That there once were no
    rules does not: then the site waits.
    """
    gap = min(FIRST_GAP * 2 ** min(record.failures, 30), LONGEST_GAP)
    asked_for = seconds_until(first(headers, "retry-after"), now)
    return record._replace(
        state="" if record.state == OPEN else record.state,
        cause=cause,
        retry_at=now + max(gap, min(asked_for, DAY)),
        unreachable_since=record.unreachable_since or now,
        failures=record.failures + 1,
        ask="",
        hops=0,
    )


def _lifetime(headers: dict[str, list[str]], now: float) -> float:
    """Seconds for which an answer may be used (RFC 9111 §4.2.1), within our bounds.

    >>> _lifetime({"cache-control": ["public, max-age=3600"], "age": ["600"]}, 0.0)
    3000.0
    """
    control = ",".join(headers.get("cache-control", ()))
    max_age = _MAX_AGE.search(control)
    expires = headers.get("expires")
    if _UNCACHED.search(control):
        life = 0.0
    elif max_age:
        life = float(max_age[1]) - seconds_until(first(headers, "age"), now)
    elif expires:
        sent_at = http_date(first(headers, "date"))
        # RFC 9111 §5.3: what is not a date, as "0", is in the past.
        life = (http_date(expires[0]) or 0.0) - (now if sent_at is None else sent_at)
    else:
        life = LONGEST_LIFE
    return min(max(life, SHORTEST_LIFE), LONGEST_LIFE)


def seconds_until(value: str, now: float) -> float:
    """Seconds, as a number or an HTTP-date gives them (RFC 9110 §10.2.3); 0 if neither does."""
    if value.isascii() and value.isdigit():
        return float(value[:10])
    date = http_date(value)
    return 0.0 if date is None else max(0.0, date - now)


def http_date(value: str) -> float | None:
    """Epoch seconds of a date in any form that servers use (RFC 9110 §5.6.7), or None.

    >>> http_date("Sun, 06 Nov 1994 08:49:37 GMT") == http_date("Sun Nov  6 08:49:37 1994")
    True
    """
    try:
        date = parsedate_to_datetime(value)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _validator(value: str) -> str:
    """A validator that can be sent back as it is; "" for any other."""
    return value if value.isascii() and value.isprintable() else ""


def _target(url: str, location: str) -> str:
    """Where a redirect leads, normalized: its host is one of the crawl's, and no other
    spelling of it. "" if to nothing that can be asked.

    >>> _target("http://a.example/robots.txt", "HTTP://B.Example:80/robots.txt#x")
    'http://b.example/robots.txt'
    """
    target = resolve(url, location) if location else None
    return target if target and target.startswith(("http://", "https://")) else ""
