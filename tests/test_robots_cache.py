"""What an origin allows, as its robots.txt is asked for again and again."""

import pickle
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.robots import MAX_BYTES
from transforms.robots_cache import (
    ALLOW,
    ASK,
    CLOSED,
    DAY,
    FIRST_GAP,
    GIVEN_UP,
    LONGEST_GAP,
    MAX_HOPS,
    OPEN,
    RULES,
    SHORTEST_LIFE,
    WAIT,
    RobotsRecord,
    RobotsRequest,
    access,
    after_response,
    http_date,
    next_request,
    rules_of,
)
from transforms.transport import BAD_URL, BROKEN, TIMEOUT, TOO_LARGE, Request, Response

NOW = 1_800_000_000.0
NEW = RobotsRecord("https://example.com")
BODY = b"User-agent: *\nDisallow: /private\n"


def answer(status=200, body=BODY, failure="", **headers):
    """What a server sends: `retry_after=…` is the header Retry-After."""
    lines = [f"HTTP/1.1 {status} X"]
    lines += [f"{name.replace('_', '-').title()}: {value}" for name, value in headers.items()]
    head = "\r\n".join([*lines, "", ""]).encode() if status else b""
    return Response(Request(None, ""), status, head, body, b"", "", NOW, 0.1, failure)


def after(*answers, record=NEW, now=NOW, **options):
    for each in answers:
        record = after_response(record, each, now, **options)
    return record


def test_new_origin_is_asked():
    assert access(NEW, NOW) == ASK
    assert next_request(NEW) == RobotsRequest("https://example.com/robots.txt")


@pytest.mark.parametrize(
    ("response", "state", "cause"),
    [
        (answer(200), RULES, "HTTP 200"),
        (answer(204, b""), RULES, "HTTP 204"),
        (answer(200, b"x", TOO_LARGE), RULES, "HTTP 200"),
        (answer(200, b"x", BROKEN), WAIT, "HTTP 200"),
        (answer(301), OPEN, "HTTP 301, redirects to no URL"),
        (answer(302, location="mailto:a@b"), OPEN, "HTTP 302, redirects to no URL"),
        (answer(302, location="http://[/"), OPEN, "HTTP 302, redirects to no URL"),
        (answer(302, location="http://host:x/"), OPEN, "HTTP 302, redirects to no URL"),
        (answer(304), WAIT, "HTTP 304"),  # nobody asked whether anything changed
        (answer(400), OPEN, "HTTP 400"),
        (answer(401), CLOSED, "HTTP 401"),
        (answer(403), CLOSED, "HTTP 403"),
        (answer(404), OPEN, "HTTP 404"),
        (answer(404, failure=TOO_LARGE), OPEN, "HTTP 404"),
        (answer(410), OPEN, "HTTP 410"),
        (answer(429), WAIT, "HTTP 429"),
        (answer(500), WAIT, "HTTP 500"),
        (answer(503), WAIT, "HTTP 503"),
        (answer(999), WAIT, "HTTP 999"),
        (answer(0, failure=TIMEOUT), WAIT, "timeout"),
    ],
)
def test_answer_decides_access(response, state, cause):
    record = after(response)
    assert access(record, NOW) == state
    assert record.cause == cause


@pytest.mark.parametrize("status", [401, 403])
def test_forbidden_robots_txt_opens_the_site_on_request(status):
    assert access(after(answer(status), forbidden=ALLOW), NOW) == OPEN


def test_rules_come_from_the_body():
    robots = rules_of(after(answer()), "bot")
    assert robots.allowed("https://example.com/") and not robots.allowed("/private")


def test_web_page_as_robots_txt_has_no_rules():
    page = b"<!doctype html>\n<title>Disallow: /</title>\n<p>User-agent: nobody</p>\n"
    assert rules_of(after(answer(body=page)), "bot").allowed("/private")


def test_body_too_large_loses_its_cut_line():
    body = b"User-agent: *\nDisallow: /private\nDisallow: /"
    assert after(answer(200, body, TOO_LARGE)).body == body.removesuffix(b"Disallow: /")
    assert len(after(answer(200, b"#\n" * MAX_BYTES)).body) <= MAX_BYTES + 1


