from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.html import MAX_LINKS, MAX_ROBOTS, MAX_TITLE, Document, parse_document
from transforms.html_scan import scan
from transforms.records import Link
from transforms.urls import MAX_URL, resolve_all

URL = "http://example.org/dir/page.html"
XHTML = "http://www.w3.org/1999/xhtml"


def parse(html: str | bytes, content_type: str = "text/html; charset=utf-8") -> Document:
    return parse_document(html.encode() if isinstance(html, str) else html, content_type, URL)


def hrefs(html: str | bytes) -> list[str]:
    return [link.url for link in parse(html).links]


PAGE = """<!doctype html><html lang=en><head><title> A
  page &amp; more </title><base href="/base/">
<meta name=Robots content="NoIndex, follow"><meta name=googlebot content=noarchive>
<meta name=description content="follow us"><meta http-equiv=Refresh content="5; URL=later">
<link rel=canonical href=/page><link rel="stylesheet" href=/style.css></head>
<body><a href="one">1</a> <a href="two#part" rel="nofollow ugc">2</a>
<map><area href=three></map><iframe src=four></iframe><a href="two" rel=nofollow>2 again</a>
</body></html>"""


def test_document_of_an_ordinary_page() -> None:
    assert parse(PAGE) == Document(
        title="A page & more",
        base="http://example.org/base/",
        encoding="utf-8",
        links=[
            Link("later", "refresh"),
            Link("/page", "canonical"),
            Link("one", "a"),
            Link("two#part", "a"),
            Link("three", "area"),
            Link("four", "iframe"),
        ],
        nofollow=frozenset({3}),
        robots=(("robots", "NoIndex, follow"), ("googlebot", "noarchive")),
        canonical="/page",
        text="1 2\n2 again\n",
    )


def test_document_of_frames() -> None:
    page = parse("<frameset><frame src=a><frame src=b><noframes><a href=c>c</a></noframes>")
    assert page.links == [Link("a", "frame"), Link("b", "frame")]


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title>x</title>", "x"),
        ("<title>a&nbsp;\n\t b&lt;</title>", "a b<"),
        ("<title></title><title> </title><title>x</title><title>y</title>", "x"),
        ("<svg><title>no</title></svg><title>x</title>", "x"),
        ("<svg><g><title>no</title></g></svg>", ""),
        ("<head><noscript><img></noscript><title>x</title></head>", "x"),
        ("<title><b>x</b></title>", "<b>x</b>"),
        ("<!-- <title>no</title> --><script>'<title>no</title>'</script>", ""),
        ("<title>x", "x"),
        ("<title>" + "x" * 1000, "x" * MAX_TITLE),
        ("", ""),
    ],
)
def test_title_is_the_first_that_says_something(html: str, title: str) -> None:
    assert parse(html).title == title


@pytest.mark.parametrize(
    ("html", "base"),
    [
        ("<base href=sub/>", "http://example.org/dir/sub/"),
        ("<base href=//other.example/x?y#z>", "http://other.example/x?y"),
        ("<base target=_top><base href=/a/><base href=/b/>", "http://example.org/a/"),
        ("<base href='http://['>", URL),
        ("<base href=javascript:x>", URL),
        ("<base href=data:,x>", URL),
        ("<base href=file:///x>", URL),
        ("<base href=''>", URL),
        ("<a href=x></a><p><base href=/late/>", "http://example.org/late/"),
    ],
)
def test_base_is_the_first_that_is_of_the_web(html: str, base: str) -> None:
    assert parse(html).base == base


