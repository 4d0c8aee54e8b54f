"""Where everything lies: the only place where a path is born.

    DIR/crawl.json                                      settings and seeds, fixed at start
    DIR/rounds/round-00000.json                         the manifest of a committed round
    DIR/KIND/round=00000/shard-00000-of-00016.parquet   one shard's file of one round
    DIR/KIND/round=00000/slot-00000-ATTEMPT….parquet    one fetch attempt's file of one round
    DIR/hosts/round=00000/slot-00000-ATTEMPT….waits     what it notes in case that it dies

A file that is computed from committed input has a name that any attempt would give it,
so a retried bundle writes the same thing again. What a fetch brought home can not be
had twice: those names carry the attempt, and the manifest says which attempt counts.
"""

from __future__ import annotations

FRONTIER = "frontier"
VISITED = "visited"
CONTENTS = "contents"
SKETCHES = "sketches"
PATTERNS = "patterns"
ASIDE = "aside"
HOSTS = "hosts"
PAGES = "pages"
LINKS = "links"
WARC = "warc"
RUNS = (VISITED, CONTENTS, SKETCHES, PATTERNS, ASIDE, HOSTS)  # until no state names them
KINDS = (FRONTIER, *RUNS, PAGES, LINKS, WARC)

WAITS = ".waits"  # the ending of what an attempt notes of its hosts, in case that it dies
BEGUN = ".begun"  # of what it notes where nothing can be appended
NOTES = (WAITS, BEGUN)
TEMPORARY = ".part"  # the ending of a local file that is still being written


def crawl_file(base: str) -> str:
    return f"{base}/crawl.json"


def lock_file(base: str) -> str:
    return f"{base}/lock"


def lease_file(base: str) -> str:
    """In an object store, where there is no lock: who is at work, and until when that holds."""
    return f"{base}/lease.json"


def stop_file(base: str) -> str:
    """While this file exists, fetching ends early: how a driver, or a person, asks it to."""
    return f"{base}/STOP"


def manifest_folder(base: str) -> str:
    return f"{base}/rounds"


def manifest_file(base: str, round_: int) -> str:
    return f"{base}/rounds/round-{round_:05d}.json"


def round_folder(base: str, kind: str, round_: int) -> str:
    return f"{base}/{kind}/round={round_:05d}"


def shard_file(base: str, kind: str, round_: int, shard: int, shards: int, part: str = "") -> str:
    """One shard's file. `part` tells apart several of one kind, e.g. "seeds" or "00001"."""
    suffix = f".{part}" if part else ""
    return f"{round_folder(base, kind, round_)}/shard-{shard:05d}-of-{shards:05d}{suffix}.parquet"


def attempt_file(
    base: str, kind: str, round_: int, slot: int, attempt: str, number: int, ending: str
) -> str:
    """The `number`-th file of one attempt at a fetch slot."""
    name = f"slot-{slot:05d}-{attempt}-{number:05d}.{ending}"
    return f"{round_folder(base, kind, round_)}/{name}"


def begun_file(base: str, round_: int, shard: int) -> str:
    """In an object store: says that fetching of this shard has begun, once at least."""
    return f"{round_folder(base, HOSTS, round_)}/shard-{shard:05d}{BEGUN}"


def waits_file(base: str, round_: int, slot: int, attempt: str) -> str:
    return attempt_file(base, HOSTS, round_, slot, attempt, 0, WAITS[1:])


def relative(base: str, path: str) -> str:
    """A path as the tables give it: readable wherever the folder is moved.

    >>> relative("/data/crawl", "/data/crawl/warc/round=00000/a.warc.gz")
    'warc/round=00000/a.warc.gz'
    """
    return path.removeprefix(base).lstrip("/")
