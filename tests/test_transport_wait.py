"""Many exchanges at once, and none: how `wait` waits, and what stays open."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter

import pytest

from tests.rawserver import RawServer
from tests.transports import (
    fetch,
    make_transport,  # noqa: F401
)
from tests.webserver import Answer, serve
from transforms.transport import CROWDED, Request
from transforms.transport_curl import cache_size


def test_many_exchanges_at_once(make):
    hosts = [f"127.0.0.{i}" for i in range(1, 65)]
    with serve(lambda request: Answer(body=request.target.encode(), delay=0.01), hosts) as web:
        transport = make(concurrency=64)
        todo = {
            host: [f"/{host}/{i}" for i in range(4 if i < 8 else 3)] for i, host in enumerate(hosts)
        }
        total = sum(map(len, todo.values()))
        for host in hosts:
            transport.start(Request((host, todo[host][0]), web.url(todo[host].pop(), host)))
        bodies = Counter()
        while bodies.total() < total:
            ended = transport.wait(5)
            assert ended
            for response in ended:
                assert response.failure == ""
                host = response.request.ticket[0]
                assert response.ip == host
                bodies[response.body.decode()] += 1
                if todo[host]:
                    transport.start(Request((host, ""), web.url(todo[host].pop(), host)))
        assert transport.wait(0) == []
        assert set(bodies.values()) == {1}
        assert len(web.log) == total == 200
        assert {web.connections(host) for host in hosts} == {1}
        assert {web.max_parallel(host) for host in hosts} == {1}


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts in /proc/self/fd")
def test_connections_kept_are_bounded(make):
    hosts = [f"127.0.0.{i}" for i in range(1, 61)]
    with serve(lambda request: Answer(), hosts) as web:
        transport = make(concurrency=1)
        for host in hosts:
            assert fetch(transport, web.url("/", host)).failure == ""
        with open("/proc/self/net/tcp") as table:
            rows = [line.split() for line in table]
        # The server's ends: local address, remote address, ESTABLISHED.
        port, established = f":{web.port:04X}", "01"
        kept = [row for row in rows if row[1].endswith(port) and row[3] == established]
        assert 0 < len(kept) <= 8


@pytest.mark.parametrize(
    ("concurrency", "descriptors", "size"), [(64, 20_000, 512), (64, 256, 128), (1000, 1024, 1000)]
)
def test_cache_size(concurrency, descriptors, size):
    assert cache_size(concurrency, descriptors) == size


def test_wait_does_not_spin(make):
    silent = threading.Event()
    with RawServer(lambda peer: silent.wait(5)) as server:
        transport = make()
        for busy in (False, True):
            if busy:
                transport.start(Request(None, server.url))
                transport.wait(0.05)
            wall, work = time.monotonic(), time.process_time()
            assert transport.wait(0.3) == []
            assert 0.28 < time.monotonic() - wall < 0.5
            assert time.process_time() - work < 0.03
            wall = time.monotonic()
            assert transport.wait(0) == []
            assert time.monotonic() - wall < 0.02
        silent.set()


def test_wait_returns_as_soon_as_one_has_ended(make):
    hosts = ["127.0.0.1", "127.0.0.2"]
    slow = {"127.0.0.1": 0.0, "127.0.0.2": 0.5}
    with serve(lambda request: Answer(delay=slow[request.host]), hosts) as web:
        transport = make()
        for host in hosts:
            transport.start(Request(host, web.url("/", host)))
        assert [response.request.ticket for response in transport.wait(5)] == ["127.0.0.1"]
        assert [response.request.ticket for response in transport.wait(5)] == ["127.0.0.2"]


def test_close_drops_what_is_under_way(make):
    def script(peer):
        peer.hear()
        peer.wait_for_hangup()

    with RawServer(script) as server:
        transport = make()
        transport.start(Request(None, server.url))
        transport.wait(0.1)
        transport.close()
        assert server.hung_up.wait(2)
        transport.close()


def test_drop_breaks_off_what_is_under_way_and_hands_out_no_end_of_it(make):
    def script(peer):
        peer.hear()
        peer.wait_for_hangup()

    with RawServer(script) as silent, serve(lambda request: Answer(), ["127.0.0.2"]) as web:
        transport = make()
        transport.start(Request("silent", silent.url))
        transport.wait(0.1)
        transport.drop()
        assert silent.hung_up.wait(2)
        transport.start(Request("next", web.url()))
        assert [response.request.ticket for response in transport.wait(5)] == ["next"]
        assert transport.wait(0.1) == []


def test_may_connect_is_asked_before_anything_is_sent(make):
    asked = []

    def may_connect(ticket, ip):
        asked.append((ticket, ip))
        return ticket != "no"

    with serve(lambda request: Answer(), ["127.0.0.3"]) as web:
        transport = make()
        transport.may_connect = may_connect
        transport.start(Request("no", web.url()))
        [response] = transport.wait(5)
        assert (response.failure, response.ip, response.status) == (CROWDED, "127.0.0.3", 0)
        assert web.log == []
        transport.start(Request("yes", web.url()))
        assert transport.wait(5)[0].status == 200
        transport.start(Request("again", web.url()))  # on the connection that is there
        assert transport.wait(5)[0].status == 200
        assert asked == [("no", "127.0.0.3"), ("yes", "127.0.0.3")]
