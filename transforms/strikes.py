"""Who has failed for good: a URL, or an origin without an answer, while its host is well.

A host that answers nothing well is at fault itself: `pace` decides on it, and its URLs
lose nothing. Only when it has answered others since a URL first failed is that URL at
fault. A host whose failures are known to pass (URLs that failed were answered at another
attempt) gets more attempts: one that is up half of the time would else lose many a page.
"""

from __future__ import annotations

from collections import Counter

from transforms.scheduler import Host
from transforms.urls import origin_of

LENIENCE = 4  # so many times the attempts, where failures are known to pass


class Strikes:
    def __init__(self, retries: int) -> None:
        """`retries`: how often more a URL is asked for after its first failure."""
        self.retries = retries
        self.failing: dict[int | str, tuple[int, int]] = {}  # attempts, successes before the first
        self.passed: Counter[str] = Counter()  # by host: URLs that failed, and then did not

    def strike(self, key: int | str, host: Host, *, is_host_suspect: bool) -> bool:
        """One more failure of a row or an origin; returns whether it was the last."""
        attempts, successes = self.failing.get(key, (0, host.successes))
        self.failing[key] = (attempts + 1, successes)
        if not is_host_suspect:
            return attempts >= self.retries
        enough = (self.retries + 1) * (LENIENCE if self.passed[host.name] else 1)
        return attempts + 1 >= enough and host.successes > successes

    def answered(self, row: int, url: str, host: Host) -> None:
        """A row was answered well, and so its origin is there."""
        host.successes += 1
        if self.failing:
            self.failing.pop(origin_of(url), None)
            self.passed[host.name] += bool(self.failing.pop(row, None))

    def attempts(self, key: int | str) -> int:
        return self.failing.get(key, (0, 0))[0]

    def is_out(self, key: int | str, host: Host) -> bool:
        """Whether a row has failed often enough, were its host's failures not known to pass."""
        attempts, successes = self.failing.get(key, (0, 0))
        return attempts > self.retries and host.successes > successes
