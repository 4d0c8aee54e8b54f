"""Does beamcrawl find what is there? Every URL with status 200, beside Scrapy's.

    python -m tests.benchmarks.truth [--site python]

The two read links by slightly different rules. Each difference is printed with the rule
that explains it; one that none explains is a fault, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

import pyarrow.dataset as ds

from tests.benchmarks import peers
from tests.benchmarks.sites import DOCS, serve_sites

UNEXPLAINED = "UNEXPLAINED"
FOLLOWED_BY_SCRAPY = {"a", "area", "redirect"}


class Links:
    """The link graph of a crawl, asked for one URL at a time."""

    def __init__(self, out: Path):
        table = ds.dataset(out / "links", format="parquet", partitioning="hive").to_table()
        self.to: dict[str, list[tuple[str, str, str | None]]] = defaultdict(list)
        columns = ("source", "target", "kind", "refused")
        rows = zip(*(table[name].to_pylist() for name in columns), strict=True)
        for source, target, kind, refused in rows:
            self.to[target].append((source, kind, refused))

    def missed_by_scrapy(self, url: str, missed: set[str]) -> str:
        """Why Scrapy does not have a URL that beamcrawl has."""
        within = [(source, kind) for source, kind, _ in self.to[url] if source not in missed]
        if self.to[url] and not within:
            return "linked only from pages that Scrapy does not have"
        kinds = {kind for _, kind in within}
        if kinds and not kinds & FOLLOWED_BY_SCRAPY:
            return f"linked only by {', '.join(sorted(kinds))}, which Scrapy does not follow"
        return UNEXPLAINED

    def missed_by_beamcrawl(self, url: str, ours: dict[str, int]) -> str:
        """Why beamcrawl does not have a URL that Scrapy has."""
        if url in ours:
            return f"{UNEXPLAINED}: beamcrawl got status {ours[url]}"
        reasons = {refused for _, _, refused in self.to[url] if refused}
        if reasons:
            return f"refused: {', '.join(sorted(reasons))}"
        same = [other for other in ours if unquote(other) == unquote(url)]
        if same:
            return f"the same as {same[0]}, written differently"
        return UNEXPLAINED


def with_status_200(statuses: dict[str, int]) -> set[str]:
    return {url for url, status in statuses.items() if status == 200}


def show(name: str, differences: Iterable[tuple[str, str]]) -> None:
    for url, why in differences:
        print(f"  only {name}: {url}: {why}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare what beamcrawl and Scrapy find.")
    parser.add_argument("--site", choices=DOCS, action="append", help="default: all")
    names = parser.parse_args().site or tuple(DOCS)
    peers.stop_cleanly()
    peers.make_peers()
    faults = 0
    with (
        tempfile.TemporaryDirectory(prefix="beamcrawl-truth-") as folder,
        serve_sites(names) as server,
    ):
        for site in server.sites:
            scrapy = peers.run_scrapy(site, Path(folder, site.name, "s"), peers.EVERYTHING)
            beamcrawl = peers.run_beamcrawl(site, Path(folder, site.name, "b"))
            links = Links(beamcrawl.out / "crawl")
            statuses = peers.beamcrawl_statuses(beamcrawl.out)
            theirs = with_status_200(peers.scrapy_statuses(scrapy.out))
            ours = with_status_200(statuses)
            print(f"{site.name}: {len(theirs & ours):,} URLs with status 200 found by both")
            gained = [(url, links.missed_by_scrapy(url, ours - theirs)) for url in ours - theirs]
            lost = [(url, links.missed_by_beamcrawl(url, statuses)) for url in theirs - ours]
            show("beamcrawl", sorted(gained))
            show("scrapy", sorted(lost))
            if ours == theirs:
                print("  and nothing else by either")
            faults += sum(UNEXPLAINED in why for _, why in gained + lost)
    raise SystemExit(1 if faults else 0)


if __name__ == "__main__":
    main()
