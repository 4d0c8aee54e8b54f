"""Record: pages and links become table rows, and no row depends on where a chunk ends."""

from __future__ import annotations

import apache_beam as beam
import numpy as np
import pyarrow.parquet as pq
import pytest
from apache_beam.testing.util import assert_that, equal_to
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.crawling import outcomes, run_crawl
from tests.samples import SLOT, make_page, make_waiting, pipeline_of_stage
from tests.webserver import Answer, serve
from transforms import record
from transforms.fingerprints import (
    fingerprint_content,
    fingerprint_url,
    shard_of_content,
    shard_of_url,
)
from transforms.record import Chunk, RecordPages, link_table, page_table, write_links
from transforms.records import (
    DUPLICATE,
    HTTP_ERROR,
    NOFOLLOW_MARK,
    REDIRECT,
    ROBOTS_TXT,
    ContentBlock,
    Link,
    LinkPart,
    Page,
    PageBlock,
    Slot,
)
from transforms.settle import read_links
from transforms.tables import LINKS, PAGES, unpack

SHARDS = 4
A, B, C = (f"http://{name}.example/" for name in "abc")


def chunk_of(*pages: Page) -> Chunk:
    chunk = Chunk(SLOT, "cafe", 0)
    for page in pages:
        chunk.add(page)
    return chunk


def link_dicts(*pages: Page) -> list[dict]:
    chunk = chunk_of(*pages)
    return link_table(chunk, np.arange(len(chunk.target))).to_pylist()


def test_page_table_has_the_types_of_its_schema():
    table = page_table([make_page(A), make_page(B)])
    assert table.schema == PAGES
    table.validate(full=True)
    assert page_table([]).schema == PAGES


def test_page_table_of_a_full_page():
    page = make_page(
        make_waiting(A, 2, B, seed=True),
        body=b"body",
        redirect_to=C,
        title="T",
        error="E",
        etag="e",
        last_modified="l",
        noindex=True,
        text_fingerprint=9,
        sketch=0,
        canonical=C,
        note="soft_404",
        warc_file="warc/x",
        warc_offset=7,
        fetched_at=1.0625,
    )
    [row] = page_table([page]).to_pylist()
    assert row.pop("fetched_at").isoformat() == "1970-01-01T00:00:01.062000+00:00"
    assert row == {
        "url": A,
        "host": "a.example",
        "depth": 2,
        "outcome": "page",
        "status": 200,
        "content_type": "text/html",
        "bytes": 4,
        "elapsed_ms": 7,
        "url_fingerprint": fingerprint_url(A),
        "fingerprint": fingerprint_content(b"body"),
        "text_fingerprint": 9,
        "sketch": 0,
        "duplicate_of": None,
        "near_duplicate_of": None,
        "canonical": C,
        "redirect_to": C,
        "title": "T",
        "note": "soft_404",
        "doubt": 0,
        "noindex": True,
        "referrer": B,
        "error": "E",
        "etag": "e",
        "last_modified": "l",
        "warc_file": "warc/x",
        "warc_offset": 7,
    }


def test_page_table_says_null_for_what_there_is_not():
    [row] = page_table([make_page(A)]).to_pylist()
    nothing = {name for name, value in row.items() if value is None}
    assert nothing == {
        "text_fingerprint",
        "sketch",
        "duplicate_of",
        "near_duplicate_of",
        "canonical",
        "redirect_to",
        "title",
        "note",
        "referrer",
        "error",
        "etag",
        "last_modified",
        "warc_file",
        "warc_offset",
    }


def test_link_table_has_the_types_of_its_schema():
    chunk = chunk_of(make_page(A, [(B, None), (C, "scope")]))
    for links in (np.arange(2), np.arange(0), np.array([1])):
        table = link_table(chunk, links)
        assert table.schema == LINKS
        assert table.num_rows == len(links)
        table.validate(full=True)


