"""The manifest: what makes a round real, refuses one whose sums are wrong, and never replaces."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import cli
from pipeline.manifest import (
    OPENING_ROUNDS,
    CommitError,
    Manifest,
    check_sums,
    from_json,
    last_manifest,
    read_manifests,
    state_from_dict,
    state_to_dict,
    summarize,
    to_json,
    total,
)
from pipeline.options import UsageError
from tests.samples import NOTHING_SETTLED, make_result
from transforms import layout, storage
from transforms.records import HTTP_ERROR, PAGE, Settled, ShardState, WarcFile

NOW = "2024-01-01T00:00:00Z"
BASE = "/data/crawl"


def summed(*results, shards: int | None = None, warcs=(), base: str = BASE) -> Manifest | None:
    return summarize(base, results, warcs, len(results) if shards is None else shards, NOW)


def with_state(shard: int = 0, **changes):
    result = make_result(shard)
    return result._replace(state=result.state._replace(**changes))


def full_results():
    """Two shards: one fetched a page and sent a link to the other, which refused one more."""
    first = make_result(
        0,
        settled=Settled(
            f"{BASE}/pages/0", (f"{BASE}/links/x",), {PAGE: 1, HTTP_ERROR: 1}, 30, ("u",), {1: 2}
        ),
        taken=3,
        state=ShardState(0, 1, ("f",), ("v",), (), (), 1, 3, 2, 0, 1),
    )
    second = make_result(
        1,
        settled=NOTHING_SETTLED,
        taken=0,
        received=2,
        discovered=2,
        refused={"scope": 1},
        changed=False,
        state=ShardState(1, 1, waiting=1, discovered=2, refused=1, scope=("t",)),
    )
    return first, second


def test_summarize_adds_up_the_shards():
    warcs = [WarcFile("warc/b", 20, 5), WarcFile("warc/a", 10, 3)]
    manifest = summed(*reversed(full_results()), warcs=warcs)
    assert manifest == Manifest(
        round=0,
        counts={
            "taken": 3,
            "fetched": 2,
            "bytes": 30,
            "links": 2,
            "discovered": 2,
            "warc_bytes": 30,
            "warc_records": 8,
        },
        outcomes={HTTP_ERROR: 1, PAGE: 1},
        refused={"scope": 1},
        totals={
            "discovered": 5,
            "fetched": 2,
            "refused": 1,
            "waiting": 2,
            "set_aside": 0,
            "pages": 1,
        },
        files={
            "pages": [f"{BASE}/pages/0"],
            "links": [f"{BASE}/links/x"],
            "warc": [f"{BASE}/warc/a", f"{BASE}/warc/b"],
        },
        states=tuple(
            result.state._replace(scope=tuple(sorted({*result.state.scope, "u"})))
            for result in full_results()
        ),
        committed_at=NOW,
    )


def test_summarize_names_a_file_of_links_once_though_shards_share_it():
    shared = NOTHING_SETTLED._replace(links=(f"{BASE}/links/x",), outcomes={PAGE: 1})
    manifest = summed(*(make_result(shard, settled=shared) for shard in range(3)))
    assert manifest.files["links"] == [f"{BASE}/links/x"]


def test_summarize_of_a_round_that_had_nothing_to_do_is_none():
    assert summed(make_result(0, changed=False), make_result(1, changed=False)) is None
    assert summed(make_result(0, changed=False), make_result(1, changed=True)) is not None


def test_summarize_gives_where_seeds_redirected_to_to_every_shard():
    settled = NOTHING_SETTLED._replace(scope=("http://b/",), outcomes={PAGE: 1})
    manifest = summed(
        make_result(0, settled=settled), with_state(1, scope=("http://a/",)), make_result(2)
    )
    assert [state.scope for state in manifest.states] == [
        ("http://b/",),
        ("http://a/", "http://b/"),
        ("http://b/",),
    ]


def after_round(round_: int, *seeds: int) -> list[bool]:
    """`opening` of each shard once `round_` is committed, with so many seeds waiting in each."""
    results = [
        make_result(
            shard,
            state=ShardState(
                shard, round_ + 1, discovered=1 + n, fetched=1, waiting=n, seeds=n, opening=True
            ),
        )
        for shard, n in enumerate(seeds)
    ]
    return [state.opening for state in summed(*results).states]


def test_summarize_leaves_every_shard_opening_while_any_has_seeds():
    assert after_round(0, 0, 1, 0) == [True] * 3
    assert after_round(0, 0, 0, 0) == [False] * 3


def test_summarize_waits_for_seeds_no_longer_than_opening_rounds():
    opening = [after_round(round_, 1, 0) for round_ in range(OPENING_ROUNDS + 2)]
    assert opening == [[True] * 2] * (OPENING_ROUNDS - 1) + [[False] * 2] * 3


def test_total_adds_up_every_fate():
    states = [ShardState(n, 0, (), (), (), (), 1, 10, 6, 3, 5) for n in range(2)]
    assert total(states) == {
        "discovered": 20,
        "fetched": 12,
        "refused": 6,
        "waiting": 2,
        "set_aside": 0,
        "pages": 10,
    }


@pytest.mark.parametrize(
    ("results", "shards", "said"),
    [
        ([make_result(0)], 2, r"expected shards 0 to 1, got \[0\]"),
        ([], 1, r"expected shards 0 to 0, got \[\]"),
        ([make_result(0), make_result(0)], 2, r"expected shards 0 to 1, got \[0, 0\]"),
        ([make_result(0), make_result(1)], 1, r"expected shards 0 to 0, got \[0, 1\]"),
        ([make_result(0), make_result(2)], 2, r"expected shards 0 to 1, got \[0, 2\]"),
        (
            [make_result(0, settled=NOTHING_SETTLED._replace(sent={0: 3}), received=2)],
            1,
            "shard 0: 3 links were sent, 2 arrived",
        ),
        ([make_result(0), make_result(1, received=1)], 2, "shard 1: 0 links were sent, 1 arrived"),
        (
            [make_result(0), make_result(1, settled=NOTHING_SETTLED._replace(sent={0: 4}))],
            2,
            "shard 0: 4 links were sent, 0 arrived",
        ),
        (
            [with_state(0, discovered=2)],
            1,
            "shard 0: discovered 2 is not fetched 1 . refused 0 . waiting 0",
        ),
        (
            [make_result(0), with_state(1, waiting=1)],
            2,
            "shard 1: discovered 1 is not fetched 1 . refused 0 . waiting 1",
        ),
        (
            [make_result(0), make_result(1, fetched=2)],
            2,
            "shard 1: 2 fetches ended, 1 reached the pages table",
        ),
        (
            [make_result(0, settled=NOTHING_SETTLED, fetched=1)],
            1,
            "shard 0: 1 fetches ended, 0 reached the pages table",
        ),
        ([make_result(0, fetched=0)], 1, "shard 0: 0 fetches ended, 1 reached the pages table"),
    ],
    ids=[
        "shard missing",
        "no shard",
        "shard twice",
        "shard too many",
        "wrong shard",
        "links lost",
        "links from nowhere",
        "all links lost",
        "URL without a fate",
        "URL with two fates",
        "page lost",
        "all pages lost",
        "page from nowhere",
    ],
)
def test_sums_that_are_wrong_are_refused(results, shards, said):
    with pytest.raises(CommitError, match=said):
        check_sums(results, shards)
    with pytest.raises(CommitError, match=said):
        summed(*results, shards=shards)


def test_sums_hold_when_links_of_many_shards_meet_in_one():
    settled = NOTHING_SETTLED._replace(sent={0: 2, 1: 1})
    results = [
        make_result(0, settled=settled, received=4),
        make_result(1, settled=settled, received=2),
    ]
    check_sums(results, 2)


PATHS = st.lists(st.sampled_from("abc").map(lambda name: f"{BASE}/{name}"), max_size=2).map(tuple)
COUNT = st.integers(0, 2**40)
STATES = st.builds(
    ShardState,
    *(COUNT, COUNT, PATHS, PATHS, PATHS, PATHS),
    *(COUNT, COUNT, COUNT, COUNT, COUNT),
    st.lists(st.text(max_size=5), max_size=2).map(tuple),
    *(COUNT, st.booleans(), PATHS, st.floats(0, 100), PATHS),
    *(PATHS, PATHS, COUNT, st.lists(st.text(max_size=5), max_size=2).map(tuple)),
)


@given(STATES)
def test_state_is_read_back_as_it_was(state):
    record = json.loads(json.dumps(state_to_dict(BASE, state)))
    assert state_from_dict(BASE, record) == state
    moved = state_from_dict("gs://b/c", record)
    assert moved.frontier == tuple(p.replace(BASE, "gs://b/c") for p in state.frontier)


@given(STATES, st.dictionaries(st.text(max_size=3), COUNT))
def test_manifest_is_read_back_as_it_was(state, counts):
    files = {"pages": [f"{BASE}/pages/0"], "links": [], "warc": []}
    manifest = Manifest(3, counts, counts, counts, counts, files, (state, state), NOW)
    assert from_json(BASE, to_json(BASE, manifest)) == manifest


def test_manifest_has_no_path_of_this_machine():
    assert BASE.encode() not in to_json(BASE, summed(*full_results()))


@pytest.mark.parametrize("data", [b"{}", b'{"format": 2}', b'{"format": "1"}'])
def test_manifest_of_another_format_is_refused(data):
    with pytest.raises(UsageError, match="not a manifest of format 1"):
        from_json(BASE, data)


@pytest.mark.parametrize("data", [b'{"format": 2}', b'{"format"'])
def test_manifest_that_can_not_be_read_is_said_in_one_line(tmp_path, capsys, data):
    document = {"format": 1, "settings": {}, "start": []}
    (tmp_path / "crawl.json").write_text(json.dumps(document))
    (tmp_path / "rounds").mkdir()
    (tmp_path / "rounds" / "round-00000.json").write_bytes(data)
    assert cli.main(["status", str(tmp_path)]) in (1, 2)
    assert capsys.readouterr().err.count("\n") == 1


def test_publish_writes_the_whole_file(tmp_path):
    storage.publish(f"{tmp_path}/rounds/round-00000.json", b"data")
    assert [(p.name, p.read_bytes()) for p in (tmp_path / "rounds").iterdir()] == [
        ("round-00000.json", b"data")
    ]


def test_publish_never_overwrites(tmp_path):
    path = tmp_path / "round-00000.json"
    path.write_bytes(b"the rival's")
    with pytest.raises(FileExistsError):
        storage.publish(str(path), b"ours")
    assert path.read_bytes() == b"the rival's"
    assert os.listdir(tmp_path) == ["round-00000.json"]


def test_publish_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    def no_space(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space"):
        storage.publish(f"{tmp_path}/round-00000.json", b"data")
    assert os.listdir(tmp_path) == []


def test_publish_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    calls = []
    link = os.link
    monkeypatch.setattr(os, "fsync", lambda number: calls.append("fsync"))
    monkeypatch.setattr(os, "link", lambda *paths: (calls.append("link"), link(*paths)))
    storage.publish(f"{tmp_path}/file", b"data")
    assert calls == ["fsync", "link", "fsync"]  # the file, its name, the folder's entry


def test_read_manifests_are_those_published_oldest_first(tmp_path):
    base = str(tmp_path)
    assert (read_manifests(base), last_manifest(base)) == ([], None)
    for round_ in (10, 9, 0):
        manifest = summarize(base, [make_result(0, round_)], [], 1, NOW)
        storage.publish(layout.manifest_file(base, round_), to_json(base, manifest))
    # What a run left that died while it was publishing.
    (tmp_path / "rounds" / f"round-00011.json.123{layout.TEMPORARY}").write_bytes(b"{")
    assert [manifest.round for manifest in read_manifests(base)] == [0, 9, 10]
    assert last_manifest(base) == read_manifests(base)[-1]


def test_manifests_are_read_where_the_folder_was_moved_to(tmp_path):
    before, after = tmp_path / "before", tmp_path / "after"
    result = make_result(0, settled=NOTHING_SETTLED._replace(pages=f"{before}/pages/x"))
    manifest = summarize(str(before), [result], [WarcFile("warc/y", 1, 1)], 1, NOW)
    storage.publish(layout.manifest_file(str(before), 0), to_json(str(before), manifest))
    before.rename(after)
    assert last_manifest(str(after)).files == {
        "pages": [f"{after}/pages/x"],
        "links": [],
        "warc": [f"{after}/warc/y"],
    }
