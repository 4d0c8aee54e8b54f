"""Files, on a local disk or any Beam filesystem: each whole, or not there.

A local file is written under a temporary name and then renamed; object stores
publish an object only when it is complete. Writing a path again replaces it, which
is harmless: see `layout` for why the content is then the same.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from transforms.layout import TEMPORARY

SYNCS_AT_ONCE = 8  # each is short, and mostly waits


def is_local(path: str) -> bool:
    return "://" not in path


def _beam() -> Any:
    # Half a second of import that a crawl on a local disk never needs here.
    from apache_beam.io.filesystems import FileSystems

    return FileSystems


@contextmanager
def create(path: str) -> Iterator[IO[bytes]]:
    """A binary file to write. It appears under `path` when the block ends well."""
    if not is_local(path):
        # By its own lights Beam would compress what is called .gz: a WARC file, again.
        with _beam().create(path, compression_type="uncompressed") as remote:
            yield remote
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = f"{path}.{os.getpid()}{TEMPORARY}"
    local = open(temporary, "wb")  # noqa: SIM115
    try:
        yield local
        local.close()
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):  # what a full disk would not take, it does not take now
            local.close()
        remove_if_there(temporary)
        raise


def make_durable(paths: Iterable[str]) -> None:
    """Have local files on the disk, come a power cut. Object stores need no asking."""
    local = [path for path in paths if is_local(path)]
    with ThreadPoolExecutor(SYNCS_AT_ONCE) as pool:
        list(pool.map(_sync, local))


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_if_there(path: str) -> None:
    with suppress(FileNotFoundError):
        os.remove(path)


def open_input(path: str) -> pa.NativeFile:
    if is_local(path):
        return pa.OSFile(path)
    return pa.PythonFile(_beam().open(path, compression_type="uncompressed"), mode="r")


def read_bytes(path: str) -> bytes:
    with open_input(path) as source:
        return bytes(source.read())


def exists(path: str) -> bool:
    return os.path.exists(path) if is_local(path) else bool(_beam().exists(path))


def list_files(folder: str) -> list[str]:
    """Every file below a folder, sorted; none when there is no such folder."""
    if is_local(folder):
        found = [os.path.join(top, name) for top, _, names in os.walk(folder) for name in names]
    else:
        [match] = _beam().match([f"{folder}/**"])
        found = [metadata.path for metadata in match.metadata_list]
    return sorted(found)


def delete(paths: list[str]) -> None:
    """Remove files; one that is gone already is fine."""
    if not paths:
        return
    if is_local(paths[0]):
        for path in paths:
            remove_if_there(path)
    else:
        _beam().delete(paths)


def write_table(
    path: str,
    table: pa.Table,
    *,
    deltas: tuple[str, ...] = (),
    dictionaries: tuple[str, ...] = (),
    row_group: int = 1 << 17,
) -> str:
    """One Parquet file. `deltas` are sorted integers (5.35 bytes a fingerprint instead of
    8), `dictionaries` are columns with few distinct values. Returns the path.
    """
    sink = io.BytesIO()
    pq.write_table(
        table,
        sink,
        row_group_size=row_group,
        compression="zstd",
        use_dictionary=list(dictionaries) or False,
        column_encoding=dict.fromkeys(deltas, "DELTA_BINARY_PACKED") or None,
    )
    with create(path) as file:
        file.write(sink.getbuffer())
    return path


def read_table(path: str, columns: list[str] | None = None) -> pa.Table:
    # Not pq.read_table: it builds a dataset, and reads `round=00001` in the path as a column.
    with open_input(path) as source:
        return pq.ParquetFile(source).read(columns, use_threads=False)
