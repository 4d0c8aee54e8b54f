"""Reads the tags of any HTML in linear time, without building a tree.

A hostile or broken page can make a tree grow with the square of the page. Nothing does
so here: every byte is looked at a bounded number of times. The price is what only a tree
can tell. Tags are cut as the HTML Standard's tokenizer cuts them (§13.2.5); of the
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

# How large a page may be for a tree to be made of it. Lexbor's time grows with tags times
# depth and with the square of one tag's attributes, its memory with what the adoption
# agency copies: every formatting element left open, again in every paragraph (HTML
# §13.2.4.3). Within these bounds the worst pages that were found took 1.2 s and 350 MB,
# about the delay between two pages of a host.
MAX_TREE_BYTES = 128 * 1024
MAX_TREE_TAGS = 20_000
MAX_TREE_COPIES = 1_000_000

# Formatting elements with attributes. The HTML Standard keeps three equal ones open at
# most (§13.2.4.3), and three of each of the names without attributes. A match without its
# ">" is no regular tag: nothing is known of what it equals.
_FORMATTING = re.compile(
    rb"""<(?:b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)(?=[\t\n\f\r /])
    (?:[\t\n\f\r /]++[^\t\n\f\r /<>="']++(?:=(?:"[^"<>]*+"|'[^'<>]*+'|[^\t\n\f\r <>"']++))?+)*+
    [\t\n\f\r /]*+>?""",
    re.VERBOSE,
)
_PLAIN_FORMATTING = 13

_WANTED = "a|area|base|frame|iframe|link|meta|title"
_WANTED_NAMES = frozenset(_WANTED.encode().split(b"|"))

# Elements that hold text up to their own end tag (§13.2.6.2 and §13.2.6.4.7). A script
# with <!-- and <script> in its text may end later than is found here.
_TEXT = "iframe|noembed|noframes|script|style|textarea|title|xmp"
_END = {
    name.encode(): re.compile(rf"</{name}(?=[\t\n\f\r />])".encode()) for name in _TEXT.split("|")
}

_SPACE = r"[\t\n\f\r ]*+"
_ATTRIBUTES = rf"""(?:[\t\n\f\r /]*+[^\t\n\f\r />][^\t\n\f\r />=]*+
    (?:{_SPACE}={_SPACE}(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\t\n\f\r >]*+))?+)*+
    [\t\n\f\r /]*+"""
_STARTS = rf"(?:{_WANTED}|{_TEXT}|plaintext|svg|template)(?=[\t\n\f\r />])"
_ENDS = r"(?:svg|template)(?=[\t\n\f\r />])"

# Everything up to the next tag of interest, and that tag. All repetition is possessive,
# and what is not closed ends with the page: so no tag is ever read twice. `end` is empty
# when the page ends within the tag. For bytes in lower case: much faster than a pattern
# that ignores case. The common kinds of tag stand first.
_NEXT = re.compile(
    rf"""(?: [^<]*+<(?:
        /(?!svg|template)[a-z0-9]++>
      | (?:[cdeghjkoqru-wyz]|(?!{_STARTS})[a-z])[^\t\n\f\r />]*+(?:>|{_ATTRIBUTES}(?:>|\Z))
      | /(?!{_ENDS})[a-z][^\t\n\f\r />]*+{_ATTRIBUTES}(?:>|\Z)
      | !--(?:-?>|.*?(?:--!?>|\Z))
      | [!?][^>]*+>?
      | /(?![a-z])[^>]*+>?
      | (?![a-z/!?])
    ))*+
    [^<]*+<(?P<slash>/?)(?P<name>{_STARTS})(?P<attributes>{_ATTRIBUTES})(?P<end>>|\Z)""".encode(),
    re.DOTALL | re.VERBOSE,
)
_NAME_AND_VALUE = re.compile(
    rf"""([^\t\n\f\r />][^\t\n\f\r />=]*+)
    (?:({_SPACE}={_SPACE})(?:"([^"]*+)"?|'([^']*+)'?|([^\t\n\f\r >]*+)))?+""",
    re.VERBOSE,
)
# §13.2.5.73: in an attribute "&copy=" is no reference, and neither is "&copyright".
_REFERENCE = re.compile(
    r"&(?:#(?:[0-9]{1,9}|x[0-9a-f]{1,8});?|([a-z][a-z0-9]*+(?:;|(?!=))))", re.ASCII | re.IGNORECASE
)


def is_tame(source: bytes) -> bool:
    """Whether a tree of this page is sure to stay small."""
    tags = source.count(b"<")
    if tags > MAX_TREE_TAGS or len(source) > MAX_TREE_BYTES:
        return False
    # Of n tags some are left open and the others copy them: (n / 2)² at most.
    if tags * tags <= 4 * MAX_TREE_COPIES:
        return True
    # A copy in lower case is cheaper than a pattern that ignores case.
    formatting = _FORMATTING.findall(source.lower())
    regular = {tag for tag in formatting if tag.endswith(b">")}
    irregular = sum(not tag.endswith(b">") for tag in formatting)
    left_open = irregular + 3 * (_PLAIN_FORMATTING + len(regular))
    return left_open * tags <= MAX_TREE_COPIES


def scan(source: bytes) -> Iterator[Element]:
    """The elements of a page in UTF-8 that may hold links or speak of it, in their order.

    >>> list(scan(b"<a href='/x?a=1&amp;b=2'>x</a> <!-- <a href=/y> -->"))
    [('a', {'href': '/x?a=1&b=2'})]
    """
    source = source.replace(b"\0", "\ufffd".encode())
    lower = source.lower()
    position = templates = drawings = 0
    while match := _NEXT.match(lower, position):
        slash, name, attributes, end = match.group("slash", "name", "attributes", "end")
        position = match.end()
        if not end or name == b"plaintext":
            return
        if name == b"template":
            templates = max(0, templates + (-1 if slash else 1))
        elif name == b"svg":
            if not attributes.endswith(b"/"):
                drawings = max(0, drawings + (-1 if slash else 1))
        else:
            tag = source[slice(*match.span("attributes"))]
            text = None
            drawn = drawings and name in (b"title", b"style", b"script")
            if name in _END and not drawn:
                closing = _END[name].search(lower, position)
                start, position = position, closing.start() if closing else len(source)
                text = source[start:position]
            if name in _WANTED_NAMES and not templates and not drawn:
                found = _attributes(tag)
                if name == b"title" and text:
                    # Longer is no title; and Python reads no number of 4300 digits.
                    found[""] = unescape(text[:4000].decode("utf-8", "replace"))
                yield name.decode(), found


def _attributes(source: bytes) -> dict[str, str | None]:
    attributes: dict[str, str | None] = {}
    text = source.decode("utf-8", "replace")
    for name, equals, double, single, bare in _NAME_AND_VALUE.findall(text):
        value = double or single or bare
        if "&" in value:
            value = _REFERENCE.sub(_character, value)
        attributes.setdefault(name.lower(), value if equals else None)
    return attributes


def _character(reference: re.Match[str]) -> str:
    name = reference[1]
    return html5.get(name, reference[0]) if name else unescape(reference[0])
