"""Things die in the middle of a crawl; `python -m tests.benchmarks.chaos` has more of it."""

from __future__ import annotations

import contextlib
from functools import partial

import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner

from pipeline import local_runner
from pipeline.driver import FINISHED
from tests import chaos
from tests.conftest import or_skip
from tests.crawling import run_crawl
from tests.test_resume import EXCLUDE, assert_whole

OTHERS_TEST = {"driver", "driver, bucket"}  # test_resume, test_remote_crawl


@pytest.mark.slow
@pytest.mark.parametrize("calamity", [name for name in chaos.CALAMITIES if name not in OTHERS_TEST])
def test_crawl_survives(calamity, tmp_path):
    @contextlib.contextmanager
    def told():
        yield chaos.survive(calamity, seed=1, folder=tmp_path, strikes=1)

    with or_skip(told()) as survived:
        assert survived.strikes
        chaos.check(survived)


def test_bundles_that_are_done_twice_leave_everything_once(demo_web, tmp_path, monkeypatch):
    # The engine throws away what a bundle gave, as if it had failed, and does it again.
    monkeypatch.setattr(local_runner, "FnApiRunner", partial(FnApiRunner, bundle_repeat=1))
    ended = run_crawl(tmp_path, demo_web.url(), exclude=(EXCLUDE,), delay=0.02, retries=0)
    assert ended.code == FINISHED
    assert_whole(tmp_path, demo_web.port)
    assert set(chaos.fetches(demo_web).values()) == {2}
    assert chaos.left_over(tmp_path) == set()
    assert min(demo_web.gaps(demo_web.hosts[0])) > 0.015
