"""What the end of an exchange means for its URL."""

from __future__ import annotations

from transforms import transport
from transforms.http_head import parse_head
from transforms.records import (
    ADDRESS_REFUSED,
    HTTP_ERROR,
    NETWORK_ERROR,
    NOT_MODIFIED,
    PAGE,
    REDIRECT,
    TOO_LARGE,
    UNSUPPORTED_TYPE,
)
from transforms.transport import Response

REDIRECTS = (301, 302, 303, 307, 308)
# Answers that another attempt may mend (the statuses are Scrapy's RETRY_HTTP_CODES).
PASSING_STATUSES = (408, 429, 500, 502, 503, 504, 522, 524)
PASSING_FAILURES = (transport.TIMEOUT, transport.DNS, transport.CONNECT, transport.BROKEN)

_OUTCOME_OF_FAILURE = {
    transport.TOO_LARGE: TOO_LARGE,
    transport.UNWANTED: UNSUPPORTED_TYPE,
    transport.ADDRESS: ADDRESS_REFUSED,
}


def outcome_of(response: Response) -> str:
    """The outcome of a page's exchange, should it be the last one."""
    if response.failure:
        return _OUTCOME_OF_FAILURE.get(response.failure, NETWORK_ERROR)
    if 200 <= response.status < 300:
        return PAGE
    if response.status == 304:
        return NOT_MODIFIED
    if response.status in REDIRECTS and "location" in parse_head(response.head):
        return REDIRECT
    return HTTP_ERROR


def is_passing(response: Response) -> bool:
    """Whether the same request may well be answered otherwise in a while."""
    return response.failure in PASSING_FAILURES or (
        not response.failure and response.status in PASSING_STATUSES
    )
