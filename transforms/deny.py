"""Deny: hosts and patterns that a person keeps in a file, one a line.

example.com              that host, and all that end in .example.com
/[?&]action=edit/        a regular expression between slashes, searched in the URL as found
# a comment
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from transforms.urls import host_of, parse_seed

_HOST = re.compile(r"[^/?#@\s\\:*]+|\[[0-9A-Fa-f:.]+\]")


class Denied(NamedTuple):
    hosts: frozenset[str] = frozenset()
    patterns: tuple[str, ...] = ()


def parse_deny(lines: Iterable[str]) -> Denied:
    """Raises ValueError that names the first line which is neither host nor expression."""
    hosts: set[str] = set()
    patterns: dict[str, None] = {}
    for number, line in enumerate(lines, 1):
        text = line.partition(" #")[0].strip()
        if not text or text.startswith("#"):
            continue
        if len(text) > 2 and text.startswith("/") and text.endswith("/"):
            try:
                re.compile(text[1:-1])
            except re.error as error:
                raise ValueError(f"line {number}: {text} is no expression: {error}") from None
            patterns[text[1:-1]] = None
            continue
        url = parse_seed(f"http://{text}/") if _HOST.fullmatch(text) else None
        if url is None:
            raise ValueError(
                f"line {number}: {text!r} is neither a host such as example.com "
                "nor a regular expression between slashes"
            )
        hosts.add(host_of(url))
    return Denied(frozenset(hosts), tuple(patterns))


def denies_host(hosts: frozenset[str], host: str) -> bool:
    """Whether a host, or a domain that it stands under, is in the list.

    >>> denies_host(frozenset({"a.example"}), "www.a.example")
    True
    """
    while host:
        if host in hosts:
            return True
        host = host.partition(".")[2]
    return False
