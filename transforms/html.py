"""What a page says that a crawler needs: its links, its title, its wishes.

Three readers turn bytes into the few elements that matter, and one function makes a
`Document` of them. Lexbor reads HTML as browsers do. lxml reads XHTML that is served as
XML. `scan` stands in for Lexbor where a page is so large or so odd that building its
tree could take minutes or all memory.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from html.entities import html5
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from transforms.charset import decode, sniff_encoding
from transforms.html_scan import Element, is_tame, scan
from transforms.records import Link
from transforms.refresh import parse_refresh
from transforms.text import ASIDE, text_of_source
from transforms.urls import MAX_URL, resolve

# Different targets that are taken from one page, in the order in which they stand.
# Pages that list everything (an index, a sitemap for people) have a few thousand;
# more than these come from generators that never end.
MAX_LINKS = 10_000
MAX_TITLE = 500  # characters
MAX_ROBOTS = 16  # different names of <meta> with directives

_WO_EVENTS = 1  # of LexborDocumentOptions: no copying into <selectedcontent>
# Shorter is faster: with the names of the elements that have a href it takes 50% longer.
_WANTED = ",".join(("[href],frame,iframe,meta", *ASIDE))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Kinds of <link> that lead to pages (HTML §4.6.7, and HTML 4 §6.12 for the older ones).
_FOLLOWED = _words(
    "alternate appendix author bookmark canonical chapter contents copyright first glossary "
    "help index last license next prev previous search section start subsection toc top up"
)
_RESOURCES = _words(
    "apple-touch-icon dns-prefetch icon manifest mask-icon modulepreload pingback preconnect "
    "prefetch preload prerender shortcut stylesheet"
)
_PAGE_TYPES = ("", "text/html", "application/xhtml+xml", "text/plain")

_DIRECTIVES = _words(
    "all follow index indexifembedded max-image-preview max-snippet max-video-preview noai "
    "noarchive nocache nofollow noimageai noimageindex noindex none nosnippet notranslate "
    "unavailable_after"
)

# What makes bytes without a type HTML (MIME Sniffing §7.1), here also behind the
# declaration that XHTML begins with.
_LIKE_HTML = re.compile(
    r"""[\t\n\f\r ]* (?:<\?xml[^>]*>[\t\n\f\r ]*)? (?: <!-- | <(?:!doctype\ html|html|head|script
    |iframe|h1|div|font|table|a|style|title|b|body|br|p)[\t\n\f\r />] )""",
    re.IGNORECASE | re.VERBOSE,
)
_NOT_ASCII_BASED = ("iso2022_jp", "utf-16-le", "utf-16-be")
_UNKNOWN_TYPES = ("", "unknown/unknown", "application/unknown", "*/*")
_XHTML_TYPES = ("application/xhtml+xml", "application/vnd.wap.xhtml+xml")
_XML_ENTITIES = ("amp;", "lt;", "gt;", "quot;", "apos;")
_AMPERSAND = re.compile(rb"&(?!#[0-9a-zA-Z]+;)([a-zA-Z][a-zA-Z0-9]*;|)")
_ELEMENTS = ("a", "area", "base", "frame", "iframe", "link", "meta", "title")
_ATTRIBUTES = ("href", "src", "rel", "type", "name", "http-equiv", "content")
_XHTML = "{http://www.w3.org/1999/xhtml}"


class Document(NamedTuple):
    """A page as a crawler sees it."""

    title: str
    base: str  # the absolute URL that links resolve against
    encoding: str  # the codec of the page, for the queries of its links
    links: list[Link]  # as written; of those that differ in their fragment, the first
    nofollow: frozenset[int]  # which of `links` bear rel=nofollow wherever they stand
    robots: tuple[tuple[str, str], ...]  # name in lower case and content of <meta>
    canonical: str  # as written; "" when the page names none
    text: str | None = None  # of the body, without what is ASIDE; None: this is no HTML


def parse_document(body: bytes, content_type: str, url: str) -> Document:
    """What stands in a response; nothing but its URL when it is no HTML."""
    kind = re.split("[;,]", content_type, maxsplit=1)[0].strip().lower()
    if kind == "text/html":
        return parse_html(body, content_type, url)
    if kind in _XHTML_TYPES:
        return parse_xhtml(body, content_type, url)
    if kind in _UNKNOWN_TYPES:
        head = decode(body[:1024], sniff_encoding(body[:1024], ""))
        if _LIKE_HTML.match(head):
            return parse_html(body, "", url)
    return _gather((), url, "utf-8")


def parse_html(body: bytes, content_type: str, url: str) -> Document:
    """Read HTML as browsers do, whatever its bytes are; never raises."""
    encoding = sniff_encoding(body, content_type)
    return _gather(_read_html(_as_utf8(body, encoding)), url, encoding)


def parse_xhtml(body: bytes, content_type: str, url: str) -> Document:
    """Read XHTML as XML, and what is not well-formed in whichever way finds more links.

    Browsers show no malformed XHTML at all; what a site did serve so was seldom tried.
    """
    encoding = sniff_encoding(body, content_type)
    source = _as_utf8(body, encoding)
    document = _gather(_read_xml(source, recover=False), url, encoding)
    if document.links:
        return document
    return max(
        _gather(_read_html(source), url, encoding),
        _gather(_read_xml(source, recover=True), url, encoding),
        key=lambda found: len(found.links),
    )


def _as_utf8(body: bytes, encoding: str) -> bytes:
    """`body` in UTF-8, untouched where it is so already."""
    if encoding == "utf-8":
        return body.removeprefix(codecs.BOM_UTF8)
    if body.isascii() and encoding not in _NOT_ASCII_BASED:
        return body
    return decode(body, encoding).encode()


def _read_html(source: bytes) -> Iterator[Element]:
    if not is_tame(source):
        yield from scan(source)
        yield "body", {"": text_of_source(source)}
        return
    tree = LexborHTMLParser(source, options=_WO_EVENTS)
    for title in _titles(tree):
        yield "title", {"": title}
    aside = []
    for node in tree.css(_WANTED):
        name = node.tag or ""
        if name in ASIDE:
            aside.append(node)
        else:
            yield name, node.attributes
    # From the last to the first: one that stands in another goes before it.
    for node in reversed(aside):
        node.decompose()
    yield "body", {"": tree.body.text() if tree.body else ""}


def _titles(tree: LexborHTMLParser) -> list[str]:
    """The text of the first title, or of all where the first is none."""
    first = tree.css_first("title")
    if first is None:
        return []
    text = first.text()
    if text.strip() and not _is_drawn(first):
        return [text]
    return [title.text() for title in tree.css("title") if not _is_drawn(title)]


def _is_drawn(title: LexborNode) -> bool:
    """Whether this is the title of a drawing; SVG nests a few levels at most."""
    node = title.parent
    for _ in range(16):
        if node is None:
            break
        if node.tag == "svg":
            return True
        node = node.parent
    return False


def _read_xml(source: bytes, recover: bool) -> Iterator[Element]:
    from lxml import etree  # few pages need it, and every start would pay for it

    parser = etree.XMLParser(
        encoding="utf-8", recover=recover, no_network=True, resolve_entities=False, huge_tree=False
    )
    try:
        root = etree.fromstring(_AMPERSAND.sub(_as_xml, source), parser)
    except (etree.XMLSyntaxError, ValueError):
        return
    if root is None:
        return
    etree.strip_elements(root, _XHTML + "template", "template", with_tail=False)
    names = [space + name for space in (_XHTML, "") for name in _ELEMENTS]
    for element in root.iter(*names):
        name = element.tag.removeprefix(_XHTML)
        # One by one: `items()` takes the square of the number of attributes.
        attributes = {attribute: element.get(attribute) for attribute in _ATTRIBUTES}
        if name == "title":
            # Not what stands within children: those could be entities, and huge.
            attributes[""] = (element.text or "") + "".join(c.tail or "" for c in element)
        yield name, attributes
    etree.strip_elements(root, *(s + name for s in (_XHTML, "") for name in ASIDE), with_tail=False)
    body = next(root.iter(_XHTML + "body", "body"), None)
    yield "body", {"": "" if body is None else "".join(body.itertext())}


def _as_xml(reference: re.Match[bytes]) -> bytes:
    """XML without its DTD knows five names; and pages write "&" where it stands for itself."""
    name = reference[1].decode()
    if not name:
        return b"&amp;"
    if name in _XML_ENTITIES or name not in html5:
        return reference[0]
    return html5[name].encode()


def _gather(elements: Iterable[Element], url: str, encoding: str) -> Document:
    """The document that these elements make up, whoever read them."""
    title = base = canonical = ""
    text: str | None = None
    robots: list[tuple[str, str]] = []
    found: dict[str, tuple[Link, bool]] = {}  # by target; whether every link is nofollow
    for name, attributes in elements:
        kind = name
        href: str | None = None
        if name in ("a", "area"):
            href = attributes.get("href") or attributes.get("xlink:href")
        elif name in ("frame", "iframe"):
            href = attributes.get("src")
        elif name == "link":
            relations = frozenset((attributes.get("rel") or "").lower().split())
            if _leads_to_page(relations, attributes.get("type") or ""):
                href = attributes.get("href")
                if "canonical" in relations:
                    kind = "canonical"
                    canonical = canonical or href or ""
        elif name == "meta":
            kind, href = "refresh", _refresh_target(attributes)
            if len(robots) < MAX_ROBOTS and _is_directive(attributes):
                agent = (attributes["name"] or "").strip().lower()
                robots.append((agent, attributes["content"] or ""))
        elif name == "title":
            title = title or " ".join((attributes.get("") or "").split())
        elif name == "body":
            text = attributes.get("")
        elif name == "base":
            base = base or attributes.get("href") or ""
        if not href or len(href) > MAX_URL:
            continue
        target = href.partition("#")[0]
        if not target:
            continue  # a place on this page
        nofollow = _is_nofollow(attributes.get("rel"))
        known = found.get(target)
        if known is None:
            if len(found) < MAX_LINKS:
                found[target] = Link(href, kind), nofollow
        elif known[1] and not nofollow:
            found[target] = known[0], False
    return Document(
        title=title[:MAX_TITLE],
        base=_base(url, base, encoding),
        encoding=encoding,
        links=[link for link, _ in found.values()],
        nofollow=frozenset(i for i, (_, nofollow) in enumerate(found.values()) if nofollow),
        robots=tuple(robots),
        canonical=canonical,
        text=text,
    )


def _leads_to_page(relations: frozenset[str], media_type: str) -> bool:
    return (
        not relations.isdisjoint(_FOLLOWED)
        and relations.isdisjoint(_RESOURCES)
        and media_type.partition(";")[0].strip().lower() in _PAGE_TYPES
    )


def _is_nofollow(rel: str | None) -> bool:
    return rel is not None and "nofollow" in rel.lower().split()


def _refresh_target(attributes: dict[str, str | None]) -> str | None:
    if (attributes.get("http-equiv") or "").lower() != "refresh":
        return None
    refresh = parse_refresh(attributes.get("content") or "")
    return refresh[1] if refresh else None


def _is_directive(attributes: dict[str, str | None]) -> bool:
    """Whether a <meta> speaks to crawlers: to all of them, or by its first word to one."""
    name, content = attributes.get("name"), attributes.get("content")
    if not name or not content:
        return False
    first = re.split("[,:;]", content, maxsplit=1)[0].strip().lower()
    return name.strip().lower() == "robots" or first in _DIRECTIVES


def _base(url: str, href: str, encoding: str) -> str:
    """HTML §4.2.3: what <base> says, but only the web's schemes are followed here."""
    base = resolve(url, href, encoding) if href else None
    return base if base and base.startswith(("http://", "https://")) else url