@pytest.mark.parametrize(
    ("html", "links"),
    [
        ("<a href=a><a href='b'><A HREF=\"c\"><a href = d >", ["a", "b", "c", "d"]),
        ("<a href='?a=1&amp;b=2'>", ["?a=1&b=2"]),
        ("<a href='?a=1&copy=2&lt;'>", ["?a=1&copy=2<"]),
        ("<a href=' x\n'>", [" x\n"]),
        ("<a><a href><a href=''><a href=#top><a name=x>", []),
        ("<a href=x href=y>", ["x"]),
        ("<a href=x#a><a href=x#b><a href=x>", ["x#a"]),
        ("<a href=caf\u00e9>", ["caf\u00e9"]),
        ("<!-- <a href=x> --><a href=y>", ["y"]),
        ("<script>'<a href=x>'</script><style><a href=x></style><a href=y>", ["y"]),
        ("<textarea><a href=x></textarea><a href=y>", ["y"]),
        ("<template><a href=x><template></template><a href=x></template><a href=y>", ["y"]),
        ("<noscript><a href=x></noscript>", ["x"]),
        ("<head><noscript><meta http-equiv=refresh content='0;url=x'></noscript>", ["x"]),
        ("<svg><a xlink:href=x><text>x</text></a></svg>", ["x"]),
        ("<p title='<a href=x>'><a href=y>", ["y"]),
        ("<a title='>' href=x>", ["x"]),
        ("<a/href=x/>", ["x/"]),
        ("<img src=x><form action=x><a ping=x><video src=x><object data=x>", []),
        ("<meta http-equiv=refresh content=5><meta http-equiv=refresh content='5;url=x'>", ["x"]),
        ("<meta http-equiv=x content='0;url=x'>", []),
        (f"<a href='data:,{'x' * MAX_URL}'><a href=y>", ["y"]),
        ("<a href='x", []),  # the page ends within the tag
        ("<a href=x", []),
        ("<table><a href=x><tr><a href=y><td><a href=z>", ["x", "y", "z"]),
    ],
)
def test_links_are_those_that_a_reader_could_follow(html: str, links: list[str]) -> None:
    assert hrefs(html) == links
    # The reader for hostile pages finds the same; a page that ends in 128 KB of spaces is
    # too large for a tree.
    assert hrefs(html + " " * 130_000) == links


@pytest.mark.parametrize(
    ("attributes", "followed"),
    [
        ("rel=next", True),
        ("rel='NEXT  start'", True),
        ("rel=canonical", True),
        ("rel=alternate hreflang=de", True),
        ("rel=alternate type=text/html", True),
        ("rel=alternate type='Text/HTML; charset=utf-8'", True),
        ("rel=license type=text/plain", True),
        ("rel=alternate type=application/rss+xml", False),
        ("rel=search type=application/opensearchdescription+xml", False),
        ("rel='alternate stylesheet'", False),
        ("rel=stylesheet", False),
        ("rel='shortcut icon'", False),
        ("rel=preload", False),
        ("rel=prefetch", False),
        ("rel=unheard-of", False),
        ("rel=''", False),
        ("rev=made", False),
    ],
)
def test_link_element_is_followed_to_pages_only(attributes: str, followed: bool) -> None:
    assert hrefs(f"<link href=x {attributes}>") == ["x"] * followed


def test_nofollow_counts_when_every_link_to_a_target_has_it() -> None:
    page = parse("<a rel=NoFollow href=a><a href=b><a rel=nofollow href=b><a href=a#x><link rel=x>")
    assert page.links == [Link("a", "a"), Link("b", "a")]
    assert page.nofollow == frozenset()
    assert parse("<a href=a><a rel='x nofollow' href=b>").nofollow == {1}
    assert parse("<a rel=nofollows href=b>").nofollow == frozenset()


def test_robots_of_many_agents_are_bounded() -> None:
    page = parse("".join(f"<meta name=bot{i} content=noindex>" for i in range(100)))
    assert len(page.robots) == MAX_ROBOTS


@pytest.mark.parametrize(
    ("content_type", "body", "is_read"),
    [
        ("text/html", "<a href=x>", True),
        ("Text/HTML;charset=utf-8", "<a href=x>", True),
        ("text/html, text/html", "<a href=x>", True),
        ("application/xhtml+xml", f"<html xmlns='{XHTML}'><a href='x'/></html>", True),
        ("", "<a href=x>", True),
        ("", "\ufeff \n<!DOCTYPE html><a href=x>", True),
        ("", "<?xml version='1.0'?>\n<html><a href='x'/></html>", True),
        ("", "<!-- --><a href=x>", True),
        ("*/*", "<body><a href=x>", True),
        ("", "text <a href=x>", False),
        ("", "<abbr><a href=x>", False),
        ("", "<?xml version='1.0'?><rss><a href='x'/></rss>", False),
        ("", "", False),
        ("text/plain", "<a href=x>", False),
        ("application/xml", f"<html xmlns='{XHTML}'><a href='x'/></html>", False),
        ("application/json", '["<a href=x>"]', False),
        ("application/pdf", "%PDF", False),
    ],
)
def test_only_what_is_html_is_read(content_type: str, body: str, is_read: bool) -> None:
    page = parse(body, content_type)
    assert [link.url for link in page.links] == ["x"] * is_read
    assert page.base == URL


