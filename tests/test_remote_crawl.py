"""Whole crawls whose state is in object storage: what fails, sleeps or dies loses nothing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline import cli, lease
from pipeline.cli import explain_failure
from pipeline.driver import FAILED, FINISHED, Ended, run_job
from pipeline.folder import make_void, open_crawl, sweep
from pipeline.manifest import CommitError, read_manifests
from pipeline.options import Settings, UsageError
from tests.crawling import outcomes, read_rows, run_crawl
from tests.gcsproxy import Asked, Fault
from tests.test_resume import EXCLUDE, assert_whole
from transforms import fetch, layout, storage

QUICK = {"exclude": (EXCLUDE,)}
BAD_USAGE = 2


def bring(base: str, folder: Path) -> Path:
    """All files of a crawl, on a local disk."""
    for path in storage.list_files(base):
        local = folder / layout.relative(base, path)
        local.parent.mkdir(parents=True, exist_ok=True)
        local.write_bytes(storage.read_bytes(path))
    return folder


def start(bucket, web, *more: str, seconds: float = 60.0) -> subprocess.Popen[bytes]:
    """A driver in a process of its own, with a lease of so many seconds."""
    code = f"import sys; from pipeline import cli, lease; lease.SECONDS = {seconds}; "
    command = [sys.executable, "-c", code + "sys.exit(cli.main())", "crawl", web.url()]
    command += ["-o", f"{bucket.base}/crawl", "--allow-private", "--exclude", EXCLUDE, *more]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE)


def said_by(run: subprocess.Popen[bytes]) -> list[str]:
    """The lines that a driver that has ended said, but for those on its progress."""
    _, said = run.communicate(timeout=60)
    lines = said.decode().splitlines()
    return [line for line in lines if " committed: " not in line and " pages · " not in line]


def wait_for_pages(web, count: int) -> None:
    while len(web.log) < count:
        time.sleep(0.02)


def run_when_let_in(base: str) -> Ended:
    """Crawl as soon as another driver's lease has ended."""
    while True:
        try:
            return run_crawl(base)
        except UsageError:
            time.sleep(0.05)


def visited(folder) -> set[int]:
    return {row["fingerprint"] for row in read_rows(folder, "visited", ["fingerprint"])}


def test_crawl_is_the_same_as_on_a_local_disk(demo_web, bucket, tmp_path, capsys):
    there = f"{bucket.base}/deep/crawl"
    here, brought = tmp_path / "here", tmp_path / "brought"
    assert run_crawl(here, demo_web.url(), **QUICK).code == FINISHED
    ended = run_crawl(there, demo_web.url(), **QUICK)
    assert ended.code == FINISHED
    bring(there, brought)
    for kind, order in (("pages", "url_fingerprint"), ("frontier", "fingerprint")):
        columns = ["url", "depth", "referrer", order]
        assert read_rows(brought, kind, columns) == read_rows(here, kind, columns)
    assert visited(brought) == visited(here)
    assert_whole(brought, demo_web.port)
    assert cli.main(["status", f"{there}/"]) == 0
    status = capsys.readouterr().out
    assert f"{there}: {ended.rounds} rounds" in status


def test_crawl_stops_and_goes_on(demo_web, bucket, tmp_path):
    there = f"{bucket.base}/crawl"
    run_crawl(there, demo_web.url(), depth=1, **QUICK)
    run_crawl(there)
    assert_whole(bring(there, tmp_path), demo_web.port)


def test_foreign_files_are_left_alone(demo_web, bucket):
    storage.publish(f"{bucket.base}/holiday.jpg", b"x")
    with pytest.raises(UsageError, match=r"there is holiday.jpg, .* choose another --out"):
        run_crawl(bucket.base, demo_web.url())


