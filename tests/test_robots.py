"""The parser and the matcher of robots.txt."""

import json
import pickle
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.robots import (
    MAX_BYTES,
    MAX_SITEMAPS,
    Verdict,
    _in_order,
    _pieces,
    clip,
    parse_robots,
    product_token,
)

GOOGLE = Path(__file__).parents[2] / "shared" / "conformance" / "robots-google.json"
CASES = json.loads(GOOGLE.read_text("utf-8")) if GOOGLE.exists() else []


def read(*lines, agent="bot"):
    return parse_robots("\n".join(lines).encode(), agent)


def for_all(*rules):
    return read("User-agent: *", *rules)


@pytest.mark.skipif(not CASES, reason=f"no conformance data: {GOOGLE} is not there")
def test_expectations_of_google_hold():
    for case in CASES:
        body = case["robotstxt_latin1"].encode("latin-1")
        for expect in case["expect"]:
            verdict = parse_robots(body, expect["agent"]).verdict(expect["url"])
            assert verdict.allowed is expect["allowed"], (case["file"], expect, verdict)


@pytest.mark.parametrize(
    ("agent", "token"),
    [
        ("beamcrawl", "beamcrawl"),
        ("BeamCrawl/1.0 (+https://example.com/bot)", "beamcrawl"),
        ("Foo_Bot-x (someone)", "foo_bot-x"),
        ("Mozilla/5.0 (compatible; Foo-Bot/2.1; +https://example.com)", "foo-bot"),
        ("Foo Bar", ""),
        ("bot2/1.0", ""),
        ("", ""),
    ],
)
def test_product_token_of_agent(agent, token):
    assert product_token(agent) == token


@pytest.mark.parametrize(
    ("line", "named", "others"),
    [
        ("User-agent: Foo", "foo FOO/2.1", "foobar fo foo2 2foo"),
        ("  User-agent:FOO/2.1 (+https://example.com) # us", "foo", "foobar"),
        ("User-agent: foo bar", "foo", "bar"),
        ("User-agent: foo2", "foo", "foo2"),  # the token ends before the digit
        ("user agent: foo", "foo", "bar"),
        ("useragent : foo", "foo", "bar"),
        ("User-agent foo", "foo", "bar"),
        ("User-agent foo bar", "", "foo bar"),
        ("User-agent: * and all others", "foo 2foo", ""),
        ("User-agent: *foo", "", "foo bar"),
    ],
)
def test_user_agent_line_names_agents(line, named, others):
    agents = f"{named} {others}".split()
    denied = [agent for agent in agents if not read(line, "Disallow: /", agent=agent).allowed("/")]
    assert denied == named.split()


@pytest.mark.parametrize(
    ("lines", "denied"),
    [
        # Groups for one agent are one; several agents share a group.
        (["User-agent: a", "Disallow: /1", "User-agent: b", "Disallow: /2"], "1"),
        (["User-agent: a", "User-agent: b", "Disallow: /1"], "1"),
        (["User-agent: a", "Disallow: /1", "User-agent: b", "User-agent: A", "Disallow: /2"], "12"),
        # The group of everyone is for those whom no group names, even an empty one.
        (["User-agent: *", "Disallow: /1", "User-agent: a", "Disallow: /2"], "2"),
        (["User-agent: *", "Disallow: /1", "User-agent: a", "Disallow:"], ""),
        (["User-agent: *", "Disallow: /1", "User-agent: a"], ""),
        # Other records neither end a group nor begin its rules.
        (["User-agent: a", "Sitemap: https://e.com/s", "User-agent: b", "Disallow: /1"], "1"),
        (["User-agent: a", "Crawl-delay: 1", "User-agent: *", "Disallow: /1"], "1"),
        (["User-agent: a", "Noise: 1", "", "# b", "Disallow: /1"], "1"),
        # Rules before any group belong to nobody.
        (["Disallow: /1", "User-agent: a", "Disallow: /2"], "2"),
    ],
)
def test_group_of_agent_holds(lines, denied):
    robots = read(*lines, agent="a")
    assert "".join(x for x in "12" if not robots.allowed(f"https://e.com/{x}")) == denied


