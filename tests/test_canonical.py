"""Canonical keys: what is one page has one, what may be two has two."""

from __future__ import annotations

import ast
import itertools
import re
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.crawling import outcomes, read_rows, run_crawl
from tests.webserver import Answer, Request, serve
from transforms.canonical import ALL_RULES, OPTIONAL, RULES, Canonical, data_lines
from transforms.urls import resolve

H = "http://a.example"
SID = "4f1c09a2b7d84e6f"


def key_of(text: str, *tell_apart: str) -> str:
    """From what a page says to the key."""
    url = resolve("", text)
    assert url is not None
    return Canonical(tell_apart).key(url)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rule_does_what_its_row_says(rule):
    assert key_of(rule.before) == rule.after
    if rule.fetched:
        assert key_of(rule.before, *OPTIONAL) == rule.after
    else:
        assert key_of(rule.before, rule.name) != rule.after
        assert key_of(rule.after, rule.name) == rule.after


# The aliases that a crawler meets, as textbooks list them (Liu, "Web Data Mining", ch. 8):
# what the text of a URL can settle is settled, what only its server knows is not.
ONE = [
    ("http://a.example:80/", f"{H}/"),
    ("https://a.example:443/x", "https://a.example/x"),
    ("HTTP://A.EXAMPLE", f"{H}/"),
    (f"{H}/%7Ejoe/", f"{H}/~joe/"),
    (f"{H}/faq.html#3", f"{H}/faq.html"),
    (f"{H}/a/./../b/", f"{H}/b/"),
    (f"{H}/a/%2e%2E/b", f"{H}/b"),
]
TWO = [
    (f"{H}/INDEX.html", f"{H}/index.html"),  # a server may be blind to case
    (f"{H}/?Q=A", f"{H}/?q=a"),
    (f"{H}/index.html", f"{H}/"),
    (f"{H}/default.asp", f"{H}/"),
    ("http://192.0.2.1/", f"{H}/"),  # the same site by its address
    ("http://www.a.example/", f"{H}/"),
    ("https://a.example/", f"{H}/"),
    (f"{H}:8080/", f"{H}/"),
    (f"{H}/docs", f"{H}/docs/"),
    (f"{H}//x", f"{H}/x"),
]


@pytest.mark.parametrize(("one", "other"), ONE)
def test_aliases_that_the_text_settles_are_one(one, other):
    assert key_of(one) == key_of(other) == other


@pytest.mark.parametrize(("one", "other"), TWO)
def test_aliases_that_only_the_server_knows_stay_two(one, other):
    assert key_of(one) != key_of(other)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        # RFC 3986 §6.2.2.2 and §2.3: unreserved is ALPHA DIGIT - . _ ~
        ("/%41%5a%61%30%2D%2e%5F%7e", "/AZa0-._~"),
        ("/%c3%A9%2F%3a", "/%C3%A9%2F%3A"),
        ("/?q=%7e%26", "/?q=~%26"),
        ("/%", "/%"),
        ("/%4%31", "/%4%31"),  # decoding must not make an escape
        ("/%%34%31", "/%%341"),
        ("/%zz%2z", "/%zz%2z"),
    ],
)
def test_escapes(url, key):
    assert key_of(H + url) == H + key


