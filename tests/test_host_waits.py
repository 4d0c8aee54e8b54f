"""What an attempt at a slot notes of its hosts, and the next one heeds, should it die."""

from __future__ import annotations

import pytest

from transforms.host_waits import LONG, HostWaits, hand_on
from transforms.hosts import HostRecord
from transforms.layout import waits_file
from transforms.records import ShardState, Slot

NOW = 1_800_000_000.0
NEW = HostRecord("a.example")
TOLD = HostRecord("a.example", ready_at=NOW + 300, gap=7.0, failures=2, reason="HTTP 503")


def slot(attempt: str, *shards: int, round_: int = 3) -> Slot:
    return Slot(0, round_, attempt, tuple(ShardState(shard, round_) for shard in shards), None, ())


def noted(base, *records: HostRecord) -> None:
    """By an attempt at shards 1 and 2 of round 3, which died."""
    waits = HostWaits(str(base), slot("dead", 1, 2))
    for record in records:
        waits.note(record, record.ready_at, NOW)


def recalled(base, record: HostRecord, at: Slot) -> HostRecord:
    return HostWaits(str(base), at).recall(record, began=NOW + 5, delay=1.0)


def test_first_attempt_finds_hosts_as_they_are(tmp_path):
    assert recalled(tmp_path, TOLD, slot("cafe", 1)) == TOLD


@pytest.mark.parametrize("at", [slot("cafe", 1, round_=4), slot("cafe", 3, 4)])
def test_other_rounds_and_shards_are_not_concerned(tmp_path, at):
    noted(tmp_path, TOLD)
    assert recalled(tmp_path, NEW, at) == NEW


def test_next_attempt_heeds_what_a_host_was_left_alone_for(tmp_path):
    noted(tmp_path, TOLD._replace(ready_at=NOW + 3), TOLD)
    known = NEW._replace(fetched=9, requests=11)
    assert recalled(tmp_path, known, slot("cafe", 2, 9)) == TOLD._replace(fetched=9, requests=11)


def test_next_attempt_begins_with_the_gap(tmp_path):
    noted(tmp_path, TOLD._replace(ready_at=NOW + 3))
    assert recalled(tmp_path, NEW, slot("cafe", 1)).ready_at == NOW + 5 + 7
    other = HostRecord("b.example")
    assert recalled(tmp_path, other, slot("cafe", 1)).ready_at == NOW + 5 + 1


def test_what_is_soon_over_is_not_noted(tmp_path):
    noted(tmp_path, TOLD._replace(ready_at=NOW + LONG))
    assert HostWaits(str(tmp_path), slot("cafe", 1)).earlier == {}


def test_line_that_was_cut_off_is_passed_over(tmp_path):
    noted(tmp_path, TOLD)
    path = waits_file(str(tmp_path), 3, 0, "dead")
    with open(path, "ab") as file:
        file.write(b'["b.example", 18000')
    waits = HostWaits(str(tmp_path), slot("cafe", 1))
    assert list(waits.earlier) == ["a.example"]


@pytest.fixture(params=["local", "remote"])
def base(request, tmp_path):
    return str(tmp_path) if request.param == "local" else request.getfixturevalue("bucket").base


@pytest.mark.parametrize("again", [slot("cafe", 1, 2), slot("cafe", 2, 9)])
def test_next_attempt_knows_that_it_is_not_the_first(base, again):
    assert HostWaits(base, slot("dead", 1, 2)).is_first
    assert HostWaits(base, slot("else", 3)).is_first
    assert not HostWaits(base, again).is_first
    assert recalled(base, NEW, again).ready_at == NOW + 5 + 1


def test_round_after_one_that_is_void_heeds_what_was_noted_in_it(base):
    noted(base, TOLD)
    hand_on(base, 3, [1, 2])
    after = recalled(base, NEW, slot("cafe", 1, round_=4))
    local = not base.startswith("gs:")
    assert after.ready_at == (TOLD.ready_at if local else NOW + 5 + 1)
    assert HostWaits(base, slot("beef", 3, round_=4)).is_first
