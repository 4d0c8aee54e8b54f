"""What a crawl costs, beside others: CPU, time, memory, in one table from one run.

    python -m tests.benchmarks.compare [--site web --pages 2000] [--tool scrapy] [--runs 3]

The tools take turns, so that a machine that is busy for a while is busy for all, and each
number is the best of the runs: noise only ever adds. They do not do the same work. Scrapy
writes one JSON line a page, wget and the floor a WARC file. beamcrawl writes WARC, the
tables of pages and links with each link's fate, content fingerprints, and a state from
which it can go on; it is always run, and every ratio is beamcrawl's number through the
other's.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks import peers
from tests.benchmarks.peers import Run
from tests.benchmarks.sites import SITES, Site, serve_sites

OURS = "beamcrawl"
TWO, START, REST = "two processes", "one page", "start taken off"
TOOLS: dict[str, tuple[Callable[[Site, Path], Run], Callable[[Path], dict[str, int]]]] = {
    OURS: (peers.run_beamcrawl, peers.beamcrawl_statuses),
    START: (peers.run_start, peers.beamcrawl_statuses),
    TWO: (peers.run_two_processes, peers.beamcrawl_statuses),
    "floor": (peers.run_floor, peers.warc_statuses),
    "wget": (peers.run_wget, peers.warc_statuses),
    "scrapy": (peers.run_scrapy, peers.scrapy_statuses),
    "scrapy+lexbor": (peers.run_scrapy_lexbor, peers.scrapy_statuses),
}
MIB = 1024 * 1024
HEADING = (
    "| site | tool | pages | CPU s | CPU s per 1,000 | wall s | pages/s | peak MiB | written MiB "
    "| CPU: ours ÷ this | wall: ours ÷ this |\n|---|---|" + "---:|" * 9
)


class Line(NamedTuple):
    """One line of the table: the best of several runs, number by number."""

    site: str
    tool: str
    pages: int  # URLs with status 200
    cpu: float
    wall: float
    peak: int
    written: int

    def show(self, ours: Line) -> str:
        each = self.cpu / self.pages
        ratios = (ours.cpu / ours.pages / each, ours.wall / ours.pages / (self.wall / self.pages))
        shown = ["", ""] if self.tool in (OURS, START) else [f"{ratio:.2f}" for ratio in ratios]
        numbers = (
            f"{self.pages:,}",
            f"{self.cpu:.2f}",
            f"{each * 1000:.2f}",
            f"{self.wall:.2f}",
            f"{self.pages / self.wall:,.0f}",
            f"{self.peak / MIB:.0f}",
            f"{self.written / MIB:.1f}",
        )
        return "| " + " | ".join((self.site, self.tool, *numbers, *shown)) + " |"


def run_all(
    sites: Sequence[Site], tools: Sequence[str], runs: int, folder: Path
) -> dict[tuple[str, str], list[Run]]:
    """Every tool on every site, `runs` times, taking turns."""
    done: dict[tuple[str, str], list[Run]] = {}
    for site in sites:
        for number in range(runs):
            for tool in tools:
                out = folder / f"{site.name}-{tool.replace(' ', '-')}-{number}"
                result = TOOLS[tool][0](site, out)
                said = f"CPU {result.cpu:.2f} s, wall {result.wall:.2f} s"
                print(f"{site.name}: {tool}, run {number + 1} of {runs}: {said}", file=sys.stderr)
                done.setdefault((site.name, tool), []).append(result)
    return done


def summarize(site: str, tool: str, runs: Sequence[Run]) -> Line:
    """The best of each number; the fewest pages, as a page that was missed is no saving."""
    statuses = [TOOLS[tool][1](run.out) for run in runs]
    return Line(
        site,
        tool,
        pages=min(list(found.values()).count(200) for found in statuses),
        cpu=min(run.cpu for run in runs),
        wall=min(run.wall for run in runs),
        peak=min(run.peak for run in runs),
        written=min(run.written for run in runs),
    )


def without_start(ours: Line, start: Line) -> Line:
    return ours._replace(
        tool=REST,
        pages=ours.pages - start.pages,
        cpu=ours.cpu - start.cpu,
        wall=ours.wall - start.wall,
    )


def table(lines: Mapping[str, Line]) -> Iterator[str]:
    """The lines of one site, by tool."""
    ours = lines[OURS]
    for tool, line in lines.items():
        yield line.show(ours)
        if tool == START:
            yield without_start(ours, line).show(ours)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare beamcrawl with others on loopback.")
    parser.add_argument("--runs", type=int, default=3, help="of each tool on each site: 3")
    parser.add_argument("--site", choices=SITES, action="append", help="default: all")
    parser.add_argument("--tool", choices=TOOLS, action="append", help="default: all")
    parser.add_argument("--pages", type=int, default=50_000, help="of the generated web: 50000")
    parser.add_argument("--gzip", action="store_true", help="let nginx compress the pages")
    options = parser.parse_args()
    tools = [tool for tool in TOOLS if tool in (OURS, *(options.tool or TOOLS))]
    peers.stop_cleanly()
    peers.make_peers()
    with tempfile.TemporaryDirectory(prefix="beamcrawl-compare-") as folder:
        with serve_sites(options.site or SITES, options.gzip, options.pages) as sites:
            done = run_all(sites, tools, options.runs, Path(folder))
        print(HEADING)
        for site in sites:
            found = {tool: summarize(site.name, tool, done[site.name, tool]) for tool in tools}
            print(*table(found), sep="\n", flush=True)


if __name__ == "__main__":
    main()
