"""Files: each whole, or not there."""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from transforms import storage
from transforms.layout import TEMPORARY


def below(folder) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


@pytest.mark.parametrize(
    ("path", "local"), [("/a/b", True), ("a", True), ("./a:b", True), ("gs://b/c", False)]
)
def test_is_local_of_a_path(path, local):
    assert storage.is_local(path) is local


def test_create_makes_the_folders_on_the_way(tmp_path):
    with storage.create(f"{tmp_path}/a/b/file") as file:
        file.write(b"whole")
    assert storage.read_bytes(f"{tmp_path}/a/b/file") == b"whole"
    assert below(tmp_path) == ["a/b/file"]


def test_create_shows_nothing_before_its_end(tmp_path):
    path = f"{tmp_path}/file"
    with storage.create(path) as file:
        file.write(b"half")
        file.flush()
        assert not storage.exists(path)
        [under_way] = below(tmp_path)
        assert under_way.endswith(TEMPORARY)
    assert below(tmp_path) == ["file"]


def test_create_keeps_the_old_file_until_the_new_one_is_whole(tmp_path):
    path = f"{tmp_path}/file"
    for content in (b"old", b"new"):
        with storage.create(path) as file:
            file.write(content)
            assert content == b"old" or storage.read_bytes(path) == b"old"
    assert storage.read_bytes(path) == b"new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_create_leaves_nothing_behind_when_the_block_raises(tmp_path, error):
    with pytest.raises(error), storage.create(f"{tmp_path}/file") as file:
        file.write(b"half")
        raise error
    assert below(tmp_path) == []


def test_create_that_raises_leaves_an_older_file_alone(tmp_path):
    path = f"{tmp_path}/file"
    with storage.create(path) as file:
        file.write(b"old")
    with pytest.raises(ValueError), storage.create(path) as file:
        file.write(b"half")
        raise ValueError
    assert storage.read_bytes(path) == b"old"
    assert below(tmp_path) == ["file"]


def test_create_that_is_dropped_leaves_nothing_behind(tmp_path):
    # What a DoFn whose bundle failed does with a file that it never closed.
    context = storage.create(f"{tmp_path}/file")
    context.__enter__().write(b"half")
    del context
    assert below(tmp_path) == []


def test_make_durable_syncs_each_file(tmp_path, monkeypatch):
    paths = [f"{tmp_path}/{number}" for number in range(20)]
    for path in paths:
        (tmp_path / path).write_bytes(b"x")
    synced = []
    monkeypatch.setattr(
        os, "fsync", lambda number: synced.append(os.readlink(f"/proc/self/fd/{number}"))
    )
    storage.make_durable([*paths, "gs://bucket/object"])
    assert sorted(synced) == sorted(paths)


@pytest.mark.parametrize("path", ["s3://bucket/file", "hdfs://host/file", "https://a.example/file"])
def test_file_in_a_store_without_conditional_writes_is_refused_in_one_line(path):
    for touch in (storage.read_bytes, storage.exists, storage.list_files, storage.open_input):
        with pytest.raises(OSError, match="files can be on a local disk or in gs://"):
            touch(path)


def test_list_files_is_everything_below_sorted(tmp_path):
    for name in ("b", "a/2", "a/1/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    assert storage.list_files(str(tmp_path)) == [f"{tmp_path}/{n}" for n in ("a/1/x", "a/2", "b")]


def test_list_files_from_one_to_before_another(tmp_path):
    for name in "abcd":
        (tmp_path / name).write_bytes(b"")
    found = storage.list_files(str(tmp_path), f"{tmp_path}/b", f"{tmp_path}/d")
    assert found == [f"{tmp_path}/b", f"{tmp_path}/c"]


def test_names_in_a_folder_are_its_files_and_folders(tmp_path):
    assert storage.names_in(f"{tmp_path}/absent") == set()
    for name in ("a/1", "a/2", "b"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    assert storage.names_in(str(tmp_path)) == {"a", "b"}


def test_list_files_of_no_folder_is_nothing(tmp_path):
    assert storage.list_files(f"{tmp_path}/absent") == []


def test_delete_minds_no_file_that_is_gone(tmp_path):
    (tmp_path / "here").write_bytes(b"")
    storage.delete([f"{tmp_path}/gone", f"{tmp_path}/here"])
    storage.delete([])
    assert below(tmp_path) == []


def test_write_table_is_read_back_with_its_types(tmp_path):
    table = pa.table(
        {
            "fingerprint": pa.array([0, 5, 2**64 - 1], pa.uint64()),
            "word": pa.array(["a", None, "a"]).dictionary_encode(),
            "text": ["x", None, "\u00fc"],
        }
    )
    path = storage.write_table(
        f"{tmp_path}/t.parquet", table, deltas=("fingerprint",), dictionaries=("word",)
    )
    assert storage.read_table(path).to_pylist() == table.to_pylist()
    assert storage.read_table(path, ["word"]).column_names == ["word"]
    assert storage.read_table(path)["word"].type == table["word"].type
    columns = [pq.ParquetFile(path).metadata.row_group(0).column(n) for n in range(3)]
    assert "DELTA_BINARY_PACKED" in columns[0].encodings
    assert [column.has_dictionary_page for column in columns] == [False, True, False]


def test_write_table_cuts_row_groups_as_told(tmp_path):
    path = storage.write_table(f"{tmp_path}/t.parquet", pa.table({"n": range(10)}), row_group=4)
    file = pq.ParquetFile(path)
    assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [4, 4, 2]


def test_write_table_again_is_the_same_bytes(tmp_path):
    table = pa.table({"n": range(1000)})
    first = storage.read_bytes(storage.write_table(f"{tmp_path}/t.parquet", table))
    assert storage.read_bytes(storage.write_table(f"{tmp_path}/t.parquet", table)) == first


def test_read_table_takes_no_column_from_the_path(tmp_path):
    path = storage.write_table(f"{tmp_path}/round=00001/t.parquet", pa.table({"n": [1]}))
    assert storage.read_table(path).column_names == ["n"]
