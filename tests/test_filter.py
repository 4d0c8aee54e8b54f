"""Filter: a link is refused for the first reason that holds, or it belongs to the crawl."""

from __future__ import annotations

import pytest
from apache_beam import Create
from apache_beam.testing.util import assert_that, equal_to
from hypothesis import given
from hypothesis import strategies as st

from tests.crawling import outcomes, run_crawl
from tests.samples import SLOT, make_page, make_waiting, pipeline_of_stage
from tests.webserver import Answer, Request, serve
from transforms import filter as filter_
from transforms.filter import (
    DENIED,
    EXCLUDED,
    NOFOLLOW,
    NOT_INCLUDED,
    REASONS,
    SCHEME,
    SCOPE,
    SCOPES,
    FilterRules,
    FilterUrls,
    UrlFilter,
    registrable_domain,
    scope_key,
)
from transforms.records import NOFOLLOW_MARK, Link
from transforms.shape import BY_SHAPE

SEED = "https://docs.example.co.uk/guide/start.html?v=1"


def refusal(scope: str, seed: str, url: str) -> str | None:
    return UrlFilter(FilterRules(scope, (seed,))).refusal(url)


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("example.com", "example.com"),
        ("a.b.example.com", "example.com"),
        ("docs.example.co.uk", "example.co.uk"),
        ("co.uk", "co.uk"),  # a public suffix is nobody's domain
        ("someone.github.io", "someone.github.io"),  # nor is what stands under a private one
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("localhost", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("[2001:db8::1]", "[2001:db8::1]"),
        ("", ""),
    ],
)
def test_registrable_domain_of_a_host(host, domain):
    assert registrable_domain(host) == domain


@pytest.mark.parametrize(
    ("scope", "key"),
    [
        ("page", "docs.example.co.uk/guide/start.html?v=1"),
        ("prefix", "docs.example.co.uk/guide/"),
        ("host", "docs.example.co.uk"),
        ("domain", "example.co.uk"),
    ],
)
def test_scope_key_of_a_url(scope, key):
    assert scope_key(scope, SEED) == key
    assert scope_key(scope, SEED.replace("https:", "http:")) == key


# In which scopes a URL belongs to a crawl that began at SEED.
BELONGS = [
    (SEED, SCOPES),
    ("http://docs.example.co.uk/guide/start.html?v=1", SCOPES),
    ("https://docs.example.co.uk/guide/start.html?v=2", ("prefix", "host", "domain", "any")),
    ("https://docs.example.co.uk/guide/", ("prefix", "host", "domain", "any")),
    ("https://docs.example.co.uk/guide/deep/er", ("prefix", "host", "domain", "any")),
    ("https://docs.example.co.uk/guide", ("host", "domain", "any")),
    ("https://docs.example.co.uk/?/guide/", ("host", "domain", "any")),
    ("https://docs.example.co.uk:8443/guide/", ("host", "domain", "any")),
    ("https://www.example.co.uk/guide/", ("domain", "any")),
    ("https://example.co.uk/", ("domain", "any")),
    ("https://docs.example.co.uk.evil.example/guide/", ("any",)),
    ("https://evildocs.example.co.uk/", ("domain", "any")),
    ("https://other.co.uk/", ("any",)),
    ("https://co.uk/", ("any",)),
    ("https://evil.example/docs.example.co.uk/guide/", ("any",)),
    ("https://evil.example/?https://docs.example.co.uk/guide/", ("any",)),
]


@pytest.mark.parametrize(("url", "scopes"), BELONGS)
def test_scope_decides_what_belongs(url, scopes):
    assert [scope for scope in SCOPES if refusal(scope, SEED, url) is None] == list(scopes)


