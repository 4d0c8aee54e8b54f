"""What is there: the table at the end of a run, and `beamcrawl status`."""

from __future__ import annotations

import pytest

from pipeline.driver import FAILED, FINISHED, WORK_LEFT, Ended
from pipeline.folder import Crawl, open_crawl
from pipeline.manifest import Manifest, summarize, to_json
from pipeline.options import Settings, UsageError
from pipeline.summary import failed_seeds, print_end, print_status, table_lines
from pipeline.waiting import HostWaits, Waits
from tests.samples import NOTHING_SETTLED, make_page, make_result, make_waiting
from transforms import layout, storage
from transforms.record import page_table
from transforms.records import HTTP_ERROR, NETWORK_ERROR, PAGE, ROBOTS_DENIED, Page, WarcFile

SEED = "http://a.example/"


def commit(base: str, round_: int, *pages: Page, **state) -> Manifest:
    """Commit a round of one shard that ended with these pages."""
    outcomes: dict[str, int] = {}
    for page in pages:
        outcomes[page.outcome] = outcomes.get(page.outcome, 0) + 1
    path = storage.write_table(
        layout.shard_file(base, layout.PAGES, round_, 0, 1), page_table(list(pages))
    )
    settled = NOTHING_SETTLED._replace(
        pages=path, outcomes=outcomes, bytes=sum(page.size for page in pages)
    )
    result = make_result(0, round_, settled=settled)
    result = result._replace(state=result.state._replace(**state))
    manifest = summarize(base, [result], [WarcFile("warc/x", 2048, 3)], 1, "2024-01-01T00:00:00Z")
    storage.publish(layout.manifest_file(base, round_), to_json(base, manifest))
    return manifest


def ended(manifest: Manifest, base: str, code: int = FINISHED, waits: Waits | None = None) -> Ended:
    crawl = Crawl(Settings.of((SEED,), out=base), (), manifest)
    return Ended(code, "nothing left to fetch", crawl, 1, waits)


def failing(url: str, outcome: str, depth: int = 0, **changes) -> Page:
    return make_page(make_waiting(url, depth, seed=depth == 0), outcome=outcome, **changes)


def test_table_lines_give_every_url_one_fate(tmp_path):
    base = str(tmp_path)
    pages = [make_page(f"{SEED}{n}", body=b"x" * 512) for n in range(3)]
    sums = {"discovered": 1234, "fetched": 4, "refused": 1000, "waiting": 230, "pages": 3}
    first = commit(base, 0, *pages, failing(SEED, HTTP_ERROR), **sums)
    first = first._replace(refused={"scope": 990, "scheme": 10})
    second = first._replace(refused={"scheme": 2000}, outcomes={PAGE: 1})
    assert list(table_lines([first, second], first.totals)) == [
        ("discovered", "1,234 URLs"),
        ("fetched", "4"),
        ("  page", "4"),
        ("  http_error", "1"),
        ("refused", "1,000"),
        ("  scheme", "2,010"),
        ("  scope", "990"),
        ("waiting", "230"),
        ("set aside", "0"),
        ("bodies", "3.0 KiB"),
        ("WARC", "4.0 KiB"),
        ("rounds", "2"),
    ]


def test_print_end_says_how_it_ended_and_where_the_files_are(tmp_path, capsys):
    manifest = commit(str(tmp_path), 0, make_page(SEED, body=b"x"))
    assert print_end(ended(manifest, str(tmp_path))) == FINISHED
    out, err = capsys.readouterr()
    assert err == "beamcrawl: nothing left to fetch\n"
    for name in ("pages", "links", "warc"):
        assert f"{tmp_path}/{name}/" in out
    figures = [line for line in out.splitlines() if str(tmp_path) not in line]
    assert len({len(line) for line in figures}) == 1  # one column


def test_print_end_with_work_left_says_how_to_go_on_and_for_whom_it_waits(tmp_path, capsys):
    manifest = commit(str(tmp_path), 0, make_page(SEED, body=b"x"))
    hosts = tuple(HostWaits(60.0 * n, f"h{n}.example", 1000, "HTTP 503") for n in range(7))
    end = ended(manifest, str(tmp_path), WORK_LEFT, Waits(hosts))
    assert print_end(end) == WORK_LEFT
    out, err = capsys.readouterr()
    assert err.endswith(f"; to go on: beamcrawl crawl -o {tmp_path}\n")
    assert "  h1.example waits until 1970-01-01T00:01:00Z with 1,000 URLs (HTTP 503)\n" in out
    assert "h5.example" not in out
    assert "… and 2 more hosts" in out


def test_print_end_without_one_page_fails_and_says_why(tmp_path, capsys):
    pages = [
        failing(f"{SEED}1", NETWORK_ERROR, error="timeout"),
        failing(f"{SEED}2", HTTP_ERROR, status=404),
        failing(f"{SEED}3", ROBOTS_DENIED, status=0, error="Disallow: /"),
    ]
    manifest = commit(str(tmp_path), 0, *pages, discovered=3, fetched=3, pages=0)
    assert print_end(ended(manifest, str(tmp_path))) == FAILED
    err = capsys.readouterr().err
    assert f"beamcrawl: {SEED}1: network_error: timeout\n" in err
    assert f"beamcrawl: {SEED}2: http_error: HTTP 404\n" in err
    assert f"beamcrawl: {SEED}3: robots_denied: Disallow: /\n" in err


def test_print_end_with_one_page_does_not_fail(tmp_path, capsys):
    pages = [failing(SEED, HTTP_ERROR), make_page(f"{SEED}2", body=b"x")]
    manifest = commit(str(tmp_path), 0, *pages, discovered=2, fetched=2)
    assert print_end(ended(manifest, str(tmp_path))) == FINISHED
    assert "http_error:" not in capsys.readouterr().err


def test_failed_seeds_are_of_depth_0_and_brought_no_page(tmp_path):
    base = str(tmp_path)
    commit(base, 0, failing(SEED, NETWORK_ERROR, error="E"), make_page(f"{SEED}ok"))
    manifest = commit(base, 1, failing(f"{SEED}deep", HTTP_ERROR, depth=1))
    assert failed_seeds(ended(manifest, base)) == [(SEED, NETWORK_ERROR, "E")]


def test_print_status_of_no_crawl_says_so(tmp_path):
    with pytest.raises(UsageError, match="holds no crawl"):
        print_status(str(tmp_path))


def test_print_status_before_the_first_round_shows_the_seeds(tmp_path, capsys):
    open_crawl(Settings.of((SEED, "http://b.example/"), out=str(tmp_path)), {})
    print_status(str(tmp_path))
    out = capsys.readouterr().out
    assert out.startswith(f"{tmp_path}: no round committed yet\n")
    assert [line.split() for line in out.splitlines()[1:5]] == [
        ["discovered", "2", "URLs"],
        ["fetched", "0"],
        ["refused", "0"],
        ["waiting", "2"],
    ]


def test_print_status_is_what_the_manifests_say(tmp_path, capsys):
    base = str(tmp_path)
    open_crawl(Settings.of((SEED,), out=base, shards=1), {})
    commit(base, 0, make_page(SEED, body=b"x"))
    commit(base, 1, make_page(f"{SEED}2", body=b"y"), discovered=2, fetched=2, pages=2)
    print_status(base)
    out = capsys.readouterr().out
    assert out.startswith(f"{base}: 2 rounds, the last committed 2024-01-01T00:00:00Z\n")
    assert ["fetched", "2"] in [line.split() for line in out.splitlines()]
