"""The head of an HTTP response: from bytes as received to header values."""

from __future__ import annotations


def parse_head(head: bytes) -> dict[str, list[str]]:
    r"""Header values by lower-case name, each name's in the order received.

    Values that are not UTF-8 are read as Latin-1, so nothing is lost and nothing raises.
    Obsolete line folding is joined with a space (RFC 9112 §5.2).

    >>> parse_head(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    {'content-type': ['text/html']}
    """
    try:
        text = head.decode()
    except UnicodeDecodeError:
        text = head.decode("latin-1")
    headers: dict[str, list[str]] = {}
    last: list[str] | None = None
    for line in text.replace("\r\n", "\n").split("\n")[1:]:
        if line[:1] in (" ", "\t"):
            if last:
                last[-1] = f"{last[-1]} {line.strip()}"
            continue
        name, colon, value = line.partition(":")
        if colon:
            last = headers.setdefault(name.strip().lower(), [])
            last.append(value.strip())
    return headers


def first(headers: dict[str, list[str]], name: str) -> str:
    values = headers.get(name)
    return values[0] if values else ""
