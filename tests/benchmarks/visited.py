"""What a long crawl costs: 100 million URLs visited, 10 million waiting.

    python -m tests.benchmarks.visited [--visited 100000000] [--waiting 10000000] [--runs 3]

Three questions: what does it take to check a million candidates against all that was
visited; how much more does a round of 10,000 pages cost than one with nothing visited; how
much memory does a crawl hold while that many URLs wait. Each number is the best of the runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.stores import (
    CANDIDATES,
    SHARDS,
    make_frontier,
    make_visited,
    visited_runs,
)

MIB = 1024 * 1024
ROUND_PAGES = 10_000


def check(store: Path) -> dict[str, Any]:
    """Check the store's candidates, one shard after the other, as one worker would."""
    import numpy as np

    from tests.benchmarks.rounds import bytes_read, cpu_seconds, peak_bytes
    from transforms.runs import seen_in

    candidates = np.load(store / "candidates.npy")
    assert len(candidates) == SHARDS
    cpu, read, seen = cpu_seconds(), bytes_read(), 0
    for mine, runs in zip(candidates, visited_runs(store), strict=True):
        seen += int(np.count_nonzero(seen_in(np.unique(mine), runs)))
    cost = {"cpu": cpu_seconds() - cpu, "read": bytes_read() - read, "peak": peak_bytes()}
    return {**cost, "seen": seen}


def best(command: Sequence[str], runs: int) -> dict[str, Any]:
    """Run a command that prints its cost, some times; the least of each number."""
    found = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory(prefix="beamcrawl-visited-") as out:
            words = [word.replace("OUT", out) for word in command]
            said = subprocess.run(
                [sys.executable, "-m", *words], check=True, stdout=subprocess.PIPE, text=True
            )
        found.append(json.loads(said.stdout.splitlines()[-1]))
    least = {name: min(cost[name] for cost in found) for name in ("cpu", "read", "peak")}
    return {**found[0], **least}


def stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """When each file was last written, and its size: the same when none was touched."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {str(file): (file.stat().st_mtime_ns, file.stat().st_size) for file in files}


def show_check(store: Path, visited: int, runs: int) -> None:
    cost = best(["tests.benchmarks.visited", "--check", str(store)], runs)
    assert cost["seen"] == CANDIDATES // 2, f"{cost['seen']:,} of the candidates found"
    stored = sum(Path(run).stat().st_size for runs in visited_runs(store) for run in runs)
    print(
        f"check {CANDIDATES:,} candidates against {visited:,} visited in {SHARDS} shards: "
        f"CPU {cost['cpu']:.2f} s, peak {cost['peak'] / MIB:.0f} MiB, "
        f"{cost['read'] / visited:.2f} bytes read and {stored / visited:.2f} stored a visited URL"
    )


def show_round(store: Path, visited: int, runs: int) -> None:
    frontier = make_frontier(ROUND_PAGES)
    command = ["tests.benchmarks.rounds", "OUT", str(frontier), str(ROUND_PAGES)]
    before = stamps(store)
    empty, full = best(command, runs), best([*command, str(store)], runs)
    assert empty["counts"]["discovered"] == full["counts"]["discovered"]
    for name, cost in (("nothing", empty), (f"{visited:,}", full)):
        print(
            f"round of {ROUND_PAGES:,} pages, {name} visited: CPU {cost['cpu']:.2f} s, "
            f"peak {cost['peak'] / MIB:.0f} MiB, {cost['counts']['links']:,} candidates, "
            f"{cost['counts']['discovered']:,} new"
        )
    print(
        f"the second takes {full['cpu'] / empty['cpu']:.2f} × the CPU of the first; "
        f"old runs rewritten: {'none' if stamps(store) == before else 'some'}"
    )


def show_waiting(waiting: int, runs: int) -> None:
    frontier = make_frontier(waiting)
    command = ["tests.benchmarks.rounds", "OUT", str(frontier), str(ROUND_PAGES)]
    before = stamps(frontier)
    cost = best(command, runs)
    print(
        f"round of {ROUND_PAGES:,} pages, {waiting:,} URLs waiting: CPU {cost['cpu']:.2f} s, "
        f"peak {cost['peak'] / MIB:.0f} MiB, {cost['waiting']:,} wait after it; "
        f"old segments rewritten: {'none' if stamps(frontier) == before else 'some'}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure a crawl with a long past.")
    parser.add_argument("--visited", type=int, default=100_000_000, help="URLs: 100000000")
    parser.add_argument("--waiting", type=int, default=10_000_000, help="URLs: 10000000")
    parser.add_argument("--runs", type=int, default=3, help="of each measurement: 3")
    parser.add_argument("--check", type=Path, help=argparse.SUPPRESS)  # in a process of its own
    options = parser.parse_args()
    if options.check:
        print(json.dumps(check(options.check)))
        return
    store = make_visited(options.visited)
    show_check(store, options.visited, options.runs)
    show_round(store, options.visited, options.runs)
    show_waiting(options.waiting, options.runs)


if __name__ == "__main__":
    main()
