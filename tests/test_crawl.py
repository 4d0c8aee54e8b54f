"""Whole crawls of the demo web, whose truth is known."""

from __future__ import annotations

import glob
import io
import re

import duckdb
import pandas as pd
import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType
from warcio.checker import Checker

from pipeline.driver import FINISHED, WORK_LEFT
from pipeline.manifest import read_manifests
from tests import demoweb
from tests.crawling import outcomes, read_rows, run_crawl
from transforms import records

# The demo web without what takes seconds: pages that are slow, big, or to be asked again.
QUICK = {"exclude": ("/(slow|failing|busy|big)$",)}


def quick_truth(port: int) -> dict[str, demoweb.Expected]:
    slow = re.compile(QUICK["exclude"][0])
    return {url: page for url, page in demoweb.truth(port).items() if not slow.search(url)}


@pytest.mark.parametrize("transport", ["curl", "requests"])
def test_crawl_of_the_demo_web_finds_its_truth(demo_web, tmp_path, transport):
    ended = run_crawl(tmp_path, demo_web.url(), transport=transport)
    truth = demoweb.truth(demo_web.port)
    rows = {row["url"]: row for row in read_rows(tmp_path, "pages")}
    assert ended.code == FINISHED
    assert {url: row["outcome"] for url, row in rows.items()} == {
        url: expected.outcome for url, expected in truth.items()
    }
    assert {url: row["status"] for url, row in rows.items()} == {
        url: expected.status for url, expected in truth.items()
    }


def test_crawl_says_of_pages_what_they_are(demo_web, tmp_path):
    run_crawl(tmp_path, demo_web.url(), **QUICK)
    rows = {row["url"]: row for row in read_rows(tmp_path, "pages")}
    one, two = (rows[demo_web.url(f"/counted?visit={visit}")] for visit in (9, 10))
    assert one["fingerprint"] != two["fingerprint"]
    assert one["text_fingerprint"] == two["text_fingerprint"] is not None
    assert one["canonical"] == two["canonical"] == demo_web.url("/counted")
    notes = {url: row["note"] for url, row in rows.items() if row["note"]}
    assert notes == {demo_web.url("/gone"): "soft_404", demo_web.url("/empty"): "empty"}


def test_crawl_that_goes_by_text_follows_no_page_twice_for_its_counter(demo_web, tmp_path):
    run_crawl(tmp_path, demo_web.url(), duplicates="text", **QUICK)
    rows = {row["url"]: row for row in read_rows(tmp_path, "pages")}
    truth = quick_truth(demo_web.port)
    assert set(rows) == set(truth)
    others = {
        url: rows[url]["outcome"] for url in rows if rows[url]["outcome"] != truth[url].outcome
    }
    one, two = (demo_web.url(f"/counted?visit={visit}") for visit in (9, 10))
    assert others == {two: records.DUPLICATE}
    assert rows[two]["duplicate_of"] == one


def test_crawl_names_near_duplicates_if_asked_to(demo_web, tmp_path):
    run_crawl(tmp_path, demo_web.url(), near_duplicates=True, depths_per_job=2, **QUICK)
    rows = {row["url"]: row for row in read_rows(tmp_path, "pages")}
    one, two = (demo_web.url(f"/counted?visit={visit}") for visit in (9, 10))
    near = {url: row["near_duplicate_of"] for url, row in rows.items() if row["near_duplicate_of"]}
    assert near == {two: one}
    assert {url: row["outcome"] for url, row in rows.items()} == {
        url: expected.outcome for url, expected in quick_truth(demo_web.port).items()
    }


def test_crawl_is_polite_by_the_servers_log(demo_web, tmp_path):
    ended = run_crawl(tmp_path, demo_web.url(), delay=0.05, include=("/loop|/topics|/tale|/$",))
    asked = demo_web.asked(demoweb.LIBRARY)
    assert asked[0].path == "/robots.txt"
    assert demo_web.max_parallel(demoweb.LIBRARY) == 1
    assert min(demo_web.gaps(demoweb.LIBRARY)) >= 0.045
    assert demo_web.connections(demoweb.LIBRARY) == ended.rounds  # kept alive within each
    assert len({hit.path for hit in asked}) == len(asked)


