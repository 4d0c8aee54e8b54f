"""How the fetch loop asks for robots.txt, and what it makes of it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from tests.politeness import check_politeness, check_robots
from tests.simulation import (
    POLICY,
    Ask,
    Crawl,
    Reply,
    Site,
    Web,
    failing,
    redirect,
    retry_after,
)
from tests.slots import (
    OK,
    A,
    B,
    C,
    urls,
    with_pace,
)
from transforms.records import (
    NETWORK_ERROR,
    PAGE,
    ROBOTS_DENIED,
    ROBOTS_TXT,
)
from transforms.slot_rows import Budget
from transforms.transport import ADDRESS, CONNECT, DNS, TIMEOUT, TLS

# robots.txt


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
    crawl.run_for(days=29)
    assert crawl.ended == {}
    crawl.run_for(days=3)  # RFC 9309 §2.3.1.4
    assert list(crawl.ended.values()) == [PAGE] * 3


def test_origin_that_waits_for_its_robots_txt_holds_up_no_other_of_its_host(tmp_path):
    def robots(ask: Ask) -> Reply:
        return Reply(503) if ask.origin.startswith("https:") else Reply(404)

    web = Web({A: Site(robots)})
    mixed = [url for n in range(4) for url in (f"https://{A}/{n}", f"http://{A}/{n}")]
    crawl = Crawl(tmp_path, web, mixed, POLICY._replace(patience=10.0))
    crawl.run()
    assert sorted(crawl.ended) == urls(A, 4)


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


# robots.txt elsewhere


def test_robots_txt_behind_a_redirect_to_a_busy_host_waits_its_turn(tmp_path):
    web = Web({A: Site(redirect(f"http://{B}/robots.txt")), B: Site("Disallow: /1", latency=2.0)})
    crawl = Crawl(tmp_path, web, urls(A, 3) + urls(B, 9))
    crawl.run()
    denied = {url for url, outcome in crawl.ended.items() if outcome == ROBOTS_DENIED}
    assert denied == {f"http://{A}/1", f"http://{B}/1"}
    check_politeness(web, POLICY)
    check_robots(web)


@pytest.mark.parametrize("hops", [1, 5, 6])
def test_redirects_of_robots_txt_are_followed_five_times(tmp_path, hops):
    def step(number: int, target: str) -> Callable[[Ask], Reply]:
        return lambda ask: (
            redirect(target) if number < hops else Reply(body=b"User-agent: *\nDisallow: /")
        )

    names = [f"h{n}.example" for n in range(7)]
    sites = {
        name: Site(step(n, f"http://{names[min(n + 1, 6)]}/robots.txt"))
        for n, name in enumerate(names)
    }
    web = Web(sites)
    crawl = Crawl(tmp_path, web, [f"http://{names[0]}/0"])
    crawl.run()
    assert list(crawl.ended.values()) == [ROBOTS_DENIED if hops <= 5 else PAGE]
    assert sum(exchange.is_robots for exchange in web.log) == min(hops, 5) + 1


@pytest.mark.parametrize(
    "targets", [{A: A}, {A: B, B: A}, {A: B, B: C, C: A}, {A: B, B: B}, {A: C, B: C, C: A}]
)
@pytest.mark.parametrize("latency", [0.1, 3.0])
@pytest.mark.parametrize("per_address", [0, 1])
def test_robots_txt_that_redirects_in_circles_is_as_good_as_absent(
    tmp_path, targets, latency, per_address
):
    sites = {
        host: Site(
            redirect(f"http://{target}/robots.txt"), latency=latency * (n + 1), address="::1"
        )
        for n, (host, target) in enumerate(targets.items())
    }
    web = Web(sites)
    everything = [url for host in targets for url in urls(host, 3)]
    crawl = Crawl(tmp_path, web, everything, POLICY._replace(per_address=per_address))
    crawl.run()
    assert list(crawl.ended.values()) == [PAGE] * len(everything)
    assert crawl.rounds == 1
    check_politeness(web, POLICY)
    check_robots(web)


def test_errand_at_a_host_of_the_same_address_is_not_held_up_by_its_sender(tmp_path):
    """The sender is not being asked: its place under the cap is free for the errand."""
    web = Web(
        {
            A: Site(redirect(f"http://{B}/robots.txt"), address="192.0.2.9"),
            B: Site("Disallow: /1", address="192.0.2.9"),
        }
    )
    crawl = Crawl(tmp_path, web, urls(A, 3) + urls(B, 3), POLICY._replace(per_address=1))
    crawl.run()
    assert crawl.rounds == 1
    assert len(crawl.ended) == 6


@pytest.mark.parametrize("failure", [CONNECT, DNS, ADDRESS, TLS, TIMEOUT])
def test_robots_txt_at_a_host_that_fails_loses_no_url(tmp_path, failure):
    """B's own robots.txt is there; then B fails, in the middle of A's errand."""

    def robots(ask: Ask) -> Reply:
        return Reply(404) if ask.visit == 1 else failing(failure)

    web = Web(
        {
            A: Site(redirect(f"http://{B}/robots.txt"), latency=2.0),
            B: Site(robots, lambda ask: failing(failure) if ask.now > 2 else OK),
        }
    )
    crawl = Crawl(tmp_path, web, urls(A, 3) + urls(B, 3))
    crawl.run()
    assert not [path for path in web.paths(A) if path != "/robots.txt"]
    check_politeness(web, POLICY)


def test_own_robots_txt_that_fails_while_an_errand_waits_ends_the_right_url(tmp_path):
    web = Web(
        {
            A: Site(redirect(f"http://{B}/robots.txt"), latency=0.1),
            B: Site(lambda ask: failing(TLS) if ask.visit == 1 else Reply(404), latency=5.0),
        }
    )
    crawl = Crawl(tmp_path, web, urls(A, 3) + urls(B, 3))
    crawl.run()
    assert crawl.ended == dict.fromkeys(urls(A, 3) + urls(B, 3), PAGE) | {
        f"http://{B}/0": NETWORK_ERROR
    }


def test_round_that_stops_while_a_host_waits_for_an_errand_loses_no_url(tmp_path):
    web = Web({A: Site(redirect(f"http://{B}/robots.txt")), B: Site(latency=30.0)})
    crawl = Crawl(tmp_path, web, urls(A, 3) + urls(B, 3))
    crawl.round(must_stop=lambda: web.now > 10)
    assert crawl.ended == {}
    crawl.run()
    assert list(crawl.ended.values()) == [PAGE] * 6
    check_politeness(web, POLICY)
    check_robots(web)


def test_robots_txt_at_a_host_nobody_crawls_is_asked_politely(tmp_path):
    sites = {f"h{n}.example": Site(redirect(f"http://{C}/robots.txt")) for n in range(5)}
    web = Web({**sites, C: Site("Disallow: /1")})
    crawl = Crawl(tmp_path, web, [url for host in sites for url in urls(host, 2)])
    crawl.run()
    assert sorted(set(crawl.ended.values())) == [PAGE, ROBOTS_DENIED]
    assert len(web.asked(C)) == 5
    check_politeness(web, POLICY)
