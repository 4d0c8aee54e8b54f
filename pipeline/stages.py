"""From the settings of a run to what each stage is told."""

from __future__ import annotations

import time
from typing import NamedTuple

from pipeline.deny import read_deny
from pipeline.options import VERSION, Settings
from transforms.archive import ArchiveStage
from transforms.canonical import Canonical
from transforms.fetch import FetchStage
from transforms.filter import FilterRules
from transforms.pace import PacePolicy
from transforms.robots import product_token
from transforms.shape import horizon_at
from transforms.slot_fetcher import SlotPolicy
from transforms.slot_rows import Budget
from transforms.transport import FetchPolicy


class Stages(NamedTuple):
    base: str
    shards: int
    fetchers: int
    limit: int | None
    fetch: FetchStage
    agent: str  # the name that pages may address; "" when they are not heeded
    archive: ArchiveStage
    filter: FilterRules
    duplicates: str  # "body" or "text"
    near_duplicates: bool
    lift: tuple[str, ...]  # regular expressions: what they find is in no trap


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
    pace = PacePolicy(
        delay=settings.delay,
        adaptive=settings.adaptive,
        max_crawl_delay=settings.max_crawl_delay,
        retries=settings.retries,
    )
    slot = SlotPolicy(
        fetch=policy,
        pace=pace,
        robots=settings.robots,
        robots_forbidden=settings.robots_forbidden,
        per_address=settings.per_address,
        patience=settings.patience,
        round_time=settings.round_time or None,
        deadline=deadline,
        canonical=Canonical(settings.tell_apart),
    )
    fetch = FetchStage(
        base=settings.out,
        shards=settings.shards,
        transport=settings.transport,
        policy=slot,
        depth=settings.depth,
        budget=Budget(settings.host_round_limit, settings.host_limit),
        lift=settings.lift,
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
    agent = product_token(settings.user_agent) if settings.robots else ""
    rules = FilterRules(
        settings.scope,
        settings.seeds,
        settings.include,
        settings.exclude,
        Canonical(settings.tell_apart),
        settings.allow,
        read_deny(settings.deny),
        horizon_at(time.time()),
    )
    return Stages(
        base=settings.out,
        shards=settings.shards,
        fetchers=fetchers,
        limit=settings.limit,
        fetch=fetch,
        agent=agent,
        archive=archive,
        filter=rules,
        duplicates=settings.duplicates,
        near_duplicates=settings.near_duplicates,
        lift=settings.lift,
    )
