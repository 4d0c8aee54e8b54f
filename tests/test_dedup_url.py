"""Dedup by URL: a URL is decided once, ever, and the sums of a shard hold."""

from __future__ import annotations

import random

import apache_beam as beam
import pyarrow as pa
import pytest
from apache_beam.testing.util import assert_that, equal_to
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.manifest import CommitError, summarize
from tests.samples import (
    NOTHING_SETTLED,
    RULES,
    candidate_block,
    candidate_table,
    pipeline_of_stage,
)
from transforms import dedup_url
from transforms.dedup_url import DedupUrls, frontier_rows, nothing_taken, reconsider, unseen
from transforms.filter import FilterRules, UrlFilter
from transforms.fingerprints import fingerprint_url, fingerprint_written
from transforms.hosts import HostRecord, read_hosts, write_hosts
from transforms.records import (
    PAGE,
    CandidateBlock,
    ContentRuns,
    Settled,
    ShardResult,
    ShardState,
    SlotReport,
)
from transforms.runs import TIER, write_run
from transforms.storage import read_table
from transforms.tables import CANDIDATES, FRONTIER, VISITED, pack, words

A, B, C = (f"http://{name}.example/" for name in "abc")
NAMES = "abcdefghijklmnopqrstuvwxyz"  # of no shape: what is new is URLs alone


def visited_run(path: str, *urls: str) -> str:
    fingerprints = pa.array([fingerprint_url(url) for url in urls], pa.uint64())
    return write_run(path, pa.table([fingerprints, words([None] * len(urls))], schema=VISITED))


def test_unseen_drops_what_any_run_holds(tmp_path):
    runs = tuple(visited_run(f"{tmp_path}/{n}.parquet", url) for n, url in enumerate([A, B]))
    candidates = candidate_table((C, A, None, 1), (C, C, None, 1), (C, B, "scope", 1))
    assert unseen(candidates, runs)["url"].to_pylist() == [C]
    assert unseen(candidates, ())["fingerprint"].to_pylist() == [
        fingerprint_url(url) for url in (A, C, B)
    ]


def test_unseen_takes_each_url_once_by_its_best_link():
    candidates = candidate_table((A, C, "scope", 1), (A, C, None, 5), (B, C, None, 3))
    [row] = unseen(candidates, ()).to_pylist()
    assert (row["url"], row["referrer"], row["depth"], row["refused"]) == (C, B, 3, None)


def test_unseen_of_nothing_is_nothing(tmp_path):
    run = visited_run(f"{tmp_path}/run.parquet", A)
    assert unseen(CANDIDATES.empty_table(), (run,)).num_rows == 0


def test_frontier_rows_are_the_admitted_with_their_hosts():
    rows, shapes = frontier_rows(candidate_table((A, B + "x", None, 2), (A, C, "scope", 2)))
    assert rows.schema == FRONTIER
    assert rows.to_pylist() == [
        {
            "url": B + "x",
            "fingerprint": fingerprint_url(B + "x"),
            "host": "b.example",
            "depth": 2,
            "referrer": A,
            "seed": False,
            "doubt": 0,
        }
    ]
    assert not len(shapes)
    assert frontier_rows(CANDIDATES.empty_table())[0].schema == FRONTIER


def test_nothing_taken_leaves_all_as_it_was():
    state = ShardState(3, 1, frontier=("one", "two"), waiting=9)
    assert nothing_taken(state) == SlotReport(3, 0, 0, 0, ("one", "two"), 9, "")


def dedup(base: str, state: ShardState, *parts) -> ShardResult:
    [(key, result)] = dedup_url._DedupUrls(base, 1, RULES).process((state.shard, [state, *parts]))
    assert key is None
    return result


def urls_in(paths: tuple[str, ...]) -> list[str]:
    return [url for path in paths for url in read_table(path)["url"].to_pylist()]


LINKS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 12), st.sampled_from([None, None, "scope"])),
    max_size=12,
    unique_by=lambda link: link[:2],
)
ROUNDS = st.lists(st.lists(LINKS, max_size=3), min_size=1, max_size=10)


def block_of(round_: int, number: int, links) -> CandidateBlock:
    return candidate_block(
        *(
            (
                f"http://s.example/{round_}/{number}/{source}",
                f"http://t.example/{NAMES[target]}",
                reason,
                1,
            )
            for source, target, reason in links
        )
    )


