"""The tables, column by column, as they lie on disk and (packed) cross a shuffle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

FINGERPRINT = pa.uint64()
BLOCK_ROWS = 10_000  # about 0.7 MB of candidates; some runners want no element above 10 MB
WORD = pa.dictionary(pa.int32(), pa.string())

FRONTIER = pa.schema(
    [
        ("url", pa.string()),
        ("fingerprint", FINGERPRINT),
        ("host", WORD),
        ("depth", pa.int32()),
        ("referrer", pa.string()),
        ("seed", pa.bool_()),
        ("doubt", pa.int8()),
    ]
)

ASIDE = FRONTIER.append(pa.field("pattern", WORD))  # which is closed

VISITED = pa.schema([("fingerprint", FINGERPRINT), ("refused", WORD)])

# Contents, with the URL of the first that had each, and gists, with null.
CONTENTS = pa.schema([("fingerprint", FINGERPRINT), ("url", pa.string())])

SKETCHES = pa.schema(
    [
        ("fingerprint", FINGERPRINT),  # the band: not distinct
        ("sketch", FINGERPRINT),
        ("url", pa.string()),
    ]
)

PAGES = pa.schema(
    [
        ("url", pa.string()),
        ("host", WORD),
        ("depth", pa.int32()),
        ("outcome", WORD),
        ("status", pa.int32()),
        ("content_type", WORD),
        ("bytes", pa.int64()),
        ("fetched_at", pa.timestamp("ms", tz="UTC")),
        ("elapsed_ms", pa.int32()),
        ("url_fingerprint", FINGERPRINT),
        ("fingerprint", FINGERPRINT),  # of the body
        ("text_fingerprint", FINGERPRINT),  # null: no HTML, or too little text to compare
        ("sketch", FINGERPRINT),  # null: not asked for, or too little text
        ("duplicate_of", pa.string()),
        ("near_duplicate_of", pa.string()),
        ("canonical", pa.string()),  # what the page says is its URL
        ("redirect_to", pa.string()),
        ("title", pa.string()),
        ("note", WORD),  # soft_404.NOTES
        ("doubt", pa.int8()),  # traps: why its URL was in doubt
        ("noindex", pa.bool_()),
        ("referrer", pa.string()),
        ("error", pa.string()),
        ("etag", pa.string()),
        ("last_modified", pa.string()),
        ("warc_file", WORD),
        ("warc_offset", pa.int64()),
    ]
)

LINKS = pa.schema(
    [
        ("source", WORD),
        ("target", WORD),
        ("kind", WORD),
        ("refused", WORD),  # the filter's reason; null: admitted
        ("depth", pa.int32()),  # of the target, by this link
        ("source_fingerprint", FINGERPRINT),
        ("target_fingerprint", FINGERPRINT),
        ("seed", pa.bool_()),  # the target of a seed's redirect
    ]
)

# A link on its way to the shard that owns its target.
CANDIDATES = pa.schema(
    [
        ("url", pa.string()),  # null when refused: only its fingerprint is remembered
        ("fingerprint", FINGERPRINT),
        ("refused", WORD),
        ("depth", pa.int32()),
        ("referrer", pa.string()),
        ("source_fingerprint", FINGERPRINT),
        ("seed", pa.bool_()),
        ("dull", pa.bool_()),  # found on no page that told anything new
    ]
)


def words(values: Iterable[str | None]) -> pa.Array:
    """Strings that repeat, as a dictionary array."""
    return pa.array(values, pa.string()).dictionary_encode()


def complete(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table of an earlier version, with nulls for the columns that came later."""
    for field in schema:
        if field.name not in table.schema.names:
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    return table.select(schema.names).cast(schema)


def pack(table: pa.Table) -> bytes:
    """A table as the bytes of one element: one encode, however many rows."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def pack_in_blocks(table: pa.Table) -> Iterator[bytes]:
    """A table as elements of at most BLOCK_ROWS rows; none for no rows."""
    for start in range(0, table.num_rows, BLOCK_ROWS):
        whole = table.num_rows <= BLOCK_ROWS  # a slice costs as much as packing a few rows
        yield pack(table if whole else table.slice(start, BLOCK_ROWS))


def unpack(packed: Iterable[bytes], schema: pa.Schema) -> pa.Table:
    """The rows of all packed tables, in the order given; an empty table for none."""
    options = pa.ipc.IpcReadOptions(use_threads=False)
    tables = [pa.ipc.open_stream(block, options=options).read_all() for block in packed]
    if not tables:
        return schema.empty_table()
    return pa.concat_tables(tables).unify_dictionaries()
