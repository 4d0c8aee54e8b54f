"""What a slot does for a robots.txt, and with it: on a made-up web and clock."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.simulated_log import (
    check_politeness,
    check_robots,
)
from tests.simulated_web import (
    Ask,
    Reply,
    Site,
    Web,
    retry_after,
    urls,
)
from tests.simulation import (
    POLICY,
    Crawl,
    with_pace,
)
from transforms.records import (
    PAGE,
    ROBOTS_DENIED,
    ROBOTS_TXT,
)
from transforms.slot_rows import (
    Budget,
)

A, B = "a.example", "b.example"


def test_robots_txt_is_asked_first_once_for_each_origin_and_denies(tmp_path):
    addresses = [f"{scheme}/{n}" for n in range(3) for scheme in (f"http://{A}", f"https://{A}:81")]
    web = Web({A: Site("Disallow: /1")})
    crawl = Crawl(tmp_path, web, addresses)
    crawl.run()
    asked = [exchange.url for exchange in web.log]
    assert asked.count(f"http://{A}/robots.txt") == asked.count(f"https://{A}:81/robots.txt") == 1
    assert "/1" not in web.paths(A)
    assert [crawl.ended[url] for url in addresses[2:4]] == [ROBOTS_DENIED] * 2
    assert sum(each.outcome == ROBOTS_TXT for each in crawl.fetched) == 2
    check_robots(web)
    check_politeness(web, POLICY)


def test_name_with_a_dot_at_its_end_is_the_same_host(tmp_path):
    web = Web({A: Site("Disallow: /1"), A + ".": Site("Disallow: /2")})
    mixed = [url for pair in zip(urls(A, 4), urls(A + ".", 4), strict=True) for url in pair]
    crawl = Crawl(tmp_path, web, mixed)
    crawl.run()
    denied = {url for url, outcome in crawl.ended.items() if outcome == ROBOTS_DENIED}
    assert denied == {f"http://{A}/1", f"http://{A}./2"}
    web.log = [exchange._replace(host=A) for exchange in web.log]
    check_politeness(web, POLICY)


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize(("rule", "outcome"), [("deny", ROBOTS_DENIED), ("allow", PAGE)])
def test_forbidden_robots_txt_means_what_the_policy_says(tmp_path, status, rule, outcome):
    web = Web({A: Site(Reply(status))})
    crawl = Crawl(tmp_path, web, urls(A, 2), POLICY._replace(robots_forbidden=rule))
    crawl.run()
    assert list(crawl.ended.values()) == [outcome] * 2


def test_no_robots_asks_for_none(tmp_path):
    web = Web({A: Site("Disallow: /")})
    crawl = Crawl(tmp_path, web, urls(A, 2), POLICY._replace(robots=False))
    crawl.run()
    assert web.paths(A) == ["/0", "/1"]


@pytest.mark.parametrize("reply", [Reply(500), Reply(503), Reply(429), retry_after(7)])
def test_site_without_a_robots_txt_to_be_had_waits(tmp_path, reply):
    web = Web({A: Site(reply)})
    crawl = Crawl(tmp_path, web, urls(A, 3))
    crawl.run()
    assert crawl.ended == {}
    assert set(web.paths(A)) == {"/robots.txt"}
    gaps = [b.start - a.end for a, b in pairwise(web.asked(A))]
    assert gaps[:3] == pytest.approx([30.0, 60.0, 120.0], abs=1.1)
    assert crawl.hosts()[A].reason == f"HTTP {reply.status}"
    crawl.run_for(days=29, every=43200)
    assert crawl.ended == {}
    crawl.run_for(days=3, every=43200)  # RFC 9309 §2.3.1.4
    assert list(crawl.ended.values()) == [PAGE] * 3


def test_origin_that_waits_for_its_robots_txt_holds_up_no_other_of_its_host(tmp_path):
    def robots(ask: Ask) -> Reply:
        return Reply(503) if ask.origin.startswith("https:") else Reply(404)

    web = Web({A: Site(robots)})
    mixed = [url for n in range(4) for url in (f"https://{A}/{n}", f"http://{A}/{n}")]
    crawl = Crawl(tmp_path, web, mixed, POLICY._replace(patience=10.0))
    crawl.run()
    assert sorted(crawl.ended) == urls(A, 4)


def test_host_is_said_to_wait_for_as_long_as_its_robots_txt_does(tmp_path):
    web = Web({A: Site(Reply(503)), B: Site("Crawl-delay: 61")})
    crawl = Crawl(tmp_path, web, urls(A, 2) + urls(B, 2), POLICY._replace(patience=10.0))
    crawl.run()
    hosts = crawl.hosts()
    assert hosts[A].waits_until == pytest.approx(web.clock() + 30, abs=3)
    assert hosts[B].waits_until == pytest.approx(web.clock() + 86400, abs=3)
    web.sites = {A: Site(), B: Site()}
    web.now += 86400
    crawl.run()
    hosts = crawl.hosts()
    assert hosts[A].waits_until == hosts[A].ready_at
    assert hosts[B].reason == ""


def test_crawl_delay_over_the_limit_puts_the_host_aside_with_a_reason(tmp_path):
    web = Web({A: Site("Crawl-delay: 61"), B: Site("Crawl-delay: 60")})
    crawl = Crawl(tmp_path, web, urls(A, 2) + urls(B, 2))
    crawl.run()
    assert sorted(crawl.ended) == urls(B, 2)
    assert web.paths(A) == ["/robots.txt"]
    assert "Crawl-delay of 61s" in crawl.hosts()[A].reason
    crawl.policy = with_pace(max_crawl_delay=61.0)
    crawl.run()
    assert sorted(crawl.ended) == urls(A, 2) + urls(B, 2)
    check_politeness(web, POLICY, {A: 61.0, B: 60.0})


def test_robots_txt_is_kept_between_rounds_and_asked_anew_when_stale(tmp_path):
    def robots(ask: Ask) -> Reply:
        if "if-none-match" in ask.headers:
            return Reply(304)
        return Reply(200, (("ETag", '"1"'), ("Cache-Control", "max-age=600")), b"")

    web = Web({A: Site(robots)})
    crawl = Crawl(tmp_path, web, urls(A, 6), budget=Budget(a_round=2))
    crawl.round()
    crawl.round()
    assert web.paths(A).count("/robots.txt") == 1
    web.now += 600
    crawl.round()
    assert [each.reply.status for each in web.log if each.is_robots] == [200, 304]
    assert list(crawl.ended.values()) == [PAGE] * 6
    check_politeness(web, POLICY)
