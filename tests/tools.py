"""Servers that tests start: those of Go are built once, by Go's own client, into .tools/."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
TOOLS = ROOT / ".tools"
UP_WITHIN = 60.0  # seconds


class MissingError(Exception):
    """There is no such program on this machine, and none can be had; says why."""


def go_program(module: str, version: str) -> Path:
    """A program built from its Go module. Raises MissingError."""
    name = module.rpartition("/")[2]
    program = TOOLS / f"{name}-{version}" / name
    if program.exists():
        return program
    go = shutil.which("go")
    if go is None:
        raise MissingError(f"{name} is built with Go, and there is no Go")
    # Built beside its place and then moved, for those who build it at the same time.
    TOOLS.mkdir(exist_ok=True)
    folder = TOOLS / f"building-{time.time_ns()}"
    done = subprocess.run(
        [go, "install", f"{module}@{version}"],
        env={**os.environ, "GOBIN": str(folder)},
        capture_output=True,
        text=True,
    )
    try:
        if done.returncode:
            raise MissingError(f"{module}@{version} can not be built: {done.stderr.strip()[-300:]}")
        program.parent.mkdir(exist_ok=True)
        (folder / name).replace(program)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return program


@contextlib.contextmanager
def server(*command: str, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A process that listens on a port, and is ended with all that it started."""
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PATH": path},
        cwd=ROOT,
        start_new_session=True,
    )
    try:
        give_up = time.monotonic() + UP_WITHIN
        while not is_open(port):
            if process.poll() is not None or time.monotonic() > give_up:
                raise RuntimeError(f"{command[0]} does not listen on port {port}")
            time.sleep(0.02)
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def is_open(port: int, host: str = "127.0.0.1") -> bool:
    with contextlib.suppress(OSError), socket.create_connection((host, port), 1):
        return True
    return False
