"""Things die at random moments of a crawl, which is started again until it has ended.

A *calamity* is what happens, and where. After each one all files that no manifest names are
cut in half, as a power cut would leave them: whoever reads one of them later fails.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from pipeline.driver import FINISHED
from pipeline.manifest import STATE_PATHS, read_manifests
from tests import demoweb, engines, gcsserver
from tests.crawling import run_crawl
from tests.gcsproxy import Asked, Fault, proxying
from tests.test_resume import EXCLUDE, assert_whole
from tests.tools import MissingError
from tests.webserver import WebServer
from transforms import gcs, layout, storage

DELAY = 0.12  # seconds between two requests, so that a crawl takes some ten seconds
JITTER = 0.02  # between when the server has ended a response and the client has all of it
LEASE = 2.0  # seconds
PATIENCE = 1.0  # seconds that a store which is away is tried
HANG = 120.0  # seconds

# A driver whose lease and whose patience with a store end sooner than they do for a person.
DRIVER = (
    "import sys; from pipeline import cli, lease; from transforms import gcs; "
    f"lease.SECONDS = {LEASE}; lease.PATIENCE = {PATIENCE}; "
    f"gcs.RETRY = gcs.RETRY.with_timeout({PATIENCE}); sys.exit(cli.main())"
)


class Place(NamedTuple):
    """Where a crawl runs, and what keeps its files."""

    base: str
    beam: tuple[str, ...] = ()
    outlives: bool = False  # a job of it goes on without its driver
    mends: Callable[[], None] = lambda: None  # what a person does before running it again
    met: Callable[[], int] = lambda: 0  # calamities of the place itself, so far


class Told(NamedTuple):
    """What became of a crawl that met a calamity several times."""

    calamity: str
    strikes: int
    runs: int  # of the command, until the crawl had ended
    extra: int  # fetches more than a calm crawl makes, of all pages
    most_extra: int  # of one page
    least_gap: float  # seconds between two requests
    cut: int  # files that counted for nothing, and were cut in half
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.calamity:<26}{self.strikes:>8}{self.runs:>6}{self.extra:>15}"
            f"{self.most_extra:>11}{self.least_gap:>12.3f}{self.cut:>11}{self.seconds:>8.1f}"
        )


HEADING = (
    f"{'what died':<26}{'strikes':>8}{'runs':>6}{'extra fetches':>15}{'of a page':>11}"
    f"{'least gap s':>12}{'files cut':>11}{'s':>8}"
)

Strike = Callable[["subprocess.Popen[bytes]", Place, random.Random], None]


def kill_driver(run: subprocess.Popen[bytes], place: Place, dice: random.Random) -> None:
    run.kill()
    run.wait()


def kill_worker(run: subprocess.Popen[bytes], place: Place, dice: random.Random) -> None:
    """One of the processes that the driver has started, or a pool did for its job."""
    pool = next((word for word in place.beam if word.startswith("--environment_config=")), None)
    parent = run.pid if pool is None else listener_on(pool.rpartition(":")[2])
    workers = children_of(parent)
    if workers:
        os.kill(dice.choice(workers), signal.SIGKILL)


def kill_task_manager(run: subprocess.Popen[bytes], place: Place, dice: random.Random) -> None:
    """One of Flink's, and start another in its stead."""
    subprocess.run([engines.FLINK, "kill", str(dice.choice([1, 2]))], check=True)


def do_nothing(run: subprocess.Popen[bytes], place: Place, dice: random.Random) -> None:
    """The calamity is in the place."""


def listener_on(port: str) -> int:
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            if f"--service_port={port}".encode() in (folder / "cmdline").read_bytes().split(b"\0"):
                return int(folder.name)
    raise RuntimeError(f"no pool of workers on port {port}")


def children_of(pid: int) -> list[int]:
    with contextlib.suppress(OSError):  # it has ended
        tasks = Path(f"/proc/{pid}/task").glob("*/children")
        return sorted(int(child) for task in tasks for child in task.read_text().split())
    return []


