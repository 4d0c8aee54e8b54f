"""What several tests share."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import NamedTuple, TypeVar

import pytest
from hypothesis import HealthCheck, settings

from tests import demoweb, gcsserver, tools
from tests.gcsproxy import Proxy, proxying
from tests.webserver import WebServer

T = TypeVar("T")

# Speed is not what a test shows: the machine may be busy.
settings.register_profile("beamcrawl", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("beamcrawl")


def pytest_sessionfinish() -> None:
    """What a crawl in this process froze is let go, or DuckDB counts it as leaks at the end."""
    gc.unfreeze()


@contextmanager
def or_skip(server: AbstractContextManager[T]) -> Iterator[T]:
    """Enter it, or skip the test, and say why, where it can not be had."""
    with ExitStack() as stack:
        try:
            entered = stack.enter_context(server)
        except tools.MissingError as missing:
            pytest.skip(str(missing))
        yield entered


@pytest.fixture
def demo_web() -> Iterator[WebServer]:
    """The demo web, fresh: its log is empty, and what fails once has yet to fail."""
    with demoweb.serve_demo() as web:
        yield web


class Bucket(NamedTuple):
    """An empty bucket, and the proxy through which it is reached."""

    base: str  # gs://…
    proxy: Proxy


@pytest.fixture(scope="session")
def gcs_server() -> Iterator[str]:
    with or_skip(gcsserver.serving()) as address:
        yield address


@pytest.fixture
def bucket(gcs_server, monkeypatch, request) -> Iterator[Bucket]:
    """Object storage, empty. What may pass is tried again at once, not after a second."""
    from transforms import gcs

    with proxying(gcs_server) as proxy:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
        monkeypatch.setattr(gcs, "RETRY", gcs.RETRY.with_delay(0.01, 0.05).with_timeout(5.0))
        gcs.client.cache_clear()
        name = f"bucket-{abs(hash(request.node.nodeid)):x}"
        gcs.client().create_bucket(name)
        proxy.log.clear()
        yield Bucket(f"gs://{name}", proxy)
        gcs.client.cache_clear()
