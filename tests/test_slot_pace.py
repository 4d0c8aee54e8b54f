"""How a slot's hosts are asked, and when one is given up: on a made-up web and clock."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.simulated_log import (
    check_politeness,
    check_robots,
)
from tests.simulated_web import (
    OK,
    Ask,
    Reply,
    Site,
    Web,
    down,
    failing,
    failing_at,
    retry_after,
    retry_at,
    urls,
)
from tests.simulation import (
    POLICY,
    Crawl,
    with_pace,
)
from transforms.pace import (
    LONGEST_STRAY,
    MAX_FAILURES,
)
from transforms.records import (
    ADDRESS_REFUSED,
    HTTP_ERROR,
    NETWORK_ERROR,
    PAGE,
)
from transforms.slot_fetcher import (
    FEW_CLOSURES,
)
from transforms.transport import (
    ADDRESS,
    BROKEN,
    CONNECT,
    DNS,
    TIMEOUT,
    TLS,
)

A, B = "a.example", "b.example"


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


@pytest.mark.parametrize("phase", [0.0, 0.4, 0.8, 1.1, 1.5])
@pytest.mark.parametrize("count", [7, 30])
@pytest.mark.parametrize("period", [3, 7, 20, 100])
def test_flapping_host_gives_all_its_pages(tmp_path, period, count, phase):
    def page(ask: Ask) -> Reply:
        return Reply(503) if (ask.now / period + phase) // 1 % 2 else OK

    web = Web({A: Site(page=page)})
    crawl = Crawl(tmp_path, web, urls(A, count))
    crawl.run_for(days=1)
    assert list(crawl.ended.values()) == [PAGE] * count
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
    # Nobody knows of the last one whether it is its host that fails: so it is tried for longer.
    crawl.run_for(days=0.1)
    failed = f"http://{A}/{place}"
    assert {url for url, found in crawl.ended.items() if found == PAGE} == {*urls(A, 10)} - {failed}
    assert crawl.ended[failed] == outcome
    assert web.visits[failed] <= MAX_FAILURES + FEW_CLOSURES - 1
    check_politeness(web, POLICY)


@pytest.mark.parametrize("left", [1, 2, 3])
@pytest.mark.parametrize("seconds", [60, 150, 330, 1300])
def test_outage_before_the_last_few_urls_costs_no_page(tmp_path, left, seconds):
    since = 1.1 * (12 - left) + 1.0
    web = Web({A: Site(page=down(since, since + seconds, Reply(503)))})
    crawl = Crawl(tmp_path, web, urls(A, 12))
    crawl.run()
    if seconds < 400:  # no wait is over the patience
        assert crawl.waiting() == []
    crawl.run_for(days=1)
    assert list(crawl.ended.values()) == [PAGE] * 12
    assert sum(exchange.reply.status == 503 for exchange in web.log) <= MAX_FAILURES + 3
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
