"""What is there: the table at the end of a run, and `beamcrawl status`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable

from pipeline.driver import FAILED, Ended
from pipeline.folder import read_crawl_file
from pipeline.manifest import Manifest, read_manifests, state_from_dict, total
from pipeline.options import UsageError
from pipeline.progress import human_size
from transforms import storage
from transforms.records import ERRORS, ShardState
from transforms.times import iso_seconds

FAILED_SEEDS_SHOWN = 5
PATTERNS_SHOWN = 20


def table_lines(manifests: list[Manifest], totals: dict[str, int]) -> Iterable[tuple[str, str]]:
    """Label and value, a line each: every URL has exactly one fate."""
    outcomes: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for manifest in manifests:
        outcomes.update(manifest.outcomes)
        refused.update(manifest.refused)
        counts.update(manifest.counts)
    yield "discovered", f"{totals['discovered']:,} URLs"
    yield "fetched", f"{totals['fetched']:,}"
    for name, count in outcomes.most_common():
        yield f"  {name}", f"{count:,}"
    yield "refused", f"{totals['refused']:,}"
    for name, count in refused.most_common():
        yield f"  {name}", f"{count:,}"
    yield "waiting", f"{totals['waiting']:,}"
    yield "set aside", f"{totals.get('set_aside', 0):,}"
    yield "bodies", human_size(counts["bytes"])
    yield "WARC", human_size(counts["warc_bytes"])
    yield "rounds", f"{len(manifests):,}"


def print_table(manifests: list[Manifest], totals: dict[str, int]) -> None:
    rows = list(table_lines(manifests, totals))
    width = max(len(value) for _, value in rows)
    for label, value in rows:
        print(f"  {label:<20} {value:>{width}}")


def patterns_aside(states: Iterable[ShardState]) -> Counter[str]:
    """How many URLs are set aside, by the closed pattern, with its host."""
    counts: Counter[str] = Counter()
    for state in states:
        for path in state.aside:
            rows = storage.read_table(path, ["host", "pattern"]).to_pylist()
            counts.update(row["host"] + row["pattern"] for row in rows)
    return counts


def print_aside(states: Iterable[ShardState]) -> None:
    """Say which patterns are closed, the ones with most URLs first."""
    patterns = patterns_aside(states).most_common()
    for pattern, count in patterns[:PATTERNS_SHOWN]:
        print(f"  {pattern} brought nothing new: {count:,} URLs set aside")
    if len(patterns) > PATTERNS_SHOWN:
        print(f"  … and {len(patterns) - PATTERNS_SHOWN:,} more patterns")


def print_end(ended: Ended) -> int:
    """Say how a run ended and where its files are; returns the exit code."""
    settings = ended.crawl.settings
    totals = total(ended.crawl.states)
    print_table(read_manifests(settings.out), totals)
    print_aside(ended.crawl.states)
    for name in ("pages", "links", "warc"):
        print(f"  {name:<20} {settings.out}/{name}/")
    code = ended.code
    failed = failed_seeds(ended) if totals["pages"] == 0 else []
    for url, outcome, error in failed[:FAILED_SEEDS_SHOWN]:
        print(f"beamcrawl: {url}: {outcome}: {error}", file=sys.stderr)
        code = FAILED
    if ended.waits:
        for host in ended.waits.hosts[:FAILED_SEEDS_SHOWN]:
            why = f" ({host.reason})" if host.reason else ""
            until = iso_seconds(host.ready_at)
            print(f"  {host.host} waits until {until} with {host.urls:,} URLs{why}")
        if len(ended.waits.hosts) > FAILED_SEEDS_SHOWN:
            print(f"  … and {len(ended.waits.hosts) - FAILED_SEEDS_SHOWN:,} more hosts")
    hint = f"; to go on: beamcrawl crawl -o {settings.out}" if ended.code == 3 else ""
    print(f"beamcrawl: {ended.reason}{hint}", file=sys.stderr)
    return code


def failed_seeds(ended: Ended) -> list[tuple[str, str, str]]:
    """URL, outcome and error of each seed, and what seeds redirected to, that brought no page."""
    found = []
    for manifest in read_manifests(ended.crawl.settings.out):
        for path in manifest.files["pages"]:
            table = storage.read_table(path, ["url", "outcome", "status", "error", "depth"])
            for row in table.to_pylist():
                if row["depth"] == 0 and row["outcome"] in (*ERRORS, "robots_denied"):
                    found.append(
                        (row["url"], row["outcome"], row["error"] or f"HTTP {row['status']}")
                    )
    return found


def print_status(base: str) -> None:
    document = read_crawl_file(base)
    if document is None:
        raise UsageError(f"{base} holds no crawl (no crawl.json)")
    manifests = read_manifests(base)
    if manifests:
        totals = manifests[-1].totals
        print(f"{base}: {len(manifests)} rounds, the last committed {manifests[-1].committed_at}")
    else:
        totals = total(state_from_dict(base, state) for state in document["start"])
        print(f"{base}: no round committed yet")
    print_table(manifests, totals)
    if manifests:
        print_aside(manifests[-1].states)
