"""Traps: when a pattern of URLs has brought too little to go on with it.

The evidence of a pattern is what its pages brought. A page is *good* when it tells what no
page told before, or when a good page of another pattern was first found on it (a list is
good for what it leads to); it is *dull* when it says again what is known, is an error, or
leads nowhere. Dull pages run up a debt, of which each good one pays off several: a pattern
is closed when it owes too much, so one that is good once in five times never is. (This is
Page's CUSUM test, for a fall of the share of good pages.)

A URL in *doubt* is one of a known shape, or found on a dull page. Those are most of what a
trap makes, and some of any site. Few of a pattern are fetched as long as it has brought
nothing, and ever more as it does. Others are held back by evidence alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from transforms.patterns import patterns_of

# Why a URL is in doubt: it is of a known shape; no page that told anything new leads to it;
# a rule may have made it of that of its referrer (see `patterns.is_kin`); or it is of a known
# shape, but so are others on the one page that lists them, and that is no kin.
NO_DOUBT, VARIANT, FOUND_ON_DULL, KIN, LISTED = range(5)
_GRAVE = (VARIANT, FOUND_ON_DULL)

IN_DOUBT = "~"  # begins the patterns of URLs in doubt: their evidence is kept apart
WHOLE_HOST = "~/**"

WORTH = 4  # dull pages that a good one pays for
GROWTH = 4  # URLs in doubt that a round may fetch for each page that was good lately
PROVEN = 16  # good pages in a folder after which kin is in no doubt
A_LIST = 4  # links of one shape on a page that make it their list
LISTED_FIRST = 32  # of a list that a round may fetch before any was good
# Dull pages that a pattern may have before it brought anything, by how much it takes in: one
# trap must not close all that lies beside it.
LEAST, LEAST_IN_FOLDER, LEAST_BELOW, LEAST_OF_HOST = 3, 4, 5, 40


class Evidence(NamedTuple):
    """What a pattern has brought, ever; and `lately`, in good pages a round."""

    good: int = 0
    dull: int = 0
    debt: int = 0
    lately: int = 0


UNKNOWN = Evidence()
Known = Mapping[str, Evidence]  # by pattern, of one host


def after(known: Evidence, good: int, dull: int, credit: int) -> Evidence:
    """The evidence after a round that brought so much; `credit` is what it led to."""
    brought = good + credit
    return Evidence(
        known.good + brought,
        known.dull + dull,
        max(0, known.debt + dull - WORTH * brought),
        max(brought, known.lately // 2),
    )


def most_debt(pattern: str, known: Evidence) -> int:
    """The debt with which a pattern is closed; a little more for one that was good for long."""
    if pattern == WHOLE_HOST:
        least = LEAST_OF_HOST
    elif pattern.endswith("/**"):
        least = LEAST_BELOW
    else:
        least = LEAST_IN_FOLDER if "/*" in pattern else LEAST
    return least + known.good.bit_length()


def is_closed(pattern: str, known: Evidence) -> bool:
    return known.debt >= most_debt(pattern, known)


def allowance(pattern: str, known: Evidence) -> int | None:
    """How many URLs of a pattern a round may fetch: 0 when it is closed, None for any number.

    Never so many that the pattern would owe more than closes it, were they all dull.
    """
    most = most_debt(pattern, known)
    if known.debt:
        return max(0, most - known.debt)
    if pattern.startswith(IN_DOUBT) and pattern != WHOLE_HOST:
        return max(most, GROWTH * known.lately)
    return None


def patterns_in_doubt(url: str, doubt: int) -> tuple[str, ...]:
    """The patterns whose evidence a URL is, the narrowest first."""
    patterns = patterns_of(url)
    if doubt in _GRAVE:
        return (*(IN_DOUBT + pattern for pattern in patterns), WHOLE_HOST)
    return patterns


class Choice(NamedTuple):
    """What a round does with the URLs of one host, by their places in the order given."""

    taken: list[int]
    aside: dict[int, str]  # the pattern that is closed


class Round:
    """What a round may still fetch of one host."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.calm = is_calm(known)
        self.left: dict[str, int | None] = {}
        self.closed: dict[str, bool] = {}

    def closing(self, url: str, doubt: int) -> str | None:
        """The pattern that is closed for a URL. What is closed is so for URLs in doubt too."""
        if self.calm:
            return None
        patterns = patterns_of(url)
        if doubt in _GRAVE:
            patterns = (*patterns, *(IN_DOUBT + pattern for pattern in patterns), WHOLE_HOST)
        return next(filter(self._is_closed, patterns), None)

    def take(self, url: str, doubt: int) -> bool:
        """Whether there is room for one more of its patterns, which it then takes."""
        counted = []
        for pattern in () if self.calm and doubt not in _GRAVE else patterns_in_doubt(url, doubt):
            if pattern not in self.left:
                self.left[pattern] = allowance(pattern, self.known.get(pattern, UNKNOWN))
            if self.left[pattern] is not None:
                counted.append(pattern)
        if doubt in (KIN, LISTED):
            counted += self._unproven(patterns_of(url)[0], doubt)
        if not all(self.left[pattern] for pattern in counted):
            return False
        for pattern in counted:
            self.left[pattern] = (self.left[pattern] or 0) - 1
        return True

    def _unproven(self, pattern: str, doubt: int) -> list[str]:
        name = f"{doubt} {pattern}"
        if name not in self.left:
            known = self.known.get(pattern, UNKNOWN)
            least = LISTED_FIRST if doubt == LISTED else most_debt(pattern, known)
            many = max(least, GROWTH * known.good)
            self.left[name] = None if known.good >= PROVEN else many
        return [] if self.left[name] is None else [name]

    def _is_closed(self, pattern: str) -> bool:
        if pattern not in self.closed:
            self.closed[pattern] = is_closed(pattern, self.known.get(pattern, UNKNOWN))
        return self.closed[pattern]


def choose(
    urls: Iterable[tuple[str, int]], known: Known, lifted: re.Pattern[str] | None = None
) -> Choice:
    """Which URLs, each with its doubt, of one host may be fetched in a round, the first first.

    What is neither taken nor set aside waits for the next round. What `lifted` finds is of
    no pattern.
    """
    ours = Round(known)
    taken: list[int] = []
    aside: dict[int, str] = {}
    for place, (url, doubt) in enumerate(urls):
        if lifted and lifted.search(url):
            taken.append(place)
        elif pattern := ours.closing(url, doubt):
            aside[place] = pattern
        elif ours.take(url, doubt):
            taken.append(place)
    return Choice(taken, aside)


def any_of(expressions: Iterable[str]) -> re.Pattern[str] | None:
    """One regular expression for all of them; None for none."""
    distinct = sorted(set(expressions))
    return re.compile("|".join(f"(?:{each})" for each in distinct)) if distinct else None


def is_calm(known: Known) -> bool:
    """Whether no URL is held back that is not in doubt."""
    return not any(evidence.debt for evidence in known.values())