@pytest.mark.parametrize(
    ("url", "key"),
    [
        # as in Heritrix's rules StripSessionIDs and StripSessionCFIDs
        (f"/x?PHPSESSID={SID}", "/x"),
        (f"/x?a=1&phpsessid={SID}&b=2", "/x?a=1&b=2"),
        ("/x?ASPSESSIONIDAQBSDSRT=ABCDEFGHIJKLMNOPQRSTUVWX&a", "/x?a"),
        (f"/x?jsessionid={SID}", "/x"),
        ("/x?CFID=12345&CFTOKEN=67890&a=1", "/x?a=1"),
        ("/(S(lit3py55t21z5v55vlm25s55))/x.aspx", "/x.aspx"),
        ("/app/(A(0a1b)S(2c3d))/x.aspx?y=1", "/app/x.aspx?y=1"),
        ("/(lit3py55t21z5v55vlm25s55)/x.aspx", "/x.aspx"),
        # Jakarta Servlet 6.0 §7.1.3
        ("/x;jsessionid=0A1B.node1", "/x"),
        ("/x;JSESSIONID=0A1B?y=1", "/x?y=1"),
        ("/x;jsessionid=0A1B/y;v=1", "/x/y;v=1"),
        # sid and its like only with a value that looks like one
        (f"/x?sid={SID}", "/x"),
        ("/x?sid=1234", "/x?sid=1234"),
        ("/x?sid=05/11/02/1423", "/x?sid=05/11/02/1423"),
        ("/x?s=how-to-crawl-politely", "/x?s=how-to-crawl-politely"),
        ("/x?s=internationalization", "/x?s=internationalization"),
        ("/x?s=1234567890123456", "/x?s=1234567890123456"),
        ("/x?sessionid=123e4567-e89b-12d3-a456-426614174000", "/x"),
        ("/x?reside=" + SID, "/x?reside=" + SID),
        ("/Foo_(S(x))/y", "/Foo_(S(x))/y"),
        ("/(note)/y", "/(note)/y"),
    ],
)
def test_session_ids(url, key):
    assert key_of(H + url) == H + key
    assert key_of(H + url, "sessions", "query-order") == H + url


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("/x?utm_source=a&utm_medium=b&utm_anything=c", "/x"),
        ("/x?UTM_Source=a&id=1", "/x?id=1"),
        ("/x?utm%5Fsource=a&id=1", "/x?id=1"),
        ("/x?id=1&gclid=abc&fbclid=def&msclkid=0", "/x?id=1"),
        ("/x?utm=1", "/x?utm=1"),
        ("/x?ref=home&source=a&campaign=b", "/x?campaign=b&ref=home&source=a"),
        ("/x?q=utm_source", "/x?q=utm_source"),
        ("/utm_source=a", "/utm_source=a"),
    ],
)
def test_tracking_parameters(url, key):
    assert key_of(H + url) == H + key


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("/x?", "/x"),  # purell's FlagRemoveEmptyQuerySeparator
        ("/x?&&a=1&", "/x?a=1"),  # as in Nutch's regex-normalize
        ("/x?a", "/x?a"),
        ("/x?a=", "/x?a="),  # w3lib's keep_blank_values
        ("/x?c=3&a=1&b=2", "/x?a=1&b=2&c=3"),
        ("/x?a=2&a=1", "/x?a=1&a=2"),
        ("/x?a=b+c", "/x?a=b+c"),
        ("/x?B=1&a=1", "/x?B=1&a=1"),
        ("/x?http://b.example/?y", "/x?http://b.example/?y"),
    ],
)
def test_queries(url, key):
    assert key_of(H + url) == H + key


@pytest.mark.parametrize(
    "url", ["mailto:a@b.example?subject=%41", "javascript:void(0);/(?", "data:,%41", "urn:x?b&a"]
)
def test_url_of_another_scheme_is_its_own_key(url):
    assert ALL_RULES.key(url) == url


@pytest.mark.parametrize("url", ["", "http://", "http://%?", "?%;/("])
def test_key_of_what_is_no_url_does_not_raise(url):
    assert ALL_RULES.key(url) == url


PARAMETERS = st.sampled_from(
    [
        "a=1",
        "a=2",
        "b",
        "",
        "utm_source=x",
        f"sid={SID}",
        "sid=1",
        "%7e=%2f",
        "PHPSESSID=1",
        "=",
        "%4%31",
    ]
)
PIECES = st.sampled_from(
    ["/", "%", "%4", "1", "%31", "%7e", "?", "&", "=", ";", "jsessionid=", "sid=", SID, "/(S(ab))/",
     "(S(", "))", "a", ".", "..", "utm_x=1", "é", " ", "\udcff", ":80", "@"]
)  # fmt: skip
TEXTS = st.one_of(st.text(), st.lists(PIECES).map("".join))
APART = st.sets(st.sampled_from(OPTIONAL)).map(tuple)


@given(TEXTS, APART)
def test_key_of_a_key_is_itself(text, apart):
    url = resolve(H + "/", H + "/" + text)
    assume(url)
    canonical = Canonical(apart)
    assert canonical.key(canonical.key(url)) == canonical.key(url)


@given(TEXTS)
def test_with_no_rule_a_url_is_its_own_key(text):
    url = resolve(H + "/", text)
    assume(url)
    assert Canonical(OPTIONAL).key(url) == url


@given(st.lists(PARAMETERS), st.randoms())
def test_order_of_parameters_does_not_matter(parameters, random):
    shuffled = random.sample(parameters, len(parameters))
    assert key_of(f"{H}/?{'&'.join(parameters)}") == key_of(f"{H}/?{'&'.join(shuffled)}")


