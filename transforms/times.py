"""Times as people and formats write them."""

from __future__ import annotations

from datetime import UTC, datetime


def iso_seconds(seconds: float) -> str:
    """Seconds since the epoch as WARC-Date has them.

    >>> iso_seconds(0)
    '1970-01-01T00:00:00Z'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
