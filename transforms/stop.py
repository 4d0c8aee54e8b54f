"""The request to stop: a file, so that a person, a driver and a far worker can all see it.

That its round is committed is one more reason to stop for a worker: another run took over.
"""

from __future__ import annotations

import time
from contextlib import suppress

from transforms import layout, storage

LOOK_AGAIN = 5.0  # seconds between two looks into an object store
GRACE = 5.0  # seconds that requests under way are given when a round must stop


def ask(base: str) -> None:
    with storage.create(layout.stop_file(base)):
        pass


def is_asked(base: str) -> bool:
    return storage.exists(layout.stop_file(base))


def withdraw(base: str) -> None:
    if is_asked(base):
        storage.delete([layout.stop_file(base)])


class RoundOverError(Exception):
    """The round is committed: nothing more can come of fetching for it."""


def refuse_if_over(base: str, round_: int) -> None:
    """Raises RoundOverError.

    A runner that lost a worker may begin a job anew behind rounds that were committed, and
    the job of a driver that died may still go on after another run has made its round void.
    Fetching again would write over files that count.
    """
    if storage.exists(layout.manifest_file(base, round_)):
        raise RoundOverError(f"round {round_} has been committed already")


class Watch:
    """Looks for a reason to end a round, from a loop that must not wait.

    In an object store a look is a request of its own: so it is seldom, and one that fails
    is no reason to stop, nor to wait.
    """

    def __init__(self, base: str, round_: int) -> None:
        self.reasons = (layout.stop_file(base), layout.manifest_file(base, round_))
        self.next_look = 0.0

    def __call__(self) -> bool:
        if storage.is_local(self.reasons[0]):
            return any(storage.exists(path) for path in self.reasons)
        if time.monotonic() < self.next_look:
            return False
        self.next_look = time.monotonic() + LOOK_AGAIN
        with suppress(OSError):
            return any(storage.is_there_now(path) for path in self.reasons)
        return False