def test_untyped_html_in_utf16_is_read() -> None:
    page = parse("<html><title>ü</title><a href=x>".encode("utf-16"), "")
    assert (page.title, page.links, page.encoding) == ("ü", [Link("x", "a")], "utf-16-le")


LEGACY = [
    ("euc-kr", "한글", "%C7%D1%B1%DB"),
    ("shift_jis", "日本", "%93%FA%96{"),
    ("euc-jp", "日本", "%C6%FC%CB%DC"),
    ("iso-2022-jp", "日本", r"%1B$BF|K\%1B(B"),
    ("gb18030", "中文", "%D6%D0%CE%C4"),
    ("gb2312", "镕基", "%E9F%BB%F9"),  # the first is in GBK only
    ("big5", "中文", "%A4%A4%A4%E5"),
    ("windows-1250", "žluť", "%9Elu%9D"),
    ("windows-1251", "мир", "%EC%E8%F0"),
    ("windows-1252", "œuvre", "%9Cuvre"),
    ("windows-1253", "άλφα", "%DC%EB%F6%E1"),
    ("windows-1254", "şiş", "%FEi%FE"),
    ("windows-1255", "שלום", "%F9%EC%E5%ED"),
    ("windows-1256", "سلام", "%D3%E1%C7%E3"),
    ("windows-1257", "žąsų", "%FE%E0s%F8"),
    ("windows-1258", "đơn", "%F0%F5n"),
    ("koi8-r", "мир", "%CD%C9%D2"),
    ("iso-8859-1", "été…", "%E9t%E9%85"),  # browsers read windows-1252
    ("iso-8859-2", "žluť", "%BElu%BB"),
    ("iso-8859-5", "мир", "%DC%D8%E0"),
    ("iso-8859-7", "άλφα", "%DC%EB%F6%E1"),
    ("iso-8859-9", "şiş", "%FEi%FE"),
    ("iso-8859-15", "50€", "50%A4"),
]
PYTHON_CODECS = {"gb2312": "gbk", "iso-8859-1": "cp1252"}


@pytest.mark.parametrize("where", ["header", "meta", "xml"])
@pytest.mark.parametrize(("label", "word", "query"), LEGACY)
def test_links_of_a_legacy_page_are_what_browsers_ask_for(
    label: str, word: str, query: str, where: str
) -> None:
    text = f"<title>{word}</title></head><body><a href='/{word}/?q={word}#{word}'>{word}</a></body>"
    html, content_type = f"<html><head>{text}</html>", f"text/html; charset={label}"
    if where == "meta":
        html, content_type = f"<html><head><meta charset={label}>{text}</html>", "text/html"
    elif where == "xml":
        html = f"<?xml version='1.0' encoding='{label}'?><html xmlns='{XHTML}'><head>{text}</html>"
        content_type = "application/xhtml+xml"
    page = parse(html.encode(PYTHON_CODECS.get(label, label)), content_type)
    path = "".join(f"%{byte:02X}" if byte > 127 else chr(byte) for byte in word.encode())
    assert page.title == word
    assert resolve_all(page.base, page.links, page.encoding) == [
        Link(f"http://example.org/{path}/?q={query}", "a")
    ]


def test_links_beyond_the_bound_are_left_out() -> None:
    page = "".join(f"<a href=p{i}>" for i in range(MAX_LINKS + 5)) * 2
    assert hrefs(page) == [f"p{i}" for i in range(MAX_LINKS)]


@given(st.binary())
def test_any_bytes_are_a_document(body: bytes) -> None:
    parse_document(body, "text/html", URL)
    parse_document(body, "application/xhtml+xml", URL)
    parse_document(body, "", URL)


@given(st.text())
def test_any_text_is_a_title_and_a_link(text: str) -> None:
    list(scan(f"<title>{text}</title><a href='{text}'>".encode("utf-8", "replace")))
    parse(f"<title>{text}</title><a href='{text}'>".encode("utf-8", "replace"))