def test_link_table_of_a_link():
    [row] = link_dicts(make_page(make_waiting(A, 3), [(B, "scope")], "frame"))
    assert row == {
        "source": A,
        "target": B,
        "kind": "frame",
        "refused": "scope",
        "depth": 4,
        "source_fingerprint": fingerprint_url(A),
        "target_fingerprint": fingerprint_url(B),
        "seed": False,
    }


@pytest.mark.parametrize(
    ("kind", "of_seed", "depth", "seed"),
    [
        ("a", False, 6, False),
        ("refresh", False, 6, False),
        ("redirect", False, 5, False),
        ("a", True, 6, False),
        ("refresh", True, 6, False),
        ("redirect", True, 5, True),
    ],
)
def test_link_keeps_depth_and_seed_by_a_redirect_alone(kind, of_seed, depth, seed):
    [row] = link_dicts(make_page(make_waiting(A, 5, seed=of_seed), [(B, None)], kind))
    assert (row["depth"], row["seed"]) == (depth, seed)


def test_link_table_shows_the_kind_without_its_mark():
    pages = [
        make_page(A, [(C, "nofollow")], "a" + NOFOLLOW_MARK),
        make_page(B, [(B, None)], "a"),
    ]
    assert [row["kind"] for row in link_dicts(*pages)] == ["a", "a"]


def test_link_table_of_some_links_has_those_alone():
    chunk = chunk_of(make_page(A, [(B, None), (C, None)]), make_page(B, [(C, None), (A, None)]))
    rows = link_table(chunk, np.array([1, 3])).to_pylist()
    assert [(row["source"], row["target"]) for row in rows] == [(A, C), (B, A)]


def test_link_is_refused_or_not_by_its_own_page():
    # The redirect of a seed may leave the scope; a link to the same URL may not.
    link = make_page(A, [(C, "scope")], "a")
    redirect = make_page(make_waiting(B, seed=True), [(C, None)], "redirect")
    rows = [*link_dicts(link, redirect), *link_dicts(redirect, link)]
    assert [row["refused"] for row in rows] == ["scope", None, None, "scope"]


def test_link_marked_on_one_page_is_followed_from_another():
    marked = make_page(A, [(C, "nofollow")], "a" + NOFOLLOW_MARK)
    plain = make_page(B, [(C, None)], "a")
    rows = [*link_dicts(marked, plain), *link_dicts(plain, marked)]
    assert [row["refused"] for row in rows] == ["nofollow", None, None, "nofollow"]


def test_crawl_follows_a_link_though_another_page_marks_it(tmp_path):
    web = {
        "/": b"<a href=/1>1</a><a href=/2>2</a>",
        "/1": b"<a href=/x rel=nofollow>x</a>",
        "/2": b"<a href=/x>x</a>",
        "/x": b"x",
    }
    with serve(lambda request: Answer(body=web.get(request.path, b"")), ["127.0.0.31"]) as server:
        run_crawl(tmp_path, server.url())
        assert server.url("/x") in outcomes(tmp_path)


def test_chunk_wants_a_verdict_for_each_link():
    with pytest.raises(ValueError, match="zip"):
        chunk_of(make_page(A, [(B, None)])._replace(refused=[]))


@pytest.mark.parametrize(
    ("limit", "pages", "full"),
    [
        ("CHUNK_PAGES", [[], []], True),
        ("CHUNK_PAGES", [[B, C]], False),
        ("CHUNK_LINKS", [[B], [B]], True),
        ("CHUNK_LINKS", [[B], []], False),
        ("CHUNK_URLS", [[B, C]], True),
        ("CHUNK_URLS", [[B], [B], [B]], False),
    ],
)
def test_chunk_is_full_at_each_limit(monkeypatch, limit, pages, full):
    monkeypatch.setattr(record, limit, 2)
    chunk = chunk_of(*(make_page(A, [(url, None) for url in urls]) for urls in pages))
    assert chunk.is_full() is full


