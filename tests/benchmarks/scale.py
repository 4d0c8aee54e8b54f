"""One shard's share of a crawl of 1 billion pages a month, measured and multiplied.

    python -m tests.benchmarks.scale [--visited 10000000] [--waiting 1000000] [--pages 100000]

A thousandth of a crawl that has met 10 billion URLs, and a round of it, on one core, all
stages and the commit; only the network is made up (see `rounds`). The first table is what
was measured, the second what follows for the whole crawl by multiplication alone:
docs/scale.md says what multiplication leaves out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from tests.benchmarks import rounds
from tests.benchmarks.stores import make_frontier, make_visited, visited_runs
from tests.benchmarks.visited import check
from transforms.transport import Request, Response

MONTH = 30 * 86400  # seconds
PAGES_A_MONTH = 1_000_000_000
PEAK = 800  # pages a second
VISITED = 10_000_000_000  # URLs ever met
PAGE_BYTES = 500_000  # of a whole page as the plan has it, with what belongs to it
KINDS = ("warc", "pages", "links", "frontier", "visited", "contents", "hosts")
GIB, TB = 1 << 30, 10**12


class Distinct(rounds.MadeUp):
    """No two bodies are alike, however few pages were generated. `least` bytes: that many of
    them make one.
    """

    least = 0

    def _answer(self, request: Request) -> Response:
        body = b"<!-- %s -->" % request.url.encode()
        while len(body) < self.least or body.endswith(b"-->"):
            body += next(self.pages).read_bytes()
        head = rounds.HEAD % len(body)
        sent, ip = rounds.REQUEST_HEAD, "192.0.2.1"
        return Response(request, 200, head, body, sent, ip, time.time(), 0.001)


class Share(NamedTuple):
    """What one shard's share cost. CPU in seconds."""

    pages: int
    bodies: int  # bytes
    links: int
    new: int  # URLs
    cpu: float
    heavy_cpu: float  # a page of PAGE_BYTES
    peak: int  # bytes of memory
    shuffled: int  # bytes
    stored: dict[str, int]  # bytes by kind
    visited: int  # URLs
    visited_bytes: int
    checked: int  # URLs checked against them in `check_cpu`
    check_cpu: float


def measure_round(out: Path, frontier: Path, pages: int, store: Path) -> dict[str, Any]:
    """As `run_round`, with what it shuffled and what it left."""
    from pipeline.lean import import_beam_lean

    import_beam_lean()
    shuffled = count_shuffled()
    cost = rounds.run_round(out, frontier, pages, store)
    stored = {
        kind: sum(file.stat().st_size for file in (out / kind).rglob("*") if file.is_file())
        for kind in KINDS
    }
    return {**cost, "shuffled": sum(shuffled), "stored": stored}


def count_shuffled() -> list[int]:
    """A list that from now on gets the bytes of all that crosses between two stages."""
    from apache_beam.runners.portability.fn_api_runner import execution

    sizes: list[int] = []
    for buffer in (execution.ListBuffer, execution.GroupingBuffer):

        def append(self: Any, data: bytes, inner: Any = buffer.append) -> None:
            sizes.append(len(data))
            inner(self, data)

        buffer.append = append
    return sizes


