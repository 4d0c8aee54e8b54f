"""The driver: one Beam job after another, until nothing is left or a limit is reached."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from pipeline.folder import Crawl, Hold, locked, make_void, open_crawl, sweep
from pipeline.lean import import_beam
from pipeline.manifest import read_manifests
from pipeline.options import Settings
from pipeline.progress import Progress
from pipeline.waiting import Waits, what_waits
from transforms import stop
from transforms.records import ShardState

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
    with locked(settings.out, quit_at_once, elsewhere=settings.is_remote) as hold:
        stop.withdraw(settings.out)
        opened = open_crawl(settings, given)
        if hold.took_over:
            opened = outlive_job(opened, progress)
        hold.confirm()
        sweep(opened, read_manifests(settings.out))
        with stopping_on_signals(settings.out, progress), progress.watching(opened):
            ended = run_rounds(opened, hold, deadline, progress)
        stop.withdraw(settings.out)
        return ended


def run_rounds(opened: Crawl, hold: Hold, deadline: float | None, progress: Progress) -> Ended:
    settings, rounds = opened.settings, 0
    while True:
        reason = why_end(opened, deadline)
        if reason:
            return Ended(*reason, opened, rounds)
        failure = None
        try:
            if not run_job(opened, deadline):
                return Ended(FINISHED, "the job was not run, as asked", opened, rounds)
        except Exception as error:
            failure = error
        committed = read_manifests(settings.out, opened.states[0].round)
        hold.confirm()
        if failure and not committed:
            raise failure
        if committed:
            opened = opened._replace(last=committed[-1])
        if failure:
            progress.say(f"a job failed after {committed[-1].round + 1} rounds, here is another")
            opened = outlive_job(opened, progress)
        sweep(opened, committed)
        if not committed:
            reason = why_end(opened, deadline)
            if reason:  # it came while the job began
                return Ended(*reason, opened, rounds)
            waits = what_waits(opened.states, settings.depth, settings.host_limit)
            if waits.hosts:
                return Ended(
                    WORK_LEFT, "what is left may only be asked later", opened, rounds, waits
                )
            return Ended(FINISHED, "depth or host limit reached", opened, rounds)
        rounds += len(committed)
        progress.committed(committed)


def outlive_job(opened: Crawl, progress: Progress) -> Crawl:
    """Of another driver, or of this one: make sure that no job goes on that is not wanted."""
    if opened.settings.is_remote:
        progress.say("waiting until nothing is left of the job before")
    opened = make_void(opened)
    if opened.settings.is_remote:
        time.sleep(stop.LOOK_AGAIN + stop.GRACE)
    return opened


def why_end(opened: Crawl, deadline: float | None) -> tuple[int, str] | None:
    """An exit code and a reason, if there is one to stop before the next job."""
    settings, states = opened.settings, opened.states
    if not any(state.waiting or state.held or is_to_release(state, settings) for state in states):
        return FINISHED, "nothing left to fetch"
    if settings.limit is not None and sum(state.pages for state in states) >= settings.limit:
        return FINISHED, f"limit of {settings.limit} pages reached"
    if stop.is_asked(settings.out):
        return WORK_LEFT, "stopped"
    if deadline is not None and time.time() >= deadline:
        return WORK_LEFT, "time limit reached"
    return None


def is_to_release(state: ShardState, settings: Settings) -> bool:
    """Whether something is set aside, and this run lifts what no run before it did."""
    return bool(state.aside and not set(settings.lift) <= set(state.lifted))


def run_job(opened: Crawl, deadline: float | None) -> bool:
    """One Beam job: as many depths as it is to hold. Returns whether it ran; raises what it
    raised.
    """
    # Imported when a crawl runs and not before: Beam takes a while.
    import_beam(opened.settings.beam)
    from pipeline.job import run_depths

    return run_depths(opened.settings, opened.states, deadline)


def quit_at_once(line: str) -> None:
    """End this process from any thread. Its round could not be committed any more."""
    print(f"beamcrawl: {line}", file=sys.stderr, flush=True)
    os._exit(FAILED)


def ask_to_stop(base: str, progress: Progress) -> None:
    progress.say("stopping: what was fetched is being committed (again to quit at once)")
    try:
        stop.ask(base)
    except OSError as error:
        progress.say(f"could not ask to stop ({error}); again to quit at once")


@contextmanager
def stopping_on_signals(base: str, progress: Progress) -> Iterator[None]:
    """The first Ctrl-C (or SIGTERM) ends the round early and commits it; a second one quits."""
    # Not on the thread that the signal interrupts: that one may be using the same connection.
    asking = threading.Thread(target=ask_to_stop, args=(base, progress))

    def on_signal(number: int, frame: object) -> None:
        if asking.ident is not None:  # it was started before
            os._exit(WORK_LEFT)
        asking.start()

    before = {
        number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        if asking.ident is not None:
            asking.join()  # the request is to be withdrawn after it was made
        for number, handler in before.items():
            signal.signal(number, handler)
