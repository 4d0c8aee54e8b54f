"""Which encoding a page is in, found in the order browsers look, and its text.

A byte order mark wins, then what the server says, then what the page says of itself
(HTML §13.2.3.2, "determining the character encoding"). A declaration is believed even
where it is plainly wrong: browsers do, and the page's links were made to work in them.
Only a page that declares nothing is examined: it is UTF-8 if it reads as UTF-8, and
otherwise a bounded part of it goes to a statistical detector.

Encodings are named by their Python codec, and by the wider codec where browsers read
a label as more than it says: what calls itself GB2312 is read as GB18030.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache

import webencodings

# Bytes that the detector sees, from shortly before the first that is not ASCII. 32 KiB
# take 1.5 ms, 5 ms at worst; with less, Greek and Romanian pages were mistaken more often.
SAMPLE = 32 * 1024
_LEAD_IN = 64

# HTML §13.2.3.2: a declaration counts within the first 1024 bytes.
_PRESCANNED = 1024

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UTF16 = ("utf-16-le", "utf-16-be")

# Encoding Standard §4.2 names → Python codecs, where they differ in more than spelling.
_CODECS = {
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "euc-jp": "euc_jis_2004",  # has the circled digits, which Python's euc_jp lacks
    "euc-kr": "cp949",
    "iso-2022-jp": "iso2022_jp",
    "shift_jis": "cp932",
    "iso-8859-8-i": "iso8859-8",
    "macintosh": "mac-roman",
    "utf-16be": "utf-16-be",
    "utf-16le": "utf-16-le",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac-cyrillic",
    "x-user-defined": "cp1252",  # HTML §13.2.3.2 says so
}

# What the detector chooses from. Left out are encodings that it gave to pages which
# were something commoner (ISO-8859-3, -4, -10, -13 to -16) and those of no web page.
_DETECTABLE = (
    *("big5-hkscs", "cp932", "cp949", "euc-jp", "gb18030", "iso-2022-jp", "koi8-r", "koi8-u"),
    *("iso-8859-2", "iso-8859-5", "iso-8859-6", "iso-8859-7", "iso-8859-8", "windows-874"),
    *(f"windows-{page}" for page in range(1250, 1259)),
)
_DETECTED = {"shift_jis_2004": "cp932", "iso2022_jp_2": "iso2022_jp"}
# 0x80 to 0x9F are control characters in ISO-8859 and letters or quotes in windows-125x.
# No page has the former.
_WITHOUT_CONTROLS = {"iso8859-2": "cp1250", "iso8859-7": "cp1253", "iso8859-8": "cp1255"}
_CONTROLS = re.compile(rb"[\x80-\x9f]")
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_ASCII = bytes(range(0x80))

_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([^\s\"';,]+)", re.ASCII | re.IGNORECASE)

# HTML §13.2.3.2, "prescan a byte stream" and "get an attribute". A tag that the end of
# the prescanned bytes cuts off declares nothing.
_MARKUP = re.compile(
    rb"""<!--.*?(?:(?<=--)>|\Z)
    | <(?P<name>/?[a-z][^\t\n\f\r />]*+)
       (?P<attributes>(?:[\t\n\f\r /]*+[^\t\n\f\r />][^\t\n\f\r />=]*+
           (?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:"[^"]*"|'[^']*'|[^\t\n\f\r >]*+))?+)*+)
       (?=[\t\n\f\r />])
    | <[!/?][^>]*>""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_ATTRIBUTE = re.compile(
    rb"""([^\t\n\f\r />][^\t\n\f\r />=]*)
    (?:[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|([^\t\n\f\r >]*)))?""",
    re.VERBOSE,
)
_XML = re.compile(rb"<\?xml[\t\n\r ][^>]*?encoding\s*=\s*[\"']([^\"'>]+)[\"']")
_XML_UTF16 = ((b"<\0?\0x\0", "utf-16-le"), (b"\0<\0?\0x", "utf-16-be"))


def sniff_encoding(body: bytes, content_type: str) -> str:
    """The Python codec that reads `body`, which came with this Content-Type header.

    >>> sniff_encoding(b"<p>", "text/html; charset=ISO-8859-1")
    'cp1252'
    """
    for bom, codec in _BOMS:
        if body.startswith(bom):
            return codec
    declared = _named_in(content_type)
    if declared:
        return declared
    head = body[:_PRESCANNED]
    # In XML a <meta> is an element like any other; in HTML an XML declaration is only
    # looked at when there is no <meta>.
    if "xml" in content_type.lower():
        return _from_xml(head) or _from_meta(head) or _detect(body)
    return _from_meta(head) or _from_xml(head) or _detect(body)


def decode(body: bytes, codec: str) -> str:
    """The text of `body` without its byte order mark; what cannot be read is U+FFFD."""
    return body.decode(codec, "replace").removeprefix("\ufeff")


def _named_in(content: str) -> str:
    """The codec that the charset in a Content-Type names; "" when it names none known."""
    match = _CHARSET.search(content)
    return _codec(match[1]) if match else ""


@lru_cache(maxsize=256)
def _codec(label: str) -> str:
    """The codec for a label (Encoding Standard §4.2); "" when there is none.

    "replacement" stands for encodings that browsers refuse to read. They do so for the
    sake of scripts; here such a label tells nothing, and the search goes on.
    """
    encoding = webencodings.lookup(label)
    if encoding is None or encoding.name == "replacement":
        return ""
    name: str = encoding.name
    if name in _CODECS:
        return _CODECS[name]
    return name.replace("windows-", "cp").replace("iso-8859-", "iso8859-")


def _from_meta(head: bytes) -> str:
    for tag in _MARKUP.finditer(head):
        if tag["name"] and tag["name"].lower() == b"meta":
            codec = _meta_codec(tag["attributes"])
            if codec:
                # A <meta> that could be read as ASCII is not in UTF-16.
                return "utf-8" if codec in _UTF16 else codec
    return ""


def _meta_codec(source: bytes) -> str:
    attributes: dict[bytes, str] = {}
    for name, *values in _ATTRIBUTE.findall(source):
        attributes.setdefault(name.lower(), b"".join(values).decode("latin-1"))
    label = attributes.get(b"charset")
    if label is not None:
        return _codec(label)
    if attributes.get(b"http-equiv", "").lower() == "content-type":
        return _named_in(attributes.get(b"content", ""))
    return ""


def _from_xml(head: bytes) -> str:
    for start, codec in _XML_UTF16:
        if head.startswith(start):
            return codec
    match = _XML.match(head)
    codec = _codec(match[1].decode("latin-1")) if match else ""
    return "utf-8" if codec in _UTF16 else codec


def _detect(body: bytes) -> str:
    """The likeliest codec of a page that declares none."""
    if body.isascii():
        return "iso2022_jp" if b"\x1b$" in body else "utf-8"
    try:
        body.decode("utf-8")
        return "utf-8"
    except UnicodeDecodeError:
        pass
    first = _NOT_ASCII.search(body)
    start = max(0, first.start() - _LEAD_IN) if first else 0
    sample = body[start : start + SAMPLE]
    if _is_nearly_utf8(sample):
        return "utf-8"
    import chardet  # few pages need it, and every start would pay for it

    guess = chardet.detect(sample, include_encodings=_DETECTABLE, compat_names=False)
    codec = guess["encoding"] or "cp1252"
    codec = _DETECTED.get(codec, codec)
    if codec in _WITHOUT_CONTROLS and _CONTROLS.search(sample):
        return _WITHOUT_CONTROLS[codec]
    return codec


def _is_nearly_utf8(sample: bytes) -> bool:
    """Whether this is UTF-8 with a few bytes broken, as templates that cut strings do.

    In a page that is not UTF-8 about every third byte beyond ASCII breaks, or more.
    """
    broken = sample.decode("utf-8", "replace").count("\ufffd")
    return broken * 20 < len(sample.translate(None, _ASCII))
