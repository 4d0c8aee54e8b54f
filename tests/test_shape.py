"""The shape of a URL: traps and files are known by it, and no real page is taken for one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms import shape
from transforms.canonical import data_lines
from transforms.filter import FilterRules, UrlFilter
from transforms.shape import BY_SHAPE, horizon_at, is_ahead, is_deep, is_file, repeats

H = "http://a.example"
HORIZON = "2027-11-21"
RULES = FilterRules("host", (f"{H}/", f"{H}/seed.pdf"), horizon=HORIZON)


@pytest.mark.parametrize(
    ("path", "refused"),
    [
        ("/x.png", True),
        ("/x.tar.gz", True),
        ("/X.JPEG", True),
        ("/manual.pdf", True),
        ("/x.html", False),
        ("/x.txt", False),  # text may be crawled
        ("/x.xml", False),
        ("/x", False),
        ("/", False),
        ("/x.png/", False),
        ("/x.png/view", False),
        ("/wiki/File:Cat.jpg", False),  # MediaWiki: a page about the file
        ("/mrdoob/three.js", False),
        ("/wiki/ASP.NET", False),
        ("/png", False),
        ("/v1.2", False),
        ("/x.", False),
    ],
)
def test_extension_of_what_is_no_page(path, refused):
    assert is_file(path) is refused


@pytest.mark.parametrize(
    ("path", "refused"),
    [
        ("/a/a/a", True),  # Heritrix's PathologicalPathDecideRule: three in a row
        ("/a/a/a/", True),
        ("/x/a/a/a/y", True),
        ("/a/b/a/b/a/b", True),
        ("/a/b/c/a/b/c/a/b/c/x.html", True),
        ("/x/1/a/1/a/1/a", True),
        ("/a/a", False),
        ("/foo/bar/foo/bar/index.html", False),  # javadoc of a package named as its project
        ("/a/x/a/y/a/z", False),
        ("/en/en/us/en/", False),
        ("/2011/11/11/x", False),
        ("/11/11/11/x", False),  # numbers may be a date or a tile
        ("/tiles/0/0/0", False),
        ("/aa/a/aaa", False),
        ("/", False),
        ("///", False),
    ],
)
def test_repeated_segments(path, refused):
    assert repeats(path) is refused


@given(
    st.lists(st.sampled_from("ab"), max_size=4),
    st.lists(st.sampled_from("xyz"), min_size=1, max_size=5),
    st.lists(st.sampled_from("ab"), max_size=4),
)
def test_three_blocks_in_a_row_are_found_whatever_the_period(before, block, after):
    assert repeats("/" + "/".join([*before, *block * 3, *after]))


@given(st.lists(st.sampled_from("abcdefgh"), unique=True))
def test_segments_that_differ_never_repeat(segments):
    assert not repeats("/" + "/".join(segments))


def test_depth_counts_segments():
    assert not is_deep("/s" * 20)
    assert not is_deep("/s" * 20 + "/")
    assert is_deep("/s" * 21)


@pytest.mark.parametrize(
    ("path", "query", "refused"),
    [
        ("/calendar/2031/05/", "", True),
        ("/events/2031-05", "", True),
        ("/2031/05/12/", "", True),
        ("/x", "date=2031-05-12", True),
        ("/calendar", "m=2031-05", True),
        ("/x", "month=5&year=2031", True),
        ("/x", "month=12&year=2027", True),
        ("/calendar/2027/11/", "", False),  # within a year
        ("/x", "month=11&year=2027", False),
        ("/calendar/2027/12/", "", True),
        ("/2026/05/12/story", "", False),
        ("/1914/08/01/", "", False),
        ("/calendar/1850/01/", "", False),  # the past may be an archive
        ("/topic/2500/10", "", False),  # a number and a page
        ("/agenda-2030", "", False),
        ("/x", "year=2031", False),
        ("/x", "id=20310512", False),
        ("/calendar/2031/13/", "", False),
        ("/x/12031-05-12", "", False),
    ],
)
def test_calendar_that_runs_ahead(path, query, refused):
    assert is_ahead(path, query, HORIZON) is refused


def test_horizon_is_a_year_ahead_of_the_clock():
    assert horizon_at(1_795_219_200.0) == "2027-11-21"  # 2026-11-21


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/" + "x" * 2030, None),
        ("/" + "x" * 2048, "length"),
        ("/?" + "x" * 1024, None),
        ("/?" + "x" * 1025, "query"),
        ("".join(f"/s{n}" for n in range(21)), "segments"),
        ("/x.zip", "extension"),
        ("/x.pdf?download=1", "extension"),
        ("/x.pdf;jsessionid=0A1B", "extension"),
        ("/x?file=a.pdf", None),
        ("/a/b/a/b/a/b", "repeats"),
        ("/calendar/2031/05/", "calendar"),
        ("/seed.pdf", None),
        ("/seed.pdf?utm_source=x", None),  # the seed, spelled otherwise
    ],
)
def test_filter_refuses_by_shape(path, reason):
    assert UrlFilter(RULES).refusal(H + path) == reason
    if reason:
        assert UrlFilter(RULES._replace(allow=(reason,))).refusal(H + path) is None
        assert UrlFilter(RULES._replace(allow=BY_SHAPE)).refusal(H + path) is None


def test_redirect_of_a_seed_may_be_called_what_it_likes_but_is_no_trap():
    wanted = UrlFilter(RULES)
    assert wanted.refusal("http://b.example/x.zip", of_seed=True) is None
    assert wanted.refusal(H + "/a" * 3, of_seed=True) == "repeats"


def test_verdicts_are_those_of_each_filter_by_itself():
    refusing = [
        row.reason
        for row, refused in UrlFilter(RULES).verdicts("http://b.example/a/a/a/x.zip")
        if refused
    ]
    assert refusing == ["scope", "extension", "repeats"]


@given(st.text())
def test_shape_of_any_text_has_a_verdict(text):
    UrlFilter(RULES).refusal(f"{H}/{text}")


def test_extensions_are_each_named_once():
    words = [word for line in data_lines("extensions.txt") for word in line.split()]
    assert len(set(words)) == len(words) > 50
    assert not {"html", "htm", "php", "asp", "js", "com", "txt", "xml"} & set(words)
    assert shape.is_file("/x." + words[0])
