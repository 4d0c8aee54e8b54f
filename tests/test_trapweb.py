"""A crawl of the trap web, by its server's log: what is real is had, and traps cost little."""

from __future__ import annotations

import pytest

from pipeline.cli import main
from pipeline.driver import FINISHED
from pipeline.explain import explain
from pipeline.manifest import last_manifest
from pipeline.summary import patterns_aside
from tests import trapweb
from tests.crawling import outcomes, run_crawl


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    out = tmp_path_factory.mktemp("traps")
    with trapweb.serve_traps() as web:
        seeds = [web.url(host=host) for host in trapweb.HOSTS]
        ended = run_crawl(out, *seeds, limit=4 * len(trapweb.mixed_real()))
        yield web, out, ended, trapweb.Score(web)


def test_crawl_has_the_real_pages_and_leaves_the_traps(crawled):
    _, _, ended, score = crawled
    print(*score.lines(), sep="\n")
    assert (ended.code, ended.reason) == (FINISHED, "nothing left to fetch")
    assert len(score.had) >= 0.99 * score.real
    assert sum(score.wasted.values()) <= 0.06 * score.real  # into 19 traps
    assert max(score.wasted.values()) <= 30


def test_crawl_says_what_it_set_aside_and_why(crawled, capsys):
    web, out, _, _ = crawled
    states = last_manifest(str(out)).states
    patterns = patterns_aside(states)
    assert patterns.total() == sum(state.set_aside for state in states) > 0
    assert main(["status", str(out)]) == 0
    most, count = patterns.most_common(1)[0]
    assert f"{most} brought nothing new: {count:,} URLs set aside" in capsys.readouterr().out
    known = set(outcomes(out))
    trap = next(
        hit for hit in web.log if hit.path.startswith("/lost/") and hit.path != "/lost/start"
    )
    links = trapweb.trap_lost(trap.path.removeprefix("/lost/"), 1).body.decode().split('href="')
    paths = [link.partition('"')[0] for link in links[1:]]
    url = next(web.url(path) for path in paths if web.url(path) not in known)
    said = dict(explain(str(out), url))
    assert said["fate"].startswith("set aside: ")
    assert "/lost/" in said["pattern"]


def test_lift_fetches_what_was_set_aside_and_keeps_it_open(crawled):
    out = crawled[1]
    before = {url for url in outcomes(out) if "/diary/" in url}
    aside = sum(state.set_aside for state in last_manifest(str(out)).states)
    pages = sum(state.pages for state in last_manifest(str(out)).states)
    run_crawl(out, lift=("/diary/1989-1[12]",), limit=pages + 20)
    after = {url for url in outcomes(out) if "/diary/" in url}
    assert len(after) > len(before) + 5
    run_crawl(out, limit=pages + 30)  # not named again, and still open
    assert len({url for url in outcomes(out) if "/diary/" in url}) > len(after)
    assert sum(state.set_aside for state in last_manifest(str(out)).states) <= aside
    assert last_manifest(str(out)).states[0].lifted == ("/diary/1989-1[12]",)


def test_chained_depths_set_aside_what_single_ones_do(tmp_path):
    left = []
    with trapweb.serve_traps() as web:
        for depths in (1, 3):
            out = tmp_path / str(depths)
            run_crawl(out, web.url(), depth=5, depths_per_job=depths)
            left.append((outcomes(out), patterns_aside(last_manifest(str(out)).states)))
    assert left[0] == left[1]
    assert left[0][1]
