"""What the fetch loop promises, whatever hosts do: on a web and a clock that are made up."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from tests.simulated_log import check_politeness, check_robots, max_parallel
from tests.simulation import (
    OK,
    POLICY,
    Ask,
    Crawl,
    Reply,
    Site,
    Web,
    down,
    failing,
    failing_at,
    pages_asked,
    redirect,
    retry_after,
    retry_at,
    urls,
    with_connections,
    with_pace,
)
from transforms.pace import LONGEST_STRAY, MAX_FAILURES
from transforms.records import (
    ADDRESS_REFUSED,
    HTTP_ERROR,
    NETWORK_ERROR,
    PAGE,
    ROBOTS_DENIED,
    ROBOTS_TXT,
)
from transforms.slot_fetcher import GRACE, LOOK_UP
from transforms.slot_rows import Budget
from transforms.transport import ADDRESS, BROKEN, CONNECT, DNS, TIMEOUT, TLS

A, B, C = "a.example", "b.example", "c.example"
# Pace


@pytest.mark.parametrize(
    ("robots", "latency", "delay", "gap"),
    [
        (Reply(404), 0.1, 1.0, 1.0),
        ("Crawl-delay: 5", 0.1, 1.0, 5.0),
        ("Crawl-delay: 5", 0.1, 9.0, 9.0),
        (Reply(404), 4.0, 1.0, 8.0),  # twice the response time
        (Reply(404), 19.0, 1.0, 30.0),  # and no more than this
        (Reply(404), 4.0, 0.0, 0.0),
        ("Crawl-delay: 5", 4.0, 0.0, 5.0),
    ],
)
def test_gap_is_the_longest_of_those_due(tmp_path, robots, latency, delay, gap):
    web = Web({A: Site(robots, latency=latency)})
    Crawl(tmp_path, web, urls(A, 4), with_pace(delay=delay)).run()
    log = web.asked(A)
    assert [b.start - a.end for a, b in pairwise(log)] == pytest.approx([gap] * 4, abs=1e-4)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("word", ["seconds", "date"])
def test_retry_after_stops_the_whole_host(tmp_path, status, word):
    def page(ask: Ask) -> Reply:
        if ask.path != "/1" or ask.visit > 1:
            return OK
        return retry_after(90, status) if word == "seconds" else retry_at(ask.now, 90)

    web = Web({A: Site(page=page), B: Site()})
    crawl = Crawl(tmp_path, web, urls(A, 4) + urls(B, 4))
    crawl.run()
    log = web.asked(A)
    [index] = [n for n, exchange in enumerate(log) if exchange.reply.status != 200 and n]
    assert 89 <= log[index + 1].start - log[index].end <= 92
    assert web.asked(B)[-1].end < 10
    assert set(crawl.ended.values()) == {PAGE}
    check_politeness(web, POLICY)


def test_retry_after_beyond_patience_ends_the_round(tmp_path):
    web = Web({A: Site(page=lambda ask: retry_after(3600) if ask.now < 3600 else OK)})
    crawl = Crawl(tmp_path, web, urls(A, 3))
    crawl.run()
    assert web.now < 10
    assert sorted(crawl.waiting()) == urls(A, 3)
    record = crawl.hosts()[A]
    assert record.reason == "HTTP 503"
    assert record.ready_at - web.clock() > 3590
    web.now += 3600
    crawl.run()
    assert set(crawl.ended.values()) == {PAGE}
    check_politeness(web, POLICY)


def test_host_that_says_not_now_is_asked_half_as_often_each_time_then_eases_back(tmp_path):
    web = Web({A: Site(page=down(0, 12, Reply(503)))})
    crawl = Crawl(tmp_path, web, urls(A, 20))
    crawl.run()
    gaps = [b.start - a.end for a, b in pairwise(web.asked(A))]
    for gap, due in zip(gaps[1:4], [2.0, 4.0, 8.0], strict=True):
        assert due <= gap <= due * (1 + LONGEST_STRAY)
    eased = gaps[4:]
    assert eased[:4] == pytest.approx([6.0, 4.5, 3.375, 2.53125], abs=0.01)
    assert eased[-1] == pytest.approx(1.0)
    assert set(crawl.ended.values()) == {PAGE}
    check_politeness(web, POLICY)


@pytest.mark.parametrize("reply", [Reply(503), Reply(429), failing(CONNECT), failing(TIMEOUT, 20)])
@pytest.mark.parametrize("seconds", [5, 60, 300, 3000])
def test_outage_costs_no_page_and_is_not_hammered(tmp_path, reply, seconds):
    """Every page is fetched in the end; meanwhile, requests grow with the logarithm of time."""
    web = Web({A: Site(page=down(4, 4 + seconds, reply))})
    crawl = Crawl(tmp_path, web, urls(A, 12))
    crawl.run_for(days=1)
    assert set(crawl.ended.values()) == {PAGE}
    assert len(crawl.ended) == 12
    during = [exchange for exchange in web.log if 4 <= exchange.start < 4 + seconds]
    assert len(during) <= MAX_FAILURES + 4
    check_politeness(web, POLICY)


def test_outage_of_the_robots_txt_too_costs_no_page(tmp_path):
    def answer(ask: Ask) -> Reply:
        return Reply(503) if ask.now < 100 else OK

    web = Web({A: Site(answer, answer), B: Site()})
    crawl = Crawl(tmp_path, web, urls(A, 5) + urls(B, 5))
    crawl.run()
    assert set(crawl.ended.values()) == {PAGE}
    assert web.paths(A)[:3] == ["/robots.txt"] * 3  # at 0, 30 and 90 s
    assert web.asked(B)[-1].end < 10
    check_robots(web)


@pytest.mark.parametrize("period", [3, 7, 20, 100])
def test_flapping_host_gives_all_its_pages(tmp_path, period):
    web = Web({A: Site(page=lambda ask: Reply(503) if ask.now // period % 2 else OK)})
    crawl = Crawl(tmp_path, web, urls(A, 30))
    crawl.run_for(days=1)
    assert list(crawl.ended.values()) == [PAGE] * 30
    check_politeness(web, POLICY)


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (Reply(503), HTTP_ERROR),
        (Reply(500), HTTP_ERROR),
        (Reply(429), HTTP_ERROR),
        (failing(TIMEOUT, 20), NETWORK_ERROR),
        (failing(BROKEN), NETWORK_ERROR),
    ],
)
@pytest.mark.parametrize("place", [0, 5, 9])
def test_url_that_always_fails_ends_while_its_host_goes_on(tmp_path, reply, outcome, place):
    web = Web({A: Site(page=failing_at(f"/{place}", reply))})
    crawl = Crawl(tmp_path, web, urls(A, 10))
    crawl.run()
    failed = f"http://{A}/{place}"
    assert {url for url, found in crawl.ended.items() if found == PAGE} == {*urls(A, 10)} - {failed}
    assert crawl.ended[failed] == outcome
    assert web.visits[failed] <= MAX_FAILURES + 2
    check_politeness(web, POLICY)


@pytest.mark.parametrize("retries", [0, 1, 4])
def test_retries_is_how_often_more_a_url_is_asked(tmp_path, retries):
    web = Web({A: Site(page=failing_at("/0", Reply(500)))})
    crawl = Crawl(tmp_path, web, urls(A, 9), with_pace(retries=retries))
    crawl.run()
    assert web.visits[f"http://{A}/0"] == retries + 1


# Hosts that are gone


def test_host_that_does_not_answer_is_closed_and_tried_once_in_a_later_round(tmp_path):
    web = Web({A: Site(lambda ask: failing(CONNECT), lambda ask: failing(CONNECT)), B: Site()})
    crawl = Crawl(tmp_path, web, urls(A, 5) + urls(B, 5))
    assert len(crawl.round()) == 5
    first = web.asked(A)
    assert len(first) == MAX_FAILURES
    gaps = [b.start - a.end for a, b in pairwise(first)]
    for gap, due in zip(gaps, [2.0, 4.0, 8.0, 16.0, 30.0], strict=True):
        assert due - 1e-4 <= gap <= due * (1 + LONGEST_STRAY)
    assert crawl.hosts()[A].reason == CONNECT
    crawl.round()
    assert len(web.asked(A)) == len(first) + 1
    check_politeness(web, POLICY)


def test_host_that_never_answers_is_given_up_in_the_end(tmp_path):
    web = Web({A: Site(lambda ask: failing(CONNECT))})
    crawl = Crawl(tmp_path, web, urls(A, 5))
    crawl.run_for(days=3)
    assert list(crawl.ended.values()) == [NETWORK_ERROR] * 5
    assert len(web.log) < 20
    check_politeness(web, POLICY)


def test_host_that_comes_back_late_has_lost_nothing(tmp_path):
    def answer(ask: Ask) -> Reply:
        return OK if ask.now > 3000 else failing(TIMEOUT, 20)

    web = Web({A: Site(answer, answer)})
    crawl = Crawl(tmp_path, web, urls(A, 5))
    crawl.run_for(days=1)
    assert list(crawl.ended.values()) == [PAGE] * 5
    check_politeness(web, POLICY)


def test_name_that_does_not_resolve_ends_its_queue_after_the_retries(tmp_path):
    web = Web({A: Site(lambda ask: failing(DNS)), B: Site()})
    crawl = Crawl(tmp_path, web, urls(A, 5) + urls(B, 2))
    crawl.run()
    assert crawl.rounds == 1
    assert [crawl.ended[url] for url in urls(A, 5)] == [NETWORK_ERROR] * 5
    assert len(web.asked(A)) == POLICY.pace.retries + 1


def test_name_that_resolves_at_the_second_try_has_lost_nothing(tmp_path):
    web = Web({A: Site(lambda ask: failing(DNS) if ask.visit == 1 else Reply(404))})
    crawl = Crawl(tmp_path, web, urls(A, 3))
    crawl.run()
    assert list(crawl.ended.values()) == [PAGE] * 3


def test_host_at_a_private_address_ends_at_once(tmp_path):
    web = Web({A: Site(failing(ADDRESS, 0.0)), B: Site()})
    crawl = Crawl(tmp_path, web, urls(A, 5) + urls(B, 2))
    crawl.run()
    assert [crawl.ended[url] for url in urls(A, 5)] == [ADDRESS_REFUSED] * 5
    assert len(web.asked(A)) == 1


def test_host_without_valid_tls_ends_without_a_page(tmp_path):
    web = Web({A: Site(failing(TLS))})
    crawl = Crawl(tmp_path, web, urls(A, 3))
    crawl.run()
    assert list(crawl.ended.values()) == [NETWORK_ERROR] * 3
    assert set(web.paths(A)) == {"/robots.txt"}


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
            A: Site(redirect(f"http://{B}/other.txt"), latency=2.0),
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
    crawl.restart()
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
    assert len(web.asked(C)) == 1  # what one was told there holds for all
    check_politeness(web, POLICY)


# Limits, budgets, ends


@pytest.mark.parametrize("limit", [1, 3, 7])
def test_limit_is_met_and_never_exceeded(tmp_path, limit):
    web = Web({A: Site(page=failing_at("/0", Reply(404))), B: Site(), C: Site(latency=4.0)})
    crawl = Crawl(tmp_path, web, urls(A, 5) + urls(B, 5) + urls(C, 5))
    crawl.round(limit=limit)
    assert list(crawl.ended.values()).count(PAGE) == limit
    asked = [exchange for exchange in web.log if not exchange.is_robots]
    assert sum(exchange.reply.status == 200 for exchange in asked) == limit


def test_stop_ends_within_the_grace_and_its_host_is_left_alone_as_long_as_due(tmp_path):
    web = Web({A: Site(page=lambda ask: Reply(latency=100.0 if ask.path == "/3" else 0.1))})
    crawl = Crawl(tmp_path, web, urls(A, 9))
    crawl.round(must_stop=lambda: web.now > 6)
    assert web.now <= 6 + LOOK_UP + GRACE + LOOK_UP
    assert len(crawl.ended) == 3
    assert crawl.hosts()[A].ready_at >= web.clock() + 1.0


def test_stop_takes_what_ends_within_the_grace(tmp_path):
    web = Web({A: Site(latency=3.0)})
    crawl = Crawl(tmp_path, web, urls(A, 3), POLICY._replace(robots=False))
    crawl.round(must_stop=lambda: web.now > 1)
    assert list(crawl.ended) == [f"http://{A}/0"]


@pytest.mark.parametrize("delay", [1.0, 10.0], ids=["our delay", "its Crawl-delay"])
def test_attempt_after_one_that_died_leaves_its_hosts_alone_for_one_gap(tmp_path, delay):
    web = Web({A: Site(f"User-agent: *\nCrawl-delay: {delay}")})
    crawl = Crawl(tmp_path, web, urls(A, 5))
    crawl.die(pages=2)
    crawl.round(again=True)
    pages = [exchange for exchange in web.log if not exchange.is_robots]
    assert len(pages) == 7
    assert min(b.start - a.end for a, b in pairwise(pages)) >= delay - 1e-6


def test_first_attempt_waits_for_nobody(tmp_path):
    web = Web({A: Site()})
    Crawl(tmp_path, web, urls(A, 1)).round()
    assert web.log[0].start < 0.1


@pytest.mark.parametrize("option", ["round_time", "deadline"])
def test_round_ends_in_time(tmp_path, option):
    web = Web({A: Site(), B: Site(latency=0.5)})
    limit = 20.0 if option == "round_time" else web.clock() + 20.0
    crawl = Crawl(tmp_path, web, urls(A, 99) + urls(B, 99), POLICY._replace(**{option: limit}))
    crawl.round()
    assert 20 <= web.now <= 20 + LOOK_UP + GRACE
    assert len(crawl.ended) > 20


def test_patience_decides_whether_a_round_waits(tmp_path):
    for patience, waits in ((28.0, False), (31.0, True)):
        web = Web({A: Site(lambda ask: Reply(503) if ask.visit == 1 else Reply(404))})
        policy = POLICY._replace(patience=patience)
        crawl = Crawl(tmp_path / str(patience), web, urls(A, 2), policy)
        crawl.round()
        assert bool(crawl.ended) is waits


def test_budgets_hold_for_a_round_and_for_the_crawl(tmp_path):
    web = Web({A: Site(), B: Site()})
    crawl = Crawl(tmp_path, web, urls(A, 9) + urls(B, 2), budget=Budget(a_round=2, a_crawl=5))
    for asked in (4, 2, 1, 0):
        assert len(crawl.round()) == asked
    assert len(pages_asked(web, A)) == 5
    assert len(crawl.waiting()) == 4


def test_hosts_of_one_address_are_asked_together_only_so_many_at_a_time(tmp_path):
    hosts = [f"h{n}.example" for n in range(8)]
    web = Web({host: Site(address="192.0.2.7", latency=2.0) for host in hosts} | {C: Site()})
    policy = with_connections(16, per_address=2)
    crawl = Crawl(tmp_path, web, [url for host in (*hosts, C) for url in urls(host, 4)], policy)
    crawl.run()
    # From the first requests on, when nobody knew where these hosts are.
    assert max_parallel(each for each in web.log if each.host != C) == 2
    assert max_parallel(web.log) == 3
    assert len(crawl.ended) == 36
    check_politeness(web, policy)


def test_hosts_behind_a_proxy_do_not_share_its_address(tmp_path):
    hosts = [f"h{n}.example" for n in range(6)]
    web = Web({host: Site(address="192.0.2.7", latency=2.0) for host in hosts})
    fetch = POLICY.fetch._replace(concurrency=16, proxy="http://proxy.example:3128")
    policy = POLICY._replace(fetch=fetch, per_address=1)
    crawl = Crawl(tmp_path, web, [url for host in hosts for url in urls(host, 3)], policy)
    crawl.run()
    assert max_parallel(each for each in web.log if not each.is_robots) == 6


def test_abandoned_exchanges_do_not_reach_the_next_attempt(tmp_path):
    """One transport serves slot after slot; it may still hold what a round left behind."""
    web = Web({A: Site(latency=30.0), B: Site()})
    crawl = Crawl(tmp_path / "a", web, urls(A, 3), POLICY._replace(robots=False))
    crawl.round(must_stop=lambda: web.now > 1)
    assert crawl.ended == {}
    other = Crawl(tmp_path / "b", web, urls(B, 40), POLICY._replace(robots=False))
    other.transport = crawl.transport
    other.run()
    assert list(other.ended.values()) == [PAGE] * 40


def test_no_host_starves_behind_long_ones(tmp_path):
    """More hosts than connections, and nearly all have far more to do than the short ones."""
    long, short = [f"l{n}.example" for n in range(12)], ["s1.example", "s2.example"]
    web = Web({host: Site(latency=1.0) for host in (*long, *short)})
    addresses = [url for host in long for url in urls(host, 60)]
    addresses += [url for host in short for url in urls(host, 2)]
    policy = with_pace(with_connections(2), delay=0.5)
    crawl = Crawl(tmp_path, web, addresses, policy)
    crawl.run()
    took = web.now
    assert len(crawl.ended) == len(addresses)
    for host in short:
        assert web.asked(host)[-1].end < took / 3
