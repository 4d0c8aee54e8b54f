"""The crawlers, each run as a whole process, and what came of it.

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

from tests.benchmarks.sites import Site

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / ".bench" / "peers"
SCRAPY = "scrapy==2.19.0"
GIVE_UP = 3600.0  # seconds: no benchmark runs longer

EVERYTHING = ("-a", "everything=1", "-s", "HTTPERROR_ALLOW_ALL=1")
TWO_PROCESSES = ("--direct_running_mode=multi_processing", "--direct_num_workers=2")


class Run(NamedTuple):
    """What one process cost. CPU and peak include the children it waited for."""

    cpu: float  # seconds, user and system
    wall: float  # seconds
    peak: int  # bytes; of the largest process, when there were several
    written: int  # bytes
    out: Path


def make_peers() -> None:
    """The peers' venv, unless it is there already with these very versions."""
    pins = (ROOT / "requirements.txt").read_text().splitlines()
    ours = [pin for pin in pins if pin.startswith(("selectolax", "ada-url"))]
    wanted = [SCRAPY, *ours]
    done = PEERS / "made-with"
    if done.exists() and done.read_text() == " ".join(wanted):
        return
    print(f"making a venv for {' '.join(wanted)} in {PEERS}", file=sys.stderr)
    PEERS.parent.mkdir(exist_ok=True)
    (PEERS.parent / ".gitignore").write_text("*\n")
    venv.create(PEERS, clear=True, with_pip=True)
    subprocess.run([PEERS / "bin" / "pip", "install", "-q", *wanted], check=True)
    done.write_text(" ".join(wanted))


def run_scrapy(
    site: Site, out: Path, options: Sequence[str] = (), spider: str = "scrapy_site.py"
) -> Run:
    command = [PEERS / "bin" / "scrapy", "runspider", "-L", "ERROR", Path(__file__).parent / spider]
    seeds = ["-a", f"seeds={seeds_file(site, out)}"]
    return measure([*map(str, command), *seeds, "-O", str(out / "pages.jsonl"), *options], out)


def run_scrapy_lexbor(site: Site, out: Path) -> Run:
    return run_scrapy(site, out, spider="scrapy_lexbor.py")


def run_wget(site: Site, out: Path) -> Run:
    """wget keeps each page as a file until it has read its links; what stays is the WARC file."""
    options = "-q -r -l inf --delete-after --follow-tags=a,area,frame,iframe --no-warc-keep-log"
    warc = [f"--warc-file={out / 'crawl'}", "-P", str(out / "files")]
    seeds = ["-i", str(seeds_file(site, out))]
    # 8: some answer was an error, as in a page's broken link
    return measure(["wget", *options.split(), *warc, *seeds], out, fine=(0, 8))


def run_floor(site: Site, out: Path) -> Run:
    command = [sys.executable, "-m", "tests.benchmarks.floor", str(seeds_file(site, out))]
    return measure([*command, str(out / "crawl.warc.gz")], out)


def run_beamcrawl(site: Site, out: Path, options: Sequence[str] = ()) -> Run:
    crawl = [sys.executable, "-m", "pipeline", "crawl", "-i", str(seeds_file(site, out))]
    crawl += ["-o", str(out / "crawl"), "--delay", "0", "--allow-private"]
    return measure([*crawl, *options], out)


def run_two_processes(site: Site, out: Path) -> Run:
    return run_beamcrawl(site, out, TWO_PROCESSES)


def seeds_file(site: Site, out: Path) -> Path:
    out.mkdir(parents=True)
    path = out / "seeds.txt"
    path.write_text("".join(f"{seed}\n" for seed in site.seeds))
    return path


def stop_cleanly() -> None:
    """Let SIGTERM do what Ctrl-C does: children end, temporary folders go."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def with_bytecode() -> dict[str, str]:
    """The environment, but that Python keeps what it compiles: what is installed has that."""
    return {name: word for name, word in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def measure(command: Sequence[str], out: Path, fine: Sequence[int] = (0,)) -> Run:
    """Run a command to its end; what it says goes to a file beside `out`.

    A child starts with its parent's high-water mark of memory: whoever measures must
    stay small until the last run is over.
    """
    said = out.with_name(out.name + ".log")
    said.parent.mkdir(parents=True, exist_ok=True)
    with said.open("wb") as log:
        started = time.monotonic()
        child = subprocess.Popen(command, cwd=ROOT, env=with_bytecode(), stdout=log, stderr=log)
        watchdog = threading.Timer(GIVE_UP, child.kill)
        watchdog.start()
        try:
            _, status, usage = os.wait4(child.pid, 0)
            wall = time.monotonic() - started
            child.returncode = os.waitstatus_to_exitcode(status)
        finally:
            watchdog.cancel()
            child.kill()  # if it still runs, we were interrupted
    if child.returncode not in fine:
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

    table = ds.dataset(out / "crawl" / "pages", format="parquet", partitioning="hive")
    rows = table.to_table(columns=["url", "status", "fetched_at"]).sort_by("fetched_at")
    return dict(zip(rows["url"].to_pylist(), rows["status"].to_pylist(), strict=True))


def warc_statuses(out: Path) -> dict[str, int]:
    """URL → status, of every response in the WARC file, robots.txt aside."""
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    with (out / "crawl.warc.gz").open("rb") as file:
        found = {
            record.headers["WARC-Target-URI"].strip("<>"): int(record.http_headers.status_code)
            for record in ArchiveIterator(file, record_types=WarcRecordType.response)
        }
    return {url: status for url, status in found.items() if not url.endswith("/robots.txt")}
