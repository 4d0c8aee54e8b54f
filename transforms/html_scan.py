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

# Everything up to the next tag of interest, and that tag: its slash, name, attributes, and
# its ">" unless the page ends before. All repetition is possessive, and what is not closed
# ends with the page, so that no tag is ever read twice. For bytes in lower case, which is
# much faster than a pattern that ignores case. The common kinds of tag stand first.
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
    [^<]*+<(/?)({_STARTS})({_ATTRIBUTES})(>|\Z)""".encode(),
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
    # Of n start tags some are left open and the others copy them: (n / 2)² at most.
    most = 4 * MAX_TREE_COPIES
    if tags * tags <= most:
        return True
    starts = tags - source.count(b"</")
    if starts * starts <= most:
        return True
    # A copy in lower case is cheaper than a pattern that ignores case.
    formatting = _FORMATTING.findall(source.lower())
    regular = {tag for tag in formatting if tag.endswith(b">")}
    irregular = sum(not tag.endswith(b">") for tag in formatting)
    left_open = irregular + 3 * (_PLAIN_FORMATTING + len(regular))
    return left_open * starts <= MAX_TREE_COPIES


def scan(source: bytes) -> Iterator[Element]:
    """The elements of a page in UTF-8 that may hold links or speak of it, in their order.

    >>> list(scan(b"<a href='/x?a=1&amp;b=2'>x</a> <!-- <a href=/y> -->"))
    [('a', {'href': '/x?a=1&b=2'})]
    """
    source = source.replace(b"\0", "\ufffd".encode())
    lower = source.lower()
    position = templates = drawings = 0
    while match := _NEXT.match(lower, position):
        slash, name, end = match.group(1, 2, 4)
        position = match.end()
        if not end or name == b"plaintext":
            return
        tag = source[match.start(3) : match.end(3)]
        if name == b"template":
            templates = max(0, templates + (-1 if slash else 1))
        elif name == b"svg":
            if not tag.endswith(b"/"):
                drawings = max(0, drawings + (-1 if slash else 1))
        else:
            text = None
            drawn = drawings and name in (b"title", b"style", b"script")
            if name in _END and not drawn:
                closing = _END[name].search(lower, position)
                start, position = position, closing.start() if closing else len(source)
                text = source[start:position]
            if name in _WANTED_NAMES and not templates and not drawn:
                attributes = _attributes(tag)
                if name == b"title" and text:
                    # Longer is no title; and Python reads no number of 4300 digits.
                    attributes[""] = unescape(text[:4000].decode("utf-8", "replace"))
                yield name.decode(), attributes


def _attributes(source: bytes) -> dict[str, str | None]:
    found = _NAME_AND_VALUE.findall(source.decode("utf-8", "replace"))
    found.reverse()  # of two with one name the first counts
    if b"&" in source:
        return {
            name.lower(): _REFERENCE.sub(_character, double or single or bare) if equals else None
            for name, equals, double, single, bare in found
        }
    return {
        name.lower(): double or single or bare if equals else None
        for name, equals, double, single, bare in found
    }


def _character(reference: re.Match[str]) -> str:
    name = reference[1]
    return html5.get(name, reference[0]) if name else unescape(reference[0])