@pytest.mark.parametrize(
    ("scope", "seed", "url", "belongs"),
    [
        ("host", "http://[::1]:8000/", "http://[::1]/x", True),
        ("host", "http://[::1]:8000/", "http://[::2]:8000/", False),
        ("domain", "http://[2001:db8::1]/", "https://[2001:db8::1]:1/x", True),
        ("domain", "http://[2001:db8::1]/", "http://[2001:db8::2]/", False),
        ("domain", "http://10.0.0.1/", "http://11.0.0.1/", False),
        ("domain", "http://10.0.0.1:1/", "https://10.0.0.1:2/", True),
        ("domain", "http://localhost/", "http://localhost:8080/", True),
        ("domain", "http://one.co.uk/", "http://two.co.uk/", False),
        ("domain", "http://one.github.io/", "http://two.github.io/", False),
        ("prefix", "http://a.example:81/d/", "http://a.example/d/x", False),  # another server
        ("prefix", "http://a.example:81/d/", "https://a.example:81/d/x", True),
        ("prefix", "http://a.example/", "http://a.example/any/where", True),
        ("page", "http://a.example/x", "http://a.example/x?", True),  # by their canonical keys
        ("page", "http://a.example/x", "http://a.example/x?y", False),
        ("host", "http://user@a.example/", "http://a.example/", True),
    ],
)
def test_scope_of_ports_and_addresses(scope, seed, url, belongs):
    assert refusal(scope, seed, url) == (None if belongs else SCOPE)


@given(
    st.sampled_from(SCOPES),
    st.sampled_from([url for url, _ in BELONGS]),
    st.sampled_from([url for url, _ in BELONGS]),
)
def test_scope_is_the_same_for_http_and_https(scope, seed, url):
    plain = url.replace("https:", "http:", 1)
    assert refusal(scope, seed, url) == refusal(scope, seed, plain)
    assert refusal(scope, seed, seed) is None


def test_refusals_come_in_the_order_of_the_list():
    rules = FilterRules("host", ("http://a.example/",), include=("/in",), exclude=("/out",))
    filter_of = UrlFilter(rules)
    assert (NOFOLLOW, SCHEME, SCOPE, *BY_SHAPE, DENIED, EXCLUDED, NOT_INCLUDED) == REASONS
    assert [
        filter_of.refusal(url)
        for url in (
            "mailto:a@b.example?/out",
            "ftp://a.example/in",
            "http://b.example/out",
            "http://a.example/out/in",
            "http://a.example/else",
            "http://a.example/in",
        )
    ] == [SCHEME, SCHEME, SCOPE, EXCLUDED, NOT_INCLUDED, None]


def test_include_and_exclude_are_searched_in_the_whole_url():
    excluded = (r"\.html$", "//ads[.]")
    rules = FilterRules("any", (), include=("^https:", r"\?q="), exclude=excluded)
    filter_of = UrlFilter(rules)
    assert filter_of.refusal("https://a.example/") is None
    assert filter_of.refusal("http://a.example/?q=1") is None
    assert filter_of.refusal("http://a.example/") == NOT_INCLUDED
    assert filter_of.refusal("https://a.example/x.html") == EXCLUDED
    assert filter_of.refusal("https://ads.example/") == EXCLUDED


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://b.example/", None),
        ("mailto:a@b.example", SCHEME),
        ("http://b.example/out", EXCLUDED),
        ("http://b.example/else", None),
    ],
)
def test_redirect_of_a_seed_is_exempt_from_the_scope_alone(url, reason):
    filter_of = UrlFilter(FilterRules("page", ("http://a.example/",), exclude=("/out",)))
    assert filter_of.refusal(url, of_seed=True) == reason


@pytest.mark.parametrize("scope", ["page", "prefix", "host", "domain"])
def test_where_seeds_redirected_to_extends_the_scope(scope):
    rules = FilterRules(scope, ("http://a.example/",))
    target = "http://b.example/home"
    assert UrlFilter(rules).refusal(target) == SCOPE
    extended = UrlFilter(rules, [target])
    assert extended.refusal(target) is None
    assert extended.refusal("http://a.example/") is None
    assert extended.refusal("http://c.example/") == SCOPE


def test_no_seed_is_no_scope():
    for scope in SCOPES[:-1]:
        assert UrlFilter(FilterRules(scope, ())).refusal("http://a.example/") == SCOPE


def test_filter_urls_says_of_each_link_why_not():
    rules = FilterRules("host", ("http://a.example/",), exclude=("/out",))
    seed = make_waiting("http://a.example/", seed=True)
    links = ["mailto:x@a.example", "http://b.example/", "http://a.example/out", "http://a.example/"]
    page = make_page(seed, [(url, None) for url in links])
    with pipeline_of_stage() as pipeline:
        filtered = pipeline | Create([page]) | FilterUrls(rules)
        assert_that(filtered, equal_to([page._replace(refused=[SCHEME, SCOPE, EXCLUDED, None])]))


