"""The floor: the same libraries in a bare loop. What a page costs before there is a crawler.

    python -m tests.benchmarks.floor SEEDS.txt CRAWL.warc.gz

libcurl's multi interface, lexbor, ada-url and fastwarc: pages are asked for breadth-first,
at most one connection a host and 64 in all, their links read and the exchange written to a
WARC file. No robots.txt, no state, no tables, no politeness, no retries, no Beam; what
hangs hangs. With one seed it stays on its host.
"""

from __future__ import annotations

import io
import sys
from collections import deque
from pathlib import Path
from typing import BinaryIO

import pycurl
from ada_url import join_url
from fastwarc.warc import WarcRecord, WarcRecordType
from isal import igzip
from selectolax.lexbor import LexborHTMLParser

CONNECTIONS = 64
GZIP_LEVEL = 2  # as beamcrawl writes


def host_of(url: str) -> str:
    return url.split("/", 3)[2]


def links_of(url: str, body: bytes) -> set[str]:
    """The pages that a page links to, absolute and without fragments."""
    found = set()
    hrefs = {node.attributes["href"] for node in LexborHTMLParser(body).css("a[href]")}
    for target in {href.partition("#")[0] for href in hrefs if href}:
        try:
            found.add(join_url(url, target))
        except ValueError:
            continue
    return {link for link in found if link.startswith(("http://", "https://"))}


class Exchange:
    """A curl handle and what it receives; asks for one page after another."""

    def __init__(self) -> None:
        self.curl = pycurl.Curl()
        self.curl.setopt(pycurl.HEADERFUNCTION, self._take_line)
        self.curl.setopt(pycurl.WRITEFUNCTION, self._take_chunk)
        self.curl.setopt(pycurl.ACCEPT_ENCODING, "")
        self.curl.setopt(pycurl.NOSIGNAL, 1)
        self.curl.setopt(pycurl.BUFFERSIZE, 64 * 1024)

    def begin(self, url: str) -> None:
        self.url = url
        self.head: list[bytes] = []
        self.body: list[bytes] = []
        self.curl.setopt(pycurl.URL, url)

    def _take_line(self, line: bytes) -> None:
        self.head.append(line)

    def _take_chunk(self, chunk: bytes) -> None:
        self.body.append(chunk)


def write_response(file: BinaryIO, url: str, head: bytes, body: bytes) -> None:
    """One gzip member of a WARC file, with digests."""
    record = WarcRecord()
    record.init_headers(WarcRecordType.response)
    record.headers["WARC-Target-URI"] = url
    record.is_http = True
    record.set_bytes_content(head + body)
    plain = io.BytesIO()
    record.write(plain, checksum_data=True)
    file.write(igzip.compress(plain.getvalue(), GZIP_LEVEL))


def crawl(seeds: list[str], file: BinaryIO) -> int:
    """Pages with status 200."""
    only = host_of(seeds[0]) if len(seeds) == 1 else None
    queues: dict[str, deque[str]] = {}  # by host
    free: deque[str] = deque()  # hosts with something to ask and no request under way
    seen = set(seeds)
    for seed in seeds:
        queues.setdefault(host_of(seed), deque()).append(seed)
    free.extend(queues)
    multi = pycurl.CurlMulti()
    multi.setopt(pycurl.M_MAX_HOST_CONNECTIONS, 1)
    multi.setopt(pycurl.M_MAXCONNECTS, 8 * CONNECTIONS)
    idle = [Exchange() for _ in range(CONNECTIONS)]
    busy: dict[pycurl.Curl, Exchange] = {}
    pages = 0
    while free or busy:
        while free and idle:
            exchange = idle.pop()
            exchange.begin(queues[free.popleft()].popleft())
            busy[exchange.curl] = exchange
            multi.add_handle(exchange.curl)
        multi.perform()
        more = 1
        ended: list[pycurl.Curl] = []
        while more:
            more, good, bad = multi.info_read()
            ended += [*good, *(curl for curl, _, _ in bad)]
        if not ended:
            multi.select(1.0)
            continue
        for curl in ended:
            multi.remove_handle(curl)
            exchange = busy.pop(curl)
            host, body = host_of(exchange.url), b"".join(exchange.body)
            status = curl.getinfo(pycurl.RESPONSE_CODE)
            pages += status == 200
            write_response(file, exchange.url, b"".join(exchange.head), body)
            if status == 200 and (curl.getinfo(pycurl.CONTENT_TYPE) or "").startswith("text/html"):
                for link in links_of(exchange.url, body) - seen:
                    other = host_of(link)
                    if only is None or other == only:
                        seen.add(link)
                        queue = queues.setdefault(other, deque())
                        if not queue and other != host and not _is_asked(other, busy):
                            free.append(other)
                        queue.append(link)
            if queues[host]:
                free.append(host)
            idle.append(exchange)
    return pages


def _is_asked(host: str, busy: dict[pycurl.Curl, Exchange]) -> bool:
    return any(host_of(exchange.url) == host for exchange in busy.values())


def main() -> None:
    seeds, warc = sys.argv[1:]
    with Path(warc).open("wb") as file:
        print(crawl(Path(seeds).read_text().split(), file))


if __name__ == "__main__":
    main()
