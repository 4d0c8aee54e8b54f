"""Tables as they cross a shuffle: packed and unpacked, nothing has changed."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import candidate_table, link_rows
from transforms import tables
from transforms.tables import CANDIDATES, LINKS, PAGES, VISITED, pack, pack_in_blocks, unpack, words

WORDS = st.lists(st.none() | st.text(max_size=3), max_size=12)


def visited(reasons: list[str | None]) -> pa.Table:
    fingerprints = pa.array(range(len(reasons)), pa.uint64())
    return pa.table([fingerprints, words(reasons)], schema=VISITED)


@given(WORDS)
def test_words_are_the_values_as_a_dictionary(values):
    array = words(values)
    assert array.to_pylist() == values
    assert array.type == tables.WORD
    distinct = array.dictionary.to_pylist()
    assert len(distinct) == len(set(distinct))


@given(WORDS)
def test_unpack_gives_back_what_was_packed(values):
    table = visited(values)
    assert unpack([pack(table)], VISITED).equals(table)


@given(st.lists(WORDS, max_size=5))
def test_unpack_of_many_is_all_rows_in_order(blocks):
    table = unpack([pack(visited(values)) for values in blocks], VISITED)
    assert table["refused"].to_pylist() == [value for values in blocks for value in values]
    assert table.schema == VISITED
    if blocks:
        chunks = table["refused"].chunks
        assert all(chunk.dictionary.equals(chunks[0].dictionary) for chunk in chunks)


@pytest.mark.parametrize("schema", [CANDIDATES, LINKS, PAGES, VISITED])
def test_unpack_of_nothing_is_an_empty_table(schema):
    assert unpack([], schema).equals(schema.empty_table())


def test_pack_of_the_same_rows_is_the_same_bytes():
    # A retried bundle must be able to say the same thing again.
    rows = [("http://a.example/", f"http://b.example/{n}", None, 1) for n in range(50)]
    assert pack(link_rows(*rows)) == pack(link_rows(*rows))


def test_pack_of_a_slice_carries_no_other_row():
    table = candidate_table(
        *(("http://a.example/", f"http://b.example/{n}", None, 1) for n in range(10_000))
    )
    assert len(pack(table.slice(0, 1))) < len(pack(table)) / 20


def test_tables_begin_with_what_a_person_looks_for():
    assert PAGES.names[:5] == ["url", "host", "depth", "outcome", "status"]
    assert LINKS.names[:2] == ["source", "target"]
    promised = (
        "url host depth outcome status content_type bytes fetched_at elapsed_ms fingerprint "
        "duplicate_of redirect_to title referrer error etag last_modified warc_file warc_offset"
    )
    assert set(promised.split()) <= set(PAGES.names)


@pytest.mark.parametrize(("rows", "blocks"), [(0, 0), (1, 1), (3, 1), (4, 2), (6, 2), (7, 3)])
def test_pack_in_blocks_loses_no_row(monkeypatch, rows, blocks):
    monkeypatch.setattr(tables, "BLOCK_ROWS", 3)
    table = visited(["scope", None, "nofollow", None, "scope", "scheme", None][:rows])
    packed = list(pack_in_blocks(table))
    assert len(packed) == blocks
    assert unpack(packed, VISITED).to_pylist() == table.to_pylist()
