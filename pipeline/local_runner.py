"""Beam's own engine on this machine: in this process, or with processes for workers."""

from __future__ import annotations

import os
import shlex
import sys

from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner, worker_handlers
from apache_beam.transforms.environments import SubprocessSDKEnvironment

from pipeline.options import UsageError

# A job of processes takes a second to start, a depth that finds nothing to do 0.1 s.
DEPTHS_OF_PROCESSES = 4


def has_processes(options: PipelineOptions) -> bool:
    return bool(options.view_as(DirectOptions).direct_running_mode == "multi_processing")


def count_processes(options: PipelineOptions) -> int:
    """Worker processes, one for each CPU where Beam is told 0; 1 within this process."""
    if not has_processes(options):
        return 1
    return int(options.view_as(DirectOptions).direct_num_workers) or os.cpu_count() or 1


def local_runner(options: PipelineOptions) -> FnApiRunner:
    """The FnApiRunner; Beam's DirectRunner would first try to download another one.

    Raises UsageError for the running mode that loses elements.
    """
    direct = options.view_as(DirectOptions)
    if direct.direct_running_mode == "multi_threading":
        raise UsageError(
            "--direct_running_mode=multi_threading loses elements; use in_memory or "
            "multi_processing"
        )
    if not has_processes(options):
        return FnApiRunner()
    # Beam's name for this mode makes it start workers of its own choice: twice as slow to
    # start. And elements need not wait for a second until more have come.
    direct.direct_running_mode = "in_memory"
    worker_handlers.DATA_BUFFER_TIME_LIMIT_MS = 0
    # Beam starts it by a shell, which gives way: who dies with its parent must be its child.
    command = "exec " + shlex.join([sys.executable, "-m", "pipeline.worker"])
    return FnApiRunner(SubprocessSDKEnvironment.from_command_string(command))
