"""Settle: duplicates are marked, and each distinct target leaves a shard once."""

from __future__ import annotations

import random

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pytest
from apache_beam.testing.util import assert_that, equal_to
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import SLOT, link_rows, make_page, make_waiting, pipeline_of_stage
from transforms.filter import FilterRules, UrlFilter
from transforms.fingerprints import fingerprint_url, shard_of_url
from transforms.record import Chunk, page_table, write_links
from transforms.records import (
    DUPLICATE,
    HTTP_ERROR,
    PAGE,
    LinkPart,
    Page,
    PageBlock,
    Settled,
    ShardState,
    Verdicts,
)
from transforms.settle import (
    Settle,
    best_first,
    candidates_by_shard,
    first_links,
    read_links,
    redirected_seeds,
    settle_pages,
)
from transforms.storage import read_table
from transforms.tables import CANDIDATES, LINKS, PAGES, pack, unpack

SHARDS = 4
A, B, C, D = (f"http://{name}.example/" for name in "abcd")
NONE = np.empty(0, np.uint64)


def pairs(links: pa.Table) -> list[tuple[str, str]]:
    rows = links.select(["source", "target"]).to_pylist()
    return [(row["source"], row["target"]) for row in rows]


def test_settle_pages_sorts_by_the_fingerprint_of_the_url():
    pages = page_table([make_page(url) for url in (A, B, C, D)])
    settled = settle_pages(pages, {})
    assert settled["url_fingerprint"].to_pylist() == sorted(pages["url_fingerprint"].to_pylist())
    assert sorted(map(str, settled.to_pylist())) == sorted(map(str, pages.to_pylist()))


def test_settle_pages_marks_duplicates_and_no_others():
    pages = page_table([make_page(A), make_page(B), make_page(C, outcome=HTTP_ERROR)])
    settled = settle_pages(pages, {fingerprint_url(B): A})
    rows = {row["url"]: (row["outcome"], row["duplicate_of"]) for row in settled.to_pylist()}
    assert rows == {A: (PAGE, None), B: (DUPLICATE, A), C: (HTTP_ERROR, None)}
    assert settled.schema == PAGES


def test_settle_pages_names_what_is_near_to_a_page_that_is_no_duplicate():
    pages = page_table([make_page(A), make_page(B), make_page(C)])
    near = {fingerprint_url(B): A, fingerprint_url(C): A}
    settled = settle_pages(pages, {fingerprint_url(B): A}, near)
    rows = {row["url"]: (row["outcome"], row["near_duplicate_of"]) for row in settled.to_pylist()}
    assert rows == {A: (PAGE, None), B: (DUPLICATE, None), C: (PAGE, A)}
    assert settled.schema == PAGES


@pytest.mark.parametrize(
    ("links", "best"),
    [
        ([], []),
        ([(A, C, None, 1)], [(A, C)]),
        ([(A, C, "scope", 1), (B, C, None, 9)], [(B, C)]),  # admitted before refused
        ([(A, C, None, 2), (B, C, None, 1)], [(B, C)]),  # nearest to a seed
        ([(A, C, "scope", 1), (A, D, None, 5)], [(A, D), (A, C)]),  # refused last
        ([(A, C, "nofollow", 1)], []),  # not a word about the URL
        ([(A, C, "nofollow", 1), (B, C, None, 3)], [(B, C)]),
        ([(A, C, "nofollow", 1), (B, C, "scope", 3)], [(B, C)]),
    ],
)
def test_first_links_of_a_few(links, best):
    assert pairs(first_links(link_rows(*links), NONE)) == best


def test_first_links_prefers_the_same_source_whatever_the_order():
    one, two = (A, C, None, 1), (B, C, None, 1)
    [first] = pairs(first_links(link_rows(one, two), NONE))
    assert pairs(first_links(link_rows(two, one), NONE)) == [first]
    assert first[0] == min(A, B, key=fingerprint_url)


def test_first_links_does_not_count_links_of_duplicates():
    links = link_rows((A, C, None, 1), (B, C, None, 2), (A, D, None, 1))
    duplicates = np.array([fingerprint_url(A)], np.uint64)
    assert pairs(first_links(links, duplicates)) == [(B, C)]


def test_first_links_keeps_the_order_of_the_document():
    targets = [f"http://t.example/{n}" for n in (3, 1, 2)]
    links = link_rows(*((A, target, None, 1) for target in targets))
    assert [target for _, target in pairs(first_links(links, NONE))] == targets


SOURCES = st.lists(
    st.tuples(
        st.integers(0, 3),  # depth
        st.lists(
            st.tuples(st.integers(0, 8), st.sampled_from([None, "scope", "excluded", "nofollow"])),
            max_size=6,
            unique_by=lambda link: link[0],
        ),
    ),
    max_size=6,
)


