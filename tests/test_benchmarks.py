"""What the benchmarks compute from what they measure, and the states they make up."""

from __future__ import annotations

from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tests.benchmarks import stores, visited, waits
from tests.benchmarks.compare import OURS, Line, table
from tests.benchmarks.floor import links_of
from tests.benchmarks.sites import ONE
from transforms.fingerprints import shard_of_url
from transforms.frontier import open_frontier


def line(site: str, tool: str, pages: int, cpu: float, wall: float) -> Line:
    return Line(site, tool, pages, cpu, wall, peak=1 << 20, written=1 << 21, server=0.5)


LINES = {
    (ONE, OURS): line(ONE, OURS, pages=1, cpu=1.0, wall=2.0),
    (ONE, "peer"): line(ONE, "peer", pages=1, cpu=4.0, wall=5.0),
    ("web", OURS): line("web", OURS, pages=100, cpu=3.0, wall=4.0),
    ("web", "peer"): line("web", "peer", pages=50, cpu=6.0, wall=1.0),
}


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.split("|")[1:-1]]


def test_ratio_is_ours_through_the_peers_a_page():
    heading, *_, peer = table(LINES)
    assert len(cells(heading.splitlines()[0])) == len(cells(peer))
    assert cells(peer)[:5] == ["web", "peer", "50", "6.00", "120.00"]
    assert (cells(peer)[-3], cells(peer)[-1]) == ("0.25", "2.00")


def test_start_aside_is_without_what_each_tool_needs_for_one_page():
    *_, ours, peer = table(LINES)
    assert cells(ours)[5] == "20.00"  # (3 - 1) s on 100 pages
    assert cells(peer)[5] == "40.00"  # (6 - 4) s on 50 pages
    assert cells(peer)[-2] == "0.50"


def test_site_of_one_page_is_compared_with_none():
    _, ours, peer, *_ = table(LINES)
    assert cells(ours)[-3:] == cells(peer)[-3:] == ["", "", ""]


def test_floor_reads_links_absolute_and_once():
    body = b"<a href='/x#a'>1</a><a href=x>2</a><a href=mailto:a@b>3</a><a href='http://['>4</a>"
    assert links_of("http://a.example/", body) == {"http://a.example/x"}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(stores, "CACHE", tmp_path)
    monkeypatch.setattr(stores, "CANDIDATES", 3_200)
    return tmp_path


def test_visited_store_holds_half_of_its_candidates(cache):
    store = stores.make_visited(160_000)
    assert [len(runs) for runs in stores.visited_runs(store)] == [4] * stores.SHARDS
    assert visited.check(store)["seen"] == 1_600


def test_frontier_store_has_each_url_once_in_its_shard(cache):
    states = stores.states_of(stores.make_frontier(50_000), None)
    assert sum(state.waiting for state in states) == 50_000
    opened = open_frontier(states, most=1_000_000)
    urls = opened.table["url"].to_pylist()
    assert len(set(urls)) == 50_000
    for url, shard in zip(urls[::1000], opened.shards[::1000].tolist(), strict=True):
        assert shard_of_url(url, stores.SHARDS) == shard


def test_first_page_is_noted_when_it_is_first_asked_for():
    with waits.noting_server() as (url, asked):
        with urlopen(url) as answer:
            assert answer.status == 200
        first = asked["/"]
        urlopen(url).close()
        with pytest.raises(HTTPError, match="404"):
            urlopen(f"{url}robots.txt")
    assert asked["/"] == first
    assert first < asked["/robots.txt"]
