"""Times as people and formats write them."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from functools import lru_cache


def iso_seconds(seconds: float) -> str:
    """Seconds since the epoch as WARC-Date has them.

    >>> iso_seconds(0)
    '1970-01-01T00:00:00Z'
    """
    return _iso(math.floor(seconds))


@lru_cache(maxsize=16)  # most things happen in the second of the one before
def _iso(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
