"""One depth of the crawl as one Beam transform: shards in, shards out."""

from __future__ import annotations

import apache_beam as beam

from pipeline.commit import CommitRound
from pipeline.stages import Stages
from transforms.archive import ArchivePages
from transforms.dedup_content import DedupContent
from transforms.dedup_url import DedupUrls
from transforms.fetch import FetchPages
from transforms.filter import FilterUrls
from transforms.near_duplicates import FindNearDuplicates
from transforms.normalize import NormalizeUrls
from transforms.parse import ParsePages
from transforms.plan import PlanSlots
from transforms.record import RecordPages
from transforms.settle import Settle


class CrawlDepth(beam.PTransform):  # type: ignore[misc]
    """PCollection[ShardState] → PCollection[ShardState], one round later and committed.

    1. Plan             deal the shards to fetch slots
    2. Fetch            each slot asks its hosts, politely
    3. Parse            links, title, character set
    4. Archive          the body into a WARC file; it goes no further
    5. Normalize        links become absolute URLs
    6. Filter           which of them belong to the crawl
    7. Record           rows of pages and links, packed
    8. Dedup content    a page seen before is a duplicate (and, if asked for, near ones)
    9. Settle           the pages table; the links of what is no duplicate
    10. Dedup URL       a URL is admitted once, ever: the next frontier
    11. Commit          the sums hold, the manifest is written
    """

    def __init__(self, stages: Stages) -> None:
        super().__init__()
        self.stages = stages

    def expand(self, states: beam.PCollection) -> beam.PCollection:
        s = self.stages
        store = (s.base, s.shards)
        shards = states | "By shard" >> beam.Map(lambda state: (state.shard, state))

        slots = states | "Plan" >> PlanSlots(s.fetchers, s.limit)
        fetched = slots | "Fetch" >> FetchPages(s.fetch)
        archived = (
            fetched.fetched
            | "Parse" >> ParsePages(s.agent, s.near_duplicates)
            | "Archive" >> ArchivePages(s.archive)
        )
        recorded = (
            archived.pages
            | "Normalize" >> NormalizeUrls()
            | "Filter" >> FilterUrls(s.filter)
            | "Record" >> RecordPages(*store, s.duplicates, s.filter.canonical)
        )
        contents = (recorded.contents, shards) | "Dedup content" >> DedupContent(*store)
        verdicts, runs = [contents.verdicts], [contents.runs]
        if s.near_duplicates:
            near = (recorded.sketches, shards) | "Near duplicates" >> FindNearDuplicates(*store)
            verdicts.append(near.verdicts)
            runs.append(near.runs)
        settled = (recorded.shards, *verdicts, shards) | "Settle" >> Settle(*store)
        results = (
            settled.candidates,
            settled.settled,
            *runs,
            fetched.reports,
            shards,
        ) | "Dedup URL" >> DedupUrls(*store, s.filter, s.lift)
        return (results, archived.files) | "Commit" >> CommitRound(*store)
