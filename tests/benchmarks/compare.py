"""What a crawl costs, beside Scrapy: CPU, time, memory, on real documentation.

    python -m tests.benchmarks.compare [--runs 3] [--site python] [--gzip]

The two take turns, so that a machine that is busy for a while is busy for both, and each
number is the best of the runs: noise only ever adds. They do not do the same work: beside
URL, status, type, size and title, beamcrawl keeps every exchange as WARC, the link graph
with each link's fate, content fingerprints, and a state from which it can go on.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks import peers
from tests.benchmarks.peers import Run
from tests.benchmarks.sites import DOCS, Site, serve_sites

TOOLS: dict[str, tuple[Callable[[str, Path], Run], Callable[[Path], dict[str, int]]]] = {
    "scrapy": (peers.run_scrapy, peers.scrapy_statuses),
    "beamcrawl": (peers.run_beamcrawl, peers.beamcrawl_statuses),
}
MIB = 1024 * 1024


class Line(NamedTuple):
    """One line of the table: the best of several runs, number by number."""

    site: str
    tool: str
    pages: int  # URLs with status 200
    cpu: float
    wall: float
    peak: int
    written: int

    def __str__(self) -> str:
        return (
            f"{self.site:<12}{self.tool:<11}{self.pages:>9,}{self.cpu:>9.2f}{self.wall:>9.2f}"
            f"{self.peak / MIB:>10.0f}{self.written / MIB:>13.1f}"
        )


HEADING = (
    f"{'site':<12}{'tool':<11}{'pages 200':>9}{'CPU s':>9}{'wall s':>9}"
    f"{'peak MiB':>10}{'written MiB':>13}"
)
RATIO = (
    "{site}: beamcrawl needs {cpu:.2f} × the CPU, {wall:.2f} × the time, {peak:.2f} × the memory"
)


def run_all(sites: Sequence[Site], runs: int, folder: Path) -> dict[tuple[str, str], list[Run]]:
    """Every tool on every site, `runs` times, taking turns."""
    done: dict[tuple[str, str], list[Run]] = {}
    for site in sites:
        for number in range(runs):
            for tool, (run, _) in TOOLS.items():
                print(f"{site.name}: {tool}, run {number + 1} of {runs}", file=sys.stderr)
                result = run(site.seed, folder / f"{site.name}-{tool}-{number}")
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


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare beamcrawl with Scrapy on loopback.")
    parser.add_argument("--runs", type=int, default=3, help="of each tool on each site: 3")
    parser.add_argument("--site", choices=DOCS, action="append", help="default: all")
    parser.add_argument("--gzip", action="store_true", help="let nginx compress the pages")
    options = parser.parse_args()
    peers.stop_cleanly()
    peers.make_peers()
    with tempfile.TemporaryDirectory(prefix="beamcrawl-compare-") as folder:
        with serve_sites(options.site or tuple(DOCS), options.gzip) as sites:
            done = run_all(sites, options.runs, Path(folder))
        lines = [summarize(site, tool, runs) for (site, tool), runs in done.items()]
    print(HEADING, *lines, sep="\n")
    for scrapy, ours in zip(lines[::2], lines[1::2], strict=True):
        share = {name: getattr(ours, name) / getattr(scrapy, name) for name in Run._fields[:3]}
        print(RATIO.format(site=ours.site, **share))
    print("scrapy writes one JSON line a page; beamcrawl WARC, pages, links, frontier, visited")


if __name__ == "__main__":
    main()
