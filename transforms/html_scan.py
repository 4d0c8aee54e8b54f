"""Reads the tags of any HTML in linear time, without building a tree.

A hostile or broken page can make a tree grow with the square of the page. Nothing does
so here: every character is looked at a bounded number of times. The price is what only a
tree can tell. Tags are cut as the HTML Standard's tokenizer cuts them (§13.2.5); of the
tree's construction only this is kept: what is text (in scripts, styles and their like),
and what stands in a template or in a drawing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from html.entities import html5

# A tag's name in lower case and its attributes; a title has its text under "".
Element = tuple[str, dict[str, str | None]]

_WANTED = ("a", "area", "base", "frame", "iframe", "link", "meta", "title")

# Elements that hold text up to their own end tag (§13.2.6.2 and §13.2.6.4.7). A script
# with <!-- and <script> in its text may end later than is found here.
_TEXT = ("iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp")
_END = {name: re.compile(rf"</{name}(?=[\t\n\f\r />])", re.ASCII | re.I) for name in _TEXT}

# All repetition is possessive, and what is not closed ends with the page: so no tag is
# ever read twice.
_SPACE = r"[\t\n\f\r ]*+"
_ATTRIBUTE = rf"""[\t\n\f\r /]*+[^\t\n\f\r />][^\t\n\f\r />=]*+
    (?:{_SPACE}={_SPACE}(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\t\n\f\r >]*+))?+"""
_NAMES = "|".join((*_WANTED, *_TEXT, "plaintext", "svg", "template"))

# Everything up to the next tag of interest, and that tag. The end is "" when the page
# ends within the tag.
_NEXT = re.compile(
    rf"""(?: [^<]++
      | <!--(?:-?>|.*?(?:--!?>|\Z))
      | <[!?][^>]*+>?
      | </(?![a-z])[^>]*+>?
      | </?(?!(?:{_NAMES})[\t\n\f\r />])[a-z][^\t\n\f\r />]*+
        (?:{_ATTRIBUTE})*+[\t\n\f\r /]*+(?:>|\Z)
      | <(?![a-z/!?])
    )*+
    <(/?)({_NAMES})(?=[\t\n\f\r />])((?:{_ATTRIBUTE})*+[\t\n\f\r /]*+)(>|\Z)""",
    re.ASCII | re.DOTALL | re.IGNORECASE | re.VERBOSE,
)
_NAME_AND_VALUE = re.compile(
    rf"""([^\t\n\f\r />][^\t\n\f\r />=]*+)
    (?:({_SPACE}={_SPACE})(?:"([^"]*+)"?|'([^']*+)'?|([^\t\n\f\r >]*+)))?+""",
    re.VERBOSE,
)
# §13.2.5.73: in an attribute, "&copy=" is no reference, and neither is "&copyright".
_REFERENCE = re.compile(
    r"&(?:#(?:[0-9]{1,9}|x[0-9a-f]{1,8});?|([a-z][a-z0-9]*+(?:;|(?!=))))", re.ASCII | re.I
)


def scan(text: str) -> Iterator[Element]:
    """The elements that may hold links or speak of the page, in their order.

    >>> list(scan("<a href='/x?a=1&amp;b=2'>x</a> <!-- <a href=/y> -->"))
    [('a', {'href': '/x?a=1&b=2'})]
    """
    text = text.replace("\0", "\ufffd")
    position = templates = drawings = 0
    while match := _NEXT.match(text, position):
        slash, name, source, end = match.groups()
        position, name = match.end(), name.lower()
        if not end or name == "plaintext":
            return
        if name == "template":
            templates = max(0, templates + (-1 if slash else 1))
        elif name == "svg":
            if not source.endswith("/"):
                drawings = max(0, drawings + (-1 if slash else 1))
        elif not slash:
            attributes = _attributes(source)
            if name in _END and not drawings:
                closing = _END[name].search(text, position)
                start, position = position, closing.start() if closing else len(text)
                attributes[""] = _unescape(text[start:position]) if name == "title" else None
            if name in _WANTED and not templates and not (drawings and name == "title"):
                yield name, attributes


def _attributes(source: str) -> dict[str, str | None]:
    attributes: dict[str, str | None] = {}
    for name, equals, *values in _NAME_AND_VALUE.findall(source):
        attributes.setdefault(name.lower(), _unescape("".join(values)) if equals else None)
    return attributes


def _unescape(value: str) -> str:
    return _REFERENCE.sub(_character, value) if "&" in value else value


def _character(reference: re.Match[str]) -> str:
    name = reference[1]
    return html5.get(name, reference[0]) if name else unescape(reference[0])
