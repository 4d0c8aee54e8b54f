"""Which bodies a WARC file has already, so that the next of them can refer to the first.

WARC 1.1 §6.7.2, the profile "identical payload digest". What is known is bounded, and is
of one bundle: a file must not refer to one of an attempt that never counted, and whether
an earlier round has the body is only known when this one's records are written.
"""

from __future__ import annotations

from typing import NamedTuple

PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
MOST = 65_536  # payloads remembered, the latest: about 25 MB


class Kept(NamedTuple):
    """A response record whose body is whole."""

    record_id: str
    url: str
    date: str  # its WARC-Date, to the letter


class KeptPayloads:
    """The latest payloads that were kept, by digest."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._kept: dict[str, Kept] = {}  # in the order of use

    def find(self, digest: str) -> Kept | None:
        kept = self._kept.pop(digest, None)
        if kept is not None:
            self._kept[digest] = kept
        return kept

    def add(self, digest: str, kept: Kept) -> None:
        self._kept[digest] = kept
        if len(self._kept) > self.most:
            del self._kept[next(iter(self._kept))]


def refers_to(kept: Kept) -> str:
    """The headers with which a revisit record says where its body is."""
    return (
        f"WARC-Profile: {PROFILE}\r\nWARC-Refers-To: {kept.record_id}\r\n"
        f"WARC-Refers-To-Target-URI: {kept.url}\r\nWARC-Refers-To-Date: {kept.date}\r\n"
    )
