"""The session that a user brings to RequestsTransport."""

from __future__ import annotations

import requests
from requests.adapters import HTTPAdapter

from tests.rawserver import RawServer, always, page
from tests.transports import POLICY, fetch
from transforms.transport import ADDRESS
from transforms.transport_requests import RequestsTransport


def test_session_brings_its_auth():
    session = requests.Session()
    session.auth = ("me", "secret")
    transport = RequestsTransport(POLICY, session)
    with RawServer(always(page())) as server:
        response = fetch(transport, server.url)
    transport.close()
    assert b"Authorization: Basic bWU6c2VjcmV0\r\n" in server.heard[0]
    assert b"User-Agent: bot/1" in server.heard[0]
    assert response.request_head == server.heard[0]


def test_session_brings_its_adapter():
    class Echo(HTTPAdapter):
        def send(self, request, **kwargs):
            kwargs["proxies"] = {}
            request.headers["X-Adapter"] = "yes"
            return super().send(request, **kwargs)

    session = requests.Session()
    session.mount("http://", Echo())
    transport = RequestsTransport(POLICY, session)
    with RawServer(always(page())) as server:
        response = fetch(transport, server.url)
    transport.close()
    assert b"X-Adapter: yes" in server.heard[0]
    assert (response.failure, response.head + response.body) == ("", page())


def test_session_without_adapters_of_its_own_is_guarded():
    transport = RequestsTransport(POLICY._replace(allow_private=False), requests.Session())
    with RawServer(always(page())) as server:
        assert fetch(transport, server.url).failure == ADDRESS
    transport.close()
    assert server.heard == []
