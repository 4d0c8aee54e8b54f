"""What the shape of a URL tells: files that are no pages, and traps that have no end.

A trap is a site that links to ever new URLs of its own making. These rules know it by
its URLs alone, so they are drawn where no real site was seen: better a trap that is left
a few steps later than a page that is never found. All judge canonical keys (see
`canonical`), so that two spellings of a URL share their verdict.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import cache

from transforms.canonical import data_lines

LENGTH, QUERY, SEGMENTS, EXTENSION = "length", "query", "segments", "extension"
REPEATS, CALENDAR = "repeats", "calendar"
BY_SHAPE = (LENGTH, QUERY, SEGMENTS, EXTENSION, REPEATS, CALENDAR)  # what --allow lifts

MAX_LENGTH = 2048  # characters; what common servers and browsers are sure to take
MAX_SEGMENTS = 20  # Heritrix: TooManyPathSegmentsDecideRule
MAX_QUERY = 1024  # characters
REPETITIONS = 3  # Heritrix: PathologicalPathDecideRule, at its default
HORIZON = timedelta(days=365)
NEVER = "9999-12-31"

_DATE = re.compile(
    r"(?<![0-9])(2[0-9]{3})([-/])(0[1-9]|1[0-2])(?:\2(0[1-9]|[12][0-9]|3[01]))?(?![0-9-])"
)
_CALENDAR = re.compile(r"calend|kalend|event|agenda|schedule|month|week|date|day", re.IGNORECASE)
_MONTH_PARAMETER = re.compile(r"(?:^|&)month=(0?[1-9]|1[0-2])(?:&|$)", re.IGNORECASE)
_YEAR_PARAMETER = re.compile(r"(?:^|&)year=(2[0-9]{3})(?:&|$)", re.IGNORECASE)


def is_file(path: str) -> bool:
    """Whether a path ends in an extension that pages do not have.

    A name with a colon is a wiki's page about a file.

    >>> is_file("/x/photo.JPG"), is_file("/wiki/File:photo.jpg"), is_file("/three.js")
    (True, False, False)
    """
    name = path[path.rfind("/") + 1 :]
    dot = name.rfind(".")
    return dot >= 0 and name[dot + 1 :].lower() in _extensions() and ":" not in name


def is_long(key: str) -> bool:
    return len(key) > MAX_LENGTH


def is_deep(path: str) -> bool:
    """Whether a path has more than MAX_SEGMENTS segments; a last empty one does not count."""
    slashes = path.count("/")
    return slashes > MAX_SEGMENTS and slashes - path.endswith("/") > MAX_SEGMENTS


def repeats(path: str) -> bool:
    """Whether segments of a path, or blocks of them, stand REPETITIONS times in a row.

    Two are common (a package named as its project), and numbers may be what they like
    (a date, a tile of a map). Of 679,106 paths on a Debian machine none is refused.

    >>> repeats("/a/b/a/b/a/b"), repeats("/a/b/a/b"), repeats("/x/1/1/1/")
    (True, False, False)
    """
    if path.count("/") < REPETITIONS:
        return False
    segments = path.strip("/").split("/")
    if len(segments) - len(set(segments)) < REPETITIONS - 1:
        return False
    for period in range(1, len(segments) // REPETITIONS + 1):
        run = 0  # segments in a row that equal the one a period before
        for place in range(period, len(segments)):
            run = run + 1 if segments[place] == segments[place - period] else 0
            if run >= period * (REPETITIONS - 1):
                block = segments[place - period + 1 : place + 1]
                if not all(segment.isdigit() for segment in block):
                    return True
    return False


def has_long_query(query: str) -> bool:
    return len(query) > MAX_QUERY


def is_ahead(path: str, query: str, horizon: str) -> bool:
    """Whether a URL is a calendar's page about a day or month after `horizon` (YYYY-MM-DD).

    A whole date counts anywhere, as `2031-05-12` or `/2031/05/12`; year and month only
    in a URL that speaks of a calendar, or as `year=` and `month=`. Calendars that run
    into the past are not known from archives, and pass.

    >>> is_ahead("/calendar/2031/05/", "", "2027-01-01"), is_ahead("/2031/05", "", "2027-01-01")
    (True, False)
    """
    if "2" not in path and "2" not in query:  # most URLs, and this is soon seen
        return False
    for text in (path, query):
        for year, _, month, day in _DATE.findall(text):
            in_calendar = day or _CALENDAR.search(path) or _CALENDAR.search(query)
            if in_calendar and f"{year}-{month}-{day or '01'}" > horizon:
                return True
    year_of, month_of = _YEAR_PARAMETER.search(query), _MONTH_PARAMETER.search(query)
    return bool(year_of and month_of and f"{year_of[1]}-{month_of[1]:0>2}-01" > horizon)


def horizon_at(now: float) -> str:
    """The last day that is no calendar's, at `now` in seconds since the epoch.

    >>> horizon_at(0)
    '1971-01-01'
    """
    return (datetime.fromtimestamp(now, UTC) + HORIZON).strftime("%Y-%m-%d")


@cache
def _extensions() -> frozenset[str]:
    return frozenset(word for line in data_lines("extensions.txt") for word in line.split())
