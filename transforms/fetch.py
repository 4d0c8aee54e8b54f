"""Fetch: the stage around `slot_fetcher`, one slot after the other."""

from __future__ import annotations

import resource
import secrets
from collections.abc import Iterator
from typing import Any, NamedTuple

import apache_beam as beam

from transforms.records import Slot
from transforms.slot_fetcher import SlotFetcher, SlotPolicy
from transforms.slot_rows import Budget, SlotRows
from transforms.stop import Watch, refuse_if_over
from transforms.transport import open_transport


class FetchStage(NamedTuple):
    base: str
    shards: int
    transport: str  # "curl" or "requests"
    policy: SlotPolicy
    depth: int | None  # URLs deeper than this stay waiting
    budget: Budget
    lift: tuple[str, ...] = ()  # what these regular expressions find is no trap


def allow_many_connections() -> None:
    """Lift this process's soft limit of open files to the hard one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class _FetchPages(beam.DoFn):  # type: ignore[misc]
    def __init__(self, stage: FetchStage) -> None:
        self.stage = stage

    def setup(self) -> None:
        allow_many_connections()
        self.transport = open_transport(self.stage.transport, self.stage.policy.fetch)

    def process(self, slot: Slot) -> Iterator[Any]:
        # Another attempt at this slot finds the same URLs waiting, and files of its own.
        slot = slot._replace(attempt=secrets.token_hex(4))
        stage = self.stage
        refuse_if_over(stage.base, slot.round)
        rows = SlotRows(stage.base, stage.shards, slot, stage.depth, stage.budget, stage.lift)
        watch = Watch(stage.base, slot.round)
        fetcher = SlotFetcher(stage.policy, slot, rows, self.transport, watch)
        yield from fetcher.run()
        for report in rows.reports():
            yield beam.pvalue.TaggedOutput("reports", (report.shard, report))

    def teardown(self) -> None:
        self.transport.close()


class FetchPages(beam.PTransform):  # type: ignore[misc]
    """Slot → `.fetched`: Fetched; `.reports`: (shard, SlotReport)."""

    def __init__(self, stage: FetchStage) -> None:
        super().__init__()
        self.stage = stage

    def expand(self, slots: beam.PCollection) -> Any:
        fetch = beam.ParDo(_FetchPages(self.stage))
        return slots | fetch.with_outputs("reports", main="fetched")
