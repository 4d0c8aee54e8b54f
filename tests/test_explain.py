"""Why a URL is where it is, asked of crawls whose truth is known."""

from __future__ import annotations

import re

import pytest

from pipeline.cli import main
from pipeline.explain import explain, why_waiting
from pipeline.options import UsageError
from tests.crawling import run_crawl
from tests.webserver import Answer, Request, serve
from transforms.filter import FILTERS
from transforms.hosts import HostRecord

HOST = "127.0.0.71"
ROBOTS = b"User-agent: *\nDisallow: /private\n"
PAGES = {
    "/robots.txt": Answer(body=ROBOTS, content_type="text/plain"),
    "/": Answer(
        body=b"<title>Home</title><a href=/a>a</a><a href=/private/x>x</a>"
        b"<a href=/moved>m</a><a href=/gone>g</a><a href=http://away.example/>out</a>"
        b"<a href=/logout>l</a>"
    ),
    "/a": Answer(body=b"<title>A</title><a href=/b>b</a><a href=/twin>t</a>"),
    "/b": Answer(body=b"<title>B</title><a href=/c>c</a>"),
    "/c": Answer(body=b"<title>C</title><a href=/deep>d</a>"),
    "/twin": Answer(body=b"<title>B</title><a href=/c>c</a>"),
    "/moved": Answer(301, headers=(("Location", "/b"),)),
}


def answer(request: Request) -> Answer:
    return PAGES.get(request.path, Answer(404))


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    """A crawl that stopped before its depth 3, and the URL of its server."""
    out = tmp_path_factory.mktemp("crawl")
    with serve(answer, [HOST]) as web:
        run_crawl(out, web.url(), depth=2, exclude=("/logout",))
        yield str(out), web.url().rstrip("/")


def lines(crawled, path: str) -> dict[str, str]:
    out, site = crawled
    url = path if "://" in path else site + path
    return {label: value.replace(site, "") for label, value in explain(out, url) if label}


@pytest.mark.parametrize(
    ("path", "found", "filters", "robots", "fate"),
    [
        ("/", "a seed", "admitted", "allowed by no line", "page, HTTP 200, fetched .* in round 0"),
        ("/b", "at depth 1, in /moved|at depth 2, in /a", "admitted", "allowed by no line", "page"),
        ("/private/x", "at depth 1, in /$", "admitted", "denied by line 2: Disallow: /private",
         "robots_denied, fetched"),
        ("/gone", "at depth 1, in /$", "admitted", "allowed", "http_error, HTTP 404"),
        ("/moved", "at depth 1, in /$", "admitted", "allowed", "redirect, HTTP 301"),
        ("/logout", "at depth 1, in / .round 0.", "refused: excluded", "allowed",
         "refused: excluded"),
        ("http://away.example/", "at depth 1, in / .round 0.", "refused: scope",
         "not asked for yet", "refused: scope"),
        ("/deep", "at depth 3, in /c", "admitted", "allowed", "waiting: "),
        ("/nowhere", "never: ", "admitted", "allowed", "unknown to this crawl"),
    ],
)  # fmt: skip
def test_explain_gives_every_url_its_reasons(crawled, path, found, filters, robots, fate):
    said = lines(crawled, path)
    assert re.match(found, said["found"])
    assert said["filters"] == filters
    assert said["robots.txt"].startswith(robots)
    assert re.match(fate, said["fate"])


def test_explain_finds_a_url_by_its_canonical_key(crawled):
    said = lines(crawled, "/a?utm_source=mail")
    assert said["URL"] == "/a?utm_source=mail"
    assert said["canonical key"] == said["fetched as"] == "/a"
    assert said["fate"].startswith("page, HTTP 200")


def test_explain_gives_the_verdict_of_each_filter(crawled):
    out, site = crawled
    told = [value for _, value in explain(out, site + "/logout")]
    refusing = [line.split()[0] for line in told if " refuses " in line]
    assert refusing == ["excluded"]
    assert [line.split()[0] for line in told if " passes " in line or " refuses " in line] == [
        row.reason for row in FILTERS
    ]


def test_explain_tells_what_a_page_is_a_duplicate_of(crawled):
    said = [lines(crawled, path).get("duplicate of") for path in ("/b", "/twin")]
    assert sorted(said, key=str) in (["/b", None], ["/twin", None])


def test_explain_tells_where_a_redirect_leads_and_where_the_record_is(crawled):
    said = lines(crawled, "/moved")
    assert said["redirects to"] == "/b"
    assert re.fullmatch(r"warc/round=00001/slot-\d+-.*\.warc\.gz, offset \d+", said["WARC"])


def test_explain_leads_from_a_seed_to_the_url(crawled):
    out, site = crawled
    told = [value for _, value in explain(out, site + "/twin")]
    start = told.index(f"{site}/")
    assert told[start : start + 3] == [f"{site}/", f"→ {site}/a", f"→ {site}/twin"]


def test_explain_before_any_round_knows_the_seed_alone(tmp_path):
    run_crawl(tmp_path, "http://a.example/", time_limit=0.0)
    said = dict(explain(str(tmp_path), "http://a.example/"))
    assert said["fate"] == "waiting: a.example has not been asked for a page yet"


@pytest.mark.parametrize(
    ("host", "said"),
    [
        (HostRecord("a"), "a has not been asked for a page yet"),
        (HostRecord("a", fetched=1200), "a has answered 1,200 URLs, and others of it came first"),
        (HostRecord("a", ready_at=86400.0, reason="HTTP 503"),
         "a is left alone until 1970-01-02T00:00:00Z (HTTP 503)"),
    ],
)  # fmt: skip
def test_why_waiting_is_what_the_host_is_left_alone_for(host, said):
    assert why_waiting(host) == said


def test_explain_of_what_is_no_url_or_no_crawl_is_one_line(crawled, tmp_path, capsys):
    assert main(["explain", crawled[0], "mailto:x@y"]) == 2
    assert "'mailto:x@y' is no http or https URL" in capsys.readouterr().err
    with pytest.raises(UsageError, match="holds no crawl"):
        list(explain(str(tmp_path), "http://a/"))


def test_explain_prints_a_label_and_a_value_a_line(crawled, capsys):
    assert main(["explain", crawled[0], crawled[1] + "/a"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == f"  URL            {crawled[1]}/a"
    assert "  title          A" in printed
