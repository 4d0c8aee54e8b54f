"""The screen: a live line on a terminal, plain lines anywhere else."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from pipeline.folder import Crawl
from pipeline.manifest import Manifest
from transforms.live import LIVE

PLAIN_EVERY = 10.0  # seconds between two plain lines
LIVE_EVERY = 0.5


class Progress:
    """Says how a crawl goes. Figures under way are this process's; committed ones are true."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.terminal = sys.stderr.isatty() and not quiet
        self.began = time.monotonic()
        self.remote = False
        self.rounds = 0  # committed by this run, and what they fetched
        self.fetched = 0
        self._stop = threading.Event()

    @contextmanager
    def watching(self, crawl: Crawl) -> Iterator[None]:
        self.began = time.monotonic()
        self.base = LIVE.copy()
        self.remote = crawl.settings.is_remote
        watch = self._watch_terminal if self.terminal else self._watch_plain
        thread = threading.Thread(target=watch, daemon=True)
        if not self.quiet:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            if not self.quiet:
                thread.join()

    def say(self, line: str) -> None:
        if not self.quiet:
            print(f"beamcrawl: {line}", file=sys.stderr, flush=True)

    def committed(self, manifests: Iterable[Manifest]) -> None:
        for manifest in manifests:
            self.rounds += 1
            self.fetched += manifest.counts["fetched"]
            if not self.terminal:
                self.say(
                    f"round {manifest.round} committed: fetched {manifest.counts['fetched']:,}, "
                    f"new URLs {manifest.counts['discovered']:,}, "
                    f"waiting {manifest.totals['waiting']:,}"
                )

    def line(self) -> str:
        """What this run did so far, on one line."""
        now, seconds = LIVE, time.monotonic() - self.began
        if self.remote:  # what its workers are doing, this process does not see
            return (
                f"{self.rounds:,} rounds committed · {self.fetched:,} fetched · "
                f"{human_time(seconds)}"
            )
        pages = now.pages - self.base.pages
        return (
            f"{pages:,} pages · {pages / max(seconds, 0.001):,.0f}/s · "
            f"{human_size(now.bytes - self.base.bytes)} · "
            f"{now.errors - self.base.errors:,} errors · "
            f"{max(0, now.waiting):,} waiting · depth {now.depth} · {human_time(seconds)}"
        )

    def _watch_plain(self) -> None:
        while not self._stop.wait(PLAIN_EVERY):
            self.say(self.line())

    def _watch_terminal(self) -> None:
        from rich.console import Console
        from rich.live import Live

        with Live(console=Console(stderr=True), refresh_per_second=4, transient=True) as live:
            while not self._stop.wait(LIVE_EVERY):
                live.update(self.line())


def human_size(count: float) -> str:
    """Bytes for a person.

    >>> human_size(1536)
    '1.5 KiB'
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:,.0f} {unit}" if unit == "B" else f"{count:,.1f} {unit}"
        count /= 1024
    return f"{count:,.1f} TiB"


def human_time(seconds: float) -> str:
    """Seconds for a person.

    >>> human_time(3725)
    '1h 2m 5s'
    """
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes, "m"), (seconds, "s")]
    return " ".join(f"{value}{unit}" for value, unit in parts if value) or "0s"