@pytest.mark.parametrize(
    ("pattern", "matched", "others"),
    [
        ("/fish", "/fish /fish.html?id=1 /fish/a", "/Fish /catfish /?id=fish"),
        ("/fish/", "/fish/ /fish/a", "/fish"),
        ("/*.php", "/a.php /a/b.php/c /?a.php", "/php /a.PHP"),
        ("/*.php$", "/a.php /a.php/b.php", "/a.php?x /a.php/"),
        ("/a$", "/a", "/ab /a$b"),
        ("/a$b", "/a$bc /a%24b", "/a"),
        ("/a*$", "/a /ab", "/b"),
        ("*", "/ /a", ""),
        ("****/b", "/b /a/b", "/a"),
        ("fish", "", "/fish"),
        ("/;a?b", "/;a?b", "/ /;a%3Fb"),
        # RFC 9309 §2.2.2: octets, whichever way they are written; but a slash is a slash.
        ("/a%3cd", "/a%3cd /a%3Cd /a<d", "/ad"),
        ("/a<d", "/a%3cd /a<d", "/ad"),
        ("/a%2fb", "/a%2Fb /a%2fb", "/a/b"),
        ("/a/b", "/a/b", "/a%2fb"),
        ("/%7Ejoe", "/~joe /%7ejoe", "/joe"),
        ("/~joe", "/~joe /%7ejoe", "/joe"),
        ("/%62%61%7A", "/baz /%62%61%7a", "/"),
        ("/ツ", "/ツ /%E3%83%84 /%e3%83%84", "/"),
        ("/%e3%83%84", "/ツ /%E3%83%84", "/"),
        ("/%FF", "/%ff", "/ÿ"),
        # RFC 9309 §2.2.3: escaped, the special signs mean themselves.
        ("/a%2Ab", "/a*b /a%2ab", "/axb"),
        ("/a%24", "/a$ /a$b", "/a"),
        ("/100%", "/100%", "/100"),
    ],
)
def test_pattern_matches_paths(pattern, matched, others):
    robots = for_all(f"Disallow: {pattern}")
    paths = f"{matched} {others}".split()
    denied = [path for path in paths if not robots.allowed(f"https://example.com{path}")]
    assert denied == matched.split()


@pytest.mark.parametrize(
    ("pattern", "matched", "others"),
    [
        ("/%7Ejoe", "/~joe /%7ejoe", ""),
        ("/a<d", "/a%3Cd /a<d", ""),
        # Where Google's parser does not see a permission, none is taken.
        ("/%62", "/%62", "/b"),
        ("/b", "/b", "/%62"),
        ("/ツ", "/%E3%83%84 /%e3%83%84", "/ツ"),
        # But a directory is allowed with its index page.
        ("/a/index.html", "/a/ /a/index.html", "/a /a/b /a/index.htm"),
        ("/index.html/a", "/index.html/a", "/"),
    ],
)
def test_permission_is_taken_as_written(pattern, matched, others):
    robots = for_all("Disallow: /", f"Allow: {pattern}")
    paths = f"{matched} {others}".split()
    assert [path for path in paths if robots.allowed(path)] == matched.split()


@pytest.mark.parametrize(
    ("rules", "path", "line"),
    [
        (["Disallow: /a", "Allow: /a/b"], "/a/b/c", 3),
        (["Allow: /a", "Disallow: /a/b"], "/a/b/c", 3),
        (["Allow: /a", "Disallow: /*.htm"], "/a.htm", 3),
        (["Allow: /a/page.", "Disallow: /*.html"], "/a/page.html", 2),
        (["Disallow: /a", "Allow: /a"], "/a", 3),
        (["Disallow: /a*", "Disallow: /a"], "/ab", 2),
        (["Disallow: /a", "Disallow: /ab/", "Disallow: /abc"], "/abd", 2),
        (["Disallow: /b"], "/a", 0),
    ],
)
def test_verdict_names_the_longest_rule(rules, path, line):
    verdict = for_all(*rules).verdict("https://example.com" + path)
    text = rules[line - 2] if line else ""
    assert verdict == Verdict(not text.startswith("Disallow"), line, text)


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\n\r\n"])
def test_lines_are_counted_whatever_ends_them(end):
    body = end.join(["\ufeffUser-agent: *", "", "Dissallow /a", "Disallow: /"])
    line = 4 if end != "\n\r\n" else 7
    verdict = parse_robots(body.encode(), "bot").verdict("/b")
    assert verdict == Verdict(False, line, "Disallow: /")


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://user@example.com:8080/a;b?c=d://e/#f", "/a;b?c=d://e/"),
        ("https://example.com//a", "//a"),
        ("//example.com/a", "/a"),
        ("/a:b//c", "/a:b//c"),
        ("", "/"),
    ],
)
def test_url_is_matched_by_path_and_query(url, path):
    assert not for_all(f"Disallow: {path}$").allowed(url)


