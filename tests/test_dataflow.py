"""Dataflow, as far as it can be checked without it: the graph, the package, the pickled DoFns."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability.api import beam_runner_api_pb2
from apache_beam.runners.dataflow.dataflow_runner import DataflowRunner
from apache_beam.runners.portability.fn_api_runner import FnApiRunner

from pipeline.cli import main
from pipeline.job import build_depths
from pipeline.options import OPTIONS, Settings
from pipeline.stages import stages_of
from tests import engines
from transforms.records import ShardState

ROOT = Path(__file__).parent.parent
STATES = tuple(ShardState(shard, 0) for shard in range(4))
CLOUD = ("--project=project", "--region=europe-west1", "--temp_location=gs://bucket/tmp")

# What a worker does first, in a Python that holds nothing but what it was told to install.
UNPICKLE = """
import sys
from apache_beam.internal import pickler
from apache_beam.portability.api import beam_runner_api_pb2 as api

pipeline = api.Pipeline.FromString(open(sys.argv[1], "rb").read())
for transform in pipeline.components.transforms.values():
    if transform.spec.urn == "beam:transform:pardo:v1":
        payload = api.ParDoPayload.FromString(transform.spec.payload)
        do_fn = pickler.loads(payload.do_fn.payload)[0]
        print(type(do_fn).__module__, sys.modules[type(do_fn).__module__].__file__)
"""


def pipeline_of(out: str, depths: int = 1) -> beam.Pipeline:
    settings = Settings.of(("http://a.example/",), out=out, shards=4, include=("/a",))
    pipeline = beam.Pipeline(runner=FnApiRunner(), options=PipelineOptions([]))
    build_depths(pipeline, stages_of(settings, 2, None), STATES, depths)
    return pipeline


@pytest.mark.slow
def test_dry_run_builds_the_graph_and_leaves_the_crawl_as_it_was(tmp_path, capsys):
    words = ["crawl", "http://a.example/", "-o", str(tmp_path), "--depths-per-job", "3"]
    code = main([*words, "--runner=DataflowRunner", *CLOUD, "--dry_run=True"])
    said = capsys.readouterr()
    assert (code, said.err) == (0, "beamcrawl: the job was not run, as asked\n")
    assert not (tmp_path / "rounds").exists()


def test_template_holds_the_depths_and_the_workers_package(tmp_path):
    template = tmp_path / "template.json"
    (tmp_path / "staging").mkdir()
    options = PipelineOptions(
        [
            "--runner=DataflowRunner",
            *CLOUD,
            f"--staging_location={tmp_path}/staging",
            f"--template_location={template}",
            "--no_auth",
            "--num_workers=4",
            "--sdk_location=container",
            f"--setup_file={ROOT / 'setup.py'}",
        ]
    )
    result = DataflowRunner().run_pipeline(pipeline_of("gs://bucket/crawl", depths=3), options)
    assert not result.has_job  # nothing was sent anywhere
    assert json.loads(template.read_text())["environment"]["workerPools"][0]["numWorkers"] == 4
    [staged] = (tmp_path / "staging").rglob("pipeline.pb")
    graph = beam_runner_api_pb2.Pipeline.FromString(staged.read_bytes())
    names = {transform.unique_name for transform in graph.components.transforms.values()}
    for depth in range(3):
        for step in ("Deal", "Spread", "Fetch", "Record", "Settle", "Commit"):
            assert any(f"Depth +{depth}/" in name and step in name for name in names)
    assert list((tmp_path / "staging").rglob("workflow.tar.gz"))


def test_result_of_a_template_counts_as_not_run():
    from pipeline.job import was_run

    class Template:
        has_job = False

    class Job:
        has_job = True

    assert not was_run(Settings.of(), Template())
    assert was_run(Settings.of(), Job())
    assert was_run(Settings.of(), object())  # Flink's has no such word
    assert not was_run(Settings.of(beam=("--dry_run=True",)), object())


@pytest.mark.slow
def test_worker_in_a_fresh_environment_unpickles_every_dofn(tmp_path):
    sdist = [sys.executable, "setup.py", "-q", "egg_info", "-e", str(tmp_path)]
    subprocess.run([*sdist, "sdist", "-d", str(tmp_path)], cwd=ROOT, check=True)
    [package] = tmp_path.glob("beamcrawl-*.tar.gz")
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", str(package)], check=True)

    proto = pipeline_of("gs://bucket/crawl").to_runner_api()
    (tmp_path / "pipeline.pb").write_bytes(proto.SerializeToString())
    done = subprocess.run(
        [python, "-c", UNPICKLE, str(tmp_path / "pipeline.pb")],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ours = [
        line for line in done.stdout.splitlines() if line.startswith(("pipeline", "transforms"))
    ]
    assert len({line.split()[0] for line in ours}) >= 9  # stages with a DoFn of their own
    assert all(str(tmp_path / "venv") in line for line in ours)


def test_launcher_takes_a_templates_parameters_for_the_command_line():
    from deploy.launch import words_of

    parameters = ["--seeds=http://a/", "--robots=false", "--allow_private=true", "--out=gs://b/c"]
    expected = ["crawl", "http://a/", "--no-robots", "--allow-private", "--out=gs://b/c"]
    assert words_of(parameters) == expected


def test_template_names_options_that_there_are():
    document = json.loads((ROOT / "deploy" / "template.json").read_text())
    names = {parameter["name"] for parameter in document["parameters"]}
    assert names <= {option.name for option in OPTIONS} | {"seeds"}


def test_image_has_the_beam_of_the_requirements():
    assert f"_sdk:{engines.beam_version()}\n" in (ROOT / "deploy" / "Dockerfile").read_text()
