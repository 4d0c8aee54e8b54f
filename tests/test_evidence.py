"""Evidence: what pages brought, by pattern, and what is known of it between rounds."""

from __future__ import annotations

import pytest

from transforms.evidence import (
    MOST_PATTERNS,
    Brought,
    Ended,
    add_evidence,
    gather,
    judge,
    merge_patterns,
    read_patterns,
    worth,
)
from transforms.records import (
    DUPLICATE,
    HTTP_ERROR,
    NETWORK_ERROR,
    PAGE,
    REDIRECT,
    ROBOTS_DENIED,
    TOO_LARGE,
)
from transforms.traps import FOUND_ON_DULL, NO_DOUBT, VARIANT, Evidence

SITE = "http://a.example"
HOST = "a.example"


def ended(path: str = "/x/b", referrer: str = "/", **changes) -> Ended:
    end = Ended(SITE + path, SITE + referrer, NO_DOUBT, PAGE, None, False, False)
    return end._replace(**changes)


@pytest.mark.parametrize(
    ("end", "value"),
    [
        (ended(), 1),
        (ended(outcome=DUPLICATE), -1),
        (ended(outcome=HTTP_ERROR), -1),
        (ended(outcome=REDIRECT), -1),
        (ended(note="soft_404"), -1),
        (ended(outcome=TOO_LARGE), 1),
        (ended(outcome=NETWORK_ERROR), 0),
        (ended(outcome=ROBOTS_DENIED), 0),
        (ended(said_before=True, told_before=True), -1),
        (ended(told_before=True), 1),  # it stands in a list: its title is enough
        (ended(told_before=True, doubt=FOUND_ON_DULL), -1),
        (ended("/x/b", "/x/a", told_before=True), -1),  # kin
    ],
)
def test_worth_of_a_fetch(end, value):
    assert worth(end) == value


def test_gather_counts_a_page_for_each_of_its_patterns():
    brought, dull = gather([ended("/x/7", doubt=VARIANT), ended("/x/8", said_before=True)])
    assert dull == [False, True]
    assert Brought(HOST, "~/x/0", 1, 0, 0) in brought
    assert Brought(HOST, "~/**", 1, 0, 0) in brought
    assert Brought(HOST, "/x/0", 0, 1, 0) in brought
    assert Brought(HOST, "/x/**", 0, 1, 0) in brought


def test_gather_credits_what_led_to_a_good_page():
    brought, _ = gather(
        [ended("/article/a", "/list?page=2"), ended("/list?page=3", "/list?page=2")]
    )
    credits = {each.pattern: each.credit for each in brought if each.credit}
    assert credits["/list?page"] == credits["~/list?page"] == 1  # not for its own kind


def test_gather_credits_no_other_host():
    brought, _ = gather([ended("/a", referrer="/")._replace(referrer="http://b.example/l?p=2")])
    assert all(not each.credit for each in brought)


def test_judge_says_when_a_closed_pattern_opens():
    known = {HOST: {"/l?p": Evidence(dull=9, debt=9)}}
    assert not judge(known, [Brought(HOST, "/l?p", 0, 1, 0)]).has_opened
    opened = judge(known, [Brought(HOST, "/l?p", 0, 0, 3)])
    assert opened.has_opened
    assert opened.changed == {HOST: {"/l?p": Evidence(3, 9, 0, 3)}}


def test_judge_knows_no_pattern_by_what_it_led_to_alone():
    assert judge({}, [Brought(HOST, "~/l?p", 0, 0, 3)]).changed == {}


def test_evidence_adds_up_over_runs_and_merges(tmp_path):
    runs: tuple[str, ...] = ()
    for round_ in range(20):
        evidence = [(HOST, "/x/0", 1, 2, 0), ("b.example", f"/y/{round_}", 0, 1, 0)]
        runs, _ = add_evidence(f"{tmp_path}/{round_}.parquet", runs, evidence)
    assert len(runs) < 10
    known = read_patterns(runs, [HOST])
    assert known == {HOST: {"/x/0": Evidence(20, 40, 0, 1)}}
    assert len(read_patterns(runs, ["b.example"])["b.example"]) == 20
    assert add_evidence(f"{tmp_path}/none.parquet", runs, []) == (runs, False)


def test_merge_keeps_the_patterns_that_tell_most(tmp_path):
    many = {f"/{n:05d}": Evidence(dull=1) for n in range(MOST_PATTERNS)}
    merged = merge_patterns(f"{tmp_path}/m.parquet", (), {HOST: {**many, "/zz": Evidence(good=9)}})
    known = read_patterns([merged], [HOST])[HOST]
    assert len(known) == MOST_PATTERNS
    assert "/zz" in known
