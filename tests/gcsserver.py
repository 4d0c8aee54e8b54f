"""A server on loopback that speaks Google Cloud Storage, and keeps to its preconditions.

fake-gcs-server is built from its Go module. Its buckets are in memory, and gone with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.tools import free_port, go_program, server

MODULE, VERSION = "github.com/fsouza/fake-gcs-server", "v1.56.1"


@contextmanager
def serving() -> Iterator[str]:
    """Serve for the length of the block; yields host:port. Raises MissingError."""
    port = free_port()
    command = [str(go_program(MODULE, VERSION)), "-backend", "memory", "-scheme", "http"]
    command += ["-host", "127.0.0.1", "-port", str(port), "-log-level", "error"]
    with server(*command, port=port):
        yield f"127.0.0.1:{port}"
