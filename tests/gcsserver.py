"""A server on loopback that speaks Google Cloud Storage, and keeps to its preconditions.

fake-gcs-server is built once from its Go module into .tools/. Its buckets are in memory,
and gone with it.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MODULE = "github.com/fsouza/fake-gcs-server"
VERSION = "v1.56.1"
TOOLS = Path(__file__).parent.parent / ".tools"


class MissingError(Exception):
    """There is no such server on this machine, and none can be built; says why."""


def build() -> Path:
    """The server's program. Raises MissingError."""
    program = TOOLS / VERSION / "fake-gcs-server"
    if program.exists():
        return program
    go = shutil.which("go")
    if go is None:
        raise MissingError("fake-gcs-server is built with Go, and there is no Go")
    # Built beside its place and then moved, for those who build it at the same time.
    TOOLS.mkdir(exist_ok=True)
    folder = TOOLS / f"building-{time.time_ns()}"
    done = subprocess.run(
        [go, "install", f"{MODULE}@{VERSION}"],
        env={**os.environ, "GOBIN": str(folder)},
        capture_output=True,
        text=True,
    )
    try:
        if done.returncode:
            raise MissingError(f"{MODULE}@{VERSION} can not be built: {done.stderr.strip()[-300:]}")
        program.parent.mkdir(exist_ok=True)
        (folder / program.name).replace(program)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return program


@contextmanager
def serving() -> Iterator[str]:
    """Serve for the length of the block; yields host:port."""
    port = free_port()
    command = [str(build()), "-backend", "memory", "-scheme", "http", "-host", "127.0.0.1"]
    command += ["-port", str(port), "-log-level", "error"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until_open(port, server)
        yield f"127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_open(port: int, server: subprocess.Popen[bytes]) -> None:
    for _ in range(500):
        assert server.poll() is None, "fake-gcs-server ended"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError("fake-gcs-server does not answer")
