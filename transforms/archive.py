"""Archive: each exchange into a WARC file, where the body's journey ends.

WARC/1.1, one gzip member a record, so that a reader can start at any `warc_offset`.
Each file begins with a warcinfo record; an exchange is a request and a response
record (robots.txt too); of a page whose body the bundle kept before, a revisit record
that says where. The few lines of a record are written here, not by a library:
that is half the CPU time. Readers of others check them in the tests.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO, Any, NamedTuple

import apache_beam as beam
from isal import igzip

from transforms import layout, storage
from transforms.grouping import at_the_end
from transforms.payloads import Kept, KeptPayloads, refers_to
from transforms.records import (
    NETWORK_ERROR,
    PAGE,
    ROBOTS_TXT,
    TOO_LARGE,
    UNSUPPORTED_TYPE,
    Fetched,
    Page,
    Slot,
    WarcFile,
)
from transforms.times import iso_seconds

FILE_BYTES = 1 << 30  # a new file from here on: the field's usual size
GZIP_LEVEL = 2  # of isal: 10.3 MB for 1,100 pages, at half the time of level 3's 9.4 MB

NOARCHIVE = "noarchive"  # instead of an outcome: the page asks that no copy be kept

_DISCONNECT = "WARC-Truncated: disconnect\r\n"
_TRUNCATED = {
    TOO_LARGE: "WARC-Truncated: length\r\n",
    UNSUPPORTED_TYPE: "WARC-Truncated: unspecified\r\n",
    NOARCHIVE: "WARC-Truncated: unspecified\r\n",
}

# The block that follows has been decoded and is of known length: these would lie about
# it. Common Crawl's habit is to keep them under another name.
_STALE = re.compile(rb"(?im)^(content-length|content-encoding|transfer-encoding)(?=[ \t]*:)")


def settle_head(head: bytes, body_length: int) -> bytes:
    r"""The response head as it is archived: true to the decoded body behind it.

    >>> settle_head(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", 5)
    b'HTTP/1.1 200 OK\r\nX-Crawler-Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\n'
    """
    settled = _STALE.sub(rb"X-Crawler-\1", head).rstrip(b"\r\n")
    return settled + b"\r\nContent-Length: %d\r\n\r\n" % body_length


def digest(data: bytes) -> str:
    """A digest as WARC readers expect it, in the form most of them can check."""
    return f"sha1:{base64.b32encode(hashlib.sha1(data).digest()).decode()}"


class WarcWriter:
    """Writes records to an open file and knows the offset of the next one."""

    def __init__(
        self, file: IO[bytes], description: dict[str, str], payloads: KeptPayloads
    ) -> None:
        self.file = file
        self.payloads = payloads
        self.offset = 0
        self.records = 0
        lines = "".join(f"{name}: {value}\r\n" for name, value in description.items())
        date = f"WARC-Date: {iso_seconds(time.time())}\r\n"
        self._write(f"warcinfo\r\n{date}Content-Type: application/warc-fields", lines.encode())

    def write_exchange(self, fetched: Fetched) -> int:
        """Write response (or revisit) and request; returns the offset of the first."""
        offset = self.offset
        url, date, body = fetched.url.url, iso_seconds(fetched.fetched_at), fetched.body
        shared = f"WARC-Target-URI: {url}\r\nWARC-Date: {date}\r\n"
        if fetched.ip:
            shared += f"WARC-IP-Address: {fetched.ip}\r\n"
        broke_off = fetched.error and fetched.outcome in (NETWORK_ERROR, ROBOTS_TXT)
        truncated = _DISCONNECT if broke_off else _TRUNCATED.get(fetched.outcome, "")
        payload = digest(body)
        comparable = fetched.outcome == PAGE and body
        first = self.payloads.find(payload) if comparable else None
        kind = f"revisit\r\n{refers_to(first)}" if first else "response\r\n"
        response_id = self._write(
            f"{kind}{shared}{truncated}WARC-Payload-Digest: {payload}\r\n"
            "Content-Type: application/http; msgtype=response",
            settle_head(fetched.head, len(body)) + (b"" if first else body),
        )
        if comparable and not first:
            self.payloads.add(payload, Kept(response_id, url, date))
        self._write(
            f"request\r\n{shared}WARC-Concurrent-To: {response_id}\r\n"
            "Content-Type: application/http; msgtype=request",
            fetched.request_head,
        )
        return offset

    def _write(self, type_and_headers: str, block: bytes) -> str:
        """Write one record as one gzip member; returns its id (WARC 1.1 §4)."""
        record_id = f"<urn:uuid:{uuid.uuid4()}>"
        head = (
            f"WARC/1.1\r\nWARC-Type: {type_and_headers}\r\n"
            f"WARC-Record-ID: {record_id}\r\nWARC-Block-Digest: {digest(block)}\r\n"
            f"Content-Length: {len(block)}\r\n\r\n"
        )
        member = igzip.compress(head.encode() + block + b"\r\n\r\n", GZIP_LEVEL)
        self.file.write(member)
        self.offset += len(member)
        self.records += 1
        return record_id


class ArchiveStage(NamedTuple):
    base: str
    description: tuple[tuple[str, str], ...]  # the warcinfo fields


class _ArchivePages(beam.DoFn):  # type: ignore[misc]
    def __init__(self, stage: ArchiveStage) -> None:
        self.stage = stage

    def start_bundle(self) -> None:
        # What an attempt that failed left open is never published. And a bundle may end
        # within a slot, so its files are named by an attempt of its own.
        self.attempt = secrets.token_hex(4)
        self.open: _OpenFile | None = None
        self.closed: list[WarcFile] = []
        self.payloads = KeptPayloads()

    def process(self, element: tuple[Fetched, Page]) -> Iterator[Page]:
        fetched, page = element
        if not fetched.head:
            yield page
            return
        if self.open is not None and self.open.is_full():
            self.closed.append(self.open.close())
            self.open = None
        if self.open is None:
            slot = fetched.slot._replace(attempt=self.attempt)
            self.open = _OpenFile(self.stage, slot, len(self.closed), self.payloads)
        if page.noarchive:
            fetched = fetched._replace(body=b"", outcome=NOARCHIVE)
        offset = self.open.writer.write_exchange(fetched)
        yield page._replace(warc_file=self.open.name, warc_offset=offset)

    def finish_bundle(self) -> Iterator[Any]:
        if self.open is not None:
            self.closed.append(self.open.close())
            self.open = None
        for file in self.closed:
            yield beam.pvalue.TaggedOutput("files", at_the_end((None, file)))


class _OpenFile:
    def __init__(
        self, stage: ArchiveStage, slot: Slot, number: int, payloads: KeptPayloads
    ) -> None:
        self.path = layout.attempt_file(
            stage.base, layout.WARC, slot.round, slot.slot, slot.attempt, number, "warc.gz"
        )
        self.name = layout.relative(stage.base, self.path)
        self.stack = ExitStack()
        file = self.stack.enter_context(storage.create(self.path))
        self.writer = WarcWriter(file, dict(stage.description), payloads)

    def is_full(self) -> bool:
        return self.writer.offset >= FILE_BYTES

    def close(self) -> WarcFile:
        self.stack.close()
        return WarcFile(self.name, self.writer.offset, self.writer.records)


class ArchivePages(beam.PTransform):  # type: ignore[misc]
    """(Fetched, Page) → `.pages`: Page, with its place in a WARC file; `.files`:
    (None, WarcFile).
    """

    def __init__(self, stage: ArchiveStage) -> None:
        super().__init__()
        self.stage = stage

    def expand(self, pages: beam.PCollection) -> Any:
        return pages | beam.ParDo(_ArchivePages(self.stage)).with_outputs("files", main="pages")
