"""The gate: what robots.txt says of a URL, or that it is to be asked for first."""

from __future__ import annotations

import pytest

from transforms.robots_cache import FIRST_GAP, RobotsRecord, RobotsRequest
from transforms.robots_gate import ASK, DENY, GO, WAIT, Decision, RobotsGate
from transforms.transport import CONNECT, Request, Response

NOW = 1_800_000_000.0
A, B = "http://a.example", "http://b.example"


def gate(max_crawl_delay: float = 60.0, forbidden: str = "deny") -> RobotsGate:
    return RobotsGate("beamcrawl/0.1", forbidden, max_crawl_delay)


def reply(
    status: int, body: str = "", url: str = f"{A}/robots.txt", failure: str = "", **headers: str
) -> Response:
    lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in headers.items())]
    head = "\r\n".join([*lines, "", ""]).encode() if status else b""
    return Response(Request(None, url), status, head, body.encode(), b"", "", NOW, 0.1, failure)


def told(*responses: Response, **settings: float) -> RobotsGate:
    """A gate that was given these answers to what it asked for origin A."""
    one = gate(**settings)
    for response in responses:
        one.answer(A, response, NOW, NOW)
    return one


def test_decide_asks_for_the_robots_txt_of_each_origin_first():
    one = told(reply(200, "User-agent: *\nDisallow: /x"))
    assert one.decide(f"{A}/y", NOW).word == GO
    for origin in ("http://a.example:81", "https://a.example", B):
        decision = one.decide(f"{origin}/y", NOW)
        assert decision == Decision(ASK, origin=origin, url=f"{origin}/robots.txt")


@pytest.mark.parametrize(
    ("response", "word", "reason"),
    [
        (reply(200, "User-agent: *\nDisallow: /x"), DENY, "robots.txt line 2: Disallow: /x"),
        (reply(200, "User-agent: other\nDisallow: /x"), GO, ""),
        (reply(404), GO, ""),
        (reply(403), DENY, "robots.txt: HTTP 403, the whole site is closed"),
        (reply(503), WAIT, "HTTP 503"),
        (reply(429), WAIT, "HTTP 429"),
        (reply(302, location="/elsewhere"), ASK, ""),
        (reply(200, "User-agent: *\nCrawl-delay: 61"), WAIT, "Crawl-delay of 61s"),
        (reply(200, "User-agent: *\nCrawl-delay: 60"), GO, ""),
    ],
)
def test_decide_after_an_answer(response, word, reason):
    decision = told(response).decide(f"{A}/x", NOW)
    assert decision.word == word
    assert decision.reason.startswith(reason)


def test_decide_waits_until_the_robots_txt_may_be_asked_for_again():
    one = told(reply(503))
    assert one.decide(f"{A}/", NOW).until == NOW + FIRST_GAP
    assert one.decide(f"{A}/", NOW + FIRST_GAP).word == ASK
    told_so = told(reply(503, **{"Retry-After": "300"}))
    assert told_so.decide(f"{A}/", NOW).until == NOW + 300


def test_answer_of_nobody_waits_no_longer_than_the_host_does():
    one = gate()
    one.answer(A, reply(0, failure=CONNECT), NOW, ready_at=NOW + 2)
    assert one.decide(f"{A}/", NOW + 2).word == ASK


def test_crawl_delay_of_a_host_is_the_longest_of_its_origins_within_the_limit():
    one = gate()
    for port, delay in ((80, 3), (81, 7), (82, 99)):
        body = f"User-agent: *\nCrawl-delay: {delay}"
        one.answer(f"http://a.example:{port}", reply(200, body), NOW, NOW)
    assert one.crawl_delay("a.example") == 7.0
    assert one.crawl_delay("b.example") == 0.0
    assert len(one.records_of("a.example")) == 3


def test_crawl_delay_changes_with_the_robots_txt():
    one = told(reply(200, "User-agent: *\nCrawl-delay: 3"))
    assert one.crawl_delay("a.example") == 3.0
    one.answer(A, reply(200, "User-agent: *\nCrawl-delay: 1"), NOW, NOW)
    assert one.crawl_delay("a.example") == 1.0


def test_redirect_to_a_robots_txt_that_is_known_asks_for_nothing():
    one = gate()
    one.answer(B, reply(200, "User-agent: *\nDisallow: /x", f"{B}/robots.txt"), NOW, NOW)
    one.answer(A, reply(301, location=f"{B}/robots.txt"), NOW, NOW)
    assert one.knows(f"{B}/robots.txt", NOW)
    assert one.decide(f"{A}/x", NOW).word == DENY
    assert one.decide(f"{A}/y", NOW).word == GO
    assert [record.origin for record in one.records_of("a.example")] == [A]


@pytest.mark.parametrize("target", [f"{B}/other.txt", "http://b.example:81/robots.txt"])
def test_redirect_to_what_is_not_known_asks(target):
    one = gate()
    one.answer(B, reply(200), NOW, NOW)
    one.answer(A, reply(301, location=target), NOW, NOW)
    assert one.decide(f"{A}/x", NOW).url == target
    assert not one.knows(target, NOW)


def test_redirects_in_a_circle_ask_and_come_to_an_end():
    one = gate()
    one.answer(A, reply(301, location=f"{B}/robots.txt"), NOW, NOW)
    one.answer(B, reply(301, location=f"{A}/robots.txt"), NOW, NOW)
    asked = 0
    while (decision := one.decide(f"{A}/", NOW)).word == ASK:
        other = A if decision.url.startswith(B) else B
        one.answer(A, reply(301, location=f"{other}/robots.txt"), NOW, NOW)
        asked += 1
    assert (decision.word, asked) == (GO, 5)


def test_what_is_known_is_out_of_date_after_a_day():
    one = told(reply(200))
    assert one.knows(f"{A}/robots.txt", NOW + 86399)
    assert not one.knows(f"{A}/robots.txt", NOW + 86400)


def test_is_asking_only_for_what_it_has_no_copy_of():
    one = told(reply(200, ETag='"1"'))
    assert not one.is_asking(A, f"{A}/robots.txt", NOW)
    assert not one.is_asking(A, f"{A}/robots.txt", NOW + 86400)  # it asks with a condition
    assert one.is_asking(B, f"{B}/robots.txt", NOW)
    assert not one.is_asking(B, f"{A}/robots.txt", NOW)


def test_learn_takes_up_what_another_run_knew():
    record = RobotsRecord(A, "closed", "HTTP 403", expires_at=NOW + 9)
    one = gate()
    one.learn([record])
    assert one.decide(f"{A}/", NOW).word == DENY
    assert one.decide(f"{A}/", NOW + 9).url == RobotsRequest(f"{A}/robots.txt").url
