"""The generated web: the same from the same seed, all of it reachable, of the sizes it claims."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.benchmarks.web import (
    MEDIAN_BYTES,
    MEDIAN_LINKS,
    MOST_LINKS,
    page_html,
    plan_web,
    targets_of,
    url_of,
)
from transforms.html import parse_html
from transforms.urls import resolve_all


def digest_of(number: int) -> str:
    web = plan_web(300, number)
    pages = (page_html(web, host, page) for host, n in enumerate(web.hosts) for page in range(n))
    return hashlib.sha256("".join(pages).encode()).hexdigest()


def test_web_is_the_same_from_the_same_seed():
    assert digest_of(1) == digest_of(1)
    assert digest_of(1) != digest_of(2)


@pytest.mark.parametrize("pages", [1, 99, 100, 2_000, 50_000])
def test_web_has_the_pages_it_was_asked_for(pages):
    web = plan_web(pages)
    assert web.pages == sum(web.hosts) == pages
    assert len(web.hosts) == max(1, pages // 100)
    assert min(web.hosts) >= 1


@pytest.mark.parametrize("pages", [1, 99, 2_000])
def test_web_is_reachable_from_each_seed_within_its_host(pages):
    web = plan_web(pages)
    for host, count in enumerate(web.hosts):
        seen, todo = {0}, [0]
        while todo:
            near = {p for h, p in targets_of(web, host, todo.pop()) if h == host} - seen
            seen |= near
            todo += near
        assert seen == set(range(count))


def test_web_has_no_link_that_leads_out_or_nowhere():
    web = plan_web(1_000)
    for host, count in enumerate(web.hosts):
        for page in range(count):
            assert all(0 <= p < web.hosts[h] for h, p in targets_of(web, host, page))


def test_page_holds_the_links_of_its_plan_as_a_crawler_reads_them():
    web = plan_web(2_000)
    for page in (0, 1, 150, web.hosts[0] - 1):
        url = url_of(0, page)
        document = parse_html(page_html(web, 0, page).encode(), "text/html", url)
        found = {link.url for link in resolve_all(url, document.links)}
        assert found == {url_of(*target) for target in targets_of(web, 0, page)}


def test_web_has_sizes_and_links_as_the_real_one():
    web = plan_web(50_000)
    assert np.median(web.sizes) == pytest.approx(MEDIAN_BYTES, rel=0.05)
    assert np.median(web.links) == pytest.approx(MEDIAN_LINKS, rel=0.05)
    assert web.hosts[0] / web.pages == pytest.approx(0.15, abs=0.02)  # 1 / H(500)
    assert list(web.hosts) == sorted(web.hosts, reverse=True)
    small = plan_web(1_000)
    made = [len(page_html(small, 0, page)) for page in range(small.hosts[0])]
    wanted = small.sizes[: small.hosts[0]]
    assert np.median(made) == pytest.approx(np.median(wanted), rel=0.15)
    assert min(made) < 6_000
    assert max(made) > 60_000
    assert web.links.max() <= MOST_LINKS


def test_page_is_html_that_a_parser_finds_in_order():
    web = plan_web(100)
    tree = LexborHTMLParser(page_html(web, 0, 3))
    assert tree.css_first("title").text() == "Page 3 of 127.1.0.1"
    assert len(tree.css("a[href]")) == len(targets_of(web, 0, 3))


def test_web_has_a_seed_a_host():
    web = plan_web(1_000)
    assert web.seeds[0] == url_of(0, 0)
    assert len(set(web.seeds)) == len(web.hosts) == 10
