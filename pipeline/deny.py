"""The file of --deny, as it is now."""

from __future__ import annotations

from pipeline.options import UsageError
from pipeline.seeds import read_lines
from transforms.deny import Denied, parse_deny


def read_deny(path: str) -> Denied:
    """What the file denies; nothing for "". Raises UsageError when it is no such file."""
    try:
        return parse_deny(read_lines(path, "the deny list")) if path else Denied()
    except ValueError as error:
        raise UsageError(f"--deny {path}, {error}") from None
