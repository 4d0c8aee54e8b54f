"""The transports under test, behind one fixture: what one owes, the other owes too."""

from __future__ import annotations

import pytest

from transforms.transport import FetchPolicy, Request, Response, Transport
from transforms.transport_curl import CurlTransport
from transforms.transport_requests import RequestsTransport

TRANSPORTS = {"curl": CurlTransport, "requests": RequestsTransport}
POLICY = FetchPolicy("bot/1 (+https://example.org/bot)", allow_private=True, timeout=5.0)


@pytest.fixture(name="make", params=TRANSPORTS)
def make_transport(request):
    """Make a transport; keywords change its policy."""
    made = []

    def build(**changes) -> Transport:
        made.append(TRANSPORTS[request.param](POLICY._replace(**changes)))
        return made[-1]

    yield build
    for transport in made:
        transport.close()


def fetch(transport: Transport, url: str, *headers: tuple[str, str], **more) -> Response:
    request = Request(object(), url, headers, **more)
    transport.start(request)
    (response,) = transport.wait(10)
    assert response.request is request
    return response
