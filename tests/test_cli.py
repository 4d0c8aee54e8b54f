"""The command line: bad input gets one line that says what to do, and the right exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from pipeline import cli
from pipeline.options import OPTIONS, Settings, duration, size
from tests.crawling import outcomes, run_crawl
from transforms import layout

QUICK = ["--delay", "0", "--allow-private", "--depth", "0"]


def run(capsys, *arguments: str) -> tuple[int, str]:
    code = cli.main(list(arguments))
    return code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["crawl"], "no seeds: name a URL or --input-file"),
        (["crawl", "mailto:a@b"], "'mailto:a@b' is no http or https URL"),
        (["crawl", "http://["], "'http://[' is no http or https URL"),
        (["crawl", "-i", "absent.txt"], "cannot read seeds from absent.txt: No such file"),
        (["crawl", "http://a/", "--nonsense"], "unknown option --nonsense"),
        (["crawl", "http://a/", "--delay", "soon"], "'soon' is not a duration such as 20s"),
        (["crawl", "http://a/", "--timeout", "0"], "'0' is no time at all; expected a duration"),
        (["crawl", "http://a/", "--max-body", "5 miles"], "is not a size such as 512KiB"),
        (["crawl", "http://a/", "--depth", "-1"], "is not a whole number of at least 0"),
        (["crawl", "http://a/", "--scope", "world"], "invalid choice: 'world'"),
        (["crawl", "http://a/", "--include", "("], "is not a regular expression"),
        (["crawl", "http://a/", "--header", "nocolon"], "is not a header such as"),
        (["crawl", "http://a/", "--user-agent", "123"], "has no name that robots.txt can address"),
        (["crawl", "http://a/", "--direct_running_mode=multi_threading"], "loses elements"),
        (["crawl", "http://a/", "--runner"], "--runner wants a value"),
        (["crawl", "http://a/", "--runner", "NoSuchRunner"], "NoSuchRunner"),
        (["status", "absent"], "absent holds no crawl"),
        (["destroy"], "invalid choice: 'destroy'"),
        ([], "required: COMMAND"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    code, err = run(capsys, *arguments)
    assert code == 2
    assert said in err
    assert err.count("\n") == 1
    assert not [path for path in tmp_path.glob("crawl/*") if path.name not in ("lock", "crawl.json")
                and path.is_file()]  # fmt: skip


def test_seed_file_names_the_line_at_fault(tmp_path, capsys):
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("# ours\nhttp://a/ # the first\n\nhttp://b:99999/\n")
    code, err = run(capsys, "crawl", "-i", str(seeds), "-o", str(tmp_path / "out"))
    assert (code, f"'http://b:99999/' is no http or https URL ({seeds}, line 4)" in err) == (
        2,
        True,
    )


def test_folder_of_others_is_refused_and_left_alone(tmp_path, capsys):
    (tmp_path / "thesis.txt").write_text("precious")
    code, err = run(capsys, "crawl", "http://a/", "-o", str(tmp_path))
    assert code == 2
    assert "is not empty and holds no crawl (there is thesis.txt" in err
    assert (tmp_path / "thesis.txt").read_text() == "precious"


def test_out_that_is_a_file_is_refused(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    code, err = run(capsys, "crawl", "http://a/", "-o", str(tmp_path / "file"))
    assert code == 2
    assert err.count("\n") == 1


def test_crawl_json_of_others_is_refused(tmp_path, capsys):
    (tmp_path / "crawl.json").write_text('{"name": "not ours"}')
    code, err = run(capsys, "crawl", "http://a/", "-o", str(tmp_path))
    assert (code, "crawl.json is no crawl's" in err) == (2, True)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (["--shards", "4"], "--shards was 16 when the crawl"),
        (["--scope", "any"], "--scope was host when the crawl"),
        (["--exclude", "x"], "--exclude was not set when the crawl"),
        (["http://other.example/"], "http://other.example/ is not among the seeds"),
    ],
)
def test_going_on_otherwise_is_refused(demo_web, tmp_path, capsys, changed, said):
    run_crawl(tmp_path, demo_web.url(), depth=0)
    code, err = run(capsys, "crawl", *changed, "-o", str(tmp_path))
    assert (code, said in err) == (2, True)


def test_going_on_with_the_same_words_is_fine(demo_web, tmp_path, capsys):
    run_crawl(tmp_path, demo_web.url(), depth=0)
    code, _ = run(capsys, "crawl", demo_web.url(), "-o", str(tmp_path), *QUICK)
    assert code == 0


def test_seed_that_does_not_resolve_is_said_and_fails(tmp_path, capsys):
    code, err = run(
        capsys, "crawl", "http://nowhere.invalid/", "-o", str(tmp_path), "--retries", "0"
    )
    assert code == 1
    assert "http://nowhere.invalid/: network_error: " in err
    assert "nowhere.invalid" in err.split("network_error: ")[1]


def test_seed_on_a_private_address_says_which_option_allows_it(demo_web, tmp_path, capsys):
    code, err = run(capsys, "crawl", demo_web.url(), "-o", str(tmp_path))
    assert code == 1
    assert "address_refused" in err
    assert "--allow-private" in err
    assert not demo_web.log


def test_second_run_on_one_folder_is_refused(demo_web, tmp_path, capsys):
    import fcntl

    with open(layout.lock_file(str(tmp_path)), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        code, err = run(capsys, "crawl", demo_web.url(), "-o", str(tmp_path))
    assert (code, "another run is at work" in err) == (2, True)


def test_full_disk_is_said_and_nothing_is_lost(demo_web, tmp_path):
    # A limit on file size stands for the full disk: the write fails in the same place.
    command = [sys.executable, "-m", "pipeline", "crawl", demo_web.url(), "-o", str(tmp_path)]
    # The first round fits, so that the write that fails is one of a worker's.
    script = f"ulimit -f 12; exec {' '.join(command)} --delay 0 --allow-private --retries 0"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "run the same command to go on" in done.stderr
    assert done.stderr.strip().splitlines()[-1].startswith("beamcrawl: ")
    assert "Traceback" not in done.stderr
    run_crawl(tmp_path, retries=0)
    assert demo_web.url("/topics/links") in outcomes(tmp_path)


def test_help_names_every_option(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["crawl", "--help"])
    assert stop.value.code == 0
    said = capsys.readouterr().out
    for option in OPTIONS:
        assert all(flag in said for flag in option.flags.split())


def test_help_and_status_do_without_beam(tmp_path):
    program = "import sys; from pipeline.cli import main; main(['status', {!r}]); " \
        "sys.exit('apache_beam' in sys.modules)"  # fmt: skip
    done = subprocess.run([sys.executable, "-c", program.format(str(tmp_path))], check=False)
    assert done.returncode == 0


def test_status_shows_every_fate(demo_web, tmp_path, capsys):
    run_crawl(tmp_path, demo_web.url(), depth=1, exclude=("/(slow|failing|busy|big)$",))
    capsys.readouterr()
    assert cli.main(["status", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    manifest = json.loads(sorted(tmp_path.glob("rounds/*.json"))[-1].read_text())
    for name in ("discovered", "fetched", "refused", "waiting"):
        assert f"{manifest['totals'][name]:,}" in said
    assert "robots_denied" in said


def test_beam_options_go_to_beam():
    ours, beam = cli.split_beam_options(
        ["crawl", "http://a/", "--runner", "FlinkRunner", "-o", "x", "--flink_master=[local]"]
    )
    assert ours == ["crawl", "http://a/", "-o", "x"]
    assert beam == ["--runner", "FlinkRunner", "--flink_master=[local]"]


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("1.5s", 1.5), ("30m", 1800), ("2h", 7200), ("7d", 604800)]
)
def test_duration_takes_units(text, seconds):
    assert duration(text) == seconds


@pytest.mark.parametrize(("text", "count"), [("1", 1), ("512KiB", 524288), ("5 MiB", 5242880)])
def test_size_takes_units(text, count):
    assert size(text) == count


def test_settings_hold_every_option():
    assert {option.name for option in OPTIONS} <= set(Settings.__dataclass_fields__)


def test_cli_is_installed_as_a_command():
    command = os.path.join(os.path.dirname(sys.executable), "beamcrawl")
    if not os.path.exists(command):
        pytest.skip("beamcrawl is not installed in this environment (./run_tests.sh does it)")
    assert "beamcrawl 0." in subprocess.check_output([command, "--version"], text=True)
