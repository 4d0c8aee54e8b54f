"""Made-up records that the tests of several stages share, and a pipeline to run a stage in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing import test_pipeline

from transforms.filter import SCOPE, FilterRules
from transforms.fingerprints import fingerprint_content, fingerprint_url
from transforms.records import (
    PAGE,
    CandidateBlock,
    Fetched,
    Link,
    Page,
    Settled,
    ShardResult,
    ShardState,
    Slot,
    Waiting,
)
from transforms.tables import CANDIDATES, FRONTIER, LINKS, pack, words
from transforms.urls import host_of

SLOT = Slot(slot=0, round=0, attempt="cafe", states=(), limit=None, scope=())
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
REQUEST_HEAD = b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"


def pipeline_of_stage() -> Any:
    """A pipeline on the engine that crawls run on locally; the block's end runs it."""
    return test_pipeline.TestPipeline(runner=FnApiRunner(), argv=[])


def make_waiting(
    url: str = "http://a.example/", depth: int = 0, referrer: str = "", seed: bool = False
) -> Waiting:
    return Waiting(url, fingerprint_url(url), depth, referrer, seed)


def make_fetched(
    url: Waiting | str = "http://a.example/", body: bytes = b"", **changes: Any
) -> Fetched:
    waiting = make_waiting(url) if isinstance(url, str) else url
    fetched = Fetched(SLOT, waiting, PAGE, 200, HEAD, body, REQUEST_HEAD, "192.0.2.1", 1.5, 7, "")
    return fetched._replace(**changes)


def make_page(
    url: Waiting | str = "http://a.example/",
    links: Iterable[tuple[str, str | None]] = (),
    kind: str = "a",
    body: bytes = b"",
    **changes: Any,
) -> Page:
    """A page after `Filter`: `links` are URLs, each with the reason why it is refused or None."""
    waiting = make_waiting(url) if isinstance(url, str) else url
    links = list(links)
    page = Page(
        slot=SLOT,
        url=waiting,
        outcome=PAGE,
        status=200,
        content_type="text/html",
        size=len(body),
        fetched_at=1.5,
        elapsed_ms=7,
        fingerprint=fingerprint_content(body),
        redirect_to="",
        title="",
        error="",
        etag="",
        last_modified="",
        base=waiting.url,
        encoding="utf-8",
        links=[Link(target, kind) for target, _ in links],
        refused=[reason for _, reason in links],
    )
    return page._replace(**changes)


def frontier_table(urls: Iterable[str], depth: int = 0) -> pa.Table:
    urls = list(urls)
    columns = [
        pa.array(urls, pa.string()),
        pa.array([fingerprint_url(url) for url in urls], pa.uint64()),
        words(host_of(url) for url in urls),
        pa.array([depth] * len(urls), pa.int32()),
        pa.array([""] * len(urls), pa.string()),
        pa.array([False] * len(urls), pa.bool_()),
        pa.array([0] * len(urls), pa.int8()),
    ]
    return pa.table(columns, schema=FRONTIER)


def link_rows(*links: tuple[str, str, str | None, int], seed: bool = False) -> pa.Table:
    """LINKS rows from (source, target, reason or None, depth)."""
    sources, targets, reasons, depths = zip(*links, strict=True) if links else ((),) * 4
    columns = [
        words(sources),
        words(targets),
        words("a" for _ in links),
        words(reasons),
        pa.array(depths, pa.int32()),
        pa.array([fingerprint_url(url) for url in sources], pa.uint64()),
        pa.array([fingerprint_url(url) for url in targets], pa.uint64()),
        pa.array([seed for _ in links], pa.bool_()),
    ]
    return pa.table(columns, schema=LINKS)


def candidate_table(*links: tuple[str, str, str | None, int], opening: bool = False) -> pa.Table:
    """CANDIDATES rows from (source, target, reason or None, depth)."""
    sources, targets, reasons, depths = zip(*links, strict=True) if links else ((),) * 4
    admitted = [reason is None or (opening and reason == SCOPE) for reason in reasons]
    columns = [
        pa.array([t if ok else None for t, ok in zip(targets, admitted, strict=True)], pa.string()),
        pa.array([fingerprint_url(url) for url in targets], pa.uint64()),
        words(reasons),
        pa.array(depths, pa.int32()),
        pa.array([s if ok else None for s, ok in zip(sources, admitted, strict=True)], pa.string()),
        pa.array([fingerprint_url(url) for url in sources], pa.uint64()),
        pa.array([False for _ in links], pa.bool_()),
        pa.array([False for _ in links], pa.bool_()),
    ]
    return pa.table(columns, schema=CANDIDATES)


def candidate_block(
    *links: tuple[str, str, str | None, int], opening: bool = False
) -> CandidateBlock:
    return CandidateBlock(pack(candidate_table(*links, opening=opening)))


RULES = FilterRules("any", ())
NOTHING_SETTLED = Settled("", (), {}, 0, (), {})


def make_result(shard: int = 0, round_: int = 0, **changes: Any) -> ShardResult:
    """The result of a shard that fetched one page in `round_`, and found nothing new."""
    state = ShardState(shard, round_ + 1, discovered=1, fetched=1, pages=1)
    settled = NOTHING_SETTLED._replace(outcomes={PAGE: 1}, bytes=10)
    result = ShardResult(state, 1, 0, 0, {}, settled, fetched=1, changed=True)
    result = result._replace(**changes)
    counted = {"fetched": sum(result.settled.outcomes.values()), **changes}
    return result._replace(**counted)
