"""Deny: a list that a person keeps, of hosts and expressions."""

from __future__ import annotations

import pytest

from pipeline.cli import main
from pipeline.explain import explain
from tests.crawling import outcomes, read_rows, run_crawl
from tests.webserver import Answer, serve
from transforms.deny import Denied, parse_deny
from transforms.filter import FilterRules, UrlFilter

LIST = r"""
# what is not to be asked
ads.example
BÜCHER.example   # umlauts
192.0.2.7
[2001:DB8::1]
/[?&]action=edit/
/^https:\/\/a\.example\/private\//
"""


def test_parse_deny_reads_hosts_and_expressions():
    assert parse_deny(LIST.splitlines()) == Denied(
        frozenset({"ads.example", "xn--bcher-kva.example", "192.0.2.7", "[2001:db8::1]"}),
        ("[?&]action=edit", r"^https:\/\/a\.example\/private\/"),
    )


@pytest.mark.parametrize(
    ("url", "refused"),
    [
        ("http://ads.example/", True),
        ("https://www.x.ads.example:8443/y", True),
        ("http://user@ads.example/", True),
        ("http://bads.example/", False),
        ("http://ads.example.org/", False),
        ("http://example/", False),
        ("http://192.0.2.7/x", True),
        ("http://192.0.2.70/x", False),
        ("http://[2001:db8::1]:80/", True),
        ("http://xn--bcher-kva.example/", True),
        ("http://a.example/w?title=x&action=edit", True),
        ("http://a.example/w?action=view", False),
        ("https://a.example/private/x", True),
        ("http://a.example/private/x", False),
    ],
)
def test_filter_refuses_what_is_denied(url, refused):
    rules = FilterRules("any", (), deny=parse_deny(LIST.splitlines()))
    assert UrlFilter(rules).refusal(url) == ("denied" if refused else None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ok.example\nhttp://x.example/", "line 2: 'http://x.example/' is neither a host"),
        ("a b.example", "line 1: 'a b.example' is neither"),
        ("*.example", "line 1: '*.example' is neither"),
        ("/(/", "line 1: /(/ is no expression: "),
        ("/x", "line 1: '/x' is neither"),
    ],
)
def test_malformed_list_is_one_line_before_anything_begins(tmp_path, capsys, text, said):
    (tmp_path / "deny.txt").write_text(text)
    out = tmp_path / "crawl"
    argv = ["crawl", "http://a.example/", "-o", str(out), "--deny", str(tmp_path / "deny.txt")]
    assert main(argv) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert f"--deny {tmp_path}/deny.txt, {said}" in line
    assert not out.exists()


def test_list_that_is_not_there_is_one_line(tmp_path, capsys):
    argv = ["crawl", "http://a.example/", "-o", str(tmp_path / "c"), "--deny", "/nowhere.txt"]
    assert main(argv) == 2
    assert "cannot read the deny list from /nowhere.txt: No such file" in capsys.readouterr().err


HOST = "127.0.0.73"
PAGES = {
    "/": b"<a href=/1><a href=/photo.png><a href=/a/a/a><a href=/never>",
    "/1": b"<a href=/2><a href=/later>",
    "/2": b"two",
    "/later": b"later",
}


def test_crawl_reads_the_list_anew_and_counts_what_it_refuses(tmp_path):
    listed = tmp_path / "deny.txt"
    listed.write_text("/never/\n")

    def answer(request) -> Answer:
        return Answer(body=PAGES[request.path]) if request.path in PAGES else Answer(404)

    out = tmp_path / "crawl"
    with serve(answer, [HOST]) as web:
        run_crawl(out, web.url(), deny=str(listed), depth=0)
        listed.write_text("/never/\n/later/\n")
        ended = run_crawl(out, web.url(), deny=str(listed))
        site = web.url().rstrip("/")
        fetched = {url.removeprefix(site) for url in outcomes(out)}
        assert fetched == {"/", "/1", "/2"}
        refused = {
            row["target"].removeprefix(site): row["refused"]
            for row in read_rows(out, "links", ["target", "refused"])
            if row["refused"]
        }
        assert refused == {
            "/photo.png": "extension", "/a/a/a": "repeats", "/never": "denied", "/later": "denied",
        }  # fmt: skip
        assert ended.crawl.last.totals["refused"] == 4
        said = [value for _, value in explain(str(out), site + "/later", str(listed))]
        assert "refused: denied" in said
        assert any(value.startswith("denied       refuses") for value in said)
        assert any(value.startswith("extension    passes") for value in said)