@settings(max_examples=25, deadline=None)
@given(ROUNDS)
def test_dedup_admits_each_url_once_over_many_rounds(tmp_path_factory, rounds):
    base = str(tmp_path_factory.mktemp("crawl"))
    state = ShardState(0, 0)
    decided: dict[str, bool] = {}
    for number, blocks in enumerate(rounds):
        targets: dict[str, bool] = {}
        for links in blocks:
            for _, target, reason in links:
                url = f"http://t.example/{NAMES[target]}"
                targets[url] = targets.get(url, False) or reason is None
        new = {url: admitted for url, admitted in targets.items() if url not in decided}
        before = state
        result = dedup(base, state, *(block_of(number, n, links) for n, links in enumerate(blocks)))
        state = result.state
        decided.update(new)
        assert result.received == sum(map(len, blocks))
        assert result.discovered == len(new)
        added = state.frontier[len(before.frontier) :]
        assert sorted(urls_in(added)) == sorted(url for url, admitted in new.items() if admitted)
        assert state.waiting == sum(decided.values())
        assert state.refused == len(decided) - state.waiting
        assert state.discovered == state.fetched + state.refused + state.waiting
        assert state.round == number + 1
    waiting = urls_in(state.frontier)
    assert len(waiting) == len(set(waiting)) == state.waiting
    rows = [row for path in state.visited for row in read_table(path).to_pylist()]
    assert sorted(row["fingerprint"] for row in rows) == sorted(map(fingerprint_url, decided))
    assert sum(row["refused"] is not None for row in rows) == state.refused


@settings(max_examples=15, deadline=None)
@given(st.lists(LINKS, max_size=4), st.randoms(use_true_random=False))
def test_dedup_is_blind_to_the_order_of_blocks(tmp_path_factory, drawn, dice: random.Random):
    blocks = [block_of(0, number, links) for number, links in enumerate(drawn)]
    results = []
    for order in (blocks, dice.sample(blocks, len(blocks))):
        base = str(tmp_path_factory.mktemp("crawl"))
        state = dedup(base, ShardState(0, 0), *order).state
        files = [*state.frontier, *state.visited]
        results.append([read_table(path).to_pylist() for path in files])
    assert results[0] == results[1]


