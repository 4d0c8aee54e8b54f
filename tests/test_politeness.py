"""Politeness, by the log of the server that was asked; and nothing lost for its sake."""

from __future__ import annotations

import itertools
import socket
import time

import pytest

from pipeline.driver import FINISHED, WORK_LEFT
from tests.crawling import outcomes, read_rows, run_crawl
from tests.webserver import Answer, Request, serve
from transforms import records

HOST, OTHER = "127.0.0.41", "127.0.0.42"


def site(links: int, **pages: Answer):
    """A root that links to /0, /1, …, and other pages by name (`robots` is robots.txt)."""

    def answer(request: Request) -> Answer:
        if request.path == "/robots.txt":
            return pages.get("robots", Answer(404))
        if request.path == "/":
            body = "".join(f"<a href=/{n}>{n}</a>" for n in range(links))
            extra = "".join(f"<a href=/{name}>x</a>" for name in pages if name != "robots")
            return Answer(body=(extra + body).encode())
        return pages.get(request.path[1:], Answer(body=request.path.encode()))

    return answer


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def test_crawl_delay_of_robots_is_kept(tmp_path):
    robots = Answer(body=b"User-agent: *\nCrawl-delay: 0.3\n", content_type="text/plain")
    with serve(site(3, robots=robots), [HOST]) as web:
        run_crawl(tmp_path, web.url())
        assert min(web.gaps(HOST)) >= 0.29
        assert web.max_parallel(HOST) == 1


def test_crawl_delay_over_the_limit_puts_the_host_aside(tmp_path):
    robots = Answer(body=b"User-agent: *\nCrawl-delay: 120\n", content_type="text/plain")
    with serve(site(3, robots=robots), [HOST]) as web:
        ended = run_crawl(tmp_path, web.url())
        assert ended.code == WORK_LEFT
        assert "Crawl-delay of 120s" in ended.waits.hosts[0].reason
        assert [hit.path for hit in web.asked(HOST)] == ["/robots.txt"]


def test_retry_after_stops_the_whole_host(tmp_path):
    calm = site(3)

    def answer(request: Request) -> Answer:
        if request.path == "/1" and request.visit == 1:
            return Answer(503, headers=(("Retry-After", "2"),))
        return calm(request)

    with serve(answer, [HOST]) as web:
        run_crawl(tmp_path, web.url())
        hits = web.asked(HOST)
        busy = next(index for index, hit in enumerate(hits) if hit.status == 503)
        assert hits[busy + 1].start - hits[busy].end >= 1.95
        assert set(outcomes(tmp_path).values()) == {records.PAGE}


def test_site_that_answers_503_for_a_while_loses_no_page(tmp_path):
    calm, began = site(6), time.monotonic()

    def answer(request: Request) -> Answer:
        down = 0.2 < time.monotonic() - began < 4.0 and request.path != "/robots.txt"
        return Answer(503) if down else calm(request)

    with serve(answer, [HOST]) as web:
        ended = run_crawl(tmp_path, web.url(), delay=0.15)
        assert ended.code == FINISHED
        assert set(outcomes(tmp_path).values()) == {records.PAGE}
        assert len(outcomes(tmp_path)) == 7
        assert sum(hit.status == 503 for hit in web.log) <= 5  # 4 s of it: 1 s, 2 s, 4 s


def test_flapping_and_dead_hosts_cost_the_others_nothing_and_are_not_hammered(tmp_path):
    calm = site(6)

    def answer(request: Request) -> Answer:
        if request.host == OTHER and request.path in ("/1", "/3", "/5") and request.visit == 1:
            return Answer(503)
        reply = calm(request)
        return reply._replace(body=reply.body + request.host.encode())  # or it is a duplicate

    with serve(answer, [HOST, OTHER]) as web:
        dead = f"http://127.0.0.43:{web.port}/"
        seeds = (web.url(), web.url("/", OTHER), dead)
        ended = run_crawl(tmp_path, *seeds, delay=0.2, patience=3.0)
        found = outcomes(tmp_path)
        assert ended.code == WORK_LEFT
        assert [host.host for host in ended.waits.hosts] == ["127.0.0.43"]
        assert set(found.values()) == {records.PAGE}
        assert len(found) == 14
        for host in (HOST, OTHER):
            assert web.max_parallel(host) == 1
            assert min(web.gaps(host)) >= 0.19
            assert web.asked(host)[0].path == "/robots.txt"
        hits = web.asked(OTHER)
        for hit, following in itertools.pairwise(hits):
            assert hit.status != 503 or following.start - hit.end >= 0.98


def test_hosts_of_one_address_share_its_cap_from_the_first_request_on(tmp_path):
    names = [f"h{number}.localhost" for number in range(6)]

    with serve(lambda request: Answer(body=b"x", delay=0.2), ["127.0.0.1"]) as web:
        seeds = [f"http://{name}:{web.port}/" for name in names]
        run_crawl(tmp_path, *seeds, per_address=2)
        assert list(outcomes(tmp_path).values()).count(records.DUPLICATE) == 5
        assert web.max_parallel("127.0.0.1") == 2