def test_key_of_plain_links_is_the_very_string():
    url = f"{H}/docs/current/sql-select.html"
    assert ALL_RULES.key(url) is url


@pytest.mark.parametrize("file", ["tracking.txt", "sessions.txt"])
def test_data_file_is_sorted_out(file):
    names = data_lines(file)
    assert len(set(names)) == len(names) > 10
    assert all(re.fullmatch(r"[a-z0-9._]+(\*|=\?)?", name) for name in names)
    text = Path(__file__, f"../../transforms/data/{file}").resolve().read_text()
    assert all("  # " in line for line in text.splitlines() if line and line[0] != "#")


def test_every_fingerprint_of_a_url_is_made_with_the_rules_in_force():
    root = Path(__file__).parent.parent
    for path in itertools.chain(root.glob("pipeline/*.py"), root.glob("transforms/*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "fingerprint_url":
                assert len(node.args) == 2, f"{path.name}, line {node.lineno}"


HOST = "127.0.0.72"


def crawl_of(tmp_path, pages: dict[str, str | Answer], seed: str = "/", **options):
    """The outcomes by path, and the crawled paths in the order asked."""

    def answer(request: Request) -> Answer:
        found = pages.get(request.target, Answer(404))
        return Answer(body=found.encode()) if isinstance(found, str) else found

    with serve(answer, [HOST]) as web:
        run_crawl(tmp_path, web.url(seed), **options)
        site = web.url().rstrip("/")
        return {url.removeprefix(site): outcome for url, outcome in outcomes(tmp_path).items()}


ALIASES = {
    "/": "<a href='/x?b=2&a=1'><a href='/x?a=1&b=2'><a href='/x?a=1&b=2&utm_source=home'>",
    "/x?b=2&a=1": "the page",
    "/x?a=1&b=2": "the page again",
    "/x?a=1&b=2&utm_source=home": "and again",
}


def test_crawl_fetches_the_first_of_a_key_as_it_was_found(tmp_path):
    assert crawl_of(tmp_path, ALIASES) == {"/": "page", "/x?b=2&a=1": "page"}
    links = read_rows(tmp_path, "links", ["target", "target_fingerprint"])
    [row] = [r for r in read_rows(tmp_path, "pages") if r["url"].endswith("/x?b=2&a=1")]
    assert len({link["target"] for link in links}) == 3
    assert {link["target_fingerprint"] for link in links} == {row["url_fingerprint"]}


def test_crawl_tells_apart_what_it_is_told_to(tmp_path):
    fetched = crawl_of(tmp_path, ALIASES, tell_apart=("query-order",))
    assert set(fetched) == {"/", "/x?b=2&a=1", "/x?a=1&b=2"}


def test_crawl_follows_a_redirect_to_another_spelling_of_the_same_key(tmp_path):
    pages = {
        "/": "<a href='/x?utm_source=home'>",
        "/x?utm_source=home": Answer(302, headers=(("Location", "/x"),)),
        "/x": "<a href='/y'>",
        "/y": "found",
    }
    assert crawl_of(tmp_path, pages) == {
        "/": "page", "/x?utm_source=home": "redirect", "/x": "page", "/y": "page",
    }  # fmt: skip


def test_crawl_follows_sessions_that_are_renewed_for_ever_once(tmp_path):
    pages: dict[str, str | Answer] = {
        f"/?PHPSESSID={n}" if n else "/": Answer(
            302, headers=(("Location", f"/?PHPSESSID={n + 1}"),)
        )
        for n in range(9)
    }
    assert set(crawl_of(tmp_path, pages)) == {"/", "/?PHPSESSID=1"}


def test_crawl_excludes_a_spelling_and_fetches_another(tmp_path):
    pages = {
        "/": "<a href='/x?utm_source=home'><a href='/more'>",
        "/more": "<a href='/x'>",
        "/x": "the page",
    }
    fetched = crawl_of(tmp_path, pages, exclude=("utm_",))
    assert fetched == {"/": "page", "/more": "page", "/x": "page"}


def test_crawl_of_seeds_with_one_key_begins_at_the_first(tmp_path):
    with serve(lambda request: Answer(body=request.path.encode()), [HOST]) as web:
        seeds = (web.url("/x?b&a"), web.url("/x?a&b"))
        run_crawl(tmp_path, *seeds)
        assert set(outcomes(tmp_path)) == {seeds[0]}
        run_crawl(tmp_path, *seeds)  # the same command goes on
