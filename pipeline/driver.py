"""The driver: one Beam job after another, until nothing is left or a limit is reached."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from pipeline.folder import Crawl, locked, open_crawl, sweep
from pipeline.lean import import_beam
from pipeline.manifest import last_manifest, read_manifests
from pipeline.options import Settings
from pipeline.progress import Progress
from pipeline.waiting import Waits, what_waits
from transforms import layout, storage

FINISHED, FAILED, BAD_USAGE, WORK_LEFT = 0, 1, 2, 3  # exit codes


class Ended(NamedTuple):
    """How a run ended, for a person."""

    code: int
    reason: str
    crawl: Crawl
    rounds: int  # committed by this run
    waits: Waits | None = None


def crawl(settings: Settings, given: dict[str, Any], progress: Progress) -> Ended:
    """Run until the crawl has nothing left, or a limit, a stop or patience ends it."""
    deadline = time.time() + settings.time_limit if settings.time_limit is not None else None
    with locked(settings.out):
        storage.delete([layout.stop_file(settings.out)])
        opened = open_crawl(settings, given)
        sweep(opened)
        with stopping_on_signals(settings.out, progress), progress.watching(opened):
            ended = run_rounds(opened, deadline, progress)
        storage.delete([layout.stop_file(settings.out)])
        return ended


def run_rounds(opened: Crawl, deadline: float | None, progress: Progress) -> Ended:
    settings, rounds = opened.settings, 0
    while True:
        reason = why_end(opened, deadline)
        if reason:
            return Ended(*reason, opened, rounds)
        before = opened.last.round if opened.last else -1
        run_job(opened, deadline)
        last = last_manifest(settings.out)
        opened = opened._replace(last=last)
        sweep(opened, since=before + 1)
        if last is None or last.round == before:
            reason = why_end(opened, deadline)
            if reason:  # it came while the job began
                return Ended(*reason, opened, rounds)
            waits = what_waits(opened.states, settings.depth, settings.host_limit)
            if waits.hosts:
                return Ended(
                    WORK_LEFT, "what is left may only be asked later", opened, rounds, waits
                )
            return Ended(FINISHED, "depth or host limit reached", opened, rounds)
        rounds += last.round - before
        progress.committed(read_manifests(settings.out, before + 1))


def why_end(opened: Crawl, deadline: float | None) -> tuple[int, str] | None:
    """An exit code and a reason, if there is one to stop before the next job."""
    settings, states = opened.settings, opened.states
    if not any(state.waiting or state.held for state in states):
        return FINISHED, "nothing left to fetch"
    if settings.limit is not None and sum(state.pages for state in states) >= settings.limit:
        return FINISHED, f"limit of {settings.limit} pages reached"
    if storage.exists(layout.stop_file(settings.out)):
        return WORK_LEFT, "stopped"
    if deadline is not None and time.time() >= deadline:
        return WORK_LEFT, "time limit reached"
    return None


def run_job(opened: Crawl, deadline: float | None) -> None:
    """One Beam job: as many depths as it is to hold. Raises what the job raised."""
    # Imported when a crawl runs and not before: Beam takes a while.
    import_beam((opened.settings.out, *opened.settings.beam))
    from pipeline.job import run_depths

    run_depths(opened.settings, opened.states, deadline)


@contextmanager
def stopping_on_signals(base: str, progress: Progress) -> Iterator[None]:
    """The first Ctrl-C (or SIGTERM) ends the round early and commits it; a second one quits."""

    def stop(number: int, frame: object) -> None:
        if storage.exists(layout.stop_file(base)):
            os._exit(WORK_LEFT)
        with open(layout.stop_file(base), "wb"):
            progress.say("stopping: what was fetched is being committed (again to quit at once)")

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
