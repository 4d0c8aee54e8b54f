"""Two crawlers, each run as a whole process, and what came of it.

Scrapy lives in a venv of its own under .bench/, made once: what it needs must not get
into the project's, nor the other way round.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / ".bench" / "peers"
SCRAPY = "scrapy==2.19.0"
SPIDER = Path(__file__).with_name("scrapy_site.py")
GIVE_UP = 900.0  # seconds: no benchmark runs longer

EVERYTHING = ("-a", "everything=1", "-s", "HTTPERROR_ALLOW_ALL=1")


class Run(NamedTuple):
    """What one process cost. CPU and peak include the children it waited for."""

    cpu: float  # seconds, user and system
    wall: float  # seconds
    peak: int  # bytes; of the largest process, when there were several
    written: int  # bytes
    out: Path


def make_peers() -> None:
    """The peers' venv, unless it is there already with this very version."""
    done = PEERS / "made-with"
    if done.exists() and done.read_text() == SCRAPY:
        return
    print(f"making a venv for {SCRAPY} in {PEERS}", file=sys.stderr)
    PEERS.parent.mkdir(exist_ok=True)
    (PEERS.parent / ".gitignore").write_text("*\n")
    venv.create(PEERS, clear=True, with_pip=True)
    subprocess.run([PEERS / "bin" / "pip", "install", "-q", SCRAPY], check=True)
    done.write_text(SCRAPY)


def run_scrapy(seed: str, out: Path, options: Sequence[str] = ()) -> Run:
    out.mkdir(parents=True)
    spider = [PEERS / "bin" / "scrapy", "runspider", "-L", "ERROR", SPIDER, "-a", f"seed={seed}"]
    return measure([*map(str, spider), "-O", str(out / "pages.jsonl"), *options], out)


def run_beamcrawl(seed: str, out: Path, options: Sequence[str] = ()) -> Run:
    crawl = [sys.executable, "-m", "pipeline", "crawl", seed, "-o", str(out)]
    return measure([*crawl, "--delay", "0", "--allow-private", *options], out)


def stop_cleanly() -> None:
    """Let SIGTERM do what Ctrl-C does: children end, temporary folders go."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def measure(command: Sequence[str], out: Path) -> Run:
    """Run a command to its end; what it says goes to a file beside `out`.

    A child starts with its parent's high-water mark of memory: whoever measures must
    stay small until the last run is over.
    """
    said = out.with_name(out.name + ".log")
    said.parent.mkdir(parents=True, exist_ok=True)
    with said.open("wb") as log:
        started = time.monotonic()
        child = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
        watchdog = threading.Timer(GIVE_UP, child.kill)
        watchdog.start()
        try:
            _, status, usage = os.wait4(child.pid, 0)
            wall = time.monotonic() - started
            child.returncode = os.waitstatus_to_exitcode(status)
        finally:
            watchdog.cancel()
            child.kill()  # if it still runs, we were interrupted
    if child.returncode:
        tail = said.read_text(errors="replace")[-2000:]
        raise SystemExit(f"{' '.join(command)}\nended with {child.returncode}:\n{tail}")
    written = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    return Run(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * 1024, written, out)


def scrapy_statuses(out: Path) -> dict[str, int]:
    """URL → status, of every answer that Scrapy saw. A seed that is linked comes twice."""
    with (out / "pages.jsonl").open() as lines:
        return {row["url"]: row["status"] for row in map(json.loads, lines)}


def beamcrawl_statuses(out: Path) -> dict[str, int]:
    """URL → status, of every fetch that ended; of several at one URL, the last."""
    import pyarrow.dataset as ds  # here, so that measuring stays small

    table = ds.dataset(out / "pages", format="parquet", partitioning="hive")
    rows = table.to_table(columns=["url", "status", "fetched_at"]).sort_by("fetched_at")
    return dict(zip(rows["url"].to_pylist(), rows["status"].to_pylist(), strict=True))
