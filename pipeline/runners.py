"""Runners: which one a job goes to, how wide it is, and what is told of one that failed."""

from __future__ import annotations

import re
from typing import Any

from apache_beam.options.pipeline_options import (
    FlinkRunnerOptions,
    PipelineOptions,
    SetupOptions,
    StandardOptions,
    WorkerOptions,
)
from apache_beam.runners.runner import create_runner

from pipeline.local_runner import (
    DEPTHS_OF_PROCESSES,
    count_processes,
    has_processes,
    local_runner,
)
from pipeline.manifest import CommitError
from pipeline.options import IN_PROCESS, JobFailed, Settings, UsageError
from pipeline.short_jobs import Options, tune

# As the last line of a traceback begins: `OSError: …`, `pipeline.manifest.CommitError: …`.
_RAISED = re.compile(r"^(?:Caused by: )?(?:[\w$]+\.)*([A-Z]\w*(?:Error|Exception)): (.+)$", re.M)
_WHERE = re.compile(r"\s*\[while running '[^']*'\]\s*$")


def options_of(settings: Settings) -> PipelineOptions:
    """Beam's options for a job. Raises UsageError where they contradict ours."""
    if not settings.is_remote:
        tune()
        return Options([*settings.beam])
    options = PipelineOptions([*settings.beam])
    # A worker imports our packages; of the driver's own main module it needs nothing.
    options.view_as(SetupOptions).save_main_session = False
    if options.view_as(StandardOptions).runner == "FlinkRunner":
        flink = options.view_as(FlinkRunnerOptions)
        if flink.parallelism is None or flink.parallelism < 0:
            # Flink's own default is 1, however many task slots stand idle.
            flink.parallelism = settings.fetchers or 1
    return options


def runner_of(options: PipelineOptions) -> Any:
    """The runner that was named. Raises UsageError for one that there is not."""
    name = options.view_as(StandardOptions).runner
    if name in (None, *IN_PROCESS):
        return local_runner(options)
    try:
        return create_runner(name)
    except (ValueError, ImportError, AttributeError) as error:
        raise UsageError(f"--runner {name}: {error}") from None


def default_fetchers(options: PipelineOptions) -> int:
    """As many fetch slots as the runner has workers."""
    if options.view_as(StandardOptions).runner in (None, *IN_PROCESS):
        return count_processes(options)
    parallelism = options.view_as(FlinkRunnerOptions).parallelism
    return max(1, int(parallelism or 0), int(options.view_as(WorkerOptions).num_workers or 0))


def default_depths(options: PipelineOptions) -> int:
    """As many depths a job as its start is worth."""
    return DEPTHS_OF_PROCESSES if has_processes(options) else 1


def failure_of(text: str) -> Exception:
    r"""What a job in other processes failed of, as if it had been raised here.

    >>> failure_of("Traceback …\nOSError: [Errno 28] No space left [while running 'x']\n")
    OSError(28, 'No space left')
    >>> failure_of("job 7 failed")
    JobFailed('job 7 failed')
    """
    raised = _RAISED.findall(text)
    if not raised:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return JobFailed(lines[0] if lines else "the runner gave no reason")
    # Runners wrap an error in others of their own, Java's are called Exception.
    own = [pair for pair in raised if pair[0].endswith("Error") and pair[0] != "RuntimeError"]
    kind, what = own[0] if own else raised[-1]
    what = _WHERE.sub("", what)
    of_system = re.match(r"\[Errno (\d+)\] (.*)", what)
    if of_system:
        return OSError(int(of_system[1]), of_system[2])
    return CommitError(what) if kind == "CommitError" else JobFailed(f"{kind}: {what}")


def was_run(settings: Settings, result: object) -> bool:
    """False for a template, of which Dataflow says that it has no job, and for a dry run."""
    return bool(getattr(result, "has_job", True)) and not settings.is_dry_run
