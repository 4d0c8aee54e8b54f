"""Runners elsewhere: what they are told, and what is told of a job that failed there."""

from __future__ import annotations

import pytest
from apache_beam.options.pipeline_options import (
    FlinkRunnerOptions,
    PipelineOptions,
    SetupOptions,
)

from pipeline.manifest import CommitError
from pipeline.options import JobFailed, Settings
from pipeline.runners import default_fetchers, failure_of, options_of
from pipeline.short_jobs import Options


@pytest.mark.parametrize(
    ("beam", "remote"),
    [
        ((), False),
        (("--runner=DirectRunner",), False),
        (("--runner", "FnApiRunner"), False),
        (("--direct_num_workers=2",), False),
        (("--runner=FlinkRunner",), True),
        (("--flink_master=[local]", "--runner", "FlinkRunner"), True),
        (("--runner=DataflowRunner", "--region=x"), True),
    ],
)
def test_settings_know_whether_a_job_leaves_this_process(beam, remote):
    settings = Settings.of(beam=beam)
    assert settings.is_remote is remote
    tuned = type(options_of(settings)) is Options  # Beam is patched for jobs in this process
    assert tuned is not remote


@pytest.mark.parametrize(
    ("words", "dry"),
    [
        ((), False),
        (("--dry_run=True",), True),
        (("--dry_run", "true"), True),
        (("--dry_run=False",), False),
    ],
)
def test_settings_know_a_dry_run(words, dry):
    assert Settings.of(beam=words).is_dry_run is dry


@pytest.mark.parametrize(
    ("words", "fetchers", "parallelism"),
    [
        ((), None, 1),
        ((), 4, 4),  # Flink's own default is 1 however many task slots there are
        (("--parallelism=2",), 4, 2),
        (("--parallelism=2",), None, 2),
    ],
)
def test_flink_is_as_wide_as_there_are_fetchers(words, fetchers, parallelism):
    options = options_of(Settings.of(beam=("--runner=FlinkRunner", *words), fetchers=fetchers))
    assert options.view_as(FlinkRunnerOptions).parallelism == parallelism
    assert default_fetchers(options) == parallelism


def test_remote_workers_are_sent_no_main_session():
    options = options_of(Settings.of(beam=("--runner=DataflowRunner",)))
    assert options.view_as(SetupOptions).save_main_session is False
    assert isinstance(options, PipelineOptions)


JAVA = """\
org.apache.flink.runtime.JobException: Recovery is suppressed by NoRestartBackoffTimeStrategy
\tat org.apache.flink.runtime.executiongraph.Execution.fail(Execution.java:1)
Caused by: java.lang.RuntimeError: Error received from SDK harness for instruction 4
Traceback (most recent call last):
  File "pipeline/commit.py", line 1, in commit_round
pipeline.manifest.CommitError: another run committed round 3 first [while running 'Commit']
"""


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("", JobFailed("the runner gave no reason")),
        ("\nNo TaskManager\nis there\n", JobFailed("No TaskManager")),
        ("RuntimeError: x\nValueError: of y", JobFailed("ValueError: of y")),
        ("RuntimeError: only this", JobFailed("RuntimeError: only this")),
        ("OSError: [Errno 28] No space left on device", OSError(28, "No space left on device")),
        ("PermissionError: [Errno 13] No entry: 'x'", OSError(13, "No entry: 'x'")),
        (JAVA, CommitError("another run committed round 3 first")),
    ],
)  # fmt: skip
def test_failure_of_a_job_elsewhere_is_as_if_it_were_raised_here(said, expected):
    failure = failure_of(said)
    assert type(failure) is type(expected)
    assert str(failure) == str(expected)
