"""A Beam job: some depths of the crawl, chained, on a runner that is named."""

from __future__ import annotations

import logging

import apache_beam as beam

from pipeline.depth import CrawlDepth
from pipeline.local_runner import has_processes
from pipeline.options import Settings
from pipeline.runners import (
    default_depths,
    default_fetchers,
    failure_of,
    options_of,
    runner_of,
    was_run,
)
from pipeline.stages import Stages, stages_of
from transforms.records import ShardState


def run_depths(settings: Settings, states: tuple[ShardState, ...], deadline: float | None) -> bool:
    """Run the next depths from `states` to the end.

    Returns False when the runner does not run them now: it made a template, or only
    checked the graph. Raises what the job raised.
    """
    options = options_of(settings)
    fetchers = settings.fetchers or default_fetchers(options)
    depths = settings.depths_per_job or default_depths(options)
    in_process = not settings.is_remote and not has_processes(options)
    runner = runner_of(options)
    # A failure is raised, and told in one line; no need to log it as well. What workers in
    # other processes have to say comes by the root's logger.
    logging.getLogger("apache_beam" if in_process else None).setLevel(logging.CRITICAL)
    pipeline = beam.Pipeline(runner=runner, options=options)
    build_depths(pipeline, stages_of(settings, fetchers, deadline), states, depths)
    if in_process:
        pipeline.run().wait_until_finish()
        return True
    try:
        result = pipeline.run()
        result.wait_until_finish()
    except Exception as error:
        raise failure_of(str(error)) from error
    return was_run(settings, result)


def build_depths(
    pipeline: beam.Pipeline, stages: Stages, states: tuple[ShardState, ...], depths: int
) -> beam.PCollection:
    """The graph: so many depths, each reading the states that the last committed."""
    shards = pipeline | "Shards" >> beam.Create(states, reshuffle=False)
    for number in range(depths):
        shards = shards | f"Depth +{number}" >> CrawlDepth(stages)
    return shards