def measure(visited: int, waiting: int, pages: int) -> Share:
    store, frontier = make_visited(visited), make_frontier(waiting)
    checking = check(store)
    cost = round_alone(frontier, store, pages)
    heavy = round_alone(frontier, store, pages // 50, "--heavy")
    counts = cost["counts"]
    return Share(
        pages=counts["fetched"],
        bodies=counts["bytes"],
        links=counts["links"],
        new=counts["discovered"],
        cpu=cost["cpu"],
        heavy_cpu=heavy["cpu"] / heavy["counts"]["fetched"],
        peak=cost["peak"],
        shuffled=cost["shuffled"],
        stored=cost["stored"],
        visited=visited,
        visited_bytes=sum(Path(run).stat().st_size for runs in visited_runs(store) for run in runs),
        checked=checking["seen"] * 2,
        check_cpu=checking["cpu"],
    )


def round_alone(frontier: Path, store: Path, pages: int, *words: str) -> dict[str, Any]:
    """The cost of a round in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="beamcrawl-scale-") as out:
        command = [sys.executable, "-m", "tests.benchmarks.scale", "--one", out]
        command += [str(frontier), str(store), "--pages", str(pages), *words]
        said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    cost: dict[str, Any] = json.loads(said.splitlines()[-1])
    return cost


def tell(share: Share) -> list[tuple[str, str]]:
    """What was measured."""
    a_page = {kind: size / share.pages for kind, size in share.stored.items()}
    return [
        ("pages in the round", f"{share.pages:,}"),
        ("body of a page", f"{share.bodies / share.pages:,.0f} bytes"),
        ("links to check a page", f"{share.links / share.pages:.1f}"),
        ("new URLs a page", f"{share.new / share.pages:.1f}"),
        ("CPU a page", f"{share.cpu / share.pages * 1e6:,.0f} µs"),
        (f"CPU a page of {PAGE_BYTES:,} bytes", f"{share.heavy_cpu * 1e6:,.0f} µs"),
        ("peak memory", f"{share.peak / GIB:.2f} GiB"),
        ("shuffled a page", f"{share.shuffled / share.pages:,.0f} bytes"),
        *((f"{kind} a page", f"{size:,.0f} bytes") for kind, size in a_page.items()),
        ("visited state a URL", f"{share.visited_bytes / share.visited:.2f} bytes"),
        (
            f"check {share.checked:,} URLs against {share.visited:,}",
            f"{share.check_cpu:.2f} s of CPU",
        ),
    ]


def scale(share: Share) -> list[tuple[str, str]]:
    """The whole crawl, by multiplication."""
    mean = PAGES_A_MONTH / MONTH
    cpu = share.cpu / share.pages
    parts = VISITED / share.visited
    of_round = share.pages * parts
    tables = sum(share.stored[kind] for kind in ("pages", "links")) / share.pages
    return [
        ("pages a second", f"{mean:.0f} on average, {PEAK} at peak"),
        ("busy cores", f"{cpu * mean:.2f} on average, {cpu * PEAK:.2f} at peak"),
        (
            "busy cores, all pages heavy",
            f"{share.heavy_cpu * mean:.1f} on average, {share.heavy_cpu * PEAK:.1f} at peak",
        ),
        ("shuffled", f"{share.shuffled / share.pages * mean / 1e6:.2f} MB/s on average"),
        ("download", f"{gbit(mean):.2f} Gbit/s on average, {gbit(PEAK):.1f} at peak"),
        ("bodies a month", f"{PAGE_BYTES * PAGES_A_MONTH / TB:,.0f} TB before compression"),
        ("pages and links tables a month", f"{tables * PAGES_A_MONTH / TB:.1f} TB"),
        (f"visited state of {VISITED:,} URLs", f"{share.visited_bytes * parts / 1e9:.0f} GB"),
        ("checking every shard once", f"{share.check_cpu * parts / 60:.0f} min of CPU"),
        ("round of such shares", f"{of_round:,.0f} pages, {of_round / mean / 3600:.1f} h"),
    ]


def gbit(pages: float) -> float:
    """So many pages a second, in Gbit/s."""
    return PAGE_BYTES * pages * 8 / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--visited", type=int, default=10_000_000)
    parser.add_argument("--waiting", type=int, default=1_000_000)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--one", nargs=3, type=Path, help=argparse.SUPPRESS)  # in its own process
    parser.add_argument("--heavy", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    rounds.MadeUp = Distinct  # type: ignore[misc]
    Distinct.least = PAGE_BYTES if options.heavy else 0
    if options.one:
        out, frontier, store = options.one
        print(json.dumps(measure_round(out, frontier, options.pages, store)))
        return
    share = measure(options.visited, options.waiting, options.pages)
    for title, lines in (("measured", tell(share)), ("1 billion pages a month", scale(share))):
        print(f"\n{title}")
        for name, value in lines:
            print(f"  {name:<48}{value}")


if __name__ == "__main__":
    main()
