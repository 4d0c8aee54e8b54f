"""What the end of an exchange means for its URL, and whether another attempt may mend it."""

from __future__ import annotations

import pytest

from transforms import transport
from transforms.outcome import is_passing, outcome_of
from transforms.records import (
    ADDRESS_REFUSED,
    HTTP_ERROR,
    NETWORK_ERROR,
    NOT_MODIFIED,
    OUTCOMES,
    PAGE,
    REDIRECT,
    TOO_LARGE,
    UNSUPPORTED_TYPE,
)
from transforms.transport import Request, Response


def response(status: int = 200, failure: str = "", *lines: str) -> Response:
    head = "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status} Word", *lines, ""))
    request = Request(None, "http://a.example/")
    return Response(request, status, head.encode(), b"", b"", "", 0.0, 0.0, failure)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, PAGE),
        (203, PAGE),
        (204, PAGE),
        (206, PAGE),
        (299, PAGE),
        (300, HTTP_ERROR),
        (304, NOT_MODIFIED),
        (305, HTTP_ERROR),
        (400, HTTP_ERROR),
        (404, HTTP_ERROR),
        (429, HTTP_ERROR),
        (500, HTTP_ERROR),
        (599, HTTP_ERROR),
        (999, HTTP_ERROR),
        (199, HTTP_ERROR),
    ],
)
def test_outcome_of_a_status(status, outcome):
    assert outcome_of(response(status)) == outcome
    assert outcome in OUTCOMES


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_outcome_of_a_redirect_wants_a_location(status):
    assert outcome_of(response(status, "", "LOCATION: /x")) == REDIRECT
    assert outcome_of(response(status)) == HTTP_ERROR


def test_outcome_of_another_status_with_a_location_is_no_redirect():
    assert outcome_of(response(201, "", "Location: /x")) == PAGE
    assert outcome_of(response(300, "", "Location: /x")) == HTTP_ERROR


FAILURES = {
    transport.TIMEOUT: (NETWORK_ERROR, True),
    transport.DNS: (NETWORK_ERROR, True),
    transport.CONNECT: (NETWORK_ERROR, True),
    transport.BROKEN: (NETWORK_ERROR, True),
    transport.TLS: (NETWORK_ERROR, False),
    transport.BAD_URL: (NETWORK_ERROR, False),
    transport.TOO_LARGE: (TOO_LARGE, False),
    transport.UNWANTED: (UNSUPPORTED_TYPE, False),
    transport.ADDRESS: (ADDRESS_REFUSED, False),
}


@pytest.mark.parametrize("status", [0, 200, 503])
@pytest.mark.parametrize("failure", FAILURES)
def test_outcome_of_a_failure_is_the_same_whatever_the_status(failure, status):
    answer = response(status, failure)
    assert (outcome_of(answer), is_passing(answer)) == FAILURES[failure]


@pytest.mark.parametrize(
    ("status", "passing"),
    [(200, False), (304, False), (301, False), (404, False), (403, False), (501, False)]
    + [(status, True) for status in (408, 429, 500, 502, 503, 504, 522, 524)],
)
def test_is_passing_of_a_status(status, passing):
    assert is_passing(response(status)) is passing
