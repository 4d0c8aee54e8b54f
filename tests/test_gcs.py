"""Files in object storage: each whole or not there, and what is refused said in one line."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from google.api_core.exceptions import PreconditionFailed

from tests.gcsproxy import Fault
from transforms import gcs, storage


def kinds(bucket) -> list[str]:
    return [asked.kind for asked in bucket.proxy.log]


def test_server_refuses_a_second_write_where_none_may_be(bucket):
    # What all the rest stands on, and what not every server of this kind does.
    blob = gcs.blob_at(f"{bucket.base}/once")
    blob.upload_from_string(b"first", if_generation_match=0)
    with pytest.raises(PreconditionFailed):
        blob.upload_from_string(b"second", if_generation_match=0)
    assert blob.download_as_bytes() == b"first"


def test_file_is_published_at_the_end_of_its_block_and_in_one_request(bucket):
    path = f"{bucket.base}/a/file.warc.gz"
    with storage.create(path) as file:
        file.write(b"\x1f\x8b as it is")
        assert not storage.exists(path)
    bucket.proxy.log.clear()
    assert storage.read_bytes(path) == b"\x1f\x8b as it is"
    assert kinds(bucket) == ["read"]
    with storage.create(path) as file:
        file.write(b"new")
    assert kinds(bucket) == ["read", "write"]
    assert storage.read_bytes(path) == b"new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_file_is_not_published_when_its_block_raises(bucket, error):
    with pytest.raises(error), storage.create(f"{bucket.base}/file") as file:
        file.write(b"half")
        raise error
    context = storage.create(f"{bucket.base}/file")
    context.__enter__().write(b"half")
    del context  # what a DoFn whose bundle failed does
    assert storage.list_files(bucket.base) == []


def test_big_file_is_sent_in_pieces_and_read_in_pieces(bucket, monkeypatch):
    for name, size in (("CHUNK", 1 << 18), ("WHOLE", 1 << 16), ("READ_AHEAD", 1 << 10)):
        monkeypatch.setattr(gcs, name, size)
    monkeypatch.setattr("google.cloud.storage.blob._MAX_MULTIPART_SIZE", 1 << 18)
    path = f"{bucket.base}/big.parquet"
    wide = pa.array([f"{n:01000}" for n in range(2000)])
    table = pa.table({"n": range(2000), "wide": wide})
    with storage.create(path) as file:
        pq.write_table(table, file, compression="none", use_dictionary=False, row_group_size=500)
    assert kinds(bucket).count("write") > 5
    assert storage.read_bytes(path)[:4] == b"PAR1"
    bucket.proxy.log.clear()
    assert storage.read_table(path, ["n"]).equals(table.select(["n"]))
    assert kinds(bucket)[:2] == ["read", "look"]
    assert kinds(bucket).count("read") < 15
    assert storage.read_table(path).equals(table)


def test_small_table_is_read_in_one_request(bucket):
    table = pa.table({"n": range(1000), "m": ["x"] * 1000})
    path = storage.write_table(f"{bucket.base}/round=00001/t.parquet", table)
    bucket.proxy.log.clear()
    assert storage.read_table(path, ["n"]).equals(table.select(["n"]))
    assert kinds(bucket) == ["read"]


def test_list_files_is_what_lies_below_and_between(bucket):
    for name in ("a/1", "a/2", "a/3/x", "ab", "b"):
        storage.publish(f"{bucket.base}/top/{name}", b"")
    top = f"{bucket.base}/top"
    below = [f"{top}/a/{name}" for name in ("1", "2", "3/x")]
    assert storage.list_files(f"{top}/a") == below
    assert storage.list_files(f"{top}/a", f"{top}/a/2") == below[1:]
    assert storage.list_files(f"{top}/a", "", f"{top}/a/3") == below[:2]
    assert storage.list_files(f"{top}/absent") == []
    assert storage.names_in(top) == {"a", "ab", "b"}
    assert storage.names_in(f"{top}/absent") == set()


def test_delete_takes_one_request_a_file_and_minds_none_that_is_gone(bucket):
    paths = [f"{bucket.base}/{n}" for n in range(5)]
    for path in paths[1:]:
        storage.publish(path, b"")
    bucket.proxy.log.clear()
    storage.delete(paths)
    assert kinds(bucket).count("delete") == 5
    assert len(kinds(bucket)) <= 6  # the library looks whether it is the bucket that is missing
    storage.delete([])
    assert storage.list_files(bucket.base) == []


def test_publish_never_overwrites(bucket):
    storage.publish(f"{bucket.base}/once", b"first")
    with pytest.raises(FileExistsError, match="once was written by another"):
        storage.publish(f"{bucket.base}/once", b"first")
    assert storage.read_bytes(f"{bucket.base}/once") == b"first"


def test_publish_by_many_at_once_has_one_winner(bucket):
    path = f"{bucket.base}/once"

    def publish(number: int) -> int | None:
        try:
            storage.publish(path, b"%d" % number)
        except FileExistsError:
            return None
        return number

    with ThreadPoolExecutor(8) as pool:
        [winner] = [number for number in pool.map(publish, range(8)) if number is not None]
    assert storage.read_bytes(path) == b"%d" % winner


def is_write(asked) -> bool:
    return asked.kind == "write"


@pytest.mark.parametrize("fault", [Fault(status=503), Fault(status=429), Fault(lost=True)])
def test_publish_succeeds_though_an_answer_was_lost_or_a_no(bucket, fault):
    bucket.proxy.break_once(fault, is_write, times=2)
    path = f"{bucket.base}/once"
    storage.publish(path, b"ours")
    assert storage.read_bytes(path) == b"ours"
    with pytest.raises(FileExistsError):
        storage.publish(path, b"ours")


def test_publish_whose_answer_was_lost_does_not_take_a_rivals_file_for_its_own(bucket):
    path = f"{bucket.base}/once"
    storage.publish(path, b"the same bytes")
    bucket.proxy.break_once(Fault(lost=True), is_write)
    with pytest.raises(FileExistsError):
        storage.publish(path, b"the same bytes")


def test_write_if_goes_by_the_generation(bucket):
    path = f"{bucket.base}/file"
    first = gcs.write_if(path, b"1", 0)
    second = gcs.write_if(path, b"2", first)
    assert gcs.read_at(path) == (b"2", second)
    with pytest.raises(FileExistsError):
        gcs.write_if(path, b"3", first)
    assert gcs.read_at(path) == (b"2", second)


@pytest.mark.parametrize("fault", [Fault(status=503), Fault(lost=True)])
@pytest.mark.parametrize(
    "act",
    [
        lambda base: storage.read_bytes(f"{base}/here"),
        lambda base: storage.list_files(base),
        lambda base: storage.exists(f"{base}/here"),
        lambda base: storage.delete([f"{base}/here"]),
        lambda base: storage.write_table(f"{base}/t", pa.table({"n": [1]})),
    ],
    ids=["read", "list", "exists", "delete", "write"],
)
def test_what_may_pass_is_tried_again(bucket, fault, act):
    storage.publish(f"{bucket.base}/here", b"x")
    bucket.proxy.break_once(fault, lambda asked: True, times=2)
    act(bucket.base)
    assert len(bucket.proxy.log) >= 4


def test_look_of_the_impatient_is_not_tried_again(bucket):
    bucket.proxy.break_once(Fault(status=503), lambda asked: True)
    with pytest.raises(OSError, match="503"):
        storage.is_there_now(f"{bucket.base}/STOP")
    assert len(bucket.proxy.log) == 1


@pytest.mark.parametrize(("status", "error"), [(403, PermissionError), (400, OSError)])
def test_refusal_is_an_os_error_of_one_line(bucket, status, error):
    bucket.proxy.breaks = lambda asked: Fault(status=status)
    with pytest.raises(error, match=f"^{bucket.base}/file: {status}") as raised:
        storage.read_bytes(f"{bucket.base}/file")
    assert "\n" not in str(raised.value)


def test_store_that_stays_away_is_an_os_error_of_one_line(bucket, monkeypatch):
    monkeypatch.setattr(gcs, "RETRY", gcs.RETRY.with_timeout(0.1))
    bucket.proxy.breaks = lambda asked: Fault(status=503)
    with pytest.raises(OSError, match="503") as raised:
        storage.publish(f"{bucket.base}/file", b"x")
    assert "\n" not in str(raised.value)


def test_file_that_is_not_there_is_a_file_not_found(bucket):
    for path in (f"{bucket.base}/absent", "gs://no-such-bucket/x"):
        with pytest.raises(FileNotFoundError, match=path):
            storage.read_bytes(path)
