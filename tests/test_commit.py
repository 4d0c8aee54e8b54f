"""Commit: a round once, whoever tries again, and never over a rival's."""

from __future__ import annotations

import random

import apache_beam as beam
import pytest
from apache_beam.testing.util import assert_that, equal_to

from pipeline import commit
from pipeline.cli import explain_failure
from pipeline.commit import CommitRound, commit_round
from pipeline.manifest import CommitError, read_manifests
from tests.samples import NOTHING_SETTLED, make_result, pipeline_of_stage
from transforms.records import PAGE, ShardResult, ShardState, WarcFile

WARCS = [WarcFile("warc/a", 10, 3), WarcFile("warc/b", 20, 5)]


def results_in(base: str) -> list[ShardResult]:
    settled = NOTHING_SETTLED._replace(outcomes={PAGE: 1}, scope=("u",))
    return [
        make_result(shard, settled=settled._replace(pages=f"{base}/pages/{shard}"))
        for shard in range(3)
    ]


def states_after(results: list[ShardResult]) -> tuple[ShardState, ...]:
    return tuple(result.state._replace(scope=("u",)) for result in results)


@pytest.fixture
def clock(monkeypatch):
    """A clock that is another second at each look."""
    seconds = iter(range(1_700_000_000, 1_700_000_100))
    monkeypatch.setattr(commit.time, "time", lambda: next(seconds))


def test_commit_writes_the_manifest_and_gives_the_next_states(tmp_path, clock):
    base = str(tmp_path)
    results = results_in(base)
    states = commit_round(base, 3, results, WARCS)
    [manifest] = read_manifests(base)
    assert manifest.states == states == states_after(results)
    assert manifest.committed_at == "2023-11-14T22:13:20Z"
    assert [state.round for state in states] == [1, 1, 1]


def test_commit_again_with_the_same_results_is_the_same_commit(tmp_path, clock):
    base, dice = str(tmp_path), random.Random(1)
    results = results_in(base)
    states = commit_round(base, 3, results, WARCS)
    path = tmp_path / "rounds" / "round-00000.json"
    before = path.read_bytes()
    for _ in range(3):
        again = dice.sample(results, 3), dice.sample(WARCS, 2)
        assert commit_round(base, 3, *again) == states
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["round-00000.json"]


@pytest.mark.parametrize(("taken", "warcs"), [(9, WARCS), (1, WARCS[:1])])
def test_commit_after_a_rival_is_refused_and_leaves_its_file_alone(tmp_path, clock, taken, warcs):
    base = str(tmp_path)
    ours = results_in(base)
    commit_round(base, 3, [*ours[:2], ours[2]._replace(taken=taken)], warcs)
    path = tmp_path / "rounds" / "round-00000.json"
    before = path.read_bytes()
    with pytest.raises(CommitError, match="another run committed round 0 first"):
        commit_round(base, 3, ours, WARCS)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["round-00000.json"]


def test_commit_of_a_round_with_nothing_to_do_gives_back_what_it_began_with(tmp_path):
    states = [ShardState(n, 4, ("f",), ("v",), waiting=2, discovered=2) for n in range(2)]
    results = [
        make_result(n, state=state._replace(round=5), settled=NOTHING_SETTLED, changed=False)
        for n, state in enumerate(states)
    ]
    assert commit_round(str(tmp_path), 2, results, []) == tuple(states)
    assert list(tmp_path.iterdir()) == []


def test_commit_with_wrong_sums_writes_nothing(tmp_path):
    with pytest.raises(CommitError, match="expected shards 0 to 3"):
        commit_round(str(tmp_path), 4, results_in(str(tmp_path)), WARCS)
    assert list(tmp_path.iterdir()) == []


def test_commit_round_gives_every_state_once(tmp_path):
    base = str(tmp_path)
    expected = results_in(base)
    with pipeline_of_stage() as pipeline:
        results = pipeline | "R" >> beam.Create([(None, result) for result in expected])
        warcs = pipeline | "W" >> beam.Create([(None, warc) for warc in WARCS])
        states = (results, warcs) | CommitRound(base, 3)
        assert_that(states, equal_to([*states_after(expected)]))
    [manifest] = read_manifests(base)
    assert manifest.files["warc"] == [f"{base}/warc/a", f"{base}/warc/b"]


def test_commit_round_that_fails_is_one_line_for_a_person(tmp_path):
    # However deep Beam wraps it.
    with pytest.raises(Exception) as failure, pipeline_of_stage() as pipeline:
        results = pipeline | beam.Create([(None, make_result(shard)) for shard in range(2)])
        (results,) | CommitRound(str(tmp_path), 3)
    said = explain_failure(failure.value)
    assert said.startswith("the round was not committed: expected shards 0 to 2, got [0, 1]")
    assert list(tmp_path.iterdir()) == []


def test_commit_has_its_files_on_the_disk_before_the_manifest(tmp_path, monkeypatch):
    calls = []
    publish = commit.storage.publish
    monkeypatch.setattr(commit.storage, "make_durable", lambda paths: calls.append(sorted(paths)))
    monkeypatch.setattr(
        commit.storage,
        "publish",
        lambda path, data: (calls.append("publish"), publish(path, data)),
    )
    base = str(tmp_path)
    pages = f"{base}/pages/round=00000/shard-00000-of-00001.parquet"
    frontier = f"{base}/frontier/round=00001/shard-00000-of-00001.parquet"
    older = f"{base}/visited/round=00000/seeds.parquet"
    settled = NOTHING_SETTLED._replace(pages=pages, outcomes={PAGE: 1})
    result = make_result(0, settled=settled)
    state = result.state._replace(frontier=(frontier,), visited=(older,))
    commit_round(base, 1, [result._replace(state=state)], [])
    assert calls == [[frontier, pages, older], "publish"]
