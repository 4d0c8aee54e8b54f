"""What a declarative refresh says: after how long, and where to.

The same few words stand in `<meta http-equiv=refresh content=…>` and in the Refresh
response header, and are parsed by the same steps.
"""

from __future__ import annotations

import re

# HTML §4.2.5.3, "shared declarative refresh steps": optional space, digits with an
# ignored fraction, then nothing or a separator and a target. A fraction alone is 0.
_TIME = re.compile(r"[\t\n\f\r ]*(?:([0-9]++)[0-9.]*+|\.[0-9.]*+)(?=[\t\n\f\r ;,]|\Z)")
_SEPARATOR = re.compile(r"[\t\n\f\r ]*[;,]?[\t\n\f\r ]*")
_URL_EQUALS = re.compile(r"url[\t\n\f\r ]*=[\t\n\f\r ]*", re.ASCII | re.IGNORECASE)
_NO_BREAKS = {ord(c): None for c in "\t\n\r"}

# Longer than a century: more digits than these can only be meant as "never".
_MOST_DIGITS = 10


def parse_refresh(content: str) -> tuple[int, str] | None:
    """Seconds to wait, and the target as written; "" is the page itself.

    None when `content` asks for no refresh.

    >>> parse_refresh("5; url=/next"), parse_refresh("30"), parse_refresh("soon")
    ((5, '/next'), (30, ''), None)
    """
    time = _TIME.match(content)
    if time is None:
        return None
    seconds = int((time[1] or "0")[:_MOST_DIGITS])
    rest = content[_end(_SEPARATOR, content, time.end()) :]
    target = rest[_end(_URL_EQUALS, rest, 0) :]
    quote = target[:1]
    if quote and quote in "\"'":
        target = target[1:].partition(quote)[0]
    # The URL parser would do the rest (URL Standard §4.4, steps 1 and 3): done here, so
    # that a target is the same whoever reads it.
    return seconds, target.strip("\t\n\f\r ").translate(_NO_BREAKS)


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return match.end() if match else start
