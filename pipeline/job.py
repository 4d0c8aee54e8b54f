"""A Beam job: some depths of the crawl, chained, on a runner that is named."""

from __future__ import annotations

import logging
import os
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions, StandardOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.runner import create_runner

from pipeline.depth import CrawlDepth
from pipeline.options import Settings, UsageError
from pipeline.short_jobs import Options, tune
from pipeline.stages import stages_of
from transforms.records import ShardState

IN_PROCESS = (None, "DirectRunner", "FnApiRunner")  # names of Beam's engine in this process


def run_depths(settings: Settings, states: tuple[ShardState, ...], deadline: float | None) -> None:
    """Run the next depths from `states` to the end. Raises what the job raised."""
    tune()
    options = Options([*settings.beam])
    fetchers = settings.fetchers or default_fetchers(options)
    runner = runner_of(options)
    # In this process a failure is raised, and told in one line; no need to log it as well.
    in_process = isinstance(runner, FnApiRunner)
    logging.getLogger("apache_beam").setLevel(logging.CRITICAL if in_process else logging.ERROR)
    pipeline = beam.Pipeline(runner=runner, options=options)
    build_depths(pipeline, settings, states, fetchers, deadline)
    pipeline.run().wait_until_finish()


def build_depths(
    pipeline: beam.Pipeline,
    settings: Settings,
    states: tuple[ShardState, ...],
    fetchers: int,
    deadline: float | None,
) -> beam.PCollection:
    """The graph: `--depths-per-job` depths, each reading the states that the last committed."""
    stages = stages_of(settings, fetchers, deadline)
    shards = pipeline | "Shards" >> beam.Create(states, reshuffle=False)
    for number in range(settings.depths_per_job or 1):
        shards = shards | f"Depth +{number}" >> CrawlDepth(stages)
    return shards


def runner_of(options: PipelineOptions) -> Any:
    """The runner that was named; for the DirectRunner its own engine, the FnApiRunner.

    Beam's DirectRunner would first try to download another one. Raises UsageError for
    the running mode that loses elements.
    """
    name = options.view_as(StandardOptions).runner
    if name not in IN_PROCESS:
        try:
            return create_runner(name)
        except (ValueError, ImportError, AttributeError) as error:
            raise UsageError(f"--runner {name}: {error}") from None
    if options.view_as(DirectOptions).direct_running_mode == "multi_threading":
        raise UsageError(
            "--direct_running_mode=multi_threading loses elements; use in_memory or "
            "multi_processing"
        )
    return FnApiRunner()


def default_fetchers(options: PipelineOptions) -> int:
    """As many fetch slots as the runner has workers."""
    direct = options.view_as(DirectOptions)
    if direct.direct_running_mode == "multi_processing":
        return int(direct.direct_num_workers) or os.cpu_count() or 1  # as Beam reads a 0
    if options.view_as(StandardOptions).runner in IN_PROCESS:
        return 1
    declared = options.get_all_options()
    return max(1, int(declared.get("parallelism") or 0), int(declared.get("num_workers") or 0))
