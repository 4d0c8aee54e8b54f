"""A crawl's folder: whose it is, what was fixed when it began, and what may be swept out."""

from __future__ import annotations

import fcntl
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import IO, Any, NamedTuple, Protocol

from pipeline.manifest import (
    STATE_PATHS,
    Manifest,
    last_manifest,
    state_from_dict,
    state_to_dict,
    to_json,
    void_round,
)
from pipeline.options import OPTIONS, Settings, UsageError
from pipeline.seeds import seed_states, seeds_of
from transforms import layout, storage
from transforms.canonical import OPTIONAL, Canonical
from transforms.host_waits import hand_on
from transforms.records import ShardState
from transforms.times import iso_seconds

FORMAT = 2
FIXED = tuple(option for option in OPTIONS if option.fixed)


class Crawl(NamedTuple):
    """An open crawl: its settings in force, how it began, and the last round committed."""

    settings: Settings
    start: tuple[ShardState, ...]
    last: Manifest | None

    @property
    def states(self) -> tuple[ShardState, ...]:
        return self.last.states if self.last else self.start


def open_crawl(settings: Settings, given: dict[str, Any]) -> Crawl:
    """Start the crawl in `settings.out`, or go on with it.

    `given` holds the fixed options that were named this time. Raises UsageError when
    the folder is not a crawl's, or when going on so would break its state.
    """
    base = settings.out
    document = read_crawl_file(base)
    if document is None:
        if not settings.seeds:
            raise UsageError(f"no seeds: name a URL or --input-file ({base} holds no crawl yet)")
        refuse_foreign(base)
        sweep_unstarted(base)
        states = seed_states(base, settings.seeds, settings.shards, Canonical(settings.tell_apart))
        storage.make_durable(p for s in states for p in (*s.frontier, *s.visited))
        storage.publish(layout.crawl_file(base), crawl_document(base, settings, states))
        return Crawl(settings, states, None)
    start = tuple(state_from_dict(base, state) for state in document["start"])
    settings = going_on(settings, given, document["settings"], seeds_of(start))
    return Crawl(settings, start, last_manifest(base))


def going_on(
    settings: Settings, given: dict[str, Any], fixed: dict[str, Any], seeds: tuple[str, ...]
) -> Settings:
    """Settings for going on: what was fixed at the start stays as it was."""
    stored: dict[str, Any] = {
        name: tuple(v) if isinstance(v, list) else v for name, v in fixed.items()
    }
    for option in FIXED:
        if option.name in given and given[option.name] != stored[option.name]:
            flag = option.flags.split()[-1]
            raise UsageError(
                f"{flag} was {_shown(stored[option.name])} when the crawl in {settings.out} began, "
                f"and its state depends on it; leave {flag} out, or choose another --out"
            )
    key = Canonical(stored.get("tell_apart", ())).key
    known = {key(url) for url in seeds}
    new = [url for url in settings.seeds if key(url) not in known]
    if new:
        raise UsageError(
            f"{new[0]} is not among the seeds with which the crawl in {settings.out} began; "
            "leave the URLs out to go on with it, or choose another --out"
        )
    fixed_now: dict[str, Any] = {"seeds": seeds, **stored}
    return replace(settings, **fixed_now)


def _shown(value: Any) -> str:
    return " ".join(map(str, value)) or "not set" if isinstance(value, tuple) else str(value)


