"""Seeds: from what a person types to the first frontier."""

from __future__ import annotations

import io
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.manifest import total
from pipeline.options import UsageError
from pipeline.seeds import read_seeds, seed_states, seed_table, seeds_of
from transforms.fingerprints import fingerprint_url, shard_of_url
from transforms.records import ShardState
from transforms.storage import read_table
from transforms.tables import FRONTIER, VISITED

A, B = "http://a.example/", "http://b.example/"


def test_read_seeds_are_urls_each_once_in_order():
    typed = ["b.example", "http://A.example", " http://b.example/ ", "http://b.example/#top"]
    assert read_seeds(typed, None) == (B, A)
    assert read_seeds([], None) == ()


@pytest.mark.parametrize(
    ("content", "seeds"),
    [
        ("", ()),
        (f"{A}\n{B}\n", (A, B)),
        (f"# ours\n\n  {A}  # the first\n#{B}\n", (A,)),
        (f"{A}#part\n", (A,)),  # a fragment, no comment
        (f"{A}\r\n{B}\r\n", (A, B)),
        (f"\ufeff{A}\n", (A,)),
        (f"{A}\n{A}\n", (A,)),
        ("a.example:8080/x\n", ("http://a.example:8080/x",)),
        ("http://a.example/caf\u00e9\n", ("http://a.example/caf%C3%A9",)),
    ],
)
def test_read_seeds_of_a_file(tmp_path, content, seeds):
    (tmp_path / "seeds.txt").write_bytes(content.encode())
    assert read_seeds([], f"{tmp_path}/seeds.txt") == seeds


def test_read_seeds_takes_those_named_before_those_of_the_file(tmp_path):
    (tmp_path / "seeds.txt").write_text(f"{A}\n{B}\n")
    assert read_seeds([B], f"{tmp_path}/seeds.txt") == (B, A)


def test_read_seeds_from_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{A}\n# {B}\n".encode())))
    assert read_seeds([], "-") == (A,)


@pytest.mark.parametrize("typed", ["", "mailto:a@b", "ftp://a/", "/path", "http://", "http://a b/"])
def test_read_seeds_names_what_is_no_url(typed):
    with pytest.raises(UsageError, match=r"is no http or https URL$"):
        read_seeds([A, typed], None)


def test_read_seeds_names_the_line_at_fault(tmp_path):
    path = tmp_path / "seeds.txt"
    path.write_text(f"{A}\n\nmailto:x\nftp:y\n")
    with pytest.raises(UsageError, match=r"'mailto:x' is no .* URL \(.*seeds.txt, line 3\)"):
        read_seeds([], str(path))


def test_read_seeds_of_bytes_that_are_no_text_does_not_raise_otherwise(tmp_path):
    (tmp_path / "seeds.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="line 1"):
        read_seeds([], f"{tmp_path}/seeds.txt")


@pytest.mark.parametrize("path", ["absent.txt", "."])
def test_read_seeds_that_can_not_be_read_says_which(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=f"cannot read seeds from {path}: "):
        read_seeds([], path)


def test_seed_table_is_a_frontier_of_depth_0():
    table = seed_table([A + "x", B])
    assert table.schema == FRONTIER
    assert table.to_pylist()[0] == {
        "url": A + "x",
        "fingerprint": fingerprint_url(A + "x"),
        "host": "a.example",
        "depth": 0,
        "referrer": "",
        "seed": True,
        "doubt": 0,
    }


URLS = st.lists(
    st.tuples(st.sampled_from("abcdefg"), st.integers(0, 20)).map(
        lambda pair: f"http://{pair[0]}.example/{pair[1]}"
    ),
    unique=True,
    max_size=20,
)


@settings(max_examples=20, deadline=None)
@given(URLS, st.integers(1, 5))
def test_seed_states_hold_every_seed_once_in_its_shard(tmp_path_factory, urls, shards):
    base = str(tmp_path_factory.mktemp("crawl"))
    states = seed_states(base, urls, shards)
    assert [(state.shard, state.round) for state in states] == [(n, 0) for n in range(shards)]
    assert sorted(seeds_of(states)) == sorted(urls)
    assert total(states) == {
        "discovered": len(urls),
        "fetched": 0,
        "refused": 0,
        "waiting": len(urls),
        "set_aside": 0,
        "pages": 0,
    }
    for state in states:
        mine = seeds_of([state])
        assert all(shard_of_url(url, shards) == state.shard for url in mine)
        assert (state.waiting, state.discovered) == (len(mine), len(mine))
        assert (state.seeds, state.opening, state.held) == (len(mine), True, ())
        rows = [row for path in state.visited for row in read_table(path).to_pylist()]
        assert [row["fingerprint"] for row in rows] == sorted(map(fingerprint_url, mine))
        assert all(row["refused"] is None for row in rows)


def test_seed_state_of_a_shard_without_seeds_has_no_file(tmp_path):
    empty = (ShardState(0, 0, opening=True), ShardState(1, 0, opening=True))
    assert seed_states(str(tmp_path), [], 2) == empty
    assert list(tmp_path.iterdir()) == []


def test_seed_runs_have_the_columns_of_visited(tmp_path):
    [state] = seed_states(str(tmp_path), [A], 1)
    assert read_table(state.visited[0]).schema.names == VISITED.names
    assert state.visited == (f"{tmp_path}/visited/round=00000/shard-00000-of-00001.seeds.parquet",)
