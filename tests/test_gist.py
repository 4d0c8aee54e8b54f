"""Gists: what is in a page to no purpose makes no other page of it."""

from __future__ import annotations

import pytest

from transforms.gist import SHORT, gists_of
from transforms.text import essence

URL = "http://a.example/x/one"
LONG = "A word that says something, and more of them. " * 40


def gists(text: str, title: str = "T", url: str = URL) -> tuple[int, int]:
    return gists_of(title, text, essence(text), url)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("You are number 7. ", "You are number 1,234. "),
        ("It is 10:30:00. ", "It is 23:59:59. "),
    ],
)
def test_gists_are_the_same_whatever_a_counter_or_a_clock_says(one, two):
    assert gists(one + LONG) == gists(two + LONG)
    assert gists(one)[1] == gists(two)[1]


def test_short_page_that_is_a_number_says_that_number():
    assert gists("Item 17")[0] != gists("Item 18")[0]


def test_page_tells_the_same_under_each_name_that_it_repeats():
    one = gists("Results for onions 5Nothing found", "onions 5", "http://a.example/s?q=onions")
    two = gists("Results for leeks 7Nothing found", "leeks 7", "http://a.example/s?q=leeks")
    assert one[0] != two[0]
    assert one[1] == two[1]


def test_long_page_tells_the_same_under_another_title():
    one, two = gists("Onions" + LONG, "Onions"), gists("Leeks" + LONG, "Leeks")
    assert one[0] != two[0]
    assert one[1] == two[1]


def test_months_do_not_count_where_a_page_is_short():
    assert gists("Events in May. None.")[1] == gists("Events in June. None.")[1]


def test_order_and_number_of_words_do_not_count_where_a_page_is_short():
    assert gists("red green blue") == gists("blue red green green")
    assert len(LONG) > SHORT
    assert gists("red green " + LONG) != gists("green red " + LONG)


def test_pages_with_other_words_say_and_tell_something_else():
    one, two = gists("Something is here."), gists("Nothing is there.")
    assert one[0] != two[0]
    assert one[1] != two[1]


def test_page_says_something_else_by_the_number_in_its_title():
    one, two = gists("In stock: 3", "Part 1"), gists("In stock: 4", "Part 2")
    assert one[0] != two[0]
    assert one[1] == two[1]