def read_crawl_file(base: str) -> dict[str, Any] | None:
    """What crawl.json says; None when there is none."""
    path = layout.crawl_file(base)
    try:
        data = storage.read_bytes(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        document: dict[str, Any] = json.loads(data)
        if document["format"] != FORMAT:
            raise UsageError(f"{path} has format {document['format']}, this version reads {FORMAT}")
        # A crawl from before there were canonical keys knows its URLs to the letter.
        before = {option.name: option.default for option in FIXED} | {"tell_apart": OPTIONAL}
        document["settings"] = before | document["settings"]
        document["start"]
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{path} is no crawl's; choose another --out") from None
    return document


def crawl_document(base: str, settings: Settings, states: tuple[ShardState, ...]) -> bytes:
    values = asdict(settings)
    document = {
        "format": FORMAT,
        "settings": {option.name: values[option.name] for option in FIXED},
        "start": [state_to_dict(base, state) for state in states],
    }
    return json.dumps(document, indent=1).encode()


def refuse_foreign(base: str) -> None:
    if storage.is_local(base) and os.path.exists(base) and not os.path.isdir(base):
        raise UsageError(f"{base} is a file; --out wants a folder")
    ours = {*layout.KINDS, "rounds", "lock", "lease.json", "STOP"}
    foreign = sorted(
        name
        for name in storage.names_in(base) - ours
        if not re.fullmatch(rf"crawl\.json\.\d+{re.escape(layout.TEMPORARY)}", name)
    )
    if foreign:
        raise UsageError(
            f"{base} is not empty and holds no crawl (there is {foreign[0]}, but no crawl.json); "
            "choose another --out"
        )


def sweep_unstarted(base: str) -> None:
    """Remove what a run left that died before its crawl.json was written."""
    for found in list_kinds(base, layout.KINDS):
        storage.delete(found)
    if storage.is_local(base) and os.path.isdir(base):
        storage.delete([f"{base}/{name}" for name in os.listdir(base) if name.endswith(".part")])


def sweep(crawl: Crawl, rounds: Sequence[Manifest]) -> None:
    """Remove files that no manifest names: of rounds that never happened, and of attempts
    that did not count. Runs that were merged into others go too. What rounds added to the
    frontier stays: it says where each URL was found first.

    What hosts asked for in a round that died is heeded by its next attempt: it stays, too.

    `rounds` are all up to the last, or those since the last sweep. Nothing is removed
    beyond the round about to begin, which is as far as this run can know: see `lease`.
    """
    base, states = crawl.settings.out, crawl.states
    coming = states[0].round
    kept = {
        path
        for kind in STATE_PATHS
        for state in (*states, *crawl.start)
        for path in getattr(state, kind)
    }
    for manifest in rounds:
        kept.update(path for paths in manifest.files.values() for path in paths)
    since = rounds[0].round if rounds else coming
    tables = (layout.PAGES, layout.LINKS, layout.WARC)
    found = list_kinds(base, tables, since, coming) + list_kinds(base, layout.RUNS, 0, coming)
    under_way = layout.round_folder(base, layout.HOSTS, coming) + "/"
    orphans = [
        path
        for paths in found
        for path in paths
        if path not in kept and not (path.startswith(under_way) and path.endswith(layout.NOTES))
    ]
    [frontier] = list_kinds(base, (layout.FRONTIER,), 0, coming + 1)
    future = layout.round_folder(base, layout.FRONTIER, coming)
    barren = tuple(
        layout.round_folder(base, layout.FRONTIER, manifest.round + 1) + "/"
        for manifest in rounds
        if not manifest.counts["discovered"]
    )
    for path in frontier:
        passing = ".rest-" in path or ".held." in path or path.endswith(layout.TEMPORARY)
        if path not in kept and (passing or path >= future or path.startswith(barren)):
            orphans.append(path)
    storage.delete(orphans)


def list_kinds(
    base: str, kinds: Sequence[str], first: int = 0, last: int | None = None
) -> list[list[str]]:
    """The files of each kind, from round `first` to round `last`, both included."""

    def files(kind: str) -> list[str]:
        until = "" if last is None else layout.round_folder(base, kind, last + 1)
        start = layout.round_folder(base, kind, first) if first else ""
        return storage.list_files(f"{base}/{kind}", start, until)

    return storage.side_by_side(base, files, kinds)


def make_void(crawl: Crawl) -> Crawl:
    """Commit the round about to begin as one in which nothing happens: see `lease`.

    The round after it is as polite as another attempt at the same one would be.
    """
    base = crawl.settings.out
    while True:
        manifest = void_round(crawl.states[0].round, crawl.states, iso_seconds(time.time()))
        try:
            storage.publish(layout.manifest_file(base, manifest.round), to_json(base, manifest))
            crawl = crawl._replace(last=manifest)
            hand_on(base, manifest.round, [state.shard for state in crawl.states])
            return crawl
        except FileExistsError:  # the one from whom we take over was about to commit it
            crawl = crawl._replace(last=last_manifest(base))


class Hold(Protocol):
    """The right to work in a folder."""

    took_over: bool  # from a run of which nobody knows whether it has ended

    def confirm(self) -> None:
        """Raises CommitError when the folder is another run's by now."""


class Lock:
    """A flock goes with its process: nobody has it who is not alive.

    But the job of a driver that has died may go on elsewhere. Its lock file says so.
    """

    def __init__(self, took_over: bool) -> None:
        self.took_over = took_over

    def confirm(self) -> None:
        pass


@contextmanager
def locked(base: str, on_lost: Callable[[str], None], elsewhere: bool = False) -> Iterator[Hold]:
    """Hold the folder for this run: by a lock, or by a lease where there are no locks.

    `on_lost` is called, on another thread, with a line that says that it is another's.
    `elsewhere`: whether this run's jobs may live on when this process dies.
    """
    if storage.is_local(base):
        with locked_on_disk(base) as file:
            lock = Lock(took_over=bool(file.read()))
            if elsewhere:
                file.write("a job elsewhere is under way, or nobody has seen it end\n")
                file.flush()
            yield lock
            file.truncate(0)
        return
    if not re.fullmatch(r"gs://[^/]+(/[^/]+)*", base):
        raise UsageError(f"{base}: --out wants a local folder, or gs://BUCKET/FOLDER")
    from pipeline import lease

    with lease.held(lease.Lease(base, lease.SECONDS), on_lost) as own:
        yield own


@contextmanager
def locked_on_disk(base: str) -> Iterator[IO[str]]:
    """The lock goes with the process, however it dies. Yields the lock file, at its start."""
    try:
        os.makedirs(base, exist_ok=True)
        file = open(layout.lock_file(base), "a+")  # noqa: SIM115
        file.seek(0)
    except OSError as error:
        raise UsageError(f"cannot write to {base}: {error.strerror}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"another run is at work in {base}; wait for it, or choose another --out"
            ) from None
        yield file