def test_filter_urls_lets_only_the_redirect_of_a_seed_leave():
    rules = FilterRules("host", ("http://a.example/",))
    target = "http://b.example/"
    seed, other = make_waiting("http://a.example/", seed=True), make_waiting("http://a.example/2")
    pages = [
        make_page(other, [(target, None)], "redirect"),
        make_page(seed, [(target, None)], "a"),
        make_page(seed, [(target, None)], "redirect"),
    ]
    found = run_in_one_bundle(rules, pages)
    assert [page.refused for page in found] == [[SCOPE], [SCOPE], [None]]


def test_filter_urls_follows_the_scope_of_the_slot():
    rules = FilterRules("host", ("http://a.example/",))
    wider = SLOT._replace(slot=1, scope=("http://b.example/",))
    pages = [
        make_page("http://a.example/1", [("http://b.example/x", None)]),
        make_page("http://a.example/2", [("http://b.example/x", None)], slot=wider),
        make_page("http://a.example/3", [("http://b.example/x", None)]),
    ]
    found = run_in_one_bundle(rules, pages)
    assert [page.refused for page in found] == [[SCOPE], [None], [SCOPE]]


def test_filter_urls_forgets_verdicts_and_finds_them_again(monkeypatch):
    monkeypatch.setattr(filter_, "_CACHE_URLS", 1)
    rules = FilterRules("host", ("http://a.example/",))
    links = [("http://b.example/", None), ("http://a.example/", None)]
    pages = [make_page(f"http://a.example/{n}", links) for n in range(4)]
    assert [page.refused for page in run_in_one_bundle(rules, pages)] == [[SCOPE, None]] * 4


def run_in_one_bundle(rules: FilterRules, pages):
    """The DoFn by itself: which elements make a bundle is a runner's to choose."""
    dofn = filter_._FilterUrls(rules)
    dofn.start_bundle()
    return [filtered for page in pages for filtered in dofn.process(page)]


def test_filter_urls_leaves_links_as_they_are():
    rules = FilterRules("any", ())
    page = make_page("http://a.example/", [("http://b.example/", None)], "frame")
    [filtered] = run_in_one_bundle(rules, [page._replace(refused=[])])
    assert filtered.links == [Link("http://b.example/", "frame")]
    assert filtered.refused == [None]


def test_filter_urls_refuses_a_marked_link_before_all_else_and_forgets_it():
    rules = FilterRules("host", ("http://a.example/",))
    links = [("mailto:x@a.example", None), ("http://a.example/x", None)]
    pages = [
        make_page("http://a.example/1", links, "a" + NOFOLLOW_MARK),
        make_page("http://a.example/2", links, "a"),
        make_page("http://a.example/3", links, "refresh" + NOFOLLOW_MARK),
    ]
    found = run_in_one_bundle(rules, pages)
    assert [page.refused for page in found] == [
        [NOFOLLOW, NOFOLLOW],
        [SCHEME, None],
        [NOFOLLOW, NOFOLLOW],
    ]


@pytest.mark.parametrize("also", ["and <a href=/deep>", "and nothing else waits"])
def test_crawl_follows_a_link_that_was_found_before_the_scope_grew(tmp_path, also):
    one, two, moved = ("127.0.0.32", "127.0.0.33", "127.0.0.34")

    def answer(request: Request) -> Answer:
        deep = f"http://{moved}:{request.port}/deep"
        pages = {
            (one, "/"): Answer(body=f"one <a href={deep}>".encode()),
            (two, "/"): Answer(301, headers=(("Location", f"http://{moved}:{request.port}/"),)),
            (moved, "/"): Answer(body=f"moved {also}".encode()),
            (moved, "/deep"): Answer(body=b"deep"),
        }
        return pages.get((request.host, request.path), Answer(404))

    with serve(answer, [one, two, moved]) as web:
        run_crawl(tmp_path, web.url(), web.url("/", two))
        found = outcomes(tmp_path)
        assert found[web.url("/", moved)] == "page"
        assert web.url("/deep", moved) in found
