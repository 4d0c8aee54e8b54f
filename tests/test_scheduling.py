"""How long a slot takes, beside the least time that anything could take; see the benchmark."""

from __future__ import annotations

import pytest

from tests.benchmarks.scheduling import Host, simulate, simulated_line, time_alone, zipf_hosts
from tests.simulated_log import check_politeness
from tests.simulation import POLICY

HOSTS = zipf_hosts(80)


@pytest.fixture(scope="module")
def alone():
    return time_alone(HOSTS)


# (Where both bounds are about the same, it is 7 %: the longest host finds no connection free.)
@pytest.mark.parametrize("connections", [1, 16])
def test_slot_takes_little_more_than_the_least_time_and_less_than_a_split(connections, alone):
    line = simulated_line(HOSTS, connections, alone)
    assert line.least <= line.taken * 1.0001
    assert line.taken <= 1.05 * line.least
    assert line.taken <= 1.001 * line.static


def test_slot_of_zipf_hosts_is_polite():
    web = simulate(HOSTS, 8)
    check_politeness(web, POLICY, {host.name: host.crawl_delay for host in HOSTS})


def test_slow_host_holds_up_no_other():
    hosts = [
        Host("slow.example", 20, latency=9.0),
        *(Host(f"h{n}.example", 20, 0.1) for n in range(9)),
    ]
    web = simulate(hosts, 4)
    others = [exchange.end for exchange in web.log if exchange.host != "slow.example"]
    assert max(others) < 30
