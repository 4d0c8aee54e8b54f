"""Killed at any moment, a crawl goes on and ends as if nothing had happened."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType

from pipeline.driver import FINISHED, WORK_LEFT
from pipeline.manifest import read_manifests
from tests import demoweb
from tests.crawling import outcomes, run_crawl
from tests.webserver import Answer, Request, serve
from transforms import records

EXCLUDE = "/(slow|failing|busy|big)$"  # what would only take time


def expected(port: int) -> dict[str, str]:
    truth = demoweb.truth(port).items()
    return {url: page.outcome for url, page in truth if not re.search(EXCLUDE, url)}


def start(web, out, *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "pipeline", "crawl", web.url(), "-o", str(out)]
    return subprocess.Popen(
        [*command, "--allow-private", "--exclude", EXCLUDE, *more],
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def assert_whole(out, port: int) -> None:
    """Every page once, every WARC readable, every sum right, no file that counts for nothing."""
    assert outcomes(out) == expected(port)
    manifests = read_manifests(str(out))
    assert [manifest.round for manifest in manifests] == list(range(len(manifests)))
    for manifest in manifests:
        totals = manifest.totals
        assert totals["discovered"] == totals["fetched"] + totals["refused"] + totals["waiting"]
    named = {path for m in manifests for paths in m.files.values() for path in paths}
    there = {str(path) for kind in ("pages", "links", "warc") for path in out.glob(f"{kind}/*/*")}
    assert there == named
    assert not list(out.rglob("*.part"))
    archived = []
    for path in out.glob("warc/*/*"):
        with open(path, "rb") as file:
            for record in ArchiveIterator(file, record_types=WarcRecordType.response):
                archived.append(record.headers["WARC-Target-URI"])
    pages = [url for url in archived if not url.endswith("/robots.txt")]
    fetched = [u for u, o in outcomes(out).items() if o != records.ROBOTS_DENIED]
    assert sorted(pages) == sorted(fetched)


@pytest.mark.slow
def test_sigkill_at_ten_random_moments_loses_nothing(demo_web, tmp_path):
    dice = random.Random(20)
    kills = 0
    while kills < 10:
        run = start(demo_web, tmp_path, "--delay", "0.02")
        time.sleep(dice.uniform(0.2, 4.0))
        if run.poll() is None:
            run.send_signal(signal.SIGKILL)
        run.communicate()
        kills += 1
    assert start(demo_web, tmp_path, "--delay", "0").wait() == FINISHED
    assert_whole(tmp_path, demo_web.port)


def test_retry_after_holds_for_a_crawl_that_was_killed(tmp_path):
    def answer(request: Request) -> Answer:
        if request.path == "/" and request.visit == 1:
            return Answer(503, headers=(("Retry-After", "4"),))
        return Answer(404 if request.path == "/robots.txt" else 200)

    with serve(answer) as web:
        run = start(web, tmp_path, "--delay", "0.1")
        while not web.log or web.log[-1].status != 503:
            time.sleep(0.02)
        time.sleep(0.2)
        run.kill()
        run.communicate()
        assert start(web, tmp_path, "--delay", "0.1").wait() == FINISHED
        first = next(number for number, hit in enumerate(web.log) if hit.status == 503)
        assert web.log[first + 1].start - web.log[first].end >= 3.99
        assert outcomes(tmp_path) == {web.url(): records.PAGE}


PROCESSES = ("--direct_running_mode=multi_processing", "--direct_num_workers=2")


@pytest.mark.parametrize("beam", [(), PROCESSES], ids=["one process", "processes"])
def test_ctrl_c_commits_what_was_fetched_and_exits_3(demo_web, tmp_path, beam):
    run = start(demo_web, tmp_path, "--delay", "0.3", *beam)
    while len(demo_web.log) < 6:
        time.sleep(0.02)
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does
    _, said = run.communicate(timeout=30)
    assert run.returncode == WORK_LEFT
    assert b"to go on: beamcrawl crawl -o" in said
    assert len(outcomes(tmp_path)) >= 3
    assert start(demo_web, tmp_path, "--delay", "0").wait() == FINISHED
    assert_whole(tmp_path, demo_web.port)


def test_orphans_of_a_round_that_never_was_are_swept(demo_web, tmp_path):
    run_crawl(tmp_path, demo_web.url(), depth=1, exclude=(EXCLUDE,))
    last = read_manifests(str(tmp_path))[-1].round
    this, following, after = (f"round={last + more:05d}" for more in (0, 1, 2))
    for name in (
        f"pages/{following}/shard-00000-of-00016.parquet",
        f"warc/{following}/slot-00000-dead-00000.warc.gz.123.part",
        f"links/{this}/slot-00000-dead-00000.parquet",
        f"visited/{following}/shard-00000-of-00016.parquet",
        f"hosts/{this}/shard-00000-of-00016.dead.parquet",
        f"hosts/{this}/slot-00000-dead-00000.waits",
        f"frontier/{after}/shard-00000-of-00016.parquet",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"half a file")
    run_crawl(tmp_path)
    assert_whole(tmp_path, demo_web.port)
    assert not list(tmp_path.rglob("*.waits"))
    assert b"half a file" not in {path.read_bytes() for path in tmp_path.rglob("*.parquet")}
