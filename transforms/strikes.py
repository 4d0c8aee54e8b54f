"""Who has failed for good: a URL, or an origin without an answer, while its host is well.

A host that answers nothing well is at fault itself: `pace` decides on it, and its URLs
lose nothing. Only a failure since the last of which it has answered others is held against
a URL: of the last ones left nobody knows, until their host is closed for them. A host whose
failures are known to pass (URLs that failed were answered at another attempt) gets more
attempts: one that is up half of the time would else lose many a page.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from transforms.scheduler import Host
from transforms.urls import origin_of

LENIENCE = 4  # so many times the attempts, where failures are known to pass


class _Failing(NamedTuple):
    """A row or an origin that fails. `first` and `last`: the host's successes before it did."""

    attempts: int
    proven: int  # of these, with a success of the host since the one before
    first: int
    last: int


class Strikes:
    def __init__(self, retries: int) -> None:
        """`retries`: how often more a URL is asked for after its first failure."""
        self.retries = retries
        self.failing: dict[int | str, _Failing] = {}
        self.passed: Counter[str] = Counter()  # by host: URLs that failed, and then did not

    def strike(self, key: int | str, host: Host, *, is_host_suspect: bool) -> bool:
        """One more failure of a row or an origin; returns whether it was the last."""
        known = self.failing.get(key) or _Failing(0, 0, host.successes, -1)
        attempts, proven = known.attempts + 1, known.proven + (host.successes > known.last)
        self.failing[key] = _Failing(attempts, proven, known.first, host.successes)
        if not is_host_suspect:
            return attempts > self.retries
        enough = (self.retries + 1) * (LENIENCE if self.passed[host.name] else 1)
        return proven >= max(enough, 2)

    def answered(self, row: int, url: str, host: Host) -> None:
        """A row was answered well, and so its origin is there."""
        host.successes += 1
        if self.failing:
            self.failing.pop(origin_of(url), None)
            self.passed[host.name] += bool(self.failing.pop(row, None))

    def attempts(self, key: int | str) -> int:
        known = self.failing.get(key)
        return known.attempts if known else 0

    def is_out(self, key: int | str, host: Host) -> bool:
        """Whether a row, of the last ones left, failed before others were answered, and since."""
        known = self.failing.get(key)
        enough = known and known.attempts > self.retries and not self.passed[host.name]
        return bool(known and enough and host.successes > known.first)