def blocks(drawn) -> list[pa.Table]:
    """The links of each page, as a table of its own."""
    return [
        link_rows(*((f"http://s{n}.example/", f"http://t{t}.example/", r, d) for t, r in targets))
        for n, (d, targets) in enumerate(drawn)
    ]


def together(tables: list[pa.Table]) -> pa.Table:
    return pa.concat_tables([LINKS.empty_table(), *tables]).unify_dictionaries()


@given(SOURCES, st.randoms(use_true_random=False))
def test_first_links_do_not_depend_on_the_order_of_arrival(drawn, dice: random.Random):
    tables = blocks(drawn)
    shuffled = dice.sample(tables, len(tables))
    expected = first_links(together(tables), NONE)
    assert first_links(together(shuffled), NONE).to_pylist() == expected.to_pylist()


@given(SOURCES)
def test_first_links_are_each_target_once_by_its_best_link(drawn):
    links = together(blocks(drawn))
    best = first_links(links, NONE).to_pylist()
    counted = [row for row in links.to_pylist() if row["refused"] != "nofollow"]
    assert len({row["target"] for row in best}) == len(best)
    assert {row["target"] for row in best} == {row["target"] for row in counted}
    for row in best:
        rivals = [other for other in counted if other["target"] == row["target"]]
        assert row in rivals
        assert (row["refused"] is not None, row["depth"]) == min(
            (other["refused"] is not None, other["depth"]) for other in rivals
        )
    refused = [row["refused"] is not None for row in best]
    assert refused == sorted(refused)


@given(SOURCES, st.randoms(use_true_random=False))
def test_best_first_does_not_depend_on_the_order_of_arrival(drawn, dice: random.Random):
    tables = blocks(drawn)
    whole, mixed = together(tables), together(dice.sample(tables, len(tables)))
    for identity in ("target_fingerprint", "source_fingerprint"):
        assert [whole.take([row]).to_pylist() for row in best_first(whole, identity)] == [
            mixed.take([row]).to_pylist() for row in best_first(mixed, identity)
        ]


def test_candidates_go_to_the_shard_of_their_target():
    links = link_rows(*((A, f"http://t{n}.example/", None, 1) for n in range(20)))
    found = candidates_by_shard(links, SHARDS, False)
    assert sum(table.num_rows for table in found.values()) == 20
    for shard, table in found.items():
        assert table.schema == CANDIDATES
        assert all(shard_of_url(url, SHARDS) == shard for url in table["url"].to_pylist())


def test_candidate_that_is_refused_is_no_more_than_its_fingerprint():
    links = link_rows((A, C, "scope", 2), (A, "mailto:x@a.example", "scheme", 2), (A, D, None, 2))
    rows = [
        row for table in candidates_by_shard(links, 1, False).values() for row in table.to_pylist()
    ]
    assert [(row["url"], row["referrer"], row["refused"]) for row in rows] == [
        (None, None, "scope"),
        (None, None, "scheme"),
        (D, A, None),
    ]
    assert [row["fingerprint"] for row in rows] == links["target_fingerprint"].to_pylist()
    assert {row["source_fingerprint"] for row in rows} == {fingerprint_url(A)}
    assert {row["depth"] for row in rows} == {2}


def test_candidate_out_of_scope_is_sent_whole_while_the_scope_may_grow():
    links = link_rows(
        (A, C, "scope", 2), (A, "mailto:x@a.example", "scheme", 2), (A, B, "excluded", 2),
        (B, D, None, 3),
    )  # fmt: skip
    [table] = candidates_by_shard(links, 1, True).values()
    assert table.schema == CANDIDATES
    assert [(row["url"], row["referrer"], row["refused"]) for row in table.to_pylist()] == [
        (C, A, "scope"),
        (None, None, "scheme"),
        (None, None, "excluded"),
        (D, B, None),
    ]
    [closed] = candidates_by_shard(links, 1, False).values()
    rest = ["fingerprint", "refused", "depth", "source_fingerprint", "seed"]
    assert table.select(rest).equals(closed.select(rest))


@given(SOURCES)
def test_candidates_go_to_the_same_shards_while_the_scope_may_grow(drawn):
    links = together(blocks(drawn))
    sent = [
        {shard: table["fingerprint"].to_pylist() for shard, table in found.items()}
        for found in (candidates_by_shard(links, SHARDS, opening) for opening in (False, True))
    ]
    assert sent[0] == sent[1]


@pytest.mark.parametrize("opening", [False, True])
def test_candidates_of_no_links_go_nowhere(opening):
    assert candidates_by_shard(LINKS.empty_table(), SHARDS, opening) == {}