def test_write_links_has_a_row_group_for_each_shard(tmp_path):
    pages = [make_page(A, [(B, None)]), make_page(B), make_page(C, [(A, None), (B, None)])]
    chunk = chunk_of(*pages, make_page(A + "2", [(C, None)]))
    parts = write_links(str(tmp_path), chunk, np.array([2, 1, 0, 2]), [0, 1, 2])
    path = f"{tmp_path}/links/round=00000/slot-00000-cafe-00000.parquet"
    assert parts == {0: LinkPart(path, 0, 2), 2: LinkPart(path, 1, 2)}
    file = pq.ParquetFile(path)
    assert file.num_row_groups == 2
    assert file.schema_arrow.names == LINKS.names
    found = [file.read_row_group(n).to_pylist() for n in range(2)]
    assert [[(row["source"], row["target"]) for row in rows] for rows in found] == [
        [(C, A), (C, B)],
        [(A, B), (A + "2", C)],
    ]


def run_bundle(base: str, pages: list[Page]) -> tuple[list[tuple], list[tuple]]:
    """The DoFn by itself: what goes to the shards, and the contents."""
    dofn = record._RecordPages(base, SHARDS, record.BODY)
    dofn.start_bundle()
    outputs = [output for page in pages for output in dofn.process(page)]
    for output in dofn.finish_bundle():
        if isinstance(output, beam.pvalue.TaggedOutput):
            outputs.append(beam.pvalue.TaggedOutput(output.tag, output.value.value))
        else:
            outputs.append(output.value)
    contents = [o.value for o in outputs if isinstance(o, beam.pvalue.TaggedOutput)]
    return [o for o in outputs if not isinstance(o, beam.pvalue.TaggedOutput)], contents


def rows_of(base: str, pages: list[Page]) -> tuple[list, list, list]:
    """All rows of pages, links and contents, each with its shard, in no order."""
    shards, contents = run_bundle(base, pages)
    page_rows, link_rows = [], []
    for shard, value in shards:
        if isinstance(value, PageBlock):
            page_rows += [(shard, row) for row in unpack([value.packed], PAGES).to_pylist()]
        else:
            table = pq.ParquetFile(value.path).read_row_group(value.row_group)
            assert table.num_rows == value.rows
            link_rows += [(shard, row) for row in table.to_pylist()]
    seen = [(shard, row) for shard, block in contents for row in block.seen]
    return tuple(sorted(rows, key=repr) for rows in (page_rows, link_rows, seen))


TARGETS = st.lists(st.integers(0, 6), max_size=5, unique=True)
WEB = st.lists(st.tuples(st.integers(0, 3), TARGETS), max_size=8)


def web(drawn) -> list[Page]:
    """Pages of a few hosts; whether a link is refused depends on its target alone."""
    return [
        make_page(
            f"http://h{host}.example/{number}",
            [(f"http://h{n}.example/", "scope" if n % 3 == 0 else None) for n in targets],
            body=b"%d" % (number % 3),
        )
        for number, (host, targets) in enumerate(drawn)
    ]


@settings(max_examples=25, deadline=None)
@given(WEB, st.integers(1, 4), st.sampled_from(["CHUNK_URLS", "CHUNK_LINKS", "CHUNK_PAGES"]))
def test_record_in_chunks_is_the_same_rows_as_in_one(tmp_path_factory, drawn, size, limit):
    pages = web(drawn)
    whole = rows_of(str(tmp_path_factory.mktemp("whole")), pages)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record, limit, size)
        cut = rows_of(str(tmp_path_factory.mktemp("cut")), pages)
    assert cut == whole


@settings(max_examples=25, deadline=None)
@given(WEB)
def test_record_sends_each_row_to_the_shard_that_owns_it(tmp_path_factory, drawn):
    pages = web(drawn)
    page_rows, link_rows, seen = rows_of(str(tmp_path_factory.mktemp("crawl")), pages)
    assert len(page_rows) == len(pages)
    assert len(link_rows) == sum(len(page.links) for page in pages)
    assert len(seen) == len(pages)
    assert all(shard == shard_of_url(row["url"], SHARDS) for shard, row in page_rows)
    assert all(shard == shard_of_url(row["source"], SHARDS) for shard, row in link_rows)
    for shard, (content, _, url, url_fingerprint, owner) in seen:
        assert shard == shard_of_content(content, SHARDS)
        assert owner == shard_of_url(url, SHARDS)
        assert url_fingerprint == fingerprint_url(url)


