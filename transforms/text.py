"""A page's text, and of it what stays when a counter, a clock or an address in it changes.

The fingerprint of that says whether two pages are one page, whatever their markup: see
`essence` for what does not count. A text too short to tell pages apart has none.
"""

from __future__ import annotations

import re

from xxhash import xxh3_64_intdigest

# Bytes of essence, without space, below which a text says too little: "Page not found",
# "Loading…", the frame around a picture. Different pages are alike in that little; of 7,555
# pages of documentation 13 have less.
LEAST_TEXT = 200

# Elements whose text is none of the page's own, or not for reading. <header> is not among
# them: within an <article> it is what the article is called.
ASIDE = ("footer", "nav", "script", "style")

_SPACE = b" \t\n\r"
_DIGITS_AND_THEIR_POINTS = b"0123456789.,:"
_ADDRESS = re.compile(rb"https?://[^ \t\n\r<>\"']*+")
_YEAR = b" 20"  # what the year of a date that changes begins with
_BEFORE_YEAR = 40  # bytes that a date takes before its year
_WORD = rb"[A-Za-z\x80-\xff]{3,20}+\.?"
_DAY = rb"[0-9]{1,2}+(?:st|nd|rd|th|\.)?"
# In any language: "Tuesday, 4 March", "March 4th,", "4 de marzo de", "Tue Mar  4 10:15:22".
_DAY_AND_MONTH = re.compile(
    rb"(?:%(word)s,?\ +)?(?:%(day)s\ (?:de\ )?%(word)s|%(word)s\ ++%(day)s)(?:\ de|\ [0-9:]++)?,?\Z"
    % {b"word": _WORD, b"day": _DAY}
)

_BETWEEN_TAGS = re.compile(rb">([^<]++)")


def text_of_source(source: bytes) -> str:
    """The text of a page in UTF-8 that is too large for a tree to be made of it.

    What is ASIDE counts, and character references stay: a page of that size has text
    enough, and this takes a third of the time that a look at the tags would.
    """
    return b"".join(_BETWEEN_TAGS.findall(source)).decode("utf-8", "replace")


def essence(text: str) -> bytes:
    """What of a text stays when the page is asked for again: no digits, dates or addresses.

    >>> essence("Read 1,024 times by 12:30, March 4, 2025")
    b'Read  times by   '
    """
    left = _ADDRESS.sub(b"", text.encode("utf-8", "replace"))
    *before, last = left.split(_YEAR)
    if before:
        left = _YEAR.join([*map(_without_day, before), last])
    return left.translate(None, _DIGITS_AND_THEIR_POINTS)


def _without_day(before_year: bytes) -> bytes:
    end = before_year[-_BEFORE_YEAR:]
    return before_year[:-_BEFORE_YEAR] + _DAY_AND_MONTH.sub(b"", end)


def fingerprint_text(title: str, essence: bytes) -> int:
    """The identity of a text; 0 for one too short to tell pages apart.

    The title counts with its numbers: there they are names (a version, the page of a list).
    The release notes of Django are 33 times those of a second version but for numbers.
    """
    if len(essence[: 5 * LEAST_TEXT].translate(None, _SPACE)) < LEAST_TEXT:
        return 0
    return xxh3_64_intdigest(title.encode("utf-8", "replace") + b"\n" + essence)
