"""One round of a crawl without a network: what a site would answer is made up.

    python -m tests.benchmarks.rounds OUT FRONTIER PAGES [VISITED]     # prints what it cost

Everything else is the crawler's own: the job, all its stages, the commit. The pages are
those of the generated web, handed to the fetch loop as soon as it asks.
"""

from __future__ import annotations

import itertools
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

from pipeline.lean import import_beam_lean
from pipeline.options import Settings
from tests.benchmarks.stores import SHARDS, states_of
from tests.benchmarks.web import make_web, plan_web
from transforms.transport import FetchPolicy, Request, Response

WEB_PAGES = 50_000
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"
REQUEST_HEAD = b"GET / HTTP/1.1\r\nHost: host.example\r\n\r\n"


class MadeUp:
    """A transport that has an answer at once: the next page of the web."""

    def __init__(self, root: Path) -> None:
        self.pages = itertools.cycle(sorted(root.rglob("*.html")))
        self.asked: list[Request] = []

    def start(self, request: Request) -> None:
        self.asked.append(request)

    def wait(self, timeout: float) -> list[Response]:
        asked, self.asked = self.asked, []
        return [self._answer(request) for request in asked]

    def _answer(self, request: Request) -> Response:
        body = next(self.pages).read_bytes()
        head = HEAD % len(body)
        return Response(request, 200, head, body, REQUEST_HEAD, "192.0.2.1", time.time(), 0.001)

    def drop(self) -> None:
        self.asked = []

    def close(self) -> None:
        pass


def bytes_read() -> int:
    """Bytes that this process has read, from whatever file."""
    lines = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(lines["rchar"])


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def run_round(out: Path, frontier: Path, pages: int, store: Path | None) -> dict[str, Any]:
    """What one round cost that fetches so many pages, the start of the process aside."""
    import_beam_lean()
    from pipeline.job import run_depths
    from pipeline.manifest import last_manifest
    from transforms import fetch

    root = make_web(plan_web(WEB_PAGES))
    transport = MadeUp(root)

    def open_made_up(name: str, policy: FetchPolicy) -> MadeUp:
        return transport

    fetch.open_transport = open_made_up
    settings = Settings.of(
        ("http://host-0.example/",),
        out=str(out),
        scope="any",
        robots=False,
        delay=0.0,
        adaptive=0.0,
        per_address=0,
        shards=SHARDS,
        limit=pages,
    )
    states = states_of(frontier, store)
    cpu, wall, read = cpu_seconds(), time.monotonic(), bytes_read()
    run_depths(settings, states, None)
    cost = {
        "cpu": cpu_seconds() - cpu,
        "wall": time.monotonic() - wall,
        "read": bytes_read() - read,
        "peak": peak_bytes(),
    }
    manifest = last_manifest(str(out))
    assert manifest is not None, "the round committed nothing"
    return {**cost, "counts": manifest.counts, "waiting": manifest.totals["waiting"]}


if __name__ == "__main__":
    out, frontier, pages, *store = sys.argv[1:]
    cost = run_round(Path(out), Path(frontier), int(pages), Path(store[0]) if store else None)
    print(json.dumps(cost))
