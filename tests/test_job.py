"""A Beam job: the graph is the recipe that `CrawlDepth` tells, on the runner that was named."""

from __future__ import annotations

import os
import re

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import DebugOptions, DirectOptions, PipelineOptions
from apache_beam.pipeline import PipelineVisitor
from apache_beam.runners.portability.fn_api_runner import FnApiRunner

from pipeline.depth import CrawlDepth
from pipeline.job import build_depths
from pipeline.options import Settings, UsageError
from pipeline.runners import default_depths, default_fetchers, runner_of
from pipeline.short_jobs import Options
from pipeline.stages import stages_of
from transforms.records import ShardState

STATES = tuple(ShardState(shard, 0) for shard in range(2))


class _Labels(PipelineVisitor):
    """The labels of all steps, in the order in which they were added."""

    def __init__(self) -> None:
        self.labels: list[str] = []

    def enter_composite_transform(self, transform_node) -> None:
        self.labels.append(transform_node.full_label)

    def visit_transform(self, transform_node) -> None:
        self.labels.append(transform_node.full_label)


def labels_of(tmp_path, depths: int = 1) -> list[str]:
    settings = Settings.of(("http://a.example/",), out=str(tmp_path), shards=2)
    pipeline = beam.Pipeline(runner=FnApiRunner(), options=PipelineOptions([]))
    build_depths(pipeline, stages_of(settings, 2, None), STATES, depths)
    visitor = _Labels()
    pipeline.visit(visitor)
    return visitor.labels


def steps_below(labels: list[str], depth: str) -> list[str]:
    """The steps that stand right below a depth."""
    return [
        label.split("/")[1] for label in labels if re.fullmatch(f"{re.escape(depth)}/[^/]+", label)
    ]


def told() -> list[str]:
    """The steps as the docstring of `CrawlDepth` has them."""
    return re.findall(r"^ *\d+\. ([A-Z][A-Za-z ]*?)  ", CrawlDepth.__doc__, re.MULTILINE)


def test_graph_of_a_depth_has_the_steps_that_its_docstring_tells(tmp_path):
    assert len(told()) == 11
    steps = [step for step in steps_below(labels_of(tmp_path), "Depth +0") if step in told()]
    assert steps == told()


def test_graph_of_a_depth_has_no_step_beside_them_but_the_key(tmp_path):
    steps = set(steps_below(labels_of(tmp_path), "Depth +0"))
    assert steps - set(told()) <= {"By shard", "Flatten", "GroupParts"}


@pytest.mark.parametrize("depths", [1, 3])
def test_graph_has_as_many_depths_as_are_to_be_chained(tmp_path, depths):
    labels = labels_of(tmp_path, depths)
    assert [label for label in labels if re.fullmatch(r"Depth \+\d+", label)] == [
        f"Depth +{number}" for number in range(depths)
    ]


def test_building_the_graph_writes_nothing(tmp_path):
    labels_of(tmp_path, 2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--runner=DirectRunner"],
        ["--runner=FnApiRunner"],
        ["--direct_running_mode=multi_processing", "--direct_num_workers=2"],
    ],
)
def test_runner_of_the_direct_runner_is_its_own_engine(words):
    assert type(runner_of(PipelineOptions(words))) is FnApiRunner


@pytest.mark.parametrize("words", [[], ["--runner=DirectRunner"]])
def test_runner_of_a_mode_that_loses_elements_is_refused(words):
    options = PipelineOptions([*words, "--direct_running_mode=multi_threading"])
    with pytest.raises(UsageError, match="loses elements; use in_memory or multi_processing"):
        runner_of(options)


def test_runner_of_another_name_is_that_runner():
    assert type(runner_of(PipelineOptions(["--runner=FlinkRunner"]))).__name__ == "FlinkRunner"


@pytest.mark.parametrize("name", ["NoSuchRunner", "no.such.module.Runner"])
def test_runner_of_no_runner_is_bad_usage(name):
    with pytest.raises(UsageError, match=f"--runner {name}: "):
        runner_of(PipelineOptions([f"--runner={name}"]))


@pytest.mark.parametrize(
    ("words", "fetchers"),
    [
        ([], 1),
        (["--direct_num_workers=4"], 1),  # in_memory: there is one worker
        (["--direct_running_mode=multi_processing", "--direct_num_workers=4"], 4),
        (["--runner=FlinkRunner", "--parallelism=8"], 8),
        (["--runner=FlinkRunner", "--parallelism=-1"], 1),
        (["--runner=DataflowRunner", "--num_workers=5"], 5),
    ],
)
def test_default_fetchers_are_the_workers_of_the_runner(words, fetchers):
    assert default_fetchers(PipelineOptions(words)) == fetchers


def test_default_fetchers_of_a_worker_for_each_cpu():
    words = ["--direct_running_mode=multi_processing", "--direct_num_workers=0"]
    assert default_fetchers(PipelineOptions(words)) == os.cpu_count()


@pytest.mark.parametrize(
    ("words", "depths"),
    [([], 1), (["--direct_running_mode=multi_processing"], 4), (["--runner=FlinkRunner"], 1)],
)
def test_default_depths_of_a_job_are_what_its_start_is_worth(words, depths):
    assert default_depths(PipelineOptions(words)) == depths


def test_options_parsed_once_are_each_jobs_own():
    first, second = Options(["--experiments=a"]), Options(["--experiments=a"])
    first.view_as(DebugOptions).experiments.append("b")
    first.view_as(DirectOptions).direct_num_workers = 7
    assert first.view_as(DebugOptions).experiments == ["a", "b"]
    assert second.view_as(DebugOptions).experiments == ["a"]
    assert first.get_all_options()["direct_num_workers"] == 7
    assert second.get_all_options() == PipelineOptions(["--experiments=a"]).get_all_options()
