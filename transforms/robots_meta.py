"""What a page itself asks of robots: `<meta name="robots">` and `X-Robots-Tag`.

No standard binds these; what Google and Bing publish is what sites write by. Several
directives that apply add up: nothing said elsewhere takes a prohibition back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from transforms.robots_cache import http_date

_EVERYONE = ("robots", "*")
# Directives with a value. Any other word before a colon names a crawler.
_VALUED = ("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview")
# The date may hold colons and one comma, after its weekday: it is cut out first.
_UNAVAILABLE = re.compile(r"unavailable_after\s*:\s*((?:[a-z]+,)?[^,;]*)", re.IGNORECASE)
_COLON = re.compile(r"\s*:\s*")
_GAP = re.compile(r"[\s,;]+")


class Directives(NamedTuple):
    """What may not be done with a page."""

    nofollow: bool = False  # follow its links
    noindex: bool = False  # show it in search results
    noarchive: bool = False  # show a copy of it


def directives(
    meta: Iterable[tuple[str, str]], x_robots_tag: Iterable[str], agent_token: str, now: float = 0.0
) -> Directives:
    """What a page forbids the crawler called `agent_token`.

    `meta` holds the name and content of meta elements, `x_robots_tag` the header's
    values. A page whose `unavailable_after` is past at `now` is as good as noindex.

    >>> directives([("Robots", "none")], ["otherbot: noarchive"], "beamcrawl")
    Directives(nofollow=True, noindex=True, noarchive=False)
    """
    us = (*_EVERYONE, agent_token.lower())
    words: set[str] = set()
    for name, content in meta:
        if name.strip().lower() in us:
            words.update(word for _, word in _words(content, now))
    for value in x_robots_tag:
        words.update(word for agent, word in _words(value, now) if agent in us)
    return Directives(
        nofollow=not words.isdisjoint(("nofollow", "none")),
        noindex=not words.isdisjoint(("noindex", "none")),
        noarchive=not words.isdisjoint(("noarchive", "nocache")),
    )


def _words(text: str, now: float) -> Iterator[tuple[str, str]]:
    """Each directive in lower case, with the crawler it is for.

    A crawler named stays named until the next: "a: noindex, nofollow, b: none".
    """
    text = _UNAVAILABLE.sub(lambda found: _noindex_if_past(found[1], now), text)
    agent = "*"
    for word in _GAP.split(_COLON.sub(":", text.lower())):
        name, colon, rest = word.partition(":")
        if colon and not name[:1].isdigit() and name not in _VALUED:
            agent, word = name, rest
        yield agent, word


def _noindex_if_past(date: str, now: float) -> str:
    """What `unavailable_after` comes to: dates in ISO 8601, or as in HTTP and mail."""
    try:
        read = datetime.fromisoformat(date.strip())
        end: float | None = (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        end = http_date(date)
    return "noindex" if end is not None and end < now else ""