def test_dedup_again_writes_the_same_files(tmp_path):
    block = candidate_block((A, B, None, 1), (A, C, "scope", 1))
    first = dedup(str(tmp_path), ShardState(0, 0), block)
    content = {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")}
    assert dedup(str(tmp_path), ShardState(0, 0), block) == first
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")} == content


def test_dedup_of_a_shard_where_nothing_happened_changes_its_round_alone(tmp_path):
    state = ShardState(0, 4, ("f",), ("v",), ("c",), ("h",), 5, 9, 3, 1, 2, (A,))
    result = dedup(str(tmp_path), state)
    assert result == ShardResult(state._replace(round=5), 0, 0, 0, {}, NOTHING_SETTLED, 0, False)
    assert list(tmp_path.iterdir()) == []


def test_dedup_puts_what_rolled_over_first(tmp_path):
    state = ShardState(0, 1, ("old",), waiting=5, discovered=5)
    report = SlotReport(0, 4, 2, 1, ("rest", "carried"), 3, "")
    result = dedup(str(tmp_path), state, report, candidate_block((A, B, None, 1)))
    assert result.state.frontier == (
        "rest",
        "carried",
        f"{tmp_path}/frontier/round=00002/shard-00000-of-00001.parquet",
    )
    counts = result.state._replace(frontier=(), visited=())
    assert counts == ShardState(0, 2, waiting=4, discovered=6, fetched=2, pages=1)
    assert (result.taken, result.changed) == (4, True)


def test_dedup_takes_over_contents_and_settled(tmp_path):
    settled = Settled("pages", ("links",), {PAGE: 1}, 9, (B,), {0: 3})
    state = ShardState(0, 1, contents=("old",))
    result = dedup(str(tmp_path), state, settled, ContentRuns(("old", "new")))
    assert result.settled == settled
    assert result.state.contents == ("old", "new")


def test_dedup_counts_refusals_by_reason(tmp_path):
    links = [(A, f"{B}{n}", reason, 1) for n, reason in enumerate(["scope", "scope", "scheme"])]
    result = dedup(str(tmp_path), ShardState(0, 0), candidate_block(*links))
    assert result.refused == {"scope": 2, "scheme": 1}
    assert (result.state.refused, result.state.frontier) == (3, ())


def test_dedup_adds_a_run_of_hosts_and_merges_them_when_many(tmp_path):
    state = ShardState(0, 0)
    for number in range(TIER + 1):
        assert len(state.hosts) == number
        run = write_hosts(f"{tmp_path}/{number}.parquet", [HostRecord("a", ready_at=number)])
        result = dedup(str(tmp_path), state, SlotReport(0, 0, 0, 0, (), 0, run))
        assert result.changed  # something was learnt of a host
        state = result.state
    merged = f"{tmp_path}/hosts/round=0000{TIER}/shard-00000-of-00001.merged.parquet"
    assert state.hosts == (merged,)
    assert read_hosts(state.hosts, ["a"]) == {"a": HostRecord("a", ready_at=TIER)}


def test_fetch_whose_row_was_lost_is_not_committed(tmp_path):
    state = ShardState(0, 0, waiting=1, discovered=1)
    report = SlotReport(0, taken=1, fetched=1, pages=1, frontier=(), waiting=0, hosts="")
    result = dedup(str(tmp_path), state, report)  # no Settled: its PageBlock never came
    assert result.fetched == 1
    with pytest.raises(CommitError, match="1 fetches ended, 0 reached the pages table"):
        summarize(str(tmp_path), [result], [], 1, "now")


def test_dedup_urls_gives_a_result_for_each_shard(tmp_path):
    states = [ShardState(0, 0), ShardState(1, 0, waiting=1, discovered=1)]
    report = SlotReport(1, 1, 1, 1, (), 0, "")
    with pipeline_of_stage() as pipeline:
        shards = pipeline | "S" >> beam.Create([(state.shard, state) for state in states])
        blocks = pipeline | "C" >> beam.Create([(0, candidate_block((A, B, None, 1)))])
        reports = pipeline | "R" >> beam.Create([(1, report)])
        results = (blocks, reports, shards) | DedupUrls(str(tmp_path), 2, RULES)
        sums = results | beam.MapTuple(
            lambda _, result: (result.state.shard, result.state.waiting, result.state.fetched)
        )
        assert_that(sums, equal_to([(0, 1, 0), (1, 0, 1)]))


RULES_OF_A = FilterRules("host", (A,), exclude=("/out",))
MOVED, AWAY = "http://moved.example/", "http://away.example/"
HELD = "frontier/round=0000{}/shard-00000-of-00001.held.parquet"


def dedup_of_a(base: str, state: ShardState, *links) -> ShardResult:
    """A round with the scope of A, and links as Settle sends them while `state` is opening."""
    block = candidate_block(*links, opening=state.opening)
    [(_, result)] = dedup_url._DedupUrls(base, 1, RULES_OF_A).process((0, [state, block]))
    after = result.state
    assert after.discovered == after.fetched + after.refused + after.waiting
    assert result.received == len(links)
    return result


def test_links_out_of_scope_are_held_until_the_scope_can_not_grow(tmp_path):
    base = str(tmp_path)
    state = ShardState(0, 0, opening=True)
    first = dedup_of_a(
        base,
        state,
        (A, A + "1", None, 1),
        (A, MOVED + "deep", "scope", 1),
        (A, AWAY, "scope", 1),
        (A, "mailto:x@a.example", "scheme", 1),
    )
    assert (first.discovered, first.refused) == (2, {"scheme": 1})
    assert urls_in(first.state.frontier) == [A + "1"]
    assert first.state.held == (f"{base}/{HELD.format(0)}",)
    assert urls_in(first.state.held) == [MOVED + "deep", AWAY]

    second = dedup_of_a(base, first.state, (A + "1", AWAY, "scope", 2), (A, B, "scope", 2))
    assert (second.discovered, second.refused) == (0, {})
    assert second.state.held == (*first.state.held, f"{base}/{HELD.format(1)}")
    assert second.state.visited == first.state.visited  # nothing of them is decided

    third = dedup_of_a(base, second.state)  # still opening, and nothing to hold
    assert third.state.held == second.state.held

    grown = third.state._replace(opening=False, scope=(MOVED,))
    fourth = dedup_of_a(base, grown, (A, C, "scope", 4))
    # AWAY was held twice, and counts once.
    assert (fourth.discovered, fourth.refused) == (4, {"scope": 3})
    assert (fourth.state.held, fourth.state.refused, fourth.state.waiting) == ((), 4, 2)
    [row] = read_table(fourth.state.frontier[-1]).to_pylist()
    assert row == {
        "url": MOVED + "deep",
        "fingerprint": fingerprint_url(MOVED + "deep"),
        "host": "moved.example",
        "depth": 1,
        "referrer": A,
        "seed": False,
        "doubt": 0,
    }

    fifth = dedup_of_a(base, fourth.state, (A, AWAY, "scope", 5), (A, MOVED + "deep", None, 5))
    assert (fifth.discovered, fifth.state) == (0, fourth.state._replace(round=5))


def test_held_link_does_not_hide_a_link_that_is_admitted(tmp_path):
    # In the same round, in a later one, and in the one in which it is judged.
    base = str(tmp_path)
    held = [(A, f"{MOVED}{n}", "scope", 1) for n in range(3)]
    state = ShardState(0, 0, opening=True)
    state = dedup_of_a(base, state, *held, (MOVED, MOVED + "0", None, 7)).state
    assert urls_in(state.frontier) == [MOVED + "0"]
    state = dedup_of_a(base, state, (MOVED, MOVED + "1", None, 7)).state
    assert urls_in(state.frontier) == [MOVED + "0", MOVED + "1"]
    grown = state._replace(opening=False, scope=(MOVED,))
    last = dedup_of_a(base, grown, (MOVED, MOVED + "2", None, 7))
    assert (last.discovered, last.refused, last.state.held) == (1, {}, ())
    [row] = read_table(last.state.frontier[-1]).to_pylist()
    assert (row["url"], row["depth"], row["referrer"]) == (MOVED + "2", 1, A)  # its best link


def test_nothing_is_held_once_the_scope_can_not_grow(tmp_path):
    result = dedup_of_a(str(tmp_path), ShardState(0, 9), (A, AWAY, "scope", 1))
    assert (result.discovered, result.refused, result.state.held) == (1, {"scope": 1}, ())
    assert not list(tmp_path.rglob("*.held.*"))


def test_held_again_is_the_same_file(tmp_path):
    state = ShardState(0, 0, opening=True)
    first = dedup_of_a(str(tmp_path), state, (A, AWAY, "scope", 1))
    content = (tmp_path / HELD.format(0)).read_bytes()
    assert dedup_of_a(str(tmp_path), state, (A, AWAY, "scope", 1)) == first
    assert (tmp_path / HELD.format(0)).read_bytes() == content


def test_reconsider_judges_by_all_rules_and_changes_nothing_else():
    targets = (MOVED + "deep", AWAY, MOVED + "out")
    held = candidate_table(*((A, url, "scope", 1) for url in targets), opening=True)
    wanted = UrlFilter(RULES_OF_A, (MOVED,))
    judged = reconsider(held, wanted)
    assert judged.schema == CANDIDATES
    assert judged["refused"].to_pylist() == [None, "scope", "excluded"]
    assert judged["fingerprint"].to_pylist() == [
        *held["fingerprint"].to_pylist()[:2],
        fingerprint_written(MOVED + "out"),
    ]
    judgement = ["refused", "fingerprint"]
    assert judged.drop_columns(judgement).equals(held.drop_columns(judgement))
    assert reconsider(held.slice(0, 0), wanted).equals(CANDIDATES.empty_table())


def test_dedup_counts_the_seeds_that_wait(tmp_path):
    state = ShardState(0, 0, waiting=3, discovered=3, seeds=3, opening=True)
    report = SlotReport(0, taken=2, fetched=2, pages=0, frontier=(), waiting=1, hosts="", seeds=2)
    links = candidate_table((A, B, None, 0), (A, C, None, 1))
    seeds = pa.array([True, False])  # B: where a seed redirected to
    links = links.set_column(CANDIDATES.get_field_index("seed"), CANDIDATES.field("seed"), seeds)
    result = dedup(str(tmp_path), state, report, CandidateBlock(pack(links)))
    assert (result.state.seeds, result.state.waiting, result.fetched) == (2, 3, 2)
