"""The screen: figures for a person, and nothing at all when asked for quiet."""

from __future__ import annotations

import sys

import pytest

from pipeline import progress
from pipeline.folder import Crawl
from pipeline.manifest import summarize
from pipeline.options import Settings
from pipeline.progress import Progress, human_size, human_time
from tests.samples import make_result
from transforms.live import Live


@pytest.fixture
def live(monkeypatch) -> Live:
    """Figures of this process, and a clock that stands at 100 s."""
    figures = Live()
    monkeypatch.setattr(progress, "LIVE", figures)
    monkeypatch.setattr(progress.time, "monotonic", lambda: 100.0)
    return figures


CRAWL = Crawl(Settings.of(), (), None)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1,023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (5 << 20, "5.0 MiB"),
        (3 << 30, "3.0 GiB"),
        (5 << 40, "5.0 TiB"),
        (5000 << 40, "5,000.0 TiB"),
    ],
)
def test_human_size_of_bytes(count, text):
    assert human_size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.4, "0s"),
        (0.6, "1s"),
        (59.6, "1m"),
        (61, "1m 1s"),
        (3600, "1h"),
        (3605, "1h 5s"),
        (3725, "1h 2m 5s"),
        (100_000, "27h 46m 40s"),
    ],
)
def test_human_time_of_seconds(seconds, text):
    assert human_time(seconds) == text


def test_line_is_what_this_run_did_since_it_began(live, monkeypatch):
    live.pages, live.bytes, live.errors = 1000, 1 << 20, 5  # by an earlier run
    said = Progress(quiet=True)
    with said.watching(CRAWL):
        live.pages += 2500
        live.bytes += 3 << 20
        live.errors += 2
        live.waiting, live.depth = 12_345, 3
        monkeypatch.setattr(progress.time, "monotonic", lambda: 110.0)
        assert said.line() == (
            "2,500 pages · 250/s · 3.0 MiB · 2 errors · 12,345 waiting · depth 3 · 10s"
        )


def test_line_at_the_very_start_divides_by_no_zero(live):
    said = Progress(quiet=True)
    with said.watching(CRAWL):
        assert said.line() == "0 pages · 0/s · 0 B · 0 errors · 0 waiting · depth 0 · 0s"
        live.waiting = -1  # a slot that ended twice
        assert "· 0 waiting ·" in said.line()


def test_watching_ends_its_thread_also_when_a_crawl_fails(live):
    said = Progress()
    with pytest.raises(ValueError), said.watching(CRAWL):
        raise ValueError
    assert said._stop.is_set()


MANIFEST = summarize("D", [make_result()], [], 1, "now")


def test_committed_says_each_round(capsys):
    Progress().committed([MANIFEST, MANIFEST._replace(round=1)])
    assert capsys.readouterr().err == (
        "beamcrawl: round 0 committed: fetched 1, new URLs 0, waiting 0\n"
        "beamcrawl: round 1 committed: fetched 1, new URLs 0, waiting 0\n"
    )


def test_committed_on_a_terminal_leaves_it_to_the_live_line(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    Progress().committed([MANIFEST])
    assert capsys.readouterr().err == ""


def test_quiet_progress_says_nothing(capsys, live):
    said = Progress(quiet=True)
    with said.watching(CRAWL):
        said.say("a word")
        said.committed([MANIFEST])
    assert capsys.readouterr() == ("", "")
