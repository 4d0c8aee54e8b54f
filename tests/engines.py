"""Where else a crawl can run than in this process, started for as long as a test needs it.

    with job_service() as beam:
        run_crawl(out, url, beam=beam)

Each gives the options that Beam is told. What can not be had here skips the test, with a reason.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
JOB_SERVER = "beam-runners-flink-2.2-job-server"
PRISM = "github.com/apache/beam/sdks/v2/go/cmd/prism"
UP_WITHIN = 60.0  # seconds


def beam_version() -> str:
    return re.search(r"^apache-beam.*==(.*)$", (ROOT / "requirements.txt").read_text(), re.M)[1]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def server(*command: str, port: int, log: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A process that listens on a port, and is ended with all that it started."""
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    with open(log or os.devnull, "wb") as said:
        process = subprocess.Popen(
            command, stdout=said, stderr=said, env={**os.environ, "PATH": path},
            cwd=ROOT, start_new_session=True,
        )  # fmt: skip
    try:
        give_up = time.monotonic() + UP_WITHIN
        while not is_open(port):
            if process.poll() is not None or time.monotonic() > give_up:
                raise RuntimeError(f"{command[0]} does not listen on port {port}")
            time.sleep(0.05)
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()


def is_open(port: int, host: str = "localhost") -> bool:
    with contextlib.suppress(OSError), socket.create_connection((host, port), 1):
        return True
    return False


@contextlib.contextmanager
def worker_pool() -> Iterator[tuple[str, ...]]:
    """Beam's pool of Python workers: a process for each that a runner asks for."""
    port = free_port()
    module = "apache_beam.runners.worker.worker_pool_main"
    with server(sys.executable, "-m", module, f"--service_port={port}", port=port):
        yield "--environment_type=EXTERNAL", f"--environment_config=localhost:{port}"


@contextlib.contextmanager
def job_service() -> Iterator[tuple[str, ...]]:
    """Beam's own portable job service, with workers in processes of their own."""
    port = free_port()
    module = "apache_beam.runners.portability.local_job_service_main"
    with (
        server(sys.executable, "-m", module, "-p", str(port), port=port),
        worker_pool() as environment,
    ):
        yield "--runner=PortableRunner", f"--job_endpoint=localhost:{port}", *environment


@contextlib.contextmanager
def prism() -> Iterator[tuple[str, ...]]:
    """Prism, Beam's portable runner in Go. It keeps slots and bundles apart as Flink does."""
    port = free_port()
    with (
        server(built_prism(), f"-job_port={port}", "-serve_http=false", port=port),
        worker_pool() as environment,
    ):
        yield "--runner=PortableRunner", f"--job_endpoint=localhost:{port}", *environment


def built_prism() -> str:
    """Prism of Beam's version, built by Go's own client (once)."""
    folder = ROOT / ".bench" / f"prism-{beam_version()}"
    if not (folder / "prism").exists():
        if not shutil.which("go"):
            pytest.skip("Prism is built by `go install`, and there is no Go")
        done = subprocess.run(
            ["go", "install", f"{PRISM}@v{beam_version()}"],
            env={**os.environ, "GOBIN": str(folder)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            pytest.skip(f"Prism can not be built: {done.stderr.strip().splitlines()[-1]}")
    return str(folder / "prism")


@contextlib.contextmanager
def flink_cluster() -> Iterator[int]:
    """A Flink cluster with two TaskManagers; yields its port."""
    for tool in ("java", "mvn"):
        if not shutil.which(tool):
            pytest.skip(f"Flink needs {tool}")
    ports = {f"FLINK_{name}PORT": str(free_port()) for name in ("", "RPC_", "POOL_")}
    environment = {**os.environ, **ports, "PYTHON": sys.executable}
    script = str(ROOT / "scripts" / "flink.sh")
    subprocess.run([script, "start"], env=environment, check=True, stdout=subprocess.DEVNULL)
    try:
        yield int(ports["FLINK_PORT"])
    finally:
        subprocess.run([script, "stop"], env=environment, check=True)


def flink_job_server() -> str:
    """Beam's job server for Flink, fetched by Maven (once)."""
    jar = ROOT / ".flink" / f"{JOB_SERVER}-{beam_version()}.jar"
    if not jar.exists():
        if not shutil.which("mvn") or not shutil.which("java"):
            pytest.skip("Beam's job server for Flink needs Java, and Maven to fetch it")
        done = subprocess.run(
            ["mvn", "-q", "-B", "dependency:copy", f"-DoutputDirectory={jar.parent}",
             f"-Dartifact=org.apache.beam:{JOB_SERVER}:{beam_version()}"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            pytest.skip(f"Maven has no {JOB_SERVER} {beam_version()}")
    return str(jar)


@contextlib.contextmanager
def flink() -> Iterator[tuple[str, ...]]:
    """A Flink cluster on loopback."""
    jar = flink_job_server()
    with flink_cluster() as port, worker_pool() as environment:
        yield (
            "--runner=FlinkRunner", f"--flink_master=localhost:{port}", "--parallelism=2",
            f"--flink_job_server_jar={jar}", *environment,
        )  # fmt: skip


@contextlib.contextmanager
def embedded_flink() -> Iterator[tuple[str, ...]]:
    """Flink within Beam's job server."""
    jar = flink_job_server()
    yield "--runner=FlinkRunner", "--flink_master=[local]", f"--flink_job_server_jar={jar}"


@contextlib.contextmanager
def two_processes() -> Iterator[tuple[str, ...]]:
    """The DirectRunner's engine with workers in processes of their own."""
    yield "--direct_running_mode=multi_processing", "--direct_num_workers=2"


ENGINES = (two_processes, job_service, prism, embedded_flink, flink)
