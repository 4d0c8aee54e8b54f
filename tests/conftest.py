"""What several tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import demoweb
from tests.webserver import WebServer


@pytest.fixture
def demo_web() -> Iterator[WebServer]:
    """The demo web, fresh: its log is empty, and what fails once has yet to fail."""
    with demoweb.serve_demo() as web:
        yield web
