"""Times as WARC-Date has them."""

from __future__ import annotations

import pytest

from transforms.times import iso_seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1.999, "1970-01-01T00:00:01Z"),
        (951782400, "2000-02-29T00:00:00Z"),
        (1_700_000_000.5, "2023-11-14T22:13:20Z"),
        (2**33, "2242-03-16T12:56:32Z"),
    ],
)
def test_iso_seconds_are_utc_and_whole(seconds, text):
    assert iso_seconds(seconds) == text


def test_iso_seconds_do_not_depend_on_the_time_zone(monkeypatch):
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    assert iso_seconds(0) == "1970-01-01T00:00:00Z"
