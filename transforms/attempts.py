"""Attempts at a round: what one that died leaves to those after it.

What a dead attempt learned of its hosts is lost, even when it last asked them. So it is
noted beforehand which shards are about to be fetched, and whoever fetches them again in
that round leaves every host alone for one gap first.
"""

from __future__ import annotations

from collections.abc import Iterable

from transforms import layout, storage


class RoundOverError(Exception):
    """The round is committed: nothing more can come of fetching for it."""


def begin(base: str, round_: int, shards: Iterable[int], of: int) -> bool:
    """Note that these shards are about to be fetched; whether any of them was before.

    Raises RoundOverError. A runner that lost a worker may begin a job anew behind rounds
    that were committed, and the job of a driver that died may still go on after another
    run has made its round void. Fetching again would write over files that count.
    """
    if storage.exists(layout.manifest_file(base, round_)):
        raise RoundOverError(f"round {round_} has been committed already")
    notes = [layout.begun_file(base, round_, shard, of) for shard in shards]
    return not all(storage.side_by_side(base, storage.claim, notes))