def test_ctrl_c_commits_what_was_fetched(demo_web, bucket, tmp_path):
    run = start(bucket, demo_web, "--delay", "0.3")
    wait_for_pages(demo_web, 6)
    run.send_signal(signal.SIGINT)
    lines = said_by(run)
    assert run.returncode == 3, lines
    assert "to go on: beamcrawl crawl -o gs://" in lines[-1]
    run_crawl(f"{bucket.base}/crawl")
    assert_whole(bring(f"{bucket.base}/crawl", tmp_path), demo_web.port)


def test_of_two_drivers_at_once_one_works_and_the_other_says_so(demo_web, bucket, tmp_path):
    runs = [start(bucket, demo_web, "--delay", "0.02") for _ in range(2)]
    said = [said_by(run) for run in runs]
    assert sorted(run.returncode for run in runs) == [FINISHED, BAD_USAGE], said
    [line] = next(lines for run, lines in zip(runs, said, strict=True) if run.returncode)
    assert line.startswith("beamcrawl: another run ")
    assert_whole(bring(f"{bucket.base}/crawl", tmp_path), demo_web.port)


def test_driver_that_was_killed_is_taken_over_from_once_its_lease_ends(demo_web, bucket, tmp_path):
    killed = start(bucket, demo_web, "--delay", "0.3", seconds=2.0)
    wait_for_pages(demo_web, 8)
    killed.kill()
    killed.communicate()
    there = f"{bucket.base}/crawl"
    with pytest.raises(UsageError, match=r"another run is at work .*; if it has died, its lease"):
        run_crawl(there)
    assert run_when_let_in(there).code == FINISHED
    assert_whole(bring(there, tmp_path), demo_web.port)
    # What the dead one had under way can be committed by nobody.
    assert len([m for m in read_manifests(there) if not m.counts["taken"]]) == 1


def test_driver_that_slept_too_long_says_so_and_spoils_nothing(demo_web, bucket, tmp_path):
    asleep = start(bucket, demo_web, "--delay", "0.2", seconds=0.6)
    wait_for_pages(demo_web, 8)
    os.kill(asleep.pid, signal.SIGSTOP)
    there = f"{bucket.base}/crawl"
    assert run_when_let_in(there).code == FINISHED
    os.kill(asleep.pid, signal.SIGCONT)
    lines = said_by(asleep)
    assert asleep.returncode == FAILED
    assert len(lines) == 1
    assert "another run has taken over" in lines[0]
    run_crawl(there)
    assert_whole(bring(there, tmp_path), demo_web.port)


@pytest.mark.parametrize("began", [False, True], ids=["late fetch", "late commit"])
def test_late_deeds_of_an_old_holder_do_no_harm(demo_web, bucket, tmp_path, monkeypatch, began):
    there = f"{bucket.base}/crawl"
    run_crawl(there, demo_web.url(), depth=1, **QUICK)
    settings = Settings.of(out=there, delay=0.0, allow_private=True)
    rounds, old = read_manifests(there), open_crawl(settings, {})
    before = lease.Lease(there, 60.0)
    before.acquire()
    before.release(in_order=False)  # as good as expired
    new = make_void(old)
    assert new.states[0].round == old.states[0].round + 1
    asked = len(demo_web.log)
    with monkeypatch.context() as patched:
        if began:  # before the round was made void, and sees it only at the end
            patched.setattr(fetch, "refuse_if_over", lambda *round_: None)
            patched.setattr(fetch, "Watch", lambda *round_: lambda: False)
        with pytest.raises(Exception, match=r"committed round|committed already") as raised:
            run_job(old, None)
    assert explain_failure(raised.value).startswith("the round was not committed: ")
    assert (len(demo_web.log) > asked) is began
    assert run_crawl(there).code == FINISHED
    files = storage.list_files(there)
    sweep(old, rounds)
    assert storage.list_files(there) == files
    assert_whole(bring(there, tmp_path), demo_web.port)


