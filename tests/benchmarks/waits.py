"""What a person waits for: the small commands, and the first page of a crawl."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.benchmarks.peers import ROOT
from tests.benchmarks.sites import ONE_PAGE

COMMAND = (sys.executable, "-m", "pipeline")


def measure_all(folder: Path, runs: int) -> list[tuple[str, float]]:
    """Seconds, the least of the runs. `folder` takes the crawls that are made for it."""
    crawls = [folder / f"first-page-{number}" for number in range(runs)]
    return [
        ("first page asked for after the command", min(map(first_page, crawls))),
        ("--help", min(time_of("--help") for _ in range(runs))),
        ("status", min(time_of("status", str(crawls[0])) for _ in range(runs))),
    ]


def time_of(*words: str) -> float:
    began = time.monotonic()
    run(words)
    return time.monotonic() - began


def first_page(out: Path) -> float:
    """From the command until a site of one page is asked for it; robots.txt comes before."""
    with noting_server() as (url, asked):
        began = time.monotonic()
        run(("crawl", url, "-o", str(out), "--delay", "0", "--allow-private"))
    return asked["/"] - began


def run(words: Sequence[str]) -> None:
    subprocess.run([*COMMAND, *words], cwd=ROOT, capture_output=True, check=True)


@contextmanager
def noting_server() -> Iterator[tuple[str, dict[str, float]]]:
    """A site of one page, which notes when each path was first asked for."""
    asked: dict[str, float] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.setdefault(self.path, time.monotonic())
            body = ONE_PAGE.encode() if self.path == "/" else b""
            self.send_response(200 if self.path == "/" else 404)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", asked
        server.shutdown()