def test_crawl_never_asks_for_what_robots_denies(demo_web, tmp_path):
    run_crawl(tmp_path, demo_web.url(), scope="any", patience=0.0, **QUICK)
    paths = {(hit.host, hit.path) for hit in demo_web.log}
    assert (demoweb.LIBRARY, "/private/") not in paths
    assert (demoweb.GALLERY, "/draw.cgi") not in paths
    assert (demoweb.CLOSED, "/") not in paths
    assert (demoweb.LIBRARY, "/private/open") in paths


def test_crawl_sends_who_asks_and_from_where(demo_web, tmp_path):
    run_crawl(tmp_path, demo_web.url(), contact="owner@example.org", include=("topics|/$",))
    hit = next(hit for hit in demo_web.log if hit.path == "/topics/")
    assert hit.headers["user-agent"].startswith("beamcrawl/")
    assert hit.headers["from"] == "owner@example.org"
    assert hit.headers["referer"] == demo_web.url()


def test_crawl_with_depth_stops_there_and_goes_on_deeper(demo_web, tmp_path):
    truth = quick_truth(demo_web.port)
    ended = run_crawl(tmp_path, demo_web.url(), depth=1, **QUICK)
    assert ended.code == FINISHED
    assert set(outcomes(tmp_path)) == {url for url, page in truth.items() if page.depth <= 1}
    run_crawl(tmp_path, depth=None)
    assert set(outcomes(tmp_path)) == set(truth)


def test_crawl_with_limit_fetches_no_page_more(demo_web, tmp_path):
    ended = run_crawl(tmp_path, demo_web.url(), limit=7, **QUICK)
    pages = [o for o in outcomes(tmp_path).values() if o in (records.PAGE, records.DUPLICATE)]
    assert ended.code == FINISHED
    assert len(pages) == 7
    run_crawl(tmp_path)
    assert set(outcomes(tmp_path)) == set(quick_truth(demo_web.port))


def test_chained_depths_give_what_single_ones_give(demo_web, tmp_path):
    for folder, depths in (("one", 1), ("three", 3)):
        run_crawl(tmp_path / folder, demo_web.url(), depths_per_job=depths, **QUICK)
    one, three = (read_manifests(str(tmp_path / folder)) for folder in ("one", "three"))
    assert [(m.round, m.outcomes, m.refused, m.totals) for m in one] == [
        (m.round, m.outcomes, m.refused, m.totals) for m in three
    ]
    for kind, order in (("pages", "url_fingerprint"), ("frontier", "fingerprint")):
        columns = ["url", "depth", "referrer", order]
        assert read_rows(tmp_path / "one", kind, columns) == read_rows(
            tmp_path / "three", kind, columns
        )


def test_crawl_of_two_processes_finds_what_one_finds(demo_web, tmp_path):
    beam = ("--direct_running_mode=multi_processing", "--direct_num_workers=2")
    one, two = tmp_path / "one", tmp_path / "two"
    hosts = [demo_web.url("/", host) for host in demoweb.HOSTS]
    assert run_crawl(one, *hosts, **QUICK).code == FINISHED
    assert run_crawl(two, *hosts, **QUICK, beam=beam).code == FINISHED
    assert outcomes(one) == outcomes(two)
    slots = [
        {re.search(r"slot-\d+", p)[0] for p in glob.glob(f"{out}/warc/*/*")} for out in (one, two)
    ]
    assert [len(names) for names in slots] == [1, 2]


def test_time_limit_commits_and_rolls_over(demo_web, tmp_path):
    ended = run_crawl(tmp_path, demo_web.url(), delay=0.2, time_limit=2.0, **QUICK)
    assert ended.code == WORK_LEFT
    first = set(outcomes(tmp_path))
    assert first
    before = len(demo_web.log)
    run_crawl(tmp_path)
    again = {hit.path for hit in demo_web.log[before:]}
    assert set(outcomes(tmp_path)) == set(quick_truth(demo_web.port))
    fetched_first = {url.split("/", 3)[3] for url in first}
    assert not {path for path in again if path[1:] in fetched_first} - {"/robots.txt", "/"}


def test_seed_that_redirects_takes_its_target_into_scope(demo_web, tmp_path):
    seed = demo_web.url("/exit", demoweb.GALLERY)
    run_crawl(tmp_path, seed, **QUICK)
    found = outcomes(tmp_path)
    assert found[seed] == records.REDIRECT
    assert found[demo_web.url("/topics/links")] == records.PAGE
    assert demo_web.url("/", demoweb.ARCHIVE) not in found


