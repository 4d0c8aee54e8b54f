"""Files in Google Cloud Storage: each whole, or not there.

Through google-cloud-storage, not through Beam's filesystem: that one can not write on a
condition, makes a client (so a connection) for each call, reads in two requests what one
gives, and lists before each delete. Whoever has default credentials needs no option, and
STORAGE_EMULATOR_HOST names another server.

What the service or the way to it refuses is raised as an OSError in one line.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import IO, Any

import pyarrow as pa
import requests
from google.api_core import exceptions
from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError, RefreshError
from google.cloud import storage
from google.cloud.storage.exceptions import InvalidResponse
from google.cloud.storage.retry import DEFAULT_RETRY

# What may pass (no answer, 408, 429, 5xx) is tried again for two minutes. That is safe: a
# file that is written again is the same, and a write on a condition knows its own (`write_if`).
RETRY = DEFAULT_RETRY

IN_MEMORY = 8 << 20  # a file up to here is sent in one request, and not put on a disk before
WHOLE = 4 << 20  # what is smaller is read in one request
CHUNK = 16 << 20  # of a bigger file, held while it is sent
READ_AHEAD = 1 << 20  # of a bigger file, at least, in one request
FAILURES = (exceptions.GoogleAPIError, GoogleAuthError, InvalidResponse, requests.RequestException)


@cache
def client() -> storage.Client:
    """The connections of this process. No project: a bucket's name says all."""
    return storage.Client(project=None)


def blob_at(path: str) -> storage.Blob:
    bucket, _, name = path.removeprefix("gs://").partition("/")
    return client().bucket(bucket).blob(name)


@contextmanager
def told(path: str) -> Iterator[None]:
    """Raise what goes wrong with `path` as an OSError, in one line that a person can use."""
    try:
        yield
    except exceptions.NotFound:
        raise FileNotFoundError(f"{path}: no such file, or no such bucket") from None
    except exceptions.PreconditionFailed:
        raise FileExistsError(f"{path} was written by another") from None
    except (exceptions.Forbidden, exceptions.Unauthorized) as error:
        raise PermissionError(_line(path, error)) from None
    except (DefaultCredentialsError, RefreshError):
        raise PermissionError(
            f"{path}: no Google credentials, or none that are good; run `gcloud auth "
            "application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS"
        ) from None
    except FAILURES as error:
        raise OSError(_line(path, error)) from None


def _line(path: str, error: Exception) -> str:
    cause: Any = error.cause if isinstance(error, exceptions.RetryError) and error.cause else error
    try:
        answer = cause.response
        said = f"{answer.status_code} {answer.json()['error']['message']}"
    except (AttributeError, ValueError, KeyError, TypeError):
        said = str(cause).strip() or type(cause).__name__
    return f"{path}: {said.splitlines()[0]}"


@contextmanager
def create(path: str) -> Iterator[IO[bytes]]:
    """A binary file to write. It appears under `path` when the block ends well."""
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as file:
        yield file
        blob = blob_at(path)
        blob.chunk_size = CHUNK
        with told(path):
            blob.upload_from_file(file, rewind=True, size=file.tell(), retry=RETRY)


def read(path: str) -> bytes:
    return read_at(path)[0]


def read_at(path: str, retry: Any = None) -> tuple[bytes, int]:
    """What a file holds, and its generation: a number that changes when the file does."""
    with told(path):
        blob = blob_at(path)
        data = blob.download_as_bytes(retry=retry or RETRY)
        return data, int(blob.generation)


def open_input(path: str) -> pa.NativeFile:
    """A file to read from anywhere in it: a small one in one request, a big one by pieces."""
    with told(path):
        blob = blob_at(path)
        head = blob.download_as_bytes(start=0, end=WHOLE - 1, checksum=None, retry=RETRY)
        if len(head) < WHOLE:
            return pa.BufferReader(head)
        blob.reload(retry=RETRY)  # for its size
        return pa.PythonFile(blob.open("rb", chunk_size=READ_AHEAD, retry=RETRY), mode="r")


def exists(path: str, *, patient: bool = True) -> bool:
    """Whether there is such a file. Who is not patient asks once, for a few seconds."""
    with told(path):
        if patient:
            return bool(blob_at(path).exists(retry=RETRY))
        return bool(blob_at(path).exists(retry=None, timeout=5.0))


def list_files(folder: str, first: str = "", until: str = "") -> list[str]:
    """The files below a folder, in the order of their names: from `first` on, before `until`."""
    bucket, _, prefix = f"{folder}/".removeprefix("gs://").partition("/")
    start, end = (path.removeprefix(f"gs://{bucket}/") or None for path in (first, until))
    with told(folder):
        blobs = client().list_blobs(
            bucket,
            prefix=prefix,
            start_offset=start,
            end_offset=end,
            fields="items(name),nextPageToken",
            retry=RETRY,
        )
        return [f"gs://{bucket}/{blob.name}" for blob in blobs]


def names_in(folder: str) -> set[str]:
    """What lies in a folder itself: files, and folders that hold some."""
    bucket, _, prefix = f"{folder}/".removeprefix("gs://").partition("/")
    with told(folder):
        blobs = client().list_blobs(bucket, prefix=prefix, delimiter="/", retry=RETRY)
        files = [blob.name for blob in blobs]
        return {name.removeprefix(prefix).rstrip("/") for name in (*files, *blobs.prefixes)}


def delete(path: str) -> None:
    """Remove a file; that it is gone already is fine."""
    with told(path), suppress(exceptions.NotFound):
        blob_at(path).delete(retry=RETRY)


def write_if(path: str, data: bytes, generation: int, retry: Any = None) -> int:
    """Write a file if its generation is still this one, 0 for a file that is not there yet.

    Returns the new generation; raises FileExistsError when another was first. An answer
    may get lost after the write was done: the next attempt is then refused, by our own
    file. So each write carries a mark of its own, by which it is known again.
    """
    blob, mark = blob_at(path), uuid.uuid4().hex
    blob.metadata = {"mark": mark}
    with told(path):
        try:
            blob.upload_from_string(data, if_generation_match=generation, retry=retry or RETRY)
        except exceptions.PreconditionFailed:
            found = client().bucket(blob.bucket.name).get_blob(blob.name, retry=retry or RETRY)
            if found is None or (found.metadata or {}).get("mark") != mark:
                raise
            return int(found.generation)
        return int(blob.generation)
