"""The demo web keeps its own word: what it serves is what its truth says.

A truth that is wrong would teach the crawler to be wrong, so the links are read here a
second time, out of the bytes that were served, with a reader that knows nothing of the table.
"""

from __future__ import annotations

import re
import threading
import time
from urllib.parse import quote, urljoin, urlsplit

import pytest
import requests
from selectolax.lexbor import LexborHTMLParser

from tests import demoweb
from tests.demoweb import ARCHIVE, CLOSED, GALLERY, HOSTS, LIBRARY
from tests.webserver import Answer, WebServer, serve
from transforms import records

SELECTOR = (
    "a[href], area[href], link[rel=next], link[rel=canonical], frame[src], iframe[src], "
    "meta[http-equiv=refresh i]"
)


def links(reply: requests.Response) -> set[str]:
    """The links of a page, resolved, and those of its redirect."""
    if "Location" in reply.headers:
        return {urljoin(reply.url, reply.headers["Location"]).split("#")[0]}
    if not reply.headers.get("Content-Type", "").startswith("text/html"):
        return set()
    declared = re.search(rb'charset="?([\w-]+)', reply.headers["Content-Type"].encode())
    declared = declared or re.search(rb'<meta charset="([\w-]+)', reply.content)
    encoding = declared[1].decode() if declared else "utf-8"
    tree = LexborHTMLParser(reply.content.decode(encoding))
    base = tree.css_first("base[href]")
    start = urljoin(reply.url, base.attributes["href"] if base else "")
    found = set()
    for node in tree.css(SELECTOR):
        value = node.attributes.get("href") or node.attributes.get("src") or ""
        if "content" in node.attributes:
            value = re.split("url=", node.attributes["content"] or "", flags=re.I)[1].strip("'")
        value = re.sub(r"[\t\r\n]", "", value.strip()).split("#")[0]
        path, question, query = value.partition("?")
        value = quote(path, safe="/:[") + question + quote(query, "=&%", encoding)
        if "[" not in value:
            found.add(urljoin(start, value))
    return {url for url in found if url.startswith("http:")}


def walk(web: WebServer, hosts: tuple[str, ...]) -> dict[str, int]:
    """Every URL that can be reached from the seed, with its status, robots.txt ignored."""
    statuses: dict[str, int] = {}
    waiting = [web.url()]
    with requests.Session() as session:
        for url in waiting:
            if url in statuses or urlsplit(url).hostname not in hosts:
                continue
            reply = session.get(url, allow_redirects=False, timeout=5)
            if "Retry-After" in reply.headers:
                reply = session.get(url, timeout=5)
            statuses[url] = reply.status_code
            waiting += links(reply)
    return statuses


@pytest.mark.parametrize(("scope", "hosts"), [("host", HOSTS[:1]), ("any", HOSTS)])
def test_truth_is_what_a_walk_over_the_served_pages_finds(demo_web, scope, hosts):
    truth = demoweb.truth(demo_web.port, scope)
    denied = {url for url, fate in truth.items() if fate.outcome == records.ROBOTS_DENIED}
    served = walk(demo_web, hosts)
    # The walk went where robots.txt forbids, and saw the page that stands behind.
    assert {url for url in served if url.endswith("/lost")} == {
        demo_web.url("/lost", host) for host in hosts if host != ARCHIVE
    }
    expected = {url: fate.status for url, fate in truth.items() if url not in denied}
    assert expected == {
        url: status
        for url, status in served.items()
        if url not in denied and not url.endswith("/lost")
    }


@pytest.mark.parametrize("scope", ["host", "any"])
def test_truth_knows_every_kind_of_end_a_demo_can_have(scope):
    outcomes = {fate.outcome for fate in demoweb.truth(80, scope).values()}
    not_here = {records.NOT_MODIFIED, records.NETWORK_ERROR, records.ADDRESS_REFUSED}
    assert outcomes == set(records.OUTCOMES) - not_here


def test_truth_counts_depth_in_links_not_in_redirects():
    truth = demoweb.truth(80)
    depth = {path: truth[f"http://{LIBRARY}:80{path}"].depth for path in ("/", "/tale")}
    assert depth == {"/": 0, "/tale": 1}
    assert truth[f"http://{LIBRARY}:80/tale/again"].depth == 2
    assert truth[f"http://{LIBRARY}:80/chain/end"].depth == 1


def test_nothing_in_the_table_is_out_of_reach():
    reached = set(demoweb.truth(80, "any"))
    table = {
        f"http://{host}:80{path}"
        for host, places in demoweb.SITES.items()
        for path in places
        if path != "/robots.txt"
    }
    assert reached == table


def test_busy_fails_once_per_server(demo_web):
    url = demo_web.url("/busy")
    assert [requests.get(url, timeout=5).status_code for _ in range(3)] == [503, 200, 200]


def test_big_is_over_the_limit_and_slow_takes_a_second(demo_web):
    assert len(requests.get(demo_web.url("/big"), timeout=5).content) > 5 * 1024 * 1024
    assert requests.get(demo_web.url("/slow"), timeout=5).elapsed.total_seconds() >= 1


def test_a_ring_of_redirects_has_no_end(demo_web):
    with pytest.raises(requests.TooManyRedirects):
        requests.get(demo_web.url("/ring/1"), timeout=5)
    assert requests.get(demo_web.url("/chain/1"), timeout=5).url == demo_web.url("/chain/end#here")


@pytest.mark.parametrize(
    ("host", "status"), [(LIBRARY, 200), (ARCHIVE, 404), (GALLERY, 200), (CLOSED, 200)]
)
def test_robots_txt_of_each_host(demo_web, host, status):
    assert requests.get(demo_web.url("/robots.txt", host), timeout=5).status_code == status


def test_log_of_one_polite_client(demo_web):
    with requests.Session() as session:
        for _ in range(3):
            session.get(demo_web.url("/topics/"), timeout=5)
            time.sleep(0.05)
    assert [hit.path for hit in demo_web.asked(LIBRARY)] == ["/topics/"] * 3
    assert demo_web.max_parallel(LIBRARY) == demo_web.connections(LIBRARY) == 1
    assert min(demo_web.gaps(LIBRARY)) > 0.04
    assert demo_web.asked(ARCHIVE) == demo_web.gaps(ARCHIVE) == []
    assert demo_web.max_parallel(ARCHIVE) == 0


def test_log_of_a_client_that_does_not_wait(demo_web):
    get = [threading.Thread(target=requests.get, args=(demo_web.url("/slow"),)) for _ in range(3)]
    for thread in get:
        thread.start()
    for thread in get:
        thread.join()
    assert demo_web.max_parallel(LIBRARY) == demo_web.connections(LIBRARY) == 3


def test_one_client_after_another_never_looks_parallel():
    """Whether the answer is read to its end, or dropped in the middle of a big body."""
    with serve(lambda _: Answer(200, b"x" * 3_000_000)) as web:
        for _ in range(30):
            with requests.get(web.url(), stream=True, timeout=5) as reply:
                next(reply.iter_content(10))
            requests.get(web.url(), timeout=5)
        assert web.max_parallel("127.0.0.1") == 1


def test_raw_answers_go_as_they_stand_and_close():
    with serve(lambda _: Answer(raw=b"HTTP/1.0 200 Fine\r\n\r\nas it is")) as web:
        assert requests.get(web.url(), timeout=5).text == "as it is"
