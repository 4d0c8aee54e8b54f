"""What a crawl costs, beside others: CPU, time, memory, in one table from one run.

    python -m tests.benchmarks.compare [--site web --pages 2000] [--tool scrapy] [--runs 3]

The tools take turns, so that a machine that is busy for a while is busy for all, and each
number is the best of the runs: noise only ever adds. CPU is that of the crawler's own
processes. What a tool needs for a site of one page is its start; "start aside" is without
it. They do not do the same work: Scrapy writes one JSON line a page, wget and the floor a
WARC file. beamcrawl writes WARC, the tables of pages and links with each link's fate,
content fingerprints, and a state from which it can go on; it is always run, and every
ratio is beamcrawl's number a page through the other's.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks import peers, waits
from tests.benchmarks.peers import Run
from tests.benchmarks.sites import ONE, SITES, Server, Site, serve_sites

OURS = "beamcrawl"
TOOLS: dict[str, tuple[Callable[[Site, Path], Run], Callable[[Path], dict[str, int]]]] = {
    OURS: (peers.run_beamcrawl, peers.beamcrawl_statuses),
    "two processes": (peers.run_two_processes, peers.beamcrawl_statuses),
    "floor": (peers.run_floor, peers.warc_statuses),
    "wget": (peers.run_wget, peers.warc_statuses),
    "scrapy": (peers.run_scrapy, peers.scrapy_statuses),
    "scrapy+lexbor": (peers.run_scrapy_lexbor, peers.scrapy_statuses),
}
MIB = 1024 * 1024
HEADING = (
    "| site | tool | pages | CPU s | per 1,000 | start aside | wall s | pages/s | peak MiB "
    "| written MiB | nginx CPU s | ours ÷ this: CPU | start aside | wall |\n"
    "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
)


class Done(NamedTuple):
    run: Run
    server: float  # seconds of CPU that nginx used meanwhile


class Line(NamedTuple):
    """One line of the table: the best of several runs, number by number."""

    site: str
    tool: str
    pages: int  # URLs with status 200
    cpu: float  # seconds
    wall: float
    peak: int
    written: int
    server: float
    start: float = 0.0  # seconds of CPU, of those in `cpu`

    @property
    def each(self) -> float:
        """Seconds of CPU a page."""
        return self.cpu / self.pages

    @property
    def each_after_start(self) -> float:
        return (self.cpu - self.start) / self.pages

    def show(self, ours: Line) -> str:
        aside, ratios = "", ["", "", ""]
        if self.site != ONE:
            aside = f"{self.each_after_start * 1000:.2f}"
        if self.site != ONE and self.tool != OURS:
            whole, after_start = ours.each / self.each, ours.each_after_start
            wall = (ours.wall / ours.pages) / (self.wall / self.pages)
            found = (whole, after_start / self.each_after_start, wall)
            ratios = [f"{ratio:.2f}" for ratio in found]
        numbers = (
            f"{self.pages:,}",
            f"{self.cpu:.2f}",
            f"{self.each * 1000:.2f}",
            aside,
            f"{self.wall:.2f}",
            f"{self.pages / self.wall:,.0f}",
            f"{self.peak / MIB:.0f}",
            f"{self.written / MIB:.1f}",
            f"{self.server:.2f}",
        )
        return "| " + " | ".join((self.site, self.tool, *numbers, *ratios)) + " |"


def run_all(
    server: Server, tools: Sequence[str], runs: int, folder: Path
) -> dict[tuple[str, str], list[Done]]:
    """Every tool on every site, `runs` times, taking turns."""
    done: dict[tuple[str, str], list[Done]] = {}
    for site in server.sites:
        for number in range(runs):
            for tool in tools:
                out = folder / f"{site.name}-{tool.replace(' ', '-')}-{number}"
                before = server.cpu()
                run = TOOLS[tool][0](site, out)
                said = f"CPU {run.cpu:.2f} s, wall {run.wall:.2f} s"
                print(f"{site.name}: {tool}, run {number + 1} of {runs}: {said}", file=sys.stderr)
                one = Done(run, server.cpu() - before)
                done.setdefault((site.name, tool), []).append(one)
    return done


def summarize(site: str, tool: str, done: Sequence[Done]) -> Line:
    """The best of each number; the fewest pages, as a page that was missed is no saving."""
    statuses = [TOOLS[tool][1](one.run.out) for one in done]
    return Line(
        site,
        tool,
        pages=min(list(found.values()).count(200) for found in statuses),
        cpu=min(one.run.cpu for one in done),
        wall=min(one.run.wall for one in done),
        peak=min(one.run.peak for one in done),
        written=min(one.run.written for one in done),
        server=min(one.server for one in done),
    )


def table(lines: Mapping[tuple[str, str], Line]) -> Iterator[str]:
    """The lines by site and tool, each with what it costs its tool to start."""
    yield HEADING
    started = {
        (site, tool): line._replace(start=lines[ONE, tool].cpu)
        for (site, tool), line in lines.items()
    }
    for (site, _), line in started.items():
        yield line.show(started[site, OURS])


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare beamcrawl with others on loopback.")
    parser.add_argument("--runs", type=int, default=3, help="of each tool on each site: 3")
    parser.add_argument("--site", choices=SITES, action="append", help="default: all")
    parser.add_argument("--tool", choices=TOOLS, action="append", help="default: all")
    parser.add_argument("--pages", type=int, default=50_000, help="of the generated web: 50000")
    parser.add_argument("--gzip", action="store_true", help="let nginx compress the pages")
    options = parser.parse_args()
    names = (ONE, *(options.site or SITES))
    tools = [tool for tool in TOOLS if tool in (OURS, *(options.tool or TOOLS))]
    peers.stop_cleanly()
    if any(tool.startswith("scrapy") for tool in tools):
        peers.make_peers()
    with tempfile.TemporaryDirectory(prefix="beamcrawl-compare-") as folder:
        with serve_sites(names, options.gzip, options.pages) as server:
            done = run_all(server, tools, options.runs, Path(folder))
        waited = waits.measure_all(Path(folder), options.runs)
        lines = {(site, tool): summarize(site, tool, some) for (site, tool), some in done.items()}
        print(*table(lines), sep="\n")
        print("\n| what one waits for | s |\n|---|---:|")
        print(*(f"| {what} | {seconds:.2f} |" for what, seconds in waited), sep="\n")


if __name__ == "__main__":
    main()
