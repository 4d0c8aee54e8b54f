"""Archive: each exchange into a WARC file, where the body's journey ends.

WARC/1.1, one gzip member a record, so that a reader can start at any `warc_offset`.
Each file begins with a warcinfo record; an exchange is a request and a response
record (robots.txt too).
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO, Any, NamedTuple

import apache_beam as beam
from fastwarc.warc import WarcRecord, WarcRecordType
from isal import igzip

from transforms import layout, storage
from transforms.grouping import at_the_end
from transforms.records import TOO_LARGE, UNSUPPORTED_TYPE, Fetched, Page, Slot, WarcFile
from transforms.times import iso_seconds

FILE_BYTES = 1 << 30  # a new file from here on: the field's usual size
GZIP_LEVEL = 2  # of isal: 10.3 MB for 1,100 pages, at half the time of level 3's 9.4 MB

NOARCHIVE = "noarchive"  # instead of an outcome: the page asks that no copy be kept

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


class WarcWriter:
    """Writes records to an open file and knows the offset of the next one."""

    def __init__(self, file: IO[bytes], description: dict[str, str]) -> None:
        self.file = file
        self.offset = 0
        self.records = 0
        lines = "".join(f"{name}: {value}\r\n" for name, value in description.items())
        self._write(WarcRecordType.warcinfo, lines.encode(), "application/warc-fields", {})

    def write_exchange(self, fetched: Fetched) -> int:
        """Write response and request; returns the offset of the response record."""
        offset = self.offset
        shared = {
            "WARC-Target-URI": fetched.url.url,
            "WARC-Date": iso_seconds(fetched.fetched_at),
        }
        if fetched.ip:
            shared["WARC-IP-Address"] = fetched.ip
        truncated = {}
        if fetched.outcome == TOO_LARGE:
            truncated = {"WARC-Truncated": "length"}
        elif fetched.outcome in (UNSUPPORTED_TYPE, NOARCHIVE):
            truncated = {"WARC-Truncated": "unspecified"}
        head = settle_head(fetched.head, len(fetched.body))
        response_id = self._write(
            WarcRecordType.response,
            head + fetched.body,
            "application/http; msgtype=response",
            {**shared, **truncated},
            hashlib.sha1(fetched.body).digest(),
        )
        self._write(
            WarcRecordType.request,
            fetched.request_head,
            "application/http; msgtype=request",
            {**shared, "WARC-Concurrent-To": response_id},
        )
        return offset

    def _write(
        self,
        record_type: Any,
        block: bytes,
        content_type: str,
        headers: dict[str, str],
        payload_digest: bytes | None = None,
    ) -> str:
        record = WarcRecord()
        record.init_headers(record_type)
        record.headers["Content-Type"] = content_type
        for name, value in headers.items():
            record.headers[name] = value
        record.set_bytes_content(block)
        plain = io.BytesIO()
        record.write(plain, checksum_data=True, payload_digest=payload_digest)
        member = igzip.compress(plain.getvalue(), GZIP_LEVEL)
        self.file.write(member)
        self.offset += len(member)
        self.records += 1
        return str(record.headers["WARC-Record-ID"])


class ArchiveStage(NamedTuple):
    base: str
    description: tuple[tuple[str, str], ...]  # the warcinfo fields


class _ArchivePages(beam.DoFn):  # type: ignore[misc]
    def __init__(self, stage: ArchiveStage) -> None:
        self.stage = stage

    def start_bundle(self) -> None:
        # What an attempt that failed left open is never published.
        self.open: _OpenFile | None = None
        self.closed: list[WarcFile] = []

    def process(self, element: tuple[Fetched, Page]) -> Iterator[Page]:
        fetched, page = element
        if not fetched.head:
            yield page
            return
        if self.open is not None and self.open.is_full():
            self.closed.append(self.open.close())
            self.open = None
        if self.open is None:
            self.open = _OpenFile(self.stage, fetched.slot, len(self.closed))
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
    def __init__(self, stage: ArchiveStage, slot: Slot, number: int) -> None:
        self.path = layout.attempt_file(
            stage.base, layout.WARC, slot.round, slot.slot, slot.attempt, number, "warc.gz"
        )
        self.name = layout.relative(stage.base, self.path)
        self.stack = ExitStack()
        file = self.stack.enter_context(storage.create(self.path))
        self.writer = WarcWriter(file, dict(stage.description))

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
