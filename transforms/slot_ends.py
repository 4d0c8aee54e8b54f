"""What has ended in a fetch slot, on its way to the next stage."""

from __future__ import annotations

from collections.abc import Callable

from transforms.exchange import Errand, fetched
from transforms.live import LIVE
from transforms.outcome import outcome_of
from transforms.records import ERRORS, PAGE, ROBOTS_TXT, Fetched, Slot, Waiting
from transforms.scheduler import Host
from transforms.slot_rows import SlotRows
from transforms.transport import Response


class SlotEnds:
    """Each fetch ends once, and is counted: in its row, for its host, for who watches."""

    def __init__(self, slot: Slot, rows: SlotRows, clock: Callable[[], float]) -> None:
        self.slot = slot
        self.rows = rows
        self.clock = clock
        self.ended: list[Fetched] = []

    def end_asked(self, host: Host, row: int, url: Waiting, response: Response) -> str:
        """The end of a URL that was asked for, or could not be; returns its outcome."""
        outcome = outcome_of(response)
        record = self.rows.record(host.name)
        self.rows.note_host(record._replace(fetched=record.fetched + 1))
        end = fetched(self.slot, url, outcome, response, self.clock(), response.error)
        self._end(row, end, response.elapsed)
        LIVE.bytes += len(response.body)
        return outcome

    def end_unasked(self, row: int, url: Waiting, outcome: str, error: str) -> None:
        self._end(row, fetched(self.slot, url, outcome, None, self.clock(), error))

    def end_robots(self, errand: Errand, response: Response) -> None:
        """No URL of the crawl: for the archive alone."""
        url = Waiting(errand.url, 0, 0, "", False)
        self.ended.append(fetched(self.slot, url, ROBOTS_TXT, response, 0.0, response.error))

    def hand_on(self) -> list[Fetched]:
        ended, self.ended = self.ended, []
        return ended

    def _end(self, row: int, end: Fetched, seconds: float = 0.0) -> None:
        is_page = end.outcome == PAGE
        self.rows.end(row, is_page=is_page, seconds=seconds)
        LIVE.pages += is_page
        LIVE.errors += end.outcome in ERRORS
        LIVE.waiting -= 1
        LIVE.depth = end.url.depth
        self.ended.append(end)
