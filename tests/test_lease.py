"""The lease: one driver at work; one that died, or slept too long, is taken over from."""

from __future__ import annotations

import threading

import pytest

from pipeline.folder import locked
from pipeline.lease import Lease, held, keep
from pipeline.manifest import CommitError
from pipeline.options import UsageError
from tests.gcsproxy import Fault
from transforms import gcs, layout, storage


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def make(bucket, clock, seconds: float = 90.0) -> Lease:
    return Lease(f"{bucket.base}/crawl", seconds, clock)


def test_lease_is_held_by_one(bucket, clock):
    first, second = make(bucket, clock), make(bucket, clock)
    first.acquire()
    clock.now += 30.5
    with pytest.raises(UsageError, match=r"another run is at work in .*/crawl .*ends in 60s"):
        second.acquire()
    assert not first.took_over


def test_lease_that_was_renewed_holds_longer(bucket, clock):
    first, second = make(bucket, clock), make(bucket, clock)
    first.acquire()
    clock.now += 60
    first.renew()
    clock.now += 60
    with pytest.raises(UsageError, match="ends in 30s"):
        second.acquire()


def test_lease_given_back_in_order_is_the_next_ones(bucket, clock):
    first, second = make(bucket, clock), make(bucket, clock)
    first.acquire()
    first.release(in_order=True)
    second.acquire()
    assert not second.took_over


def test_lease_of_a_run_that_failed_is_taken_over_at_once(bucket, clock):
    first, second = make(bucket, clock), make(bucket, clock)
    first.acquire()
    first.release(in_order=False)
    second.acquire()
    assert second.took_over


def test_lease_that_has_expired_is_taken_over_and_its_holder_learns_of_it(bucket, clock):
    first, second = make(bucket, clock), make(bucket, clock)
    first.acquire()
    first.confirm()
    clock.now += 90.1
    second.acquire()
    assert second.took_over
    with pytest.raises(CommitError, match="another run has taken over"):
        first.confirm()
    with pytest.raises(FileExistsError):
        first.renew()
    second.confirm()


def test_lease_that_has_expired_but_is_nobodys_is_renewed(bucket, clock):
    first = make(bucket, clock)
    first.acquire()
    clock.now += 1000
    first.renew()
    first.confirm()
    with pytest.raises(UsageError, match="ends in 90s"):
        make(bucket, clock).acquire()


def test_lease_that_two_find_expired_is_taken_over_by_one(bucket, clock, monkeypatch):
    make(bucket, clock).acquire()
    clock.now += 100
    first, second = make(bucket, clock), make(bucket, clock)
    read = gcs.read_at
    # The second one acts between the first one's look and its write.
    monkeypatch.setattr(
        gcs, "read_at", lambda *a: (read(*a), monkeypatch.undo(), second.acquire())[0]
    )
    with pytest.raises(UsageError, match="another run has just begun"):
        first.acquire()
    second.confirm()


def test_renewal_whose_answer_was_lost_is_known_as_our_own(bucket, clock):
    lease = make(bucket, clock)
    lease.acquire()
    bucket.proxy.break_once(Fault(lost=True), lambda asked: asked.kind == "write")
    lease.renew()
    lease.renew()
    lease.confirm()


def test_renewing_goes_on_while_the_store_is_away(bucket, clock):
    lease = make(bucket, clock, seconds=0.06)
    lease.acquire()
    before = lease.generation
    bucket.proxy.break_once(Fault(status=503), lambda asked: True, times=8)
    ended, lost = threading.Event(), []
    thread = threading.Thread(target=keep, args=(lease, ended, lost.append))
    thread.start()
    for _ in range(1000):
        if lease.generation != before:
            break
        ended.wait(0.01)
    ended.set()
    thread.join()
    assert lease.generation != before
    assert lost == []


def test_renewing_ends_with_one_line_when_another_took_over(bucket, clock):
    lease, rival = make(bucket, clock, seconds=0.03), make(bucket, clock)
    lease.acquire()
    clock.now += 1
    rival.acquire()
    lost: list[str] = []
    keep(lease, threading.Event(), lost.append)
    [line] = lost
    assert line.startswith(f"another run has taken over {bucket.base}/crawl")


def test_held_lease_says_how_the_run_ended(bucket, clock):
    def end(error: type[Exception] | None) -> bool:
        with pytest.raises(error) if error else held(make(bucket, clock), print):
            if error:
                with held(make(bucket, clock), print):
                    raise error
        following = make(bucket, clock)
        following.acquire()
        following.release(in_order=True)
        return following.took_over

    assert [end(error) for error in (None, UsageError, ValueError, None)] == [
        False,
        False,
        True,
        False,
    ]


def test_failure_of_a_run_whose_lease_is_anothers_is_explained_by_that(bucket, clock):
    with (
        pytest.raises(CommitError, match="another run has taken over"),
        held(make(bucket, clock), print),
    ):
        clock.now += 100
        make(bucket, clock).acquire()
        storage.read_bytes(f"{bucket.base}/swept-by-the-other")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff"])
def test_lease_that_is_something_else_is_refused(bucket, clock, content):
    storage.publish(f"{bucket.base}/crawl/lease.json", content)
    with pytest.raises(UsageError, match=r"lease\.json is no crawl's"):
        make(bucket, clock).acquire()


@pytest.mark.parametrize("out", ["gs://", "gs:///crawl", "s3://bucket/crawl", "gs://b//crawl"])
def test_locked_refuses_what_is_no_place_for_a_crawl(out):
    with (
        pytest.raises(UsageError, match="--out wants a local folder, or gs://BUCKET/FOLDER"),
        locked(out, print),
    ):
        pass


def test_locked_says_in_one_line_what_keeps_it_from_writing(bucket):
    with pytest.raises(UsageError) as raised, locked("gs://no-such-bucket/crawl", print):
        pass
    assert str(raised.value).startswith("cannot work in gs://no-such-bucket/crawl/")
    assert "\n" not in str(raised.value)
    bucket.proxy.breaks = lambda asked: Fault(status=403)
    with pytest.raises(UsageError, match=r"cannot work in .*: 403"), locked(bucket.base, print):
        pass


def test_lease_file_says_who_for_a_person(bucket, clock):
    lease = make(bucket, clock)
    lease.acquire()
    assert b", process " in storage.read_bytes(layout.lease_file(lease.base))