def test_record_numbers_the_files_of_an_attempt(tmp_path, monkeypatch):
    monkeypatch.setattr(record.secrets, "token_hex", lambda size: "cafe")
    monkeypatch.setattr(record, "CHUNK_PAGES", 1)
    run_bundle(str(tmp_path), [make_page(A, [(B, None)]), make_page(B), make_page(C, [(A, None)])])
    names = sorted(path.name for path in tmp_path.rglob("*.parquet"))
    assert names == ["slot-00000-cafe-00000.parquet", "slot-00000-cafe-00002.parquet"]


def test_record_in_bundles_of_one_loses_no_link(tmp_path):
    pages = [make_page(A, [(B, None)]), make_page(B, [(C, None)]), make_page(C, [(A, None)])]
    alone = [run_bundle(str(tmp_path), [page])[0] for page in pages]
    parts = [value for sent in alone for _, value in sent if isinstance(value, LinkPart)]
    assert sorted(read_links(parts)["target"].to_pylist()) == [A, B, C]


def test_record_takes_equal_slots_for_one(tmp_path):
    # Between two workers a page is pickled, and its slot is another object.
    pages = [make_page(A, [(B, None)]), make_page(B, [(C, None)], slot=Slot(*SLOT))]
    run_bundle(str(tmp_path), pages)
    assert len(list(tmp_path.rglob("*.parquet"))) == 1


def test_record_keeps_slots_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(record.secrets, "token_hex", lambda size: "cafe")
    other = SLOT._replace(slot=1, attempt="beef")
    pages = [make_page(A, [(B, None)]), make_page(B, [(C, None)], slot=other)]
    run_bundle(str(tmp_path), pages)
    names = sorted(path.name for path in tmp_path.rglob("*.parquet"))
    assert names == ["slot-00000-cafe-00000.parquet", "slot-00001-cafe-00001.parquet"]


def test_record_has_no_row_for_a_robots_txt(tmp_path):
    assert run_bundle(str(tmp_path), [make_page(A, outcome=ROBOTS_TXT)]) == ([], [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "page",
    [
        make_page(A, body=b""),
        make_page(A, body=b"x", outcome=HTTP_ERROR),
        make_page(A, body=b"x", outcome=REDIRECT),
        make_page(A, body=b"x", outcome=DUPLICATE),
    ],
)
def test_record_compares_nothing_but_the_bodies_of_pages(tmp_path, page):
    assert run_bundle(str(tmp_path), [page])[1] == []


@pytest.mark.parametrize(
    ("duplicates", "text", "content"),
    [
        (record.BODY, 9, fingerprint_content(b"x")),
        (record.TEXT, 9, 9),
        (record.TEXT, 0, fingerprint_content(b"x")),  # too little text to go by
    ],
)
def test_content_of_a_page_is_its_body_or_its_text(duplicates, text, content):
    page = make_page(A, body=b"x", text_fingerprint=text)
    assert record.content_of(page, duplicates) == content
    assert record.content_of(page._replace(outcome=HTTP_ERROR), duplicates) == 0


def test_record_pages_sends_rows_links_and_contents(tmp_path):
    page = make_page(A, [(B, None)], body=b"body")
    page = page._replace(links=[*page.links, Link(C, "a")], refused=[None, "scope"])
    content, shard = fingerprint_content(b"body"), shard_of_url(A, SHARDS)
    with pipeline_of_stage() as pipeline:
        recorded = pipeline | beam.Create([page]) | RecordPages(str(tmp_path), SHARDS)
        shards = recorded.shards | beam.MapTuple(lambda key, value: (key, type(value).__name__))
        assert_that(shards, equal_to([(shard, "PageBlock"), (shard, "LinkPart")]), label="shards")
        seen = (content, 0, A, fingerprint_url(A), shard)
        assert_that(
            recorded.contents,
            equal_to([(shard_of_content(content, SHARDS), ContentBlock([seen]))]),
            label="contents",
        )