@pytest.mark.parametrize(
    ("headers", "life"),
    [
        ({}, DAY),
        ({"cache_control": "max-age=3600"}, 3600),
        ({"cache_control": 'public, Max-Age="3600"'}, 3600),
        ({"cache_control": "max-age=3600", "age": 600}, 3000),
        ({"cache_control": "max-age=3600", "expires": formatdate(NOW + 7200)}, 3600),
        ({"cache_control": "max-age=99999999999"}, DAY),
        ({"cache_control": "max-age=0"}, SHORTEST_LIFE),
        ({"cache_control": "max-age=3600, no-cache"}, SHORTEST_LIFE),
        ({"cache_control": "no-store"}, SHORTEST_LIFE),
        ({"cache_control": "s-maxage=3600"}, DAY),
        ({"expires": formatdate(NOW + 7200)}, 7200),
        ({"expires": formatdate(NOW + 7200), "date": formatdate(NOW + 3600)}, 3600),
        ({"expires": formatdate(NOW - 7200)}, SHORTEST_LIFE),
        ({"expires": "0"}, SHORTEST_LIFE),
        ({"expires": formatdate(NOW + 7 * DAY)}, DAY),
    ],
)
@pytest.mark.parametrize("status", [200, 403, 404])
def test_answer_holds_for_its_lifetime(status, headers, life):
    record = after(answer(status, **headers))
    assert access(record, NOW + life - 1) != ASK
    assert access(record, NOW + life) == ASK


