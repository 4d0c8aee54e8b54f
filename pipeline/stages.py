"""From the settings of a run to what each stage is told."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.options import VERSION, Settings
from transforms.archive import ArchiveStage
from transforms.fetch import FetchStage
from transforms.filter import FilterRules
from transforms.transport import FetchPolicy


class Stages(NamedTuple):
    base: str
    shards: int
    fetchers: int
    limit: int | None
    fetch: FetchStage
    archive: ArchiveStage
    filter: FilterRules


def stages_of(settings: Settings, fetchers: int, deadline: float | None) -> Stages:
    """What each stage is told. `deadline` is seconds since the epoch."""
    policy = FetchPolicy(
        user_agent=settings.user_agent,
        contact=settings.contact,
        headers=settings.header,
        proxy=settings.proxy,
        timeout=settings.timeout,
        connect_timeout=min(10.0, settings.timeout),
        max_body=settings.max_body,
        allow_private=settings.allow_private,
        concurrency=settings.concurrency,
    )
    fetch = FetchStage(
        base=settings.out,
        shards=settings.shards,
        transport=settings.transport,
        policy=policy,
        delay=settings.delay,
        retries=settings.retries,
        robots=settings.robots,
        depth=settings.depth,
        patience=settings.patience,
        deadline=deadline,
    )
    description = {
        "software": f"beamcrawl/{VERSION}",
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "http-header-user-agent": settings.user_agent,
        "http-header-from": settings.contact,
        "robots": "RFC 9309" if settings.robots else "ignored",
    }
    archive = ArchiveStage(settings.out, tuple((k, v) for k, v in description.items() if v))
    rules = FilterRules(settings.scope, settings.seeds, settings.include, settings.exclude)
    return Stages(settings.out, settings.shards, fetchers, settings.limit, fetch, archive, rules)