@contextlib.contextmanager
def on_disk(folder: Path, dice: random.Random) -> Iterator[Place]:
    yield Place(str(folder))


def on(engine: Callable[[], contextlib.AbstractContextManager[tuple[str, ...]]]) -> Start:
    """A local folder, and a crawl that runs elsewhere."""

    @contextlib.contextmanager
    def start(folder: Path, dice: random.Random) -> Iterator[Place]:
        with engine() as beam:
            yield Place(str(folder), beam, any("--runner" in word for word in beam))

    return start


@contextlib.contextmanager
def on_small_disk(folder: Path, dice: random.Random) -> Iterator[Place]:
    """A disk that fills up, and is a little larger whenever a person has mended it."""
    size, filled = dice.randint(100, 200), 0
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}k", "none", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        raise MissingError("a small disk takes the right to mount one")

    def mends() -> None:
        nonlocal size, filled
        size += dice.randint(50, 200)
        filled += 1
        subprocess.run(["mount", "-o", f"remount,size={size}k", str(folder)], check=True)

    try:
        yield Place(str(folder / "crawl"), mends=mends, met=lambda: filled)
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@contextlib.contextmanager
def in_bucket(folder: Path, dice: random.Random, *, fails: bool = False) -> Iterator[Place]:
    """A bucket, in a store that may be away for a while now and then."""
    began, spells = time.monotonic(), []
    until = 0.0
    while until < HANG:
        first = until + dice.uniform(1.0, 4.0)
        until = first + PATIENCE * dice.choice([0.2, 0.6, 2.5])
        spells.append((first, until, dice.choice([Fault(status=503), Fault(lost=True)])))

    def passed() -> float:
        return time.monotonic() - began

    def breaks(asked: Asked) -> Fault | None:
        now = passed()
        return next((fault for first, last, fault in spells if first <= now < last), None)

    def met() -> int:
        return sum(first <= passed() for first, *_ in spells) if fails else 0

    with gcsserver.serving() as address, proxying(address) as proxy:
        before = os.environ.get("STORAGE_EMULATOR_HOST")
        os.environ["STORAGE_EMULATOR_HOST"] = proxy.url
        gcs.client.cache_clear()
        try:
            gcs.client().create_bucket("bucket")
            if fails:
                proxy.breaks = breaks
            yield Place("gs://bucket/crawl", mends=lambda: time.sleep(LEASE / 4), met=met)
        finally:
            gcs.client.cache_clear()
            os.environ.pop("STORAGE_EMULATOR_HOST")
            if before is not None:
                os.environ["STORAGE_EMULATOR_HOST"] = before


@contextlib.contextmanager
def in_failing_bucket(folder: Path, dice: random.Random) -> Iterator[Place]:
    with in_bucket(folder, dice, fails=True) as place:
        yield place


Start = Callable[[Path, random.Random], contextlib.AbstractContextManager[Place]]

CALAMITIES: dict[str, tuple[Start, Strike]] = {
    "driver": (on_disk, kill_driver),
    "driver, processes": (on(engines.two_processes), kill_driver),
    "worker, processes": (on(engines.two_processes), kill_worker),
    "driver, Prism": (on(engines.prism), kill_driver),
    "worker, Prism": (on(engines.prism), kill_worker),
    "driver, Flink": (on(engines.flink), kill_driver),
    "worker, Flink": (on(engines.flink), kill_worker),
    "TaskManager, Flink": (on(engines.flink), kill_task_manager),
    "driver, bucket": (in_bucket, kill_driver),
    "disk full": (on_small_disk, do_nothing),
    "bucket away": (in_failing_bucket, do_nothing),
}


