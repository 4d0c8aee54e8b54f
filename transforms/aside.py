"""Set aside: the URLs of closed patterns, in files of their own that no round opens.

Until their pattern opens again: when good pages turn out to have been found on its pages,
or when a person lifts it.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from transforms import storage
from transforms.evidence import read_patterns
from transforms.tables import ASIDE
from transforms.traps import UNKNOWN, any_of, is_closed


def read_aside(paths: Iterable[str]) -> pa.Table:
    tables = [ASIDE.empty_table(), *(storage.read_table(path).cast(ASIDE) for path in paths)]
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def write_aside(path: str, rows: pa.Table) -> str:
    return storage.write_table(path, rows, dictionaries=("host", "referrer", "pattern"))


def may_go_on(rows: pa.Table, patterns: tuple[str, ...], lifted: Iterable[str]) -> pa.Array:
    """Which of the rows are closed no more. `patterns` are runs of evidence, `lifted` regular
    expressions.
    """
    hosts, names = rows["host"].to_pylist(), rows["pattern"].to_pylist()
    known = read_patterns(patterns, hosts)
    is_lifted = any_of(lifted)
    free = (
        not is_closed(name, known.get(host, {}).get(name, UNKNOWN))
        or (is_lifted is not None and is_lifted.search(url) is not None)
        for host, name, url in zip(hosts, names, rows["url"].to_pylist(), strict=True)
    )
    return pa.array(free, pa.bool_())


def part_aside(
    path: str, aside: tuple[str, ...], patterns: tuple[str, ...], lifted: Iterable[str]
) -> tuple[pa.Table, tuple[str, ...]]:
    """The URLs that may be fetched after all, and the files of the others, which go to `path`."""
    rows = read_aside(aside)
    free = may_go_on(rows, patterns, lifted)
    released, rest = rows.filter(free), rows.filter(pc.invert(free))
    if not released.num_rows:
        return released, aside
    return released, (write_aside(path, rest),) if rest.num_rows else ()
