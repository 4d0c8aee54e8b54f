"""The request to stop: seen at once on a disk, and seldom asked for in an object store."""

from __future__ import annotations

import pytest

from tests.gcsproxy import Fault
from transforms import layout, stop, storage


def test_stop_on_a_disk_is_seen_at_once(tmp_path):
    watch = stop.Watch(str(tmp_path), 3)
    assert not watch()
    stop.ask(str(tmp_path))
    assert watch()
    stop.withdraw(str(tmp_path))
    stop.withdraw(str(tmp_path))
    assert not watch()


def test_round_that_is_committed_is_a_reason_to_stop(tmp_path):
    watch = stop.Watch(str(tmp_path), 3)
    storage.publish(layout.manifest_file(str(tmp_path), 2), b"{}")
    assert not watch()
    storage.publish(layout.manifest_file(str(tmp_path), 3), b"{}")
    assert watch()


def test_stop_in_a_store_is_looked_for_now_and_then(bucket, monkeypatch):
    now = 1000.0
    monkeypatch.setattr(stop.time, "monotonic", lambda: now)
    watch = stop.Watch(bucket.base, 3)
    assert not watch()
    stop.ask(bucket.base)
    looks = len(bucket.proxy.log)
    assert not watch()
    assert len(bucket.proxy.log) == looks
    now += stop.LOOK_AGAIN
    assert watch()


@pytest.mark.parametrize("fault", [Fault(status=503), Fault(lost=True)])
def test_look_that_fails_is_no_reason_to_stop_nor_to_wait(bucket, fault):
    stop.ask(bucket.base)
    bucket.proxy.log.clear()
    bucket.proxy.breaks = lambda asked: fault
    assert not stop.Watch(bucket.base, 3)()
    assert len(bucket.proxy.log) == 1


def test_round_that_is_committed_is_not_fetched_again(tmp_path):
    base = str(tmp_path)
    storage.publish(layout.manifest_file(base, 2), b"{}")
    stop.refuse_if_over(base, 3)
    with pytest.raises(stop.RoundOverError, match="round 2 has been committed already"):
        stop.refuse_if_over(base, 2)
