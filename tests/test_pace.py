"""Pace: when a host may next be asked, from what it just answered."""

from __future__ import annotations

from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.hosts import HostRecord
from transforms.pace import (
    CLOSURE_GROWTH,
    FIRST_CLOSURE,
    LONGEST_RETRY_AFTER,
    LONGEST_STRAY,
    LONGEST_UNASKED,
    MAX_FAILURES,
    PacePolicy,
    after_exchange,
    after_robots,
    due_gap,
)
from transforms.transport import BROKEN, CONNECT, DNS, TIMEOUT, TLS, Request, Response

NOW = 1_800_000_000.0
POLICY = PacePolicy(delay=1.0, adaptive=2.0, max_crawl_delay=60.0, retries=2)
FRESH = HostRecord("a.example")


def answer(status: int = 200, elapsed: float = 0.1, retry_after: str = "") -> Response:
    field = f"Retry-After: {retry_after}\r\n" if retry_after else ""
    head = f"HTTP/1.1 {status} X\r\n{field}\r\n".encode()
    request = Request(None, "http://a.example/")
    return Response(request, status, head, b"", b"", "192.0.2.1", NOW - elapsed, elapsed)


def no_answer(failure: str) -> Response:
    request = Request(None, "http://a.example/")
    return Response(request, 0, b"", b"", b"", "", NOW, 0.0, failure=failure, error=failure)


def after(record: HostRecord, response: Response, policy=POLICY, crawl_delay=0.0) -> HostRecord:
    return after_exchange(record, response, NOW, policy, crawl_delay)


def wait(record: HostRecord) -> float:
    return record.ready_at - NOW


@pytest.mark.parametrize(
    ("delay", "crawl_delay", "latency", "gap"),
    [
        (1.0, 0.0, 0.1, 1.0),
        (1.0, 3.0, 0.1, 3.0),
        (1.0, 0.5, 0.1, 1.0),  # a site may not hurry us
        (1.0, 0.0, 4.0, 8.0),
        (1.0, 0.0, 99.0, LONGEST_UNASKED),
        (45.0, 0.0, 99.0, 45.0),
        (1.0, 50.0, 99.0, 50.0),
        (0.0, 0.0, 4.0, 0.0),  # a site of one's own
        (0.0, 3.0, 4.0, 3.0),  # but what it asks for holds
    ],
)
def test_due_gap_is_the_longest_of_three(delay, crawl_delay, latency, gap):
    record = FRESH._replace(latency=latency)
    assert due_gap(record, POLICY._replace(delay=delay), crawl_delay) == gap


@pytest.mark.parametrize("status", [200, 301, 304, 403, 404, 410, 500, 501])
def test_answer_of_a_host_that_is_well_brings_the_due_gap(status):
    record = after(FRESH, answer(status))
    assert (wait(record), record.requests, record.reason) == (1.0, 1, "")
    assert (record.latency, record.address) == (0.1, "192.0.2.1")


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("seconds", [0, 1, 40, 86400])
def test_retry_after_is_kept_in_seconds_and_as_a_date(status, seconds):
    date = formatdate(NOW + seconds, usegmt=True)
    for told in (str(seconds), date):
        record = after(FRESH, answer(status, retry_after=told))
        assert wait(record) >= max(1.0, seconds - 1e-6)
        assert record.reason == f"HTTP {status}"


@pytest.mark.parametrize("told", ["soon", "-5", "1e9", "99999999999999", "Mon, 99 Foo 2000", "²"])
def test_retry_after_of_any_kind_is_bounded_and_never_raises(told):
    assert 1.0 <= wait(after(FRESH, answer(503, retry_after=told))) <= LONGEST_RETRY_AFTER + 1


@pytest.mark.parametrize(
    "response", [answer(503), answer(429), answer(502), no_answer(CONNECT), no_answer(DNS)]
)
def test_failures_in_a_row_double_the_gap_then_close_the_host(response):
    record, waits = FRESH, []
    for _ in range(MAX_FAILURES + 2):
        record = after(record, response)
        waits.append(wait(record))
    closures = [FIRST_CLOSURE * CLOSURE_GROWTH**n for n in range(3)]
    for waited, due in zip(waits, [2, 4, 8, 16, 30, *closures], strict=True):
        assert due <= waited <= due * (1 + LONGEST_STRAY)
    assert (record.failures, record.closures) == (MAX_FAILURES + 2, 3)


def test_gap_comes_back_slowly_after_failures():
    record = FRESH
    for _ in range(4):
        record = after(record, answer(503))
    waits = []
    for _ in range(12):
        record = after(record, answer())
        waits.append(wait(record))
    assert waits == sorted(waits, reverse=True)
    assert waits[0] == 12.0  # 16 s, eased once
    assert waits[-1] == 1.0
    assert (record.failures, record.closures, record.reason) == (0, 0, "")


@pytest.mark.parametrize("failure", [BROKEN, TLS])
def test_failure_that_is_not_the_hosts_silence_does_not_close_it(failure):
    record = FRESH
    for _ in range(20):
        record = after(record, no_answer(failure))
    assert (record.failures, record.closures, wait(record)) == (0, 0, 1.0)


@pytest.mark.parametrize("status", [200, 404, 500, 503, 429])
def test_robots_txt_counts_as_a_request_and_closes_nothing(status):
    record = FRESH
    for _ in range(20):
        record = after_robots(record, answer(status), NOW, POLICY, 0.0)
    assert (record.requests, record.closures, wait(record)) == (20, 0, 1.0)


def test_robots_txt_that_says_when_to_come_back_is_believed():
    record = after_robots(FRESH, answer(503, retry_after="90"), NOW, POLICY, 0.0)
    assert wait(record) == 90.0


RESPONSES = st.one_of(
    st.builds(answer, st.sampled_from([200, 404, 429, 500, 503]), st.floats(0, 50)),
    st.builds(no_answer, st.sampled_from([CONNECT, DNS, TIMEOUT, BROKEN])),
)


@given(st.lists(RESPONSES, max_size=30), st.sampled_from([0.0, 0.5, 7.0]), st.floats(0, 60))
def test_host_is_never_asked_before_what_is_due(responses, delay, crawl_delay):
    policy, record = POLICY._replace(delay=delay), FRESH
    for response in responses:
        record = after(record, response, policy, crawl_delay)
        assert wait(record) >= due_gap(record, policy, crawl_delay) - 1e-6
        assert wait(record) >= max(delay, crawl_delay) - 1e-6
        assert record.gap >= 0
        assert record.failures >= 0
