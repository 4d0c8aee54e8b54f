"""The rows a slot took from the frontier: which have ended, which roll over, whose they are."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from transforms import layout
from transforms.aside import write_aside
from transforms.evidence import Known, read_patterns
from transforms.fingerprints import shard_of_host
from transforms.frontier import host_codes, open_frontier, rows_by_host, write_frontier
from transforms.hosts import HostRecord, read_hosts, write_hosts
from transforms.records import ShardState, Slot, SlotReport, Waiting
from transforms.tables import ASIDE, words
from transforms.traps import any_of, choose, is_calm


class Budget(NamedTuple):
    """Most URLs of one host to fetch; None is no limit."""

    a_round: int | None = None
    a_crawl: int | None = None

    def left(self, record: HostRecord) -> int | None:
        """How many more URLs of the host this round may fetch."""
        of_crawl = None if self.a_crawl is None else max(0, self.a_crawl - record.fetched)
        limits = [limit for limit in (self.a_round, of_crawl) if limit is not None]
        return min(limits, default=None)


class SlotRows:
    """The frontier rows that one attempt at a slot holds, and the records of their hosts."""

    def __init__(
        self,
        base: str,
        shards: int,
        slot: Slot,
        depth: int | None,
        budget: Budget,
        lift: tuple[str, ...] = (),
    ) -> None:
        """`lift`: regular expressions; what one finds is judged by no pattern."""
        self.base = base
        self.shards = shards
        self.slot = slot
        self.budget = budget
        opened = open_frontier(slot.states)
        self.table, self.shard, self.carried = opened.table, opened.shards, opened.carried
        self.urls, self.referrers = (self.table[name].chunk(0) for name in ("url", "referrer"))
        self.fingerprints, self.depths = (
            self.table[name].to_numpy() for name in ("fingerprint", "depth")
        )
        self.names, self.codes = host_codes(self.table["host"])
        self.due = due_rows(self.depths, self.shard, depth)
        self.rows = [self.due[rows] for rows in rows_by_host(self.codes[self.due])]
        self.ended = np.zeros(self.table.num_rows, bool)
        self.aside: dict[int, str] = {}  # rows of closed patterns, which
        self.seeds = self.table["seed"].to_numpy(zero_copy_only=False)
        self.doubts = self.table["doubt"].fill_null(0).to_numpy()
        self.pages: Counter[int] = Counter()  # by shard
        self.seconds: defaultdict[int, float] = defaultdict(float)  # of responses, by shard
        self.touched: set[str] = set()
        wanted = [self.names[self.codes[rows[0]]] for rows in self.rows]
        self.records = {name: HostRecord(name) for name in wanted}
        for state in slot.states:
            self.records.update(read_hosts(state.hosts, wanted))
        self._leave_traps(wanted, lift)

    def by_host(self) -> Iterator[tuple[HostRecord, list[int]]]:
        """Each host with URLs that are due, and their rows in the order to be fetched."""
        for rows in self.rows:
            record = self.record(self.names[self.codes[rows[0]]])
            budget = self.budget.left(record)
            yield record, rows[:budget].tolist()

    def _leave_traps(self, hosts: list[str], lift: tuple[str, ...]) -> None:
        """Keep of each host's rows those that the evidence of their patterns lets through."""
        known: Known = {}
        for state in self.slot.states:
            known.update(read_patterns(state.patterns, hosts))
        lifted = any_of(each for state in self.slot.states for each in (*state.lifted, *lift))
        for number, (host, rows) in enumerate(zip(hosts, self.rows, strict=True)):
            evidence = known.get(host, {})
            if is_calm(evidence) and not self.doubts[rows].any():
                continue
            urls = self.table["url"].take(rows).to_pylist()
            choice = choose(zip(urls, self.doubts[rows].tolist(), strict=True), evidence, lifted)
            self.aside.update((int(rows[place]), name) for place, name in choice.aside.items())
            self.rows[number] = rows[choice.taken]
        self.rows = [rows for rows in self.rows if len(rows)]

    def record(self, host: str) -> HostRecord:
        """What is known of a host; of one with nothing to fetch, from its shard's runs."""
        known = self.records.get(host)
        if known is None:
            known = HostRecord(host)
            shard = shard_of_host(host, self.shards)
            for state in self.slot.states:
                if state.shard == shard:
                    known = read_hosts(state.hosts, [host]).get(host, known)
            self.records[host] = known
        return known

    def waiting(self, row: int) -> Waiting:
        return Waiting(
            self.urls[row].as_py(),
            int(self.fingerprints[row]),
            int(self.depths[row]),
            self.referrers[row].as_py(),
            bool(self.seeds[row]),
            int(self.doubts[row]),
        )

    def end(self, row: int, *, is_page: bool, seconds: float = 0.0) -> None:
        """A URL has ended; `seconds` is how long its response took."""
        shard = int(self.shard[row])
        self.ended[row] = True
        self.pages[shard] += is_page
        self.seconds[shard] += seconds

    def note_host(self, record: HostRecord) -> None:
        self.records[record.host] = record
        self.touched.add(record.host)

    def reports(self) -> Iterator[SlotReport]:
        """What is left of each shard. Writes what rolls over, and what was learnt of hosts."""
        shard_of_due = self.shard[self.due]
        touched: dict[int, list[HostRecord]] = defaultdict(list)
        for name in self.touched:
            touched[shard_of_host(name, self.shards)].append(self.records[name])
        for state in self.slot.states:
            mine = self.shard == state.shard
            fetched = int(np.count_nonzero(self.ended & mine))
            aside = {row: name for row, name in self.aside.items() if mine[row]}
            left = mine & ~self.ended
            left[list(aside)] = False
            yield SlotReport(
                shard=state.shard,
                taken=int(np.count_nonzero(shard_of_due == state.shard)),
                fetched=fetched,
                pages=self.pages[state.shard],
                frontier=self._roll_over(state, left) if fetched or aside else state.frontier,
                waiting=state.waiting - fetched - len(aside),
                hosts=self._write_hosts(state, touched[state.shard]),
                seeds=int(np.count_nonzero(self.ended & mine & self.seeds)),
                seconds=self.seconds[state.shard] / max(1, fetched),
                aside=self._write_aside(state, aside),
                set_aside=len(aside),
            )

    def _roll_over(self, state: ShardState, left: np.ndarray) -> tuple[str, ...]:
        rest = write_frontier(
            self.base,
            state.round + 1,
            state.shard,
            self.shards,
            self.table.filter(left),
            f"rest-{self.slot.attempt}",
        )
        return (*rest, *self.carried[state.shard])

    def _write_aside(self, state: ShardState, aside: dict[int, str]) -> str:
        if not aside:
            return ""
        path = layout.shard_file(
            self.base, layout.ASIDE, state.round, state.shard, self.shards, self.slot.attempt
        )
        table = self.table.take(list(aside))
        table = table.append_column(ASIDE.field("pattern"), words(aside.values()))
        return write_aside(path, table)

    def _write_hosts(self, state: ShardState, records: list[HostRecord]) -> str:
        if not records:
            return ""
        path = layout.shard_file(
            self.base, layout.HOSTS, state.round, state.shard, self.shards, self.slot.attempt
        )
        return write_hosts(path, records)


def due_rows(depths: np.ndarray, shards: np.ndarray, depth: int | None) -> np.ndarray:
    """The rows to fetch in this round.

    All, unless a depth is set. Then a shard's shallowest URLs go first, so that a depth
    is a distance: a redirect's target must not be overtaken by links of the next depth.
    """
    if depth is None:
        return np.arange(len(depths))
    due = depths <= depth
    for shard in np.unique(shards[due]):
        mine = due & (shards == shard)
        due[mine] = depths[mine] == depths[mine].min()
    return np.flatnonzero(due)
