"""What the benchmarks compute from what they measure, and the states they make up."""

from __future__ import annotations

import pytest

from tests.benchmarks import stores, visited
from tests.benchmarks.compare import OURS, REST, START, Line, table, without_start
from tests.benchmarks.floor import links_of
from transforms.fingerprints import shard_of_url
from transforms.frontier import open_frontier

LINES = {
    OURS: Line("web", OURS, pages=100, cpu=3.0, wall=4.0, peak=1 << 20, written=1 << 21),
    START: Line("web", START, pages=1, cpu=1.0, wall=2.0, peak=1 << 20, written=0),
    "peer": Line("web", "peer", pages=50, cpu=6.0, wall=1.0, peak=1 << 20, written=0),
}


def test_ratio_is_ours_through_the_peers_a_page():
    *_, peer = table(LINES)
    cells = [cell.strip() for cell in peer.strip("| ").split("|")]
    assert cells[2:5] == ["50", "6.00", "120.00"]
    assert cells[-2:] == ["0.25", "2.00"]


def test_start_is_taken_off_with_the_page_it_fetched():
    rest = without_start(LINES[OURS], LINES[START])
    assert (rest.tool, rest.pages, rest.cpu, rest.wall) == (REST, 99, 2.0, 2.0)
    assert [line.split(" | ")[1] for line in table(LINES)] == [OURS, START, REST, "peer"]


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