def test_stale_copy_is_asked_for_on_condition():
    record = after(answer(etag='W/"1"', last_modified="Sun, 06 Nov 1994 08:49:37 GMT"))
    assert next_request(record) == RobotsRequest(
        "https://example.com/robots.txt",
        (("If-None-Match", 'W/"1"'), ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")),
    )
    assert next_request(after(answer())).headers == ()
    assert next_request(after(answer(etag='"é"'))).headers == ()  # could not be sent back


def test_not_modified_renews_the_copy():
    record = after(answer(etag='"1"'))
    renewed = after(answer(304, b"", cache_control="max-age=900"), record=record, now=NOW + DAY)
    assert access(renewed, NOW + DAY + 899) == RULES
    assert (renewed.body, renewed.etag, renewed.fetched_at) == (BODY, '"1"', NOW + DAY)
    assert after(answer(304, b"", etag='"2"'), record=record).etag == '"2"'


def test_redirect_is_followed_to_another_host():
    record = after(answer(301, location="//www.example.org/r.txt#top", etag='"0"'))
    assert access(record, NOW) == ASK
    assert next_request(record) == RobotsRequest("https://www.example.org/r.txt")
    record = after(answer(etag='"1"'), record=record)
    assert (record.origin, access(record, NOW)) == ("https://example.com", RULES)
    # Next time it begins at the origin, and only where the copy came from is it offered.
    assert next_request(record) == RobotsRequest("https://example.com/robots.txt")
    record = after(answer(301, location="https://www.example.org/r.txt"), record=record)
    assert next_request(record).headers == (("If-None-Match", '"1"'),)
    assert access(after(answer(304, b""), record=record), NOW) == RULES


def test_five_redirects_are_followed_and_no_more():
    hop = answer(302, location="/robots.txt")
    record = after(*[hop] * MAX_HOPS)
    assert access(record, NOW) == ASK
    assert access(after(answer(), record=record), NOW) == RULES
    record = after(hop, record=record)
    assert (access(record, NOW), record.cause) == (OPEN, "HTTP 302, too many redirects")


def test_redirect_to_what_cannot_be_asked_leads_nowhere():
    hop = answer(302, location="http://host:0/")
    assert access(after(hop, answer(0, failure=BAD_URL)), NOW) == OPEN


def test_failure_after_a_redirect_begins_again_at_the_origin():
    record = after(answer(302, location="http://other/"), answer(503))
    assert access(record, NOW) == WAIT
    assert next_request(record) == next_request(NEW)
    assert record.hops == 0


def test_gaps_grow_while_unreachable():
    record, now, gaps = NEW, NOW, []
    for _ in range(12):
        record = after(answer(503), record=record, now=now)
        gaps.append(record.retry_at - now)
        assert access(record, record.retry_at - 1) == WAIT
        assert access(record, record.retry_at) == ASK
        now = record.retry_at
    assert gaps[:4] == [FIRST_GAP, FIRST_GAP * 2, FIRST_GAP * 4, FIRST_GAP * 8]
    assert gaps[-2:] == [LONGEST_GAP, LONGEST_GAP]
    assert record.unreachable_since == NOW
    back = after(answer(), record=record, now=now)
    assert (back.failures, back.unreachable_since, back.retry_at) == (0, 0, 0)


@pytest.mark.parametrize(
    ("value", "gap"),
    [
        ("3600", 3600),
        (formatdate(NOW + 3600, usegmt=True), 3600),
        ("1", FIRST_GAP),
        (formatdate(NOW - 3600), FIRST_GAP),
        ("soon", FIRST_GAP),
        ("-5", FIRST_GAP),
        ("9" * 50, DAY),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_honoured(status, value, gap):
    assert after(answer(status, retry_after=value)).retry_at == NOW + gap


@pytest.mark.parametrize(
    ("status", "state"),
    [(200, RULES), (403, CLOSED), (404, WAIT)],  # that there were no rules is no copy
)
def test_known_copy_holds_while_unreachable(status, state):
    record = after(answer(status))
    for day in (1, 2, 40):
        record = after(answer(500), record=record, now=NOW + day * DAY)
        assert access(record, NOW + day * DAY + 1) == (
            OPEN if day == 40 and state == WAIT else state
        )
    assert record.body == (BODY if status == 200 else b"")


def test_unreachable_for_a_month_is_as_good_as_absent():
    record = after(answer(503), answer(503, retry_after=int(DAY)), now=NOW)
    record = after(answer(503), record=record, now=NOW + GIVEN_UP - 10)
    assert access(record, NOW + GIVEN_UP - 1) == WAIT
    assert access(record, NOW + GIVEN_UP) == OPEN
    assert access(record, record.retry_at) == ASK  # it is asked all the same


def test_record_is_a_flat_row():
    record = after(answer(etag='"1"'))
    assert {type(value) for value in record} <= {str, bytes, int, float}
    assert {type(value) for value in NEW} <= {str, bytes, int, float}
    assert pickle.loads(pickle.dumps(RobotsRecord(**record._asdict()))) == record


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784111777.0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784111777.0),
        ("Sun Nov  6 08:49:37 1994", 784111777.0),
        ("0", None),
        ("", None),
        ("Sun, 06 Nov 99999 08:49:37 GMT", None),
        ("Sun, 06 Nov 1994 25:49:37 GMT", None),
    ],
)
def test_http_date_forms(value, seconds):
    assert http_date(value) == seconds


ANSWERS = st.builds(
    lambda status, failure, fields, body: answer(status, body, failure, **fields),
    st.sampled_from([0, 200, 301, 304, 401, 404, 429, 503]),
    st.sampled_from(["", TIMEOUT, TOO_LARGE, BAD_URL]),
    st.dictionaries(
        st.sampled_from(["location", "retry_after", "cache_control", "expires", "age", "etag"]),
        st.text(max_size=20) | st.from_regex(r"\A(max-age=)?\d+\Z"),
    ),
    st.binary(),
)


@given(st.lists(st.tuples(ANSWERS, st.floats(0, 100 * DAY)), max_size=12))
def test_any_history_leads_to_an_answer_or_a_question(history):
    record, now = NEW, NOW
    for response, later in history:
        now += later
        record = after(response, record=record, now=now)
        assert {type(value) for value in record} <= {str, bytes, int, float}
        assert access(record, now) in (OPEN, CLOSED, RULES, WAIT, ASK)
        # It may ask again at once only to follow a redirect, and always within a day.
        assert access(record, now) != ASK or 0 < record.hops <= MAX_HOPS
        assert access(record, now + DAY) == ASK
        assert next_request(record).url.startswith(("http://", "https://"))