def test_page_that_always_fails_ends_while_others_go_on(tmp_path):
    with serve(site(8, broken=Answer(503)), [HOST]) as web:
        ended = run_crawl(tmp_path, web.url(), retries=1)
        found = outcomes(tmp_path)
        assert ended.code == FINISHED
        assert found[web.url("/broken")] == records.HTTP_ERROR
        assert list(found.values()).count(records.PAGE) == 9


def test_origin_without_a_server_does_not_hold_up_its_host(tmp_path):
    dead = f"http://{HOST}:{free_port()}/"

    def answer(request: Request) -> Answer:
        if request.path == "/":
            links = [dead, *(f"/{n}" for n in range(5))]
            return Answer(body="".join(f"<a href={link}>x</a>" for link in links).encode())
        return Answer(404 if request.path == "/robots.txt" else 200, request.path.encode())

    with serve(answer, [HOST]) as web:
        ended = run_crawl(tmp_path, web.url(), retries=1)
        found = outcomes(tmp_path)
        assert ended.code == FINISHED
        assert found.pop(dead) == records.NETWORK_ERROR
        assert set(found.values()) == {records.PAGE}
        assert len(found) == 6


def test_host_that_is_down_waits_and_holds_up_nobody(tmp_path):
    with serve(site(3), [HOST]) as web:
        down = f"http://{OTHER}:{web.port}/"
        ended = run_crawl(tmp_path, web.url(), down, patience=0.5)
        assert ended.code == WORK_LEFT
        assert {host.host for host in ended.waits.hosts} == {OTHER}
        assert len(outcomes(tmp_path)) == 4
    with serve(site(0), [OTHER], web.port) as web:
        time.sleep(1.1)  # the setback after the first failure
        assert run_crawl(tmp_path).code == FINISHED
        assert outcomes(tmp_path)[down] == records.PAGE


def test_restart_keeps_the_gap_and_the_robots_txt(tmp_path):
    with serve(site(4), [HOST]) as web:
        run_crawl(tmp_path, web.url(), delay=1.0, depth=0)
        run_crawl(tmp_path, delay=1.0, limit=2)
        asked = web.asked(HOST)
        assert [hit.path for hit in asked].count("/robots.txt") == 1
        assert min(web.gaps(HOST)) >= 0.98


@pytest.mark.parametrize("word", ["deny", "allow"])
def test_forbidden_robots_txt_closes_the_site_unless_told_otherwise(tmp_path, word):
    with serve(site(2, robots=Answer(403)), [HOST]) as web:
        run_crawl(tmp_path, web.url(), robots_forbidden=word)
        denied = outcomes(tmp_path)[web.url()] == records.ROBOTS_DENIED
        assert denied is (word == "deny")


def test_robots_txt_behind_a_redirect_to_another_host_holds(tmp_path):
    def answer(request: Request) -> Answer:
        if request.path == "/robots.txt" and request.host == HOST:
            return Answer(301, headers=(("Location", f"http://{OTHER}:{request.port}/robots.txt"),))
        if request.path == "/robots.txt":
            return Answer(body=b"User-agent: *\nDisallow: /1\n", content_type="text/plain")
        return site(3)(request)

    with serve(answer, [HOST, OTHER]) as web:
        run_crawl(tmp_path, web.url(), web.url("/", OTHER), delay=0.05)
        found = outcomes(tmp_path)
        assert found[web.url("/1")] == records.ROBOTS_DENIED
        assert found[web.url("/2")] == records.PAGE
        assert web.max_parallel(OTHER) == web.max_parallel(HOST) == 1
        assert not [hit for hit in web.log if hit.path == "/1"]


def test_wishes_of_pages_are_heeded(tmp_path):
    pages = {
        "plain": Answer(body=b"<a href=/hidden rel=nofollow>x</a><a href=/seen>y</a>"),
        "closed": Answer(body=b"<meta name=robots content=nofollow><a href=/secret>x</a>"),
        "kept": Answer(body=b"private words", headers=(("X-Robots-Tag", "noarchive, noindex"),)),
    }
    with serve(site(0, **pages), [HOST]) as web:
        run_crawl(tmp_path, web.url())
        found = outcomes(tmp_path)
        assert web.url("/seen") in found
        assert not {web.url("/hidden"), web.url("/secret")} & set(found)
        rows = {row["url"]: row for row in read_rows(tmp_path, "pages")}
        assert rows[web.url("/kept")]["noindex"] is True
        assert rows[web.url("/plain")]["noindex"] is False
    import gzip

    archived = b"".join(gzip.decompress(path.read_bytes()) for path in tmp_path.glob("warc/*/*"))
    assert b"private words" not in archived
    assert b"/robots.txt" in archived


def test_budget_of_a_host_leaves_the_rest_waiting(tmp_path):
    with serve(site(9), [HOST]) as web:
        ended = run_crawl(tmp_path, web.url(), host_limit=4)
        assert ended.code == FINISHED
        assert len(outcomes(tmp_path)) == 4
        run_crawl(tmp_path, host_round_limit=2)
        assert len(outcomes(tmp_path)) == 10
