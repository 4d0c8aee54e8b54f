"""A robots.txt that is at another host: on a made-up web and clock."""

from __future__ import annotations

from collections.abc import Callable

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
    failing,
    redirect,
    urls,
)
from tests.simulation import (
    POLICY,
    Crawl,
)
from transforms.records import (
    NETWORK_ERROR,
    PAGE,
    ROBOTS_DENIED,
)
from transforms.transport import (
    ADDRESS,
    CONNECT,
    DNS,
    TIMEOUT,
    TLS,
)

A, B, C = "a.example", "b.example", "c.example"


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
