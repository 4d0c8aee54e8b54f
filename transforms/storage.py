"""Files, on a local disk or in Google Cloud Storage: each whole, or not there.

A local file is written under a temporary name and then renamed; an object store
publishes an object only when it is complete. Writing a path again replaces it, which
is harmless: see `layout` for why the content is then the same. What must not be
replaced is published.
"""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import IO, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from transforms.layout import TEMPORARY

T = TypeVar("T")

AT_ONCE = 8  # each is short, and mostly waits
BUFFER = 1 << 18  # bytes; with Python's own 8 KiB a record of a WARC file takes 2 µs more


def is_local(path: str) -> bool:
    return "://" not in path


def is_supported(path: str) -> bool:
    """A commit is a write on a condition, so not every store will do.

    >>> is_supported("gs://bucket/crawl"), is_supported("s3://bucket/crawl")
    (True, False)
    """
    return is_local(path) or path.startswith("gs://")


def _remote(path: str) -> ModuleType:
    # A quarter of a second of import that a crawl on a local disk never needs.
    if not is_supported(path):
        raise OSError(f"{path}: files can be on a local disk or in gs://")
    from transforms import gcs

    return gcs


@contextmanager
def create(path: str) -> Iterator[IO[bytes]]:
    """A binary file to write. It appears under `path` when the block ends well."""
    if not is_local(path):
        with _remote(path).create(path) as remote:
            yield remote
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = temporary_file(path)
    local = open(temporary, "wb", buffering=BUFFER)  # noqa: SIM115
    try:
        yield local
        local.close()
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):  # what a full disk would not take, it does not take now
            local.close()
        remove_if_there(temporary)
        raise


def append(path: str) -> IO[bytes]:
    """A local file to add lines to, each in one write: what is written outlives the process."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return open(path, "ab", buffering=0)


def publish(path: str, data: bytes) -> None:
    """Write a file that must not be there yet, whole and durable.

    Raises FileExistsError when it is: of two that try, one wins. A rename would silently
    replace a rival's file, a link(2) or a write on a condition does not.
    """
    if not is_local(path):
        _remote(path).write_if(path, data, 0)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = temporary_file(path)
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, path)
    finally:
        remove_if_there(temporary)
    _sync(os.path.dirname(path))


def temporary_file(path: str) -> str:
    """No one else writes under this name: a process on another machine may have our id."""
    return f"{path}.{secrets.token_hex(4)}{TEMPORARY}"


def make_durable(paths: Iterable[str]) -> None:
    """Have local files on the disk, come a power cut. Object stores need no asking."""
    local = [path for path in paths if is_local(path)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
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
    return pa.OSFile(path) if is_local(path) else _remote(path).open_input(path)


def read_bytes(path: str) -> bytes:
    """Raises FileNotFoundError when there is no such file."""
    if not is_local(path):
        return bytes(_remote(path).read(path))
    with open(path, "rb") as file:
        return file.read()


def read_all(paths: list[str]) -> list[bytes]:
    return side_by_side(paths[0], read_bytes, paths) if paths else []


def side_by_side(where: str, ask: Callable[[str], T], about: Sequence[str]) -> list[T]:
    """The answers to some questions about `where`. Those to an object store are asked
    several at once; on a local disk one after the other is faster.
    """
    if is_local(where):
        return [ask(each) for each in about]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(ask, about))


def exists(path: str) -> bool:
    return os.path.exists(path) if is_local(path) else bool(_remote(path).exists(path))


def is_there_now(path: str) -> bool:
    """Whether an object exists, asked once and for a few seconds. Raises OSError."""
    return bool(_remote(path).exists(path, patient=False))


def list_files(folder: str, first: str = "", until: str = "") -> list[str]:
    """Every file below a folder, sorted: from the path `first` on, and before `until`, if
    those are given. None when there is no such folder.
    """
    if not is_local(folder):
        return list(_remote(folder).list_files(folder, first, until))
    found = [os.path.join(top, name) for top, _, names in os.walk(folder) for name in names]
    return sorted(path for path in found if first <= path and (not until or path < until))


def names_in(folder: str) -> set[str]:
    """What lies in a folder itself, folders too; nothing when there is no such folder."""
    if not is_local(folder):
        return set(_remote(folder).names_in(folder))
    return set(os.listdir(folder)) if os.path.isdir(folder) else set()


def delete(paths: list[str]) -> None:
    """Remove files; one that is gone already is fine."""
    if paths:
        remove = remove_if_there if is_local(paths[0]) else _remote(paths[0]).delete
        side_by_side(paths[0], remove, paths)


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
