"""What the errors that requests raises are in a transport's words."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Iterator

import requests
from urllib3 import exceptions as urllib3_errors

from transforms.requests_adapter import CrowdedError, PrivateAddressError
from transforms.transport import ADDRESS, BAD_URL, BROKEN, CONNECT, CROWDED, DNS, TIMEOUT, TLS

# The first line that fits any of an error's causes counts.
_FAILURES: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    (PrivateAddressError, ADDRESS),
    (CrowdedError, CROWDED),
    ((socket.gaierror, urllib3_errors.NameResolutionError), DNS),
    (urllib3_errors.NewConnectionError, CONNECT),
    ((TimeoutError, urllib3_errors.TimeoutError), TIMEOUT),
    ((ssl.SSLError, urllib3_errors.SSLError), TLS),
    ((requests.exceptions.InvalidURL, urllib3_errors.LocationParseError, UnicodeError), BAD_URL),
    (ConnectionError, CONNECT),
    (http.client.HTTPException, BROKEN),
)


def explain(error: BaseException, answered: bool) -> tuple[str, str]:
    """The failure word and the line for an error that requests raised.

    Its own words tell little; the cause that tells is wrapped two or three times. Once
    there is an answer, whatever is not a matter of time broke it off.
    """
    causes = list(_causes(error))
    line = " ".join(str(causes[-1]).split())
    if not isinstance(causes[-1], PrivateAddressError | CrowdedError):  # whose words are ours
        line = f"{type(causes[-1]).__name__}: {line}"
    for kind, failure in _FAILURES:
        if any(isinstance(cause, kind) for cause in causes):
            return (BROKEN if answered and failure != TIMEOUT else failure), line
    return (BROKEN if answered else CONNECT), line


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and those that it wraps, outermost first."""
    yield error
    for inner in (*error.args, getattr(error, "reason", None), error.__cause__):
        if isinstance(inner, BaseException):
            yield from _causes(inner)
            return
