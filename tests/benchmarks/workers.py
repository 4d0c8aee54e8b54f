"""How a crawl grows with the workers of a runner, and what a round costs there.

    python -m tests.benchmarks.workers                    # processes, Prism, a Flink cluster
    python -m tests.benchmarks.workers --engine flink     # one of them

500 hosts of 10 pages on one loopback server that takes half a second to answer: a fetcher with
64 connections can have 128 pages a second, however fast its machine is. Flink has as many
TaskManagers as there are fetchers. A crawl of one page says what a job of one round costs that
has next to nothing to do, and one of four rounds in one job what each more round costs.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from pipeline.manifest import read_manifests
from tests import engines, tools
from tests.crawling import run_crawl

HOSTS, PAGES = 500, 10
PORT = 8700
LATENCY = 0.5  # seconds
LINKS = "".join(f'<a href="/{number}">{number}</a>' for number in range(1, PAGES))
HEADING = (
    f"{'engine':<12}{'fetchers':>9}{'pages':>8}{'pages/s':>9}{'wall s':>8}{'s a job':>9}"
    f"{'s a round':>11}"
)
LINE = "{engine:<12}{fetchers:>9}{pages:>8,}{rate:>9.0f}{wall:>8.1f}{job:>9.1f}{round:>11.2f}"


def host(number: int) -> str:
    return f"127.1.{number // 250}.{number % 250 + 1}"


def serve(latency: float) -> None:
    """One loop that listens on all hosts, until it is ended."""
    body = LINKS.encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"
    missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                asked = await reader.readuntil(b"\r\n\r\n")
                target = asked.split(b" ", 2)[1]
                if target == b"/robots.txt":
                    writer.write(missing)
                    continue
                await asyncio.sleep(latency)
                text = asked + (body if target == b"/" else b"")  # no two pages are alike
                writer.write(head % len(text) + text)
        writer.close()

    async def listen() -> None:
        for number in range(HOSTS):
            await asyncio.start_server(answer, host(number), PORT)
        await asyncio.Event().wait()

    asyncio.run(listen())


@contextlib.contextmanager
def served(latency: float) -> Iterator[None]:
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(latency,))
    server.start()
    try:
        while not tools.is_open(PORT, host(HOSTS - 1)):
            time.sleep(0.05)
        yield
    finally:
        server.terminate()
        server.join()


def timed(beam: tuple[str, ...], fetchers: int, *seeds: str, **options: Any) -> tuple[int, float]:
    """Pages and seconds of one crawl."""
    with tempfile.TemporaryDirectory(prefix="beamcrawl-") as out:
        began = time.monotonic()
        run_crawl(out, *seeds, beam=beam, fetchers=fetchers, adaptive=0.0, **options)
        wall = time.monotonic() - began
        return read_manifests(out)[-1].totals["pages"], wall


def measure(name: str, fetchers: int, beam: tuple[str, ...]) -> str:
    """One line of the table."""
    seeds = [f"http://{host(number)}:{PORT}/" for number in range(HOSTS)]
    alone: dict[str, Any] = {"limit": 1}
    timed(beam, fetchers, seeds[0], **alone)  # the first job starts the workers
    _, one = timed(beam, fetchers, seeds[0], **alone, depths_per_job=1)
    _, four = timed(beam, fetchers, seeds[0], **alone, depths_per_job=4)
    pages, wall = timed(beam, fetchers, *seeds, per_address=0, delay=0.2)
    return LINE.format(
        engine=name,
        fetchers=fetchers,
        pages=pages,
        rate=pages / wall,
        wall=wall,
        job=one - LATENCY,
        round=(four - one) / 3,
    )


def main() -> None:
    started = {
        "processes": lambda width: engines.two_processes(),
        "prism": lambda width: engines.prism(),
        "flink": engines.flink,
    }
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--engine", choices=started, action="append", help="default: all")
    parser.add_argument("--fetchers", type=int, action="append", help="default: 1 and 2")
    options = parser.parse_args()
    print(HEADING)
    with served(LATENCY):
        for name in options.engine or started:
            for fetchers in options.fetchers or [1, 2]:
                try:
                    with started[name](fetchers) as beam:
                        print(measure(name, fetchers, beam), flush=True)
                except tools.MissingError as missing:
                    print(f"{name}: {missing}")
                    break


if __name__ == "__main__":
    main()