def test_crawl_bears_a_store_that_fails_now_and_then(demo_web, bucket, tmp_path):
    dice = random.Random(4)
    faults = [Fault(status=503), Fault(lost=True), Fault(delay=0.05), Fault(0.02, 429)]

    def breaks(asked: Asked) -> Fault | None:
        return dice.choice(faults) if dice.random() < 0.2 else None

    bucket.proxy.breaks = breaks
    there = f"{bucket.base}/crawl"
    assert run_crawl(there, demo_web.url(), **QUICK).code == FINISHED
    bucket.proxy.breaks = lambda asked: None
    assert len(bucket.proxy.log) > 150
    assert_whole(bring(there, tmp_path), demo_web.port)


@pytest.mark.parametrize("committed", [False, True], ids=["not committed", "committed"])
@pytest.mark.parametrize("round_", [0, 2])
def test_store_that_stays_away_ends_the_crawl_with_one_line_and_it_goes_on(
    demo_web, bucket, tmp_path, capsys, monkeypatch, committed, round_
):
    there = f"{bucket.base}/crawl"
    monkeypatch.setattr(lease.gcs, "RETRY", lease.gcs.RETRY.with_timeout(0.1))
    monkeypatch.setattr(lease, "PATIENCE", 0.1)
    away: list[Asked] = []

    def breaks(asked: Asked) -> Fault | None:
        if not away and asked.kind == "write" and f"round-{round_:05d}.json" in asked.name:
            away.append(asked)
            return Fault(lost=True) if committed else Fault(status=503)
        return Fault(status=503) if away else None

    bucket.proxy.breaks = breaks
    command = ["crawl", demo_web.url(), "-o", there, "--allow-private", "--delay", "0"]
    assert cli.main([*command, "--exclude", EXCLUDE]) == FAILED
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("beamcrawl: cannot go on: gs://")
    assert last.endswith("mend that and run the same command to go on")
    bucket.proxy.breaks = lambda asked: None
    assert len(read_manifests(there)) == round_ + committed
    expire(there)
    assert cli.main([*command, "--exclude", EXCLUDE]) == FINISHED
    assert_whole(bring(there, tmp_path), demo_web.port)


def expire(base: str) -> None:
    """Let an hour pass for the lease: what could not be reached could not be given back."""
    path = layout.lease_file(base)
    data, generation = lease.gcs.read_at(path)
    lease.gcs.write_if(path, data.replace(b'"expires": ', b'"expires": -'), generation)


def test_files_that_a_round_writes_are_written_once_and_never_looked_for(demo_web, bucket):
    there = f"{bucket.base}/crawl"
    run_crawl(there, demo_web.url(), **QUICK)
    writes = [asked.name for asked in bucket.proxy.log if asked.kind == "write"]
    written = [name for name in writes if not name.endswith("lease.json")]
    assert len(written) == len(set(written))
    looks = {asked.name for asked in bucket.proxy.log if asked.kind == "look"}
    assert looks == {"crawl/STOP", *(name for name in written if "/rounds/" in name)}


def test_run_that_finds_nothing_to_do_asks_for_little(demo_web, bucket):
    there = f"{bucket.base}/crawl"
    rounds = run_crawl(there, demo_web.url(), depth=1, **QUICK).rounds
    bucket.proxy.log.clear()
    run_crawl(there, depth=0)
    assert len(bucket.proxy.log) < 50 + 2 * rounds, bucket.proxy.log


def test_visited_runs_hold_each_url_once(demo_web, bucket, tmp_path):
    there = f"{bucket.base}/crawl"
    run_crawl(there, demo_web.url(), **QUICK)
    rows = read_rows(bring(there, tmp_path), "visited", ["fingerprint"])
    assert len(rows) == len(visited(tmp_path))
    assert outcomes(tmp_path)


def test_commit_error_is_told_when_another_run_has_taken_over():
    assert "has taken over" in explain_failure(CommitError(lease.taken_over("gs://b/c")))
