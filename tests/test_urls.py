from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.records import Link
from transforms.urls import MAX_URL, host_of, origin_of, parse_seed, resolve, resolve_all

WPT = Path(__file__).parents[2] / "shared" / "conformance" / "urls-wpt.json"
PAGE = "http://example.org/a/b/page.html?x=1"


def fragmentless(case: dict[str, str]) -> str | None:
    return case["href"].partition("#")[0] if "href" in case else None


@pytest.mark.skipif(not WPT.exists(), reason="the conformance data is not in ../shared")
def test_resolve_agrees_with_web_platform_tests() -> None:
    wrong = []
    for case in json.loads(WPT.read_text()):
        found = resolve(case.get("base") or "", case["input"])
        links = resolve_all(case.get("base") or "", [Link(case["input"], "a")])
        expected = fragmentless(case)
        if found != expected or [link.url for link in links] != ([expected] if expected else []):
            wrong.append((case, found, links))
    assert wrong == []


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("other.html", "http://example.org/a/b/other.html"),
        ("other.html#part", "http://example.org/a/b/other.html"),
        ("#part", PAGE),
        ("", PAGE),
        ("?y", "http://example.org/a/b/page.html?y"),
        ("/top", "http://example.org/top"),
        ("../up", "http://example.org/a/up"),
        ("../../../../up", "http://example.org/up"),
        ("..", "http://example.org/a/"),
        ("../.hidden", "http://example.org/a/.hidden"),
        ("a/./b/../c", "http://example.org/a/b/a/c"),
        ("//example.com", "http://example.com/"),
        ("HTTPS://EXAMPLE.com:443/A", "https://example.com/A"),
        ("http://example.com:080/", "http://example.com/"),
        ("  x\n", "http://example.org/a/b/x"),
        ("a\tb\nc", "http://example.org/a/b/abc"),
        ("a b", "http://example.org/a/b/a%20b"),
        ("a #b", "http://example.org/a/b/a%20"),
        ("a%2Fb%zz", "http://example.org/a/b/a%2Fb%zz"),
        ("%2e%2E/x", "http://example.org/a/x"),
        ("\\x", "http://example.org/x"),
        ("ä?ä", "http://example.org/a/b/%C3%A4?%C3%A4"),
        ("http://münchen.de/", "http://xn--mnchen-3ya.de/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://user:pass@example.com/", "http://user:pass@example.com/"),
        ("mailto:a@example.org", "mailto:a@example.org"),
        ("javascript:void(0)", "javascript:void(0)"),
        ("http://", None),
        ("http://a b/", None),
        ("//example.org:70000/", None),
        ("http://[::1/", None),
    ],
)
def test_resolve_reads_a_link_as_browsers_do(href: str, expected: str | None) -> None:
    assert resolve(PAGE, href) == expected
    assert [link.url for link in resolve_all(PAGE, [Link(href, "a")])] == [expected] * bool(
        expected
    )


@pytest.mark.parametrize(
    ("encoding", "character", "escaped"),
    [
        ("utf-8", "é", "%C3%A9"),
        ("utf-16-le", "é", "%C3%A9"),
        ("cp949", "가", "%B0%A1"),
        ("cp932", "あ", "%82%A0"),
        ("euc_jis_2004", "あ", "%A4%A2"),
        ("iso2022_jp", "あ", "%1B$B$%22%1B(B"),
        ("gb18030", "中", "%D6%D0"),
        ("big5hkscs", "中", "%A4%A4"),
        ("cp1250", "ř", "%F8"),
        ("cp1251", "ж", "%E6"),
        ("cp1252", "é", "%E9"),
        ("cp1253", "λ", "%EB"),
        ("cp1254", "ş", "%FE"),
        ("cp1255", "ש", "%F9"),
        ("cp1256", "م", "%E3"),
        ("cp1257", "ų", "%F8"),
        ("cp1258", "ơ", "%F5"),
        ("cp874", "ก", "%A1"),
        ("koi8-r", "ж", "%D6"),
        ("iso8859-2", "ř", "%F8"),
        ("iso8859-5", "ж", "%D6"),
        ("iso8859-7", "λ", "%EB"),
        ("iso8859-15", "€", "%A4"),
        ("cp1252", "λ", "%26%23955%3B"),
        ("cp932", "😀", "%26%23128512%3B"),
    ],
)
def test_resolve_escapes_a_query_in_the_encoding_of_the_page(
    encoding: str, character: str, escaped: str
) -> None:
    in_utf8 = "".join(f"%{byte:02X}" for byte in character.encode())
    href = f"/{character}/?q={character}&n=1 2'\"<>#{character}"
    expected = f"http://example.org/{in_utf8}/?q={escaped}&n=1%202%27%22%3C%3E"
    assert resolve(PAGE, href, encoding) == expected
    assert resolve_all(PAGE, [Link(href, "a")], encoding) == [Link(expected, "a")]


def test_resolve_keeps_utf8_in_queries_of_other_schemes() -> None:
    assert resolve(PAGE, "x:y?é", "cp1252") == "x:y?%C3%A9"


def test_resolve_removes_line_breaks_before_it_escapes() -> None:
    assert resolve(PAGE, " ?é\n\t&b \n", "cp1252") == "http://example.org/a/b/page.html?%E9&b"


