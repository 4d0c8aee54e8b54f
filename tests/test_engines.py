"""The same crawl wherever it runs: the same pages, duplicates, links, and the same to do next."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pipeline.cli import main
from pipeline.driver import FINISHED
from pipeline.manifest import read_manifests
from pipeline.waiting import what_waits
from tests import engines
from tests.conftest import or_skip
from tests.crawling import outcomes, read_rows, run_crawl
from tests.test_resume import EXCLUDE, assert_whole
from tests.tools import TOOLS, is_open

pytestmark = pytest.mark.slow

OF_A_RUN = {"fetched_at", "elapsed_ms", "warc_file", "warc_offset"}  # differ in any two runs


def traces(out: Any) -> dict[str, Any]:
    """All that a crawl left, but for times and the names of WARC files."""
    left: dict[str, Any] = {
        kind: sorted(
            repr({name: value for name, value in row.items() if name not in OF_A_RUN})
            for row in read_rows(out, kind)
        )
        for kind in ("pages", "links")
    }
    for kind in ("frontier", "visited", "contents"):
        for path in sorted(glob.glob(f"{out}/{kind}/*/*.parquet")):
            with open(path, "rb") as file:
                left[re.sub("rest-[0-9a-f]+", "rest", os.path.relpath(path, out))] = (
                    pq.ParquetFile(file).read().to_pylist()
                )
    last = read_manifests(str(out))[-1]
    left["totals"] = last.totals
    left["counts"] = [
        {name: count for name, count in manifest.counts.items() if not name.startswith("warc")}
        for manifest in read_manifests(str(out))
    ]
    left["waiting"] = [(host.host, host.urls) for host in what_waits(last.states, None, None).hosts]
    return left


ENGINES = (engines.two_processes, engines.prism, engines.embedded_flink, engines.flink)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.__name__)
def test_crawl_is_the_same_on_every_engine(demo_web, tmp_path, engine):
    here, there = tmp_path / "here", tmp_path / "there"
    with or_skip(engine()) as beam:
        for options in (
            {"exclude": (EXCLUDE,), "depth": 1, "depths_per_job": 1},
            {"depths_per_job": 4},  # and on to the end
        ):
            ended = run_crawl(here, demo_web.url(), fetchers=2, **options)
            again = run_crawl(there, demo_web.url(), fetchers=2, beam=beam, **options)
            assert (again.code, again.reason) == (ended.code, ended.reason)
            assert traces(there) == traces(here)
            assert bool(traces(there)["waiting"]) is ("depth" in options)
    assert_whole(there, demo_web.port)


def test_time_limit_reaches_workers_elsewhere(demo_web, tmp_path):
    with engines.job_service() as beam:
        began = time.monotonic()
        options = {"exclude": (EXCLUDE,), "delay": 1.0, "time_limit": 12.0}
        ended = run_crawl(tmp_path, demo_web.url(), **options, beam=beam)
        assert time.monotonic() - began < 30  # without it: more than 49
    assert (ended.code, ended.reason) == (3, "time limit reached")
    assert 0 < len(outcomes(tmp_path)) < 49


def test_stop_reaches_workers_elsewhere(demo_web, tmp_path):
    def stop() -> None:
        while len(demo_web.log) < 6:
            time.sleep(0.05)
        (tmp_path / "STOP").touch()

    with engines.job_service() as beam:
        stopper = threading.Thread(target=stop)
        stopper.start()
        ended = run_crawl(tmp_path, demo_web.url(), exclude=(EXCLUDE,), delay=0.5, beam=beam)
        stopper.join()
        assert (ended.code, ended.reason) == (3, "stopped")
        assert 0 < len(outcomes(tmp_path)) < 49
        assert run_crawl(tmp_path, beam=beam).code == FINISHED
    assert_whole(tmp_path, demo_web.port)


def test_killed_worker_fails_the_job_in_one_line_and_the_next_run_goes_on(demo_web, tmp_path):
    command = [sys.executable, "-m", "pipeline", "crawl", demo_web.url(), "-o", str(tmp_path)]
    options = ["--allow-private", "--exclude", EXCLUDE, "--delay", "0.3"]
    with engines.job_service() as beam:
        run = subprocess.Popen([*command, *options, *beam], stderr=subprocess.PIPE, text=True)
        while len(demo_web.log) < 8:
            time.sleep(0.05)
        for worker in workers_on(beam):
            os.kill(worker, signal.SIGKILL)
        _, said = run.communicate(timeout=120)
        assert run.returncode == 1, said
        assert said.strip().splitlines()[-1].startswith("beamcrawl: the job failed: ")
        assert "Traceback" not in said
    assert run_crawl(tmp_path).code == FINISHED
    assert_whole(tmp_path, demo_web.port)


def workers_on(beam: tuple[str, ...]) -> list[int]:
    """The ids of the processes that a pool has started."""
    port = beam[-1].rpartition(":")[2]
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            if f"--service_port={port}".encode() in (folder / "cmdline").read_bytes().split(b"\0"):
                tasks = (folder / "task").glob("*/children")
                return [int(pid) for task in tasks for pid in task.read_text().split()]
    return []


def test_commit_that_fails_elsewhere_is_told_in_one_line(demo_web, tmp_path, capsys):
    words = ["crawl", demo_web.url(), "-o", str(tmp_path), "--depth", "0", "--allow-private"]
    (tmp_path / "warc").write_text("a file where a folder should be")
    (tmp_path / "crawl.json.1.part").write_text("")
    with engines.job_service() as beam:
        code = main([*words, *beam])
    said = capsys.readouterr().err
    assert code == 1
    assert said.count("\n") == 1
    assert "run the same command to go on" in said


def test_runner_that_is_not_there_is_told_in_one_line(demo_web, tmp_path, capsys):
    words = ["crawl", demo_web.url(), "-o", str(tmp_path), "--runner=PortableRunner"]
    code = main([*words, "--job_endpoint=localhost:1", "--job_server_timeout=2"])
    said = capsys.readouterr().err
    assert (code, said.count("\n")) == (1, 1)
    assert said.startswith("beamcrawl: the job failed: ")


def test_flink_cluster_starts_with_two_task_slots_and_stops():
    if not (TOOLS / "flink" / "lib").exists():
        pytest.skip("no Flink here yet: `scripts/flink.sh start` fetches it (312 MB)")
    with or_skip(engines.flink_cluster()) as ports:
        with urllib.request.urlopen(f"http://localhost:{ports['FLINK_PORT']}/overview") as said:
            overview = json.load(said)
        assert (overview["taskmanagers"], overview["slots-total"]) == (2, 2)
        assert all(is_open(port) for port in ports.values())
    assert not any(is_open(port) for port in ports.values())
    assert not list((TOOLS / "flink" / "run").glob("*.pid"))
