"""Pace: when a host may next be asked, from one record to the next."""

from __future__ import annotations

from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import make_waiting
from transforms.hosts import HostRecord
from transforms.pace import (
    FIRST_CLOSURE,
    LONGEST_ADAPTIVE,
    LONGEST_RETRY_AFTER,
    LONGEST_SLOWDOWN,
    LONGEST_STRAY,
    MAX_FAILURES,
    PacePolicy,
    after_exchange,
    after_robots,
    due_gap,
    is_busy,
    is_suspect,
    is_unanswered,
)
from transforms.transport import BROKEN, CONNECT, DNS, TIMEOUT, TLS, Request, Response

NOW = 1_800_000_000.0
POLICY = PacePolicy(delay=1.0, adaptive=2.0, max_crawl_delay=60.0, retries=2)
NEW = HostRecord("a.example")


def answer(
    status: int = 200, retry_after: str | None = None, failure: str = "", elapsed: float = 0.1
) -> Response:
    head = f"HTTP/1.1 {status} X\r\n" if status else ""
    if retry_after is not None:
        head += f"Retry-After: {retry_after}\r\n"
    request = Request(make_waiting(), "http://a.example/")
    ip = "192.0.2.1" if status else ""
    text = (head and head + "\r\n").encode("latin-1")
    return Response(request, status, text, b"", b"", ip, NOW - elapsed, elapsed, failure)


def after(*responses: Response, record: HostRecord = NEW, crawl_delay: float = 0.0) -> HostRecord:
    for response in responses:
        record = after_exchange(record, response, NOW, POLICY, crawl_delay)
    return record


def silence(failure: str = CONNECT) -> Response:
    return answer(0, failure=failure)


@pytest.mark.parametrize(
    ("latency", "delay", "adaptive", "crawl_delay", "gap"),
    [
        (0.1, 1.0, 2.0, 0.0, 1.0),
        (0.1, 1.0, 2.0, 3.0, 3.0),
        (2.0, 1.0, 2.0, 3.0, 4.0),
        (2.0, 1.0, 0.0, 0.0, 1.0),
        (99.0, 1.0, 2.0, 0.0, LONGEST_ADAPTIVE),
        (99.0, 45.0, 2.0, 0.0, 45.0),
        (2.0, 0.0, 2.0, 0.0, 0.0),  # --delay 0: no gap but the site's own
        (2.0, 0.0, 2.0, 3.0, 3.0),
    ],
)
def test_due_gap_is_the_longest(latency, delay, adaptive, crawl_delay, gap):
    assert due_gap(latency, PacePolicy(delay, adaptive, 60.0, 2), crawl_delay) == gap


@pytest.mark.parametrize(
    ("response", "unanswered", "busy"),
    [
        (answer(200), False, False),
        (answer(404), False, False),
        (answer(500), False, False),
        (answer(429), False, True),
        (answer(503), False, True),
        (answer(504), False, True),
        (silence(TIMEOUT), True, False),
        (silence(DNS), True, False),
        (silence(BROKEN), False, False),
        (silence(TLS), False, False),
        (answer(200, failure=TIMEOUT), False, False),  # it broke off: the host is there
        (answer(503, failure=BROKEN), False, False),
    ],
)
def test_what_is_the_hosts_fault(response, unanswered, busy):
    assert (is_unanswered(response), is_busy(response)) == (unanswered, busy)
    assert is_suspect(response) == (unanswered or busy)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (formatdate(NOW + 90, usegmt=True), 90.0),
        ("0", 2.0),  # as if there were none: the gap doubles
        ("", 2.0),
        ("soon", 2.0),
        ("-5", 2.0),
        ("1.5", 2.0),
        ("²", 2.0),
        (formatdate(NOW - 90, usegmt=True), 2.0),
        ("1", 1.0),
        ("9" * 400, LONGEST_RETRY_AFTER),
        ("Fri, 31 Dec 9999 23:59:59 GMT", LONGEST_RETRY_AFTER),
    ],
)
def test_retry_after_in_any_form(status, value, seconds):
    record = after(answer(status, value))
    assert record.ready_at - NOW == pytest.approx(seconds, rel=LONGEST_STRAY)
    assert record.ready_at - NOW >= seconds
    assert record.reason == f"HTTP {status}"


def test_retry_after_holds_for_a_robots_txt_too():
    record = after_robots(NEW, answer(503, "120"), NOW, POLICY, 0.0)
    assert record.ready_at == NOW + 120
    assert record.failures == 0


def test_setbacks_double_then_close_then_close_for_longer():
    record, waits = NEW, []
    for _ in range(MAX_FAILURES + 2):
        record = after(silence(), record=record)
        waits.append(record.ready_at - NOW)
    for wait, due in zip(waits, [2, 4, 8, 16, 30, 60, 240, 960], strict=True):
        assert due <= wait <= due * (1 + LONGEST_STRAY)
    assert record.closures == 3
    assert record.reason == CONNECT


def test_good_answer_opens_a_closed_host_and_eases_its_slowdown():
    record = after(*[silence()] * MAX_FAILURES)
    record = after(answer(), record=record)
    assert (record.failures, record.closures, record.reopened, record.reason) == (0, 0, 1, "")
    assert record.gap == LONGEST_SLOWDOWN * 0.75
    record = after(*[answer()] * 12, record=record)
    assert record.gap == 1.0
    assert record.slowdown == 0.0


def test_requests_latency_and_address_are_kept():
    record = after(answer(elapsed=1.0), answer(elapsed=2.0), silence())
    assert record.requests == 3
    assert record.latency == 1.25
    assert record.address == "192.0.2.1"


ANSWERS = st.builds(
    answer,
    st.sampled_from([200, 301, 404, 429, 500, 502, 503]),
    st.none() | st.integers(0, 10**9).map(str) | st.text("0123456789:;,-+. aGMT", max_size=30),
    elapsed=st.floats(0.0, 60.0),
) | st.builds(silence, st.sampled_from([CONNECT, DNS, TIMEOUT, BROKEN, TLS]))


@given(st.lists(ANSWERS, max_size=30), st.floats(0.0, 60.0), st.floats(0.0, 20.0))
def test_any_history_keeps_the_due_gap_and_none_waits_for_ever(history, crawl_delay, delay):
    policy = POLICY._replace(delay=delay)
    record = NEW
    for response in history:
        record = after_exchange(record, response, NOW, policy, crawl_delay)
        due = due_gap(record.latency, policy, crawl_delay)
        assert record.ready_at >= NOW + due
        assert (record.failures > 0) == is_suspect(response)
        assert bool(record.reason) == is_suspect(response)
        slowest = max(LONGEST_SLOWDOWN, 2 * max(delay, crawl_delay, LONGEST_ADAPTIVE))
        assert record.gap <= slowest
        if not record.closures:
            assert record.ready_at - NOW <= max(LONGEST_RETRY_AFTER, slowest * (1 + LONGEST_STRAY))
        else:
            assert record.ready_at - NOW >= FIRST_CLOSURE