def test_sums_hold_in_every_manifest(demo_web, tmp_path):
    run_crawl(tmp_path, demo_web.url(), scope="any", patience=0.0, **QUICK)
    manifests = read_manifests(str(tmp_path))
    for manifest in manifests:
        totals = manifest.totals
        assert totals["discovered"] == totals["fetched"] + totals["refused"] + totals["waiting"]
    assert totals["fetched"] == len(outcomes(tmp_path))
    refused = sum(sum(manifest.refused.values()) for manifest in manifests)
    assert totals["refused"] == refused


def test_files_named_by_manifests_are_the_files_there(demo_web, tmp_path):
    run_crawl(tmp_path, demo_web.url(), **QUICK)
    named = {
        path
        for manifest in read_manifests(str(tmp_path))
        for paths in manifest.files.values()
        for path in paths
    }
    found = {
        str(path) for kind in ("pages", "links", "warc") for path in tmp_path.glob(f"{kind}/*/*")
    }
    assert named == found


def test_warc_is_read_by_others(demo_web, tmp_path):
    run_crawl(tmp_path, demo_web.url(), **QUICK)
    files = sorted(tmp_path.glob("warc/*/*.warc.gz"))
    seen: dict[str, int] = {}
    for path in files:
        with open(path, "rb") as file:
            for record in ArchiveIterator(
                file,
                record_types=WarcRecordType.response | WarcRecordType.revisit,
                parse_http=False,
            ):
                url = record.headers["WARC-Target-URI"]
                record.parse_http()
                whole = record.record_type == WarcRecordType.response
                assert record.verify_payload_digest() == whole
                seen[url] = seen.get(url, 0) + 1
    asked = {url for url, outcome in outcomes(tmp_path).items() if outcome != records.ROBOTS_DENIED}
    assert asked | {demo_web.url("/robots.txt")} == set(seen)
    assert set(seen.values()) == {1}


def test_warc_passes_warcio_check(demo_web, tmp_path, capsys):
    run_crawl(tmp_path, demo_web.url(), **QUICK)
    files = [str(path) for path in tmp_path.glob("warc/*/*.warc.gz")]
    arguments = type("Arguments", (), {"inputs": files, "verbose": True})
    checker = Checker(arguments)
    checker.process_all()
    assert checker.exit_value == 0, capsys.readouterr().out


def test_warc_offset_of_a_duplicate_leads_to_where_its_body_is(demo_web, tmp_path):
    run_crawl(tmp_path, demo_web.url(), depths_per_job=1, **QUICK)
    rows = {row["url"]: row for row in read_rows(tmp_path, "pages")}
    one, two = rows[demo_web.url("/tale")], rows[demo_web.url("/tale/again")]
    heads = []
    for row in (one, two):
        with open(tmp_path / row["warc_file"], "rb") as file:
            file.seek(row["warc_offset"])
            heads.append(next(ArchiveIterator(io.BytesIO(file.read()))))
    first, second = (record.headers for record in heads)
    assert second["WARC-Target-URI"] == two["url"]
    assert first["WARC-Payload-Digest"] == second["WARC-Payload-Digest"]


def test_warc_offset_leads_to_the_page(demo_web, tmp_path):
    run_crawl(tmp_path, demo_web.url(), **QUICK)
    [row] = [row for row in read_rows(tmp_path, "pages") if row["url"].endswith("/topics/links")]
    with open(tmp_path / row["warc_file"], "rb") as file:
        file.seek(row["warc_offset"])
        record = next(ArchiveIterator(io.BytesIO(file.read())))
        assert record.headers["WARC-Target-URI"] == row["url"]
        assert b"this belongs together" in record.reader.read()


def test_tables_are_read_as_the_readme_says(demo_web, tmp_path):
    run_crawl(tmp_path, demo_web.url(), **QUICK)
    counted = duckdb.sql(
        f"SELECT status, count(*) FROM '{tmp_path}/pages/**/*.parquet' GROUP BY 1"
    ).fetchall()
    pages = pd.read_parquet(tmp_path / "pages")
    assert dict(counted) == pages["status"].value_counts().to_dict()
    links = pd.read_parquet(tmp_path / "links")
    assert set(links[links.refused == "scheme"].target) >= {"mailto:reader@example.org", "tel:+100"}
    duplicate = pages[pages.outcome == "duplicate"].iloc[0]
    assert duplicate.url == demo_web.url("/tale/again")
    assert duplicate.duplicate_of == demo_web.url("/tale")
