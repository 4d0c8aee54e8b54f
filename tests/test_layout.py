"""Where everything lies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms import layout


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (layout.crawl_file("D"), "D/crawl.json"),
        (layout.lock_file("D"), "D/lock"),
        (layout.stop_file("D"), "D/STOP"),
        (layout.manifest_folder("D"), "D/rounds"),
        (layout.manifest_file("D", 7), "D/rounds/round-00007.json"),
        (layout.round_folder("D", layout.LINKS, 12), "D/links/round=00012"),
        (
            layout.shard_file("D", layout.PAGES, 0, 3, 16),
            "D/pages/round=00000/shard-00003-of-00016.parquet",
        ),
        (
            layout.shard_file("D", layout.VISITED, 1, 3, 16, "seeds"),
            "D/visited/round=00001/shard-00003-of-00016.seeds.parquet",
        ),
        (
            layout.attempt_file("D", layout.WARC, 2, 1, "cafe", 9, "warc.gz"),
            "D/warc/round=00002/slot-00001-cafe-00009.warc.gz",
        ),
        (layout.shard_file("gs://b/c", layout.HOSTS, 0, 0, 1)[:17], "gs://b/c/hosts/ro"),
    ],
)
def test_paths_are_what_the_design_says(path, expected):
    assert path == expected


@given(st.lists(st.integers(0, 99_999), min_size=2))
def test_manifests_sort_by_round(rounds):
    names = [layout.manifest_file("D", round_) for round_ in rounds]
    assert sorted(names) == [layout.manifest_file("D", round_) for round_ in sorted(rounds)]


@pytest.mark.parametrize("base", ["/data/crawl", "crawl", "./crawl", "gs://bucket/crawl"])
def test_relative_is_undone_by_the_base(base):
    path = layout.attempt_file(base, layout.WARC, 0, 0, "cafe", 0, "warc.gz")
    assert layout.relative(base, path) == "warc/round=00000/slot-00000-cafe-00000.warc.gz"
    assert f"{base}/{layout.relative(base, path)}" == path


def test_files_of_two_attempts_never_meet():
    names = {
        layout.attempt_file("D", kind, round_, slot, attempt, number, "x")
        for kind in (layout.LINKS, layout.WARC)
        for round_ in (0, 1)
        for slot in (0, 1)
        for attempt in ("aa", "bb")
        for number in (0, 1)
    }
    assert len(names) == 32