@pytest.mark.parametrize("href", ["data:," + "x" * MAX_URL, "/" + "x" * MAX_URL, "ä" * 4000])
def test_resolve_of_an_overlong_link_gives_nothing(href: str) -> None:
    assert resolve(PAGE, href) is None
    assert resolve_all(PAGE, [Link(href, "a")]) == []


def test_resolve_all_keeps_each_url_once_where_it_first_stands() -> None:
    links = [
        Link("b", "a"),
        Link("/a", "area"),
        Link("./b#x", "iframe"),
        Link("mailto:x", "a"),
        Link("http://", "a"),
        Link("http://EXAMPLE.org/a", "a"),
        Link("", "a"),
    ]
    assert resolve_all(PAGE, links) == [
        Link("http://example.org/a/b/b", "a"),
        Link("http://example.org/a", "area"),
        Link("mailto:x", "a"),
        Link(PAGE, "a"),
    ]


def test_resolve_all_against_no_url_finds_absolute_links_only() -> None:
    links = [Link("/a", "a"), Link("http://example.org", "a")]
    assert resolve_all("nonsense", links) == []
    assert resolve_all("", links) == [Link("http://example.org/", "a")]


@pytest.mark.parametrize(
    ("url", "host", "origin"),
    [
        ("http://example.org/", "example.org", "http://example.org"),
        ("https://example.org:8443/x", "example.org", "https://example.org:8443"),
        ("http://u:p@example.org:81/@", "example.org", "http://example.org:81"),
        ("http://u%40:p@h/a@b:c", "h", "http://h"),
        ("http://example.org./", "example.org", "http://example.org."),
        ("http://example.org.:81/", "example.org", "http://example.org.:81"),
        ("http://./", ".", "http://."),
        ("http://[2001:db8::1]/", "[2001:db8::1]", "http://[2001:db8::1]"),
        ("http://[::1]:8080/", "[::1]", "http://[::1]:8080"),
        ("http://192.0.2.1:80/?http://x/", "192.0.2.1", "http://192.0.2.1:80"),
        ("mailto:a@example.org", "", ""),
        ("ftp://example.org/", "", ""),
        ("", "", ""),
    ],
)
def test_host_and_origin_of_a_normalized_url(url: str, host: str, origin: str) -> None:
    assert (host_of(url), origin_of(url)) == (host, origin)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("example.com", "http://example.com/"),
        ("  example.com/a b#c \n", "http://example.com/a%20b"),
        ("EXAMPLE.com?q", "http://example.com/?q"),
        ("//example.com/x", "http://example.com/x"),
        ("https://example.com", "https://example.com/"),
        ("HTTPS:example.com", "https://example.com/"),
        ("localhost:8080/x", "http://localhost:8080/x"),
        ("example.com:443", "http://example.com:443/"),
        ("192.0.2.1", "http://192.0.2.1/"),
        ("[::1]:8000/", "http://[::1]:8000/"),
        ("bücher.example", "http://xn--bcher-kva.example/"),
        ("user:secret@example.com", None),  # a scheme called "user"
        ("mailto:a@example.com", None),
        ("ftp://example.com/", None),
        ("file:///etc/hosts", None),
        ("/etc/hosts", None),
        ("?q", None),
        ("#", None),
        ("", None),
        ("two words", None),
        ("http://", None),
        ("example.com:99999", None),
        ("example.com/" + "x" * MAX_URL, None),
    ],
)
def test_parse_seed_of_what_people_type(typed: str, expected: str | None) -> None:
    assert parse_seed(typed) == expected


PIECES = """http:// https:// HTTP: // / .. . ../ ? # & = : @ ; % %2e \\ a b.c x-y _ ~ org 1 0x7 xn--
    example.org [::1] é 中 😀 ' " ! $ www. .com/ -"""
HREFS = st.lists(st.sampled_from([*PIECES.split(), " ", "\n", "\0"]), max_size=8).map("".join)
BASES = st.sampled_from(
    [
        "http://a.b/c/d?e",
        "http://u:p@a.b:81/",
        "https://h//x//y/..;/z",
        "http://[::1]/a/b/c/d/e/",
        "mailto:x",
        "file:///a/b",
        "about:blank",
        "",
    ]
)


@settings(max_examples=2000, deadline=None)
@given(BASES, st.one_of(HREFS, st.text()), st.sampled_from(["utf-8", "cp1252", "cp932"]))
def test_resolve_and_resolve_all_agree_and_settle_at_once(
    base: str, href: str, encoding: str
) -> None:
    url = resolve(base, href, encoding)
    links = resolve_all(base, [Link(href, "a")], encoding)
    assert [link.url for link in links] == ([url] if url else [])
    if url is not None:
        assert "#" not in url and len(url) <= MAX_URL
        assert resolve(base, url, encoding) == url
        if host_of(url):
            assert url.isascii()
            assert url.startswith(url.partition(":")[0] + "://")
            assert parse_seed(url) == url


@given(st.text())
def test_url_functions_never_raise(text: str) -> None:
    host_of(text)
    origin_of(text)
    resolve(text, text, "iso2022_jp")
    seed = parse_seed(text)
    assert seed is None or host_of(seed)


@given(st.text(min_size=1))
def test_an_escaped_query_reads_back_in_its_encoding(text: str) -> None:
    text = "".join(char for char in text if char.isalnum()).strip()
    url = resolve(PAGE, "?" + text, "gb18030")
    assert url is not None
    assert unquote_to_bytes(url.partition("?")[2]).decode("gb18030") == text
