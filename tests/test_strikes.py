"""Strikes: when a URL has failed for good, and when it is its host that fails."""

from __future__ import annotations

import pytest

from transforms.scheduler import Host
from transforms.strikes import LENIENCE, Strikes


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_url_that_fails_by_itself_is_out_after_the_retries(retries):
    strikes, host = Strikes(retries), Host("a")
    found = [strikes.strike(7, host, is_host_suspect=False) for _ in range(retries + 1)]
    assert found == [False] * retries + [True]


def test_url_of_a_host_that_answers_nothing_is_never_out():
    strikes, host = Strikes(2), Host("a")
    host.successes = 5
    assert not any(strikes.strike(7, host, is_host_suspect=True) for _ in range(50))
    assert not strikes.is_out(7, host)


def test_url_is_out_when_its_host_has_answered_others_since():
    strikes, host = Strikes(2), Host("a")
    found = []
    for row in range(3):
        found.append(strikes.strike(99, host, is_host_suspect=True))
        strikes.answered(row, "http://a/", host)
    assert found == [False, False, True]


def test_failures_of_the_last_url_left_are_not_held_against_it():
    strikes, host = Strikes(2), Host("a")
    assert not strikes.strike(99, host, is_host_suspect=True)
    strikes.answered(0, "http://a/", host)
    assert not any(strikes.strike(99, host, is_host_suspect=True) for _ in range(50))
    assert strikes.is_out(99, host)  # when its host is closed for it
    strikes.answered(1, "http://a/", host)
    assert strikes.strike(99, host, is_host_suspect=True)


def test_url_gets_more_attempts_where_failures_pass():
    strikes, host = Strikes(2), Host("a")
    strikes.strike(0, host, is_host_suspect=True)
    strikes.answered(0, "http://a/", host)
    found = []
    for row in range(1, 3 * LENIENCE + 1):
        found.append(strikes.strike(99, host, is_host_suspect=True))
        strikes.answered(row, "http://a/", host)
    assert found == [False] * (3 * LENIENCE - 1) + [True]
    assert not strikes.is_out(99, host)
    assert strikes.attempts(99) == 3 * LENIENCE
    assert strikes.attempts(0) == 0


def test_origin_that_answers_is_there_again():
    strikes, host = Strikes(2), Host("a")
    for row in range(9):
        assert not strikes.strike("http://a", host, is_host_suspect=True)
        strikes.answered(row, "http://a/", host)
    found = []
    for row in range(3):
        found.append(strikes.strike("http://a:81", host, is_host_suspect=True))
        strikes.answered(row, "http://a/", host)
    assert found == [False, False, True]
