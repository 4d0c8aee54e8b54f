"""The ends of a slot's fetches: each marks its row, is counted, and is handed on once."""

from __future__ import annotations

from collections.abc import Callable

from transforms.exchange import fetched
from transforms.live import LIVE
from transforms.records import ERRORS, PAGE, ROBOTS_TXT, Fetched, Slot, Waiting
from transforms.slot_rows import SlotRows
from transforms.transport import Response


class SlotEnds:
    def __init__(self, slot: Slot, rows: SlotRows, clock: Callable[[], float]) -> None:
        self.slot = slot
        self.rows = rows
        self.clock = clock
        self.ended: list[Fetched] = []

    def end(
        self,
        row: int,
        url: Waiting,
        outcome: str,
        response: Response | None = None,
        error: str = "",
    ) -> None:
        seconds = response.elapsed if response else 0.0
        self.rows.end(row, is_page=outcome == PAGE, seconds=seconds)
        LIVE.pages += outcome == PAGE
        LIVE.bytes += len(response.body) if response else 0
        LIVE.errors += outcome in ERRORS
        LIVE.waiting -= 1
        LIVE.depth = url.depth
        self.ended.append(fetched(self.slot, url, outcome, response, self.clock(), error))

    def archive_robots(self, url: str, response: Response) -> None:
        waiting = Waiting(url, 0, 0, "", False)
        self.ended.append(fetched(self.slot, waiting, ROBOTS_TXT, response, 0.0, response.error))

    def hand_on(self) -> list[Fetched]:
        ended, self.ended = self.ended, []
        return ended
