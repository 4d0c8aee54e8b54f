"""Why a URL is where it is: `beamcrawl explain DIR URL`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipeline.evidence import Evidence, Found
from pipeline.folder import read_crawl_file
from pipeline.lean import import_beam_lean
from pipeline.manifest import read_manifests, state_from_dict
from pipeline.options import Settings, UsageError
from pipeline.seeds import seeds_of
from transforms.canonical import Canonical
from transforms.hosts import HostRecord
from transforms.robots import product_token
from transforms.robots_cache import RULES, access, rules_of
from transforms.times import iso_seconds
from transforms.urls import origin_of, parse_seed

Line = tuple[str, str]


def print_explanation(base: str, text: str, deny: str = "") -> None:
    for label, value in explain(base, text, deny):
        print(f"  {label:<14} {value}")


def explain(base: str, text: str, deny: str = "") -> Iterator[Line]:
    """Label and text, a line each. `deny` is the file of --deny.

    Raises UsageError for no crawl, or no URL.
    """
    document = read_crawl_file(base)
    if document is None:
        raise UsageError(f"{base} holds no crawl (no crawl.json)")
    url = parse_seed(text)
    if url is None:
        raise UsageError(f"{text!r} is no http or https URL")
    manifests = read_manifests(base)
    start = tuple(state_from_dict(base, state) for state in document["start"])
    settings = Settings.of(seeds_of(start), deny=deny, **document["settings"])
    canonical = Canonical(settings.tell_apart)
    evidence = Evidence(manifests, manifests[-1].states if manifests else start, canonical)
    yield "URL", url
    yield "canonical key", canonical.key(url)
    yield from origin_lines(evidence, url)
    yield from filter_lines(evidence, settings, url)
    yield from robots_lines(evidence, settings, url)
    yield from fate_lines(evidence, url)


def origin_lines(evidence: Evidence, url: str) -> Iterator[Line]:
    """Where the URL was found first."""
    fetches, waiting = evidence.fetches(url), evidence.waiting(url)
    link = None
    if fetches:
        row = fetches[0].row
    elif waiting is not None:
        row = waiting
    else:
        link = evidence.first_link(url)
        if link is None:
            yield "found", "never: no page that was fetched links to it, and it is no seed"
            return
        row = {"referrer": link.row["source"], "depth": link.row["depth"]}
    if not row["referrer"]:
        yield "found", "a seed"
        return
    yield (
        "found",
        f"at depth {row['depth']}, in {row['referrer']}"
        + (f" (round {link.round})" if link else ""),
    )
    path = evidence.path_from_seed(url, row["referrer"])
    yield "path", path[0]
    for step in path[1:]:
        yield "", f"→ {step}"


def filter_lines(evidence: Evidence, settings: Settings, url: str) -> Iterator[Line]:
    """What the filters say of the URL today: all together, and each by itself."""
    import_beam_lean()  # the stages stand on it
    from pipeline.stages import stages_of
    from transforms.filter import UrlFilter

    wanted = UrlFilter(stages_of(settings, 1, None).filter, evidence.state_of(url).scope)
    reason = wanted.refusal(url)
    yield "filters", f"refused: {reason}" if reason else "admitted"
    for row, refused in wanted.verdicts(url):
        yield "", f"{row.reason:<12} {'refuses' if refused else 'passes '}  ({row.refuses})"


def robots_lines(evidence: Evidence, settings: Settings, url: str) -> Iterator[Line]:
    """What its site's robots.txt says of the URL, as last fetched."""
    records = evidence.host(url).robots
    record = next((record for record in records if record.origin == origin_of(url)), None)
    if record is None:
        yield "robots.txt", "not asked for yet"
        return
    asked = f"fetched {iso_seconds(record.fetched_at)}" if record.fetched_at else "never had"
    if record.state != RULES:
        word = access(record._replace(expires_at=record.fetched_at + 1), record.fetched_at)
        yield "robots.txt", f"{word} ({record.cause}, {asked})"
        return
    verdict = rules_of(record, product_token(settings.user_agent)).verdict(url)
    word = "allowed" if verdict.allowed else "denied"
    line = f"line {verdict.line_number}: {verdict.line_text}" if verdict.line_number else "no line"
    yield "robots.txt", f"{word} by {line} ({asked})"


def fate_lines(evidence: Evidence, url: str) -> Iterator[Line]:
    """Each fetch that ended, or why there was none yet."""
    fetches = evidence.fetches(url)
    for found in fetches:
        yield from fetch_lines(found, url)
    if fetches:
        return
    if evidence.waiting(url) is not None:
        yield "fate", f"waiting: {why_waiting(evidence.host(url))}"
    elif evidence.held(url) is not None:
        yield "fate", "held: out of scope, unless a seed that still waits redirects there"
    elif (reason := evidence.refused(url)) is not None:
        yield "fate", f"refused: {reason}"
    elif evidence.is_decided(url):
        yield "fate", "admitted"
    else:
        yield "fate", "unknown to this crawl"


def fetch_lines(found: Found, url: str) -> Iterator[Line]:
    row = found.row
    status = f", HTTP {row['status']}" if row["status"] else ""
    when = row["fetched_at"].strftime("%Y-%m-%dT%H:%M:%SZ")
    yield "fate", f"{row['outcome']}{status}, fetched {when} in round {found.round}"
    details: list[tuple[str, Any]] = [
        ("fetched as", row["url"] != url and row["url"]),
        ("error", row["error"]),
        ("redirects to", row["redirect_to"]),
        ("duplicate of", row["duplicate_of"]),
        ("title", row["title"]),
        ("WARC", row["warc_file"] and f"{row['warc_file']}, offset {row['warc_offset']}"),
    ]
    for label, value in details:
        if value:
            yield label, value


def why_waiting(host: HostRecord) -> str:
    """Why a URL of that host was not fetched in the rounds so far."""
    if host.reason:
        until = iso_seconds(host.waits_until)
        return f"{host.host} is left alone until {until} ({host.reason})"
    if host.fetched:
        return f"{host.host} has answered {host.fetched:,} URLs, and others of it came first"
    return f"{host.host} has not been asked for a page yet"
