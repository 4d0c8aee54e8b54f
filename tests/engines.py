"""Where else a crawl can run than in this process, started for as long as a test needs it.

    with job_service() as beam:
        run_crawl(out, url, beam=beam)

Each gives the options that Beam is told, and raises MissingError where it can not be had.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

from tests.tools import ROOT, MissingError, free_port, go_program, server

PRISM = "github.com/apache/beam/sdks/v2/go/cmd/prism"
FLINK = ROOT / "scripts" / "flink.sh"


def beam_version() -> str:
    return re.search(r"^apache-beam.*==(.*)$", (ROOT / "requirements.txt").read_text(), re.M)[1]


@contextlib.contextmanager
def two_processes() -> Iterator[tuple[str, ...]]:
    """The DirectRunner's engine with workers in processes of their own."""
    yield "--direct_running_mode=multi_processing", "--direct_num_workers=2"


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
    program = go_program(PRISM, f"v{beam_version()}")
    with (
        server(str(program), f"-job_port={port}", "-serve_http=false", port=port),
        worker_pool() as environment,
    ):
        yield "--runner=PortableRunner", f"--job_endpoint=localhost:{port}", *environment


def flink_job_server() -> str:
    """Beam's job server for Flink, fetched by Maven (once)."""
    done = subprocess.run([FLINK, "job-server"], capture_output=True, text=True)
    if done.returncode:
        raise MissingError(done.stderr.strip())
    return done.stdout.strip()


@contextlib.contextmanager
def embedded_flink() -> Iterator[tuple[str, ...]]:
    """Flink within Beam's job server."""
    jar = flink_job_server()
    yield "--runner=FlinkRunner", "--flink_master=[local]", f"--flink_job_server_jar={jar}"


@contextlib.contextmanager
def flink_cluster(task_managers: int = 2) -> Iterator[dict[str, int]]:
    """A Flink cluster on loopback, on ports of its own, which it yields."""
    if not shutil.which("java"):
        raise MissingError("Flink needs Java")
    ports = {name: free_port() for name in ("FLINK_PORT", "FLINK_RPC_PORT", "FLINK_POOL_PORT")}
    told = {**ports, "PYTHON": sys.executable, "FLINK_TASK_MANAGERS": task_managers}
    environment = {**os.environ, **{name: str(value) for name, value in told.items()}}
    subprocess.run([FLINK, "start"], env=environment, check=True, stdout=subprocess.DEVNULL)
    try:
        yield ports
    finally:
        subprocess.run([FLINK, "stop"], env=environment, check=True)


@contextlib.contextmanager
def flink(task_managers: int = 2) -> Iterator[tuple[str, ...]]:
    """A Flink cluster on loopback."""
    jar = flink_job_server()
    with flink_cluster(task_managers) as ports:
        yield (
            "--runner=FlinkRunner",
            f"--flink_master=localhost:{ports['FLINK_PORT']}",
            f"--parallelism={task_managers}",
            f"--flink_job_server_jar={jar}",
            "--environment_type=EXTERNAL",
            f"--environment_config=localhost:{ports['FLINK_POOL_PORT']}",
        )