def test_redirected_seeds_are_the_targets_of_seeds_alone():
    links = pa.concat_tables(
        [
            link_rows((A, D, None, 0), (B, C, None, 0), (A, C, None, 0), seed=True),
            link_rows((A, B, None, 1)),
        ]
    ).unify_dictionaries()
    assert redirected_seeds(links) == (C, D)
    assert redirected_seeds(LINKS.empty_table()) == ()


@pytest.mark.parametrize("target", ["mailto:x@a.example", "javascript:void(0)", "tel:+100"])
def test_redirected_seed_to_another_scheme_does_not_open_the_scope(target):
    links = link_rows((A, target, "scheme", 0), seed=True)
    filter_of = UrlFilter(FilterRules("prefix", (A,)), redirected_seeds(links))
    assert filter_of.refusal("http://elsewhere.example/") == "scope"


def write_part(base: str, *pages: Page, number: int = 0) -> LinkPart:
    """The links of pages of one shard."""
    chunk = Chunk(SLOT, "cafe", number)
    for page in pages:
        chunk.add(page)
    return write_links(base, chunk, np.zeros(len(pages), int), [0])[0]


def test_read_links_of_many_parts_is_all_of_them_in_one_order(tmp_path):
    parts = [
        write_part(str(tmp_path), make_page(A, [(B, None), (C, None)]), number=0),
        write_part(str(tmp_path), make_page(B, [(C, "scope")]), number=1),
    ]
    links = read_links(parts)
    assert pairs(links) == [(A, B), (A, C), (B, C)]
    assert links.schema == LINKS
    assert read_links(reversed(parts)).to_pylist() == links.to_pylist()
    assert read_links([]).equals(LINKS.empty_table())


@pytest.mark.parametrize(("opening", "url"), [(False, None), (True, C)])
def test_settle_sends_what_is_out_of_scope_as_its_state_says(tmp_path, opening, url):
    page = make_page(A, [(C, "scope")])
    inputs = [
        (0, PageBlock(pack(page_table([page])))),
        (0, write_part(str(tmp_path), page)),
        (0, ShardState(0, 0, opening=opening)),
    ]
    with pipeline_of_stage() as pipeline:
        settled = (pipeline | beam.Create(inputs),) | Settle(str(tmp_path), 1)
        urls = settled.candidates | beam.FlatMapTuple(
            lambda _, block: unpack([block.packed], CANDIDATES)["url"].to_pylist()
        )
        assert_that(urls, equal_to([url]))


def test_settle_writes_pages_and_sends_links(tmp_path):
    base = str(tmp_path)
    pages = [
        make_page(make_waiting(A, seed=True), [(C, None)], "redirect", body=b"12"),
        make_page(B, [(C, None), (D, None)], body=b"345"),
        make_page(B + "2", [(D, None), (A, "scope")], body=b"345"),
    ]
    shard = 1  # of all pages here: Settle takes what it is given
    parts = [write_part(base, *pages[:2], number=0), write_part(base, pages[2], number=1)]
    inputs = [
        (shard, PageBlock(pack(page_table(pages[:2])))),
        (shard, PageBlock(pack(page_table(pages[2:])))),
        *((shard, part) for part in parts),
        (shard, Verdicts([(fingerprint_url(B + "2"), B)])),
        (shard, ShardState(shard, 0)),
        (2, ShardState(2, 0)),  # a shard that no slot had
    ]
    owners = [shard_of_url(url, SHARDS) for url in (C, D)]
    sent = {owner: owners.count(owner) for owner in owners}
    path = f"{base}/pages/round=00000/shard-00001-of-00004.parquet"
    links = tuple(sorted(part.path for part in parts))
    expected = Settled(path, links, {PAGE: 2, DUPLICATE: 1}, 8, (C,), sent)
    with pipeline_of_stage() as pipeline:
        settled = (pipeline | beam.Create(inputs),) | Settle(base, SHARDS)
        targets = settled.candidates | beam.FlatMapTuple(
            lambda owner, block: [
                (owner, row["url"], row["referrer"])
                for row in unpack([block.packed], CANDIDATES).to_pylist()
            ]
        )
        told = settled.settled | beam.MapTuple(lambda key, it: (key, it._replace(evidence=())))
        assert_that(told, equal_to([(shard, expected)]), label="settled")
        assert_that(targets, equal_to([(owners[0], C, A), (owners[1], D, B)]), label="candidates")
    rows = read_table(path).to_pylist()
    assert [row["url_fingerprint"] for row in rows] == sorted(
        fingerprint_url(page.url.url) for page in pages
    )
    assert {row["url"]: row["duplicate_of"] for row in rows} == {A: None, B: None, B + "2": B}
