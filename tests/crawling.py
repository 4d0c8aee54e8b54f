"""How tests run a crawl in this process, and read back what it left."""

from __future__ import annotations

import glob
from typing import Any

import pyarrow.parquet as pq

from pipeline.driver import Ended, crawl
from pipeline.options import Settings
from pipeline.progress import Progress


def run_crawl(out: Any, *seeds: str, **options: Any) -> Ended:
    """Crawl loopback hosts without a gap; options as in `Settings`."""
    named = {"delay": 0.0, "allow_private": True, **options}
    settings = Settings.of(seeds, out=str(out), **named)
    return crawl(settings, named, Progress(quiet=True))


def read_rows(out: Any, kind: str, columns: list[str] | None = None) -> list[dict[str, Any]]:
    """The rows of all files of one kind."""
    rows = []
    for path in sorted(glob.glob(f"{out}/{kind}/*/*.parquet")):
        with open(path, "rb") as file:
            rows += pq.ParquetFile(file).read(columns).to_pylist()
    return rows


def outcomes(out: Any) -> dict[str, str]:
    """The outcome of every URL that was fetched. Fails when one was fetched twice."""
    rows = read_rows(out, "pages", ["url", "outcome"])
    found = {row["url"]: row["outcome"] for row in rows}
    assert len(found) == len(rows), "a URL has two rows"
    return found
