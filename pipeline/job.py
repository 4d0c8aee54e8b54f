"""A Beam job: some depths of the crawl, chained, on a runner that is named."""

from __future__ import annotations

import logging
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.runner import create_runner

from pipeline import local_runner
from pipeline.depth import CrawlDepth
from pipeline.options import Settings, UsageError
from pipeline.short_jobs import Options, tune
from pipeline.stages import Stages, stages_of
from transforms.records import ShardState


def run_depths(settings: Settings, states: tuple[ShardState, ...], deadline: float | None) -> None:
    """Run the next depths from `states` to the end. Raises what the job raised."""
    tune()
    options = Options([*settings.beam])
    fetchers = settings.fetchers or default_fetchers(options)
    depths = settings.depths_per_job or default_depths(options)
    runner = runner_of(options)
    # From here a failure is raised, and told in one line; no need to log it as well.
    is_local = isinstance(runner, FnApiRunner)
    logging.getLogger("apache_beam").setLevel(logging.CRITICAL if is_local else logging.ERROR)
    pipeline = beam.Pipeline(runner=runner, options=options)
    build_depths(pipeline, stages_of(settings, fetchers, deadline), states, depths)
    pipeline.run().wait_until_finish()


def build_depths(
    pipeline: beam.Pipeline, stages: Stages, states: tuple[ShardState, ...], depths: int
) -> beam.PCollection:
    """The graph: so many depths, each reading the states that the last committed."""
    shards = pipeline | "Shards" >> beam.Create(states, reshuffle=False)
    for number in range(depths):
        shards = shards | f"Depth +{number}" >> CrawlDepth(stages)
    return shards


def runner_of(options: PipelineOptions) -> Any:
    """The runner that was named. Raises UsageError for one that there is not."""
    name = options.view_as(StandardOptions).runner
    if name in local_runner.NAMES:
        return local_runner.local_runner(options)
    try:
        return create_runner(name)
    except (ValueError, ImportError, AttributeError) as error:
        raise UsageError(f"--runner {name}: {error}") from None


def default_fetchers(options: PipelineOptions) -> int:
    """As many fetch slots as the runner has workers."""
    if options.view_as(StandardOptions).runner in local_runner.NAMES:
        return local_runner.count_processes(options)
    declared = options.get_all_options()
    return max(1, int(declared.get("parallelism") or 0), int(declared.get("num_workers") or 0))


def default_depths(options: PipelineOptions) -> int:
    """As many depths a job as its start is worth."""
    return local_runner.DEPTHS_OF_PROCESSES if local_runner.has_processes(options) else 1
