"""Patterns: what a rule makes looks alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.patterns import is_kin, mask, patterns_of, shape_of

SITE = "http://a.example"
SEGMENTS = st.text("abcXYZ019-_.;=~%", max_size=40)


@pytest.mark.parametrize(
    ("segment", "masked"),
    [
        ("", ""),
        ("a", "a"),
        ("7", "0"),
        ("2031", "0"),
        ("story-17.html", "story-0.html"),
        ("item17", "item0"),
        ("2to3", "0to0"),
        ("4f1c09a2b7", "#"),
        ("k3v9qz", "#"),
        ("c0ffee12-3456-7890-abcd-ef0123456789", "#"),
        ("November", "0"),
        ("may-day", "may-day"),
        ("x;sid=12ab", "x;sid="),
        ("q" * 40, "#"),
        ("alterforeigndatawrapper", "alterforeigndatawrapper"),
    ],
)
def test_mask_leaves_the_kind(segment, masked):
    assert mask(segment) == masked


@given(SEGMENTS)
def test_mask_of_what_is_masked_is_the_same(segment):
    assert mask(mask(segment)) == mask(segment)


@given(st.lists(SEGMENTS, max_size=6), st.text("abc&=", max_size=10))
def test_patterns_are_distinct_and_those_of_a_shape(segments, query):
    url = f"{SITE}/{'/'.join(segments)}" + (f"?{query}" if query else "")
    patterns = patterns_of(url)
    assert len(set(patterns)) == len(patterns) > 0
    assert all(pattern.startswith("/") for pattern in patterns)
    assert bool(shape_of(url)) == ("*" not in patterns[0][-2:])


@pytest.mark.parametrize(
    ("url", "shape"),
    [
        ("/", ""),
        ("/docs/install.html", ""),
        ("/thread/17", "/thread/0"),
        ("/list?page=2", "/list?"),
        ("/s/4f1c09a2b7/docs/x", "/s/#/docs/x"),
        ("/calendar/2031/05/", "/calendar/0/0/"),
    ],
)
def test_shape_is_none_for_a_url_like_no_other(url, shape):
    assert shape_of(SITE + url) == shape


@pytest.mark.parametrize(
    ("url", "patterns"),
    [
        ("/", ("/*",)),
        ("/a.html", ("/*",)),
        ("/a/b/c/d/e", ("/a/b/c/d/*", "/a/b/c/**", "/a/b/**", "/a/**")),
        ("/s/4f1c09a2b7", ("/s/#", "/s/*", "/s/**")),
        ("/a/7", ("/a/0", "/a/*", "/a/**")),
        ("/a?f1=x&f2=y&g=z", ("/a?f0&g", "/a?*", "/*?f0&g")),
    ],
)
def test_patterns_go_from_the_narrowest_outwards(url, patterns):
    assert patterns_of(SITE + url) == patterns


@pytest.mark.parametrize(
    ("url", "referrer", "kin"),
    [
        ("/thread/2", "/thread/1", True),
        ("/thread/2", "/forum", False),
        ("/list?page=3", "/list?page=2", True),
        ("/list?page=2", "/list", False),
        ("/x/b", "/x/a", True),
        ("/x/b", "/x/", False),
        ("/x/b", "/x/index.html", False),
        ("/x/15", "/x/about", False),
        ("/x/a/b", "/x/a", True),
        ("/glossary/term", "/glossary", False),
        ("/x/y/z/", "/x/y/", True),
        ("/", "", False),
    ],
)
def test_kin_is_what_a_rule_may_have_made_of_its_referrer(url, referrer, kin):
    assert is_kin(SITE + url, SITE + referrer if referrer else "") == kin