@pytest.mark.parametrize(
    ("rules", "delay"),
    [
        (["User-agent: *", "Crawl-delay: 2", "User-agent: bot", "Crawl-delay: 7"], 7.0),
        (["User-agent: *", "Crawl-delay: 2", "User-agent: bot", "Disallow: /"], None),
        (["User-agent: bot", "Crawl-delay: 1", "User-agent: other", "Crawl-delay: 9"], 1.0),
        (["User-agent: other", "Crawl-delay: 9"], None),
        (["User-agent: *", *(f"Crawl-delay: {bad}" for bad in ("-1", "nan", "", "1/10"))], None),
        (["User-agent: *", "Crawl-delay: 10 seconds"], 10.0),
        (["User-agent: *", "Crawl-delay: 5s"], 5.0),
        (["User-agent: *", "Crawl-delay: 99999999999999999999"], 1e20),
        (["User-agent: *", "Crawl-delay: " + "9" * 400], float("inf")),
        (["User-agent: *", "Crawl-delay: soon", "Crawl-delay: .5"], 0.5),
    ],
)
def test_crawl_delay_is_that_of_our_group(rules, delay):
    assert read(*rules).crawl_delay == delay


def test_sitemaps_are_absolute_and_bounded():
    lines = ["Sitemap: https://e.com/1.xml", "site-map: HTTP://e.com/2", "Sitemap: /3", "Sitemap:"]
    lines += [f"Sitemap: https://e.com/{i}" for i in range(MAX_SITEMAPS)]
    sitemaps = read(*lines).sitemaps
    assert sitemaps[:3] == ("https://e.com/1.xml", "HTTP://e.com/2", "https://e.com/0")
    assert len(sitemaps) == MAX_SITEMAPS


@pytest.mark.parametrize(("more", "denied"), [(b"", True), (b"\nAllow: /a", True), (b"b", False)])
def test_line_cut_by_the_limit_is_dropped(more, denied):
    body = b"User-agent: *\n" + b"#" * (MAX_BYTES - 26) + b"\nDisallow: /" + more
    assert len(body) == MAX_BYTES + len(more)
    assert parse_robots(body, "bot").allowed("/a") is not denied


@pytest.mark.parametrize(("body", "whole"), [(b"a\nb", b"a\n"), (b"a\rb", b"a\r"), (b"a", b"")])
def test_clip_of_what_broke_off_ends_with_a_line(body, whole):
    assert clip(body, broken_off=True) == whole
    assert clip(whole, broken_off=True) == whole
    assert clip(body) == body


@pytest.mark.parametrize("pattern", ["/" + "*a" * 5000 + "*b$", "/" + "*a" * 50 + "*b"])
def test_bomb_walks_the_path_once(pattern):
    starts = []

    class WatchedPath(str):
        def find(self, piece, at):
            starts.append(at)
            return super().find(piece, at)

    pieces = _pieces(pattern, [chr(octet) for octet in range(256)])
    assert not _in_order(pieces, WatchedPath("/" + "a" * 2000))
    assert starts == sorted(starts)
    assert len(starts) <= min(len(pieces), 2001)


def test_robots_survive_pickling():
    robots = for_all("Disallow: /a*b", "Allow: /c", "Crawl-delay: 1")
    assert pickle.loads(pickle.dumps(robots)) == robots


KEYS = st.sampled_from([b"user-agent:*\n", b"disallow:/", b"allow:", b"crawl-delay:", b"sitemap:"])
LINES = st.lists(st.builds(lambda key, value: key + value + b"\r", KEYS, st.binary(max_size=9)))


@given(st.binary() | LINES.map(b"".join), st.text(), st.text())
def test_any_bytes_and_any_url_have_a_verdict(body, agent, url):
    assert parse_robots(body, agent).allowed(url) in (True, False)


PATTERNS = st.from_regex(r"\A/[/ab*]{0,6}\$?\Z")
PATHS = st.from_regex(r"\A/[/ab]{0,8}\Z")
RULES = st.lists(st.tuples(st.booleans(), PATTERNS), max_size=8)


def allowed(rules, path):
    lines = (f"{'Allow' if allow else 'Disallow'}: {pattern}" for allow, pattern in rules)
    return for_all(*lines).allowed("https://example.com" + path)


def reference(rules, path):
    """RFC 9309 §2.2.2 as plainly as can be: every rule by regular expression."""
    ranks = [(0, True)]
    for allow, pattern in rules:
        body = re.escape(pattern.removesuffix("$")).replace(r"\*", ".*")
        if re.match(body + (r"\Z" if pattern.endswith("$") else ""), path):
            ranks.append((len(re.sub(r"\*+", "*", pattern)), allow))
    return max(ranks)[1]


@given(RULES, PATHS)
def test_verdict_is_that_of_the_reference(rules, path):
    assert allowed(rules, path) is reference(rules, path)


@given(RULES, PATTERNS, PATHS)
def test_one_more_rule_only_pulls_its_way(rules, pattern, path):
    before = allowed(rules, path)
    assert allowed([*rules, (True, pattern)], path) >= before
    assert allowed([*rules, (False, pattern)], path) <= before