def survive(calamity: str, seed: int, folder: Path, strikes: int) -> Told:
    """Crawl the demo web to its end through so many strikes, and check all that must hold."""
    start, strike = CALAMITIES[calamity]
    dice = random.Random(seed)
    with demoweb.serve_demo() as web, start(folder / "struck", dice) as place:
        with demoweb.serve_demo() as calm:
            run_crawl(folder / "calm", calm.url(), exclude=(EXCLUDE,))
            needed = fetches(calm)
        began = time.monotonic()
        struck, runs, cut = strike_often(web, place, strike, strikes, dice)
        seconds = time.monotonic() - began
        found = bring(place.base, folder / "found")
    assert_whole(found, web.port)
    assert left_over(found) == set()
    extra = fetches(web) - needed
    [host] = {hit.host for hit in web.log}
    return Told(
        calamity,
        struck,
        runs,
        extra.total(),
        max(extra.values(), default=0),
        min(web.gaps(host)),
        cut,
        seconds,
    )


def strike_often(
    web: WebServer, place: Place, strike: Strike, strikes: int, dice: random.Random
) -> tuple[int, int, int]:
    """Returns how often it struck, the command was run, and files were cut in half."""
    struck, runs, cut = 0, 0, 0
    give_up = time.monotonic() + HANG
    while True:
        run = start_driver(web, place)
        runs += 1
        while run.poll() is None and struck < strikes and strike is not do_nothing:
            asked = len(web.log) + dice.randint(0, 12)
            while run.poll() is None and len(web.log) < asked and time.monotonic() < give_up:
                time.sleep(0.01)
            time.sleep(dice.uniform(0.0, 0.5))
            if run.poll() is None:
                strike(run, place, dice)
                struck += 1
        said = run.communicate(timeout=max(1.0, give_up - time.monotonic()))[1].decode()
        if run.returncode == FINISHED:
            return struck + place.met(), runs, cut
        assert "\nbeamcrawl: " in f"\n{said}" or run.returncode < 0, said
        if not (strike is kill_driver and place.outlives):
            cut += cut_in_half(place.base)
        place.mends()


def start_driver(web: WebServer, place: Place) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", DRIVER, "crawl", web.url(), "-o", place.base]
    command += ["--allow-private", "--exclude", EXCLUDE, "--delay", str(DELAY), *place.beam]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def cut_in_half(base: str) -> int:
    """Cut all files that no manifest names; returns how many there were."""
    if not storage.is_local(base):
        return 0  # an object is there as a whole, or it is not
    orphans = left_over(Path(base))
    for path in orphans:
        with contextlib.suppress(OSError):  # on a full disk
            os.truncate(path, os.path.getsize(path) // 2)
    return len(orphans)


def left_over(folder: Path) -> set[str]:
    """The files of a crawl that count for nothing: no manifest names them, and no start."""
    manifests = read_manifests(str(folder))
    if not manifests:
        return set()  # what the crawl began with is named nowhere else
    named = {path for m in manifests for paths in m.files.values() for path in paths}
    named |= {p for s in manifests[-1].states for kind in STATE_PATHS for p in getattr(s, kind)}
    there = {str(path) for kind in layout.KINDS for path in folder.glob(f"{kind}/*/*")}
    # What rounds added to the frontier stays, and so do the seeds' files of the first round.
    start = str(folder / layout.VISITED / "round=00000") + "/"
    past = {
        path
        for path in there
        if path.startswith(start)
        or (f"/{layout.FRONTIER}/" in path and ".rest-" not in path and ".held." not in path
            and not path.endswith(layout.TEMPORARY)
            and path < str(folder / layout.FRONTIER / f"round={manifests[-1].round + 2:05d}"))
    }  # fmt: skip
    return there - named - past


def fetches(web: WebServer) -> Counter[str]:
    """How often each page was asked for."""
    return Counter(hit.path for hit in web.log if hit.path != "/robots.txt")


def bring(base: str, folder: Path) -> Path:
    """All files of a crawl, in another folder, its manifests told of it."""
    for path in storage.list_files(base):
        local = folder / layout.relative(base, path)
        local.parent.mkdir(parents=True, exist_ok=True)
        local.write_bytes(storage.read_bytes(path))
    return folder


def check(told: Told) -> None:
    assert told.most_extra <= told.strikes, told
    assert told.least_gap >= DELAY - JITTER, told
