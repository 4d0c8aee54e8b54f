"""What pages ask of robots."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.robots_meta import Directives, directives

NOW = 1_800_000_000.0  # 2027-01-15 08:00 UTC
NOTHING = Directives()


def says(*, follow=True, index=True, archive=True):
    return Directives(nofollow=not follow, noindex=not index, noarchive=not archive)


def from_meta(*meta):
    return directives(meta, [], "BeamCrawl", NOW)


def from_headers(*values):
    return directives([], values, "BeamCrawl", NOW)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", NOTHING),
        ("all", NOTHING),
        ("index, follow", NOTHING),
        ("nofollow", says(follow=False)),
        ("noindex,nofollow", says(index=False, follow=False)),
        (" NOINDEX ,  NoArchive ", says(index=False, archive=False)),
        ("noindex nofollow", says(index=False, follow=False)),
        ("noindex;nofollow", says(index=False, follow=False)),
        ("none", says(index=False, follow=False)),
        ("nocache", says(archive=False)),
        ("all, nofollow", says(follow=False)),
        ("nofollowing", NOTHING),
        ("max-snippet:-1, max-image-preview:none", NOTHING),
        ("max-image-preview: none", NOTHING),
        ("max-video-preview : 0, nofollow", says(follow=False)),
        ("unavailable_after: 2027-01-14", says(index=False)),
        ("unavailable_after: 2027-01-16", NOTHING),
        ("unavailable_after: 2027-01-15T07:59:59Z", says(index=False)),
        ("unavailable_after: 2027-01-15T09:30:00+02:00", says(index=False)),
        ("unavailable_after: 25 Jun 2010 15:00:00 PST", says(index=False)),
        ("Unavailable_After: Friday, 25-Jun-10 15:00:00 EST", says(index=False)),
        ("unavailable_after: Fri, 25 Jun 2027 15:00:00 GMT, nofollow", says(follow=False)),
        ("nofollow, unavailable_after: 25 Jun 2010 15:00:00 GMT", says(follow=False, index=False)),
        ("unavailable_after: noindex", NOTHING),
        ("unavailable_after: some day, noarchive", says(archive=False)),
        ("unavailable_after:", NOTHING),
    ],
)
def test_content_says_the_same_in_meta_and_header(content, expected):
    assert from_meta(("robots", content)) == expected
    assert from_headers(content) == expected


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ([], NOTHING),
        ([(" Robots ", "noindex")], says(index=False)),
        ([("BEAMCRAWL", "noindex")], says(index=False)),
        ([("otherbot", "noindex")], NOTHING),
        ([("description", "noindex")], NOTHING),
        ([("robots", "nofollow"), ("beamcrawl", "noindex")], says(follow=False, index=False)),
        ([("robots", "none"), ("beamcrawl", "all")], says(follow=False, index=False)),
    ],
)
def test_meta_elements_add_up(meta, expected):
    assert from_meta(*meta) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["noindex", "nofollow"], says(index=False, follow=False)),
        (["beamcrawl: nofollow"], says(follow=False)),
        (["BeamCrawl :nofollow, noindex"], says(follow=False, index=False)),
        (["otherbot: nofollow, noindex"], NOTHING),
        (["otherbot: nofollow", "noindex"], says(index=False)),
        (["noarchive, otherbot: noindex, beamcrawl: nofollow"], says(archive=False, follow=False)),
        (["beamcrawl: max-snippet: 5, noindex"], says(index=False)),
        (["otherbot: unavailable_after: 2010-06-25"], NOTHING),
        (["beamcrawl: unavailable_after: 25 Jun 2010 15:00:00 PST"], says(index=False)),
        (["unavailable_after: June 25, 2010 15:00:00, nofollow"], says(follow=False)),
        (["*: noindex"], says(index=False)),
        (["robots: noindex"], says(index=False)),
    ],
)
def test_header_may_name_the_crawler(values, expected):
    assert from_headers(*values) == expected


def test_meta_and_header_add_up():
    assert directives([("robots", "nofollow")], ["noindex"], "beamcrawl") == says(
        follow=False, index=False
    )


@given(st.lists(st.tuples(st.text(), st.text())), st.lists(st.text()), st.text())
def test_any_text_is_read(meta, values, token):
    assert directives(meta, values, token, NOW) is not None


@given(st.text(st.sampled_from("unavailable_after: ,;-0129JanT+Z.")))
def test_any_date_is_read(text):
    assert from_headers(f"unavailable_after:{text}", text) is not None
