"""Beam without the parts that a crawl on a local disk never uses.

Beam imports its connectors to MongoDB, BigQuery, Pub/Sub, Dataflow, S3 and Google Cloud
Storage as long as it can; where it cannot, it does without. With them its import costs
1.1 s of CPU, without 0.35 s. pandas, which pyarrow takes along where it finds it, is
another 0.2 s.
"""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from pipeline.later import stand_in

_CONNECTORS = (
    "apache_beam.io.aws.s3filesystem",
    "apache_beam.io.gcp.bigquery",
    "apache_beam.io.gcp.gcsfilesystem",
    "apache_beam.transforms.xlang.io",
    "apitools",
    "bson",
    "google.cloud.dataflow",
    "google.cloud.dataflow_v1beta3",
    "pandas",
    "pymongo",
)


class _Absent:
    """An import finder for which some modules are not installed."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = frozenset(names)

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name in self.names:
            raise ModuleNotFoundError(f"No module named {name!r} (left out: see {__name__})")


@contextmanager
def absent(*names: str) -> Iterator[None]:
    """Within the block these modules can not be imported, if they are not already."""
    finder = _Absent(names)
    sys.meta_path.insert(0, finder)  # type: ignore[arg-type]
    try:
        yield
    finally:
        sys.meta_path.remove(finder)  # type: ignore[arg-type]


def import_beam(words: Iterable[str]) -> None:
    """Import Beam, lean unless one of the words names a runner."""
    if any(word.startswith("--runner") for word in words):
        _import_beam(with_connectors=True)
    else:
        import_beam_lean()


def import_beam_lean() -> None:
    """Import Beam as if its connectors were not installed; they can be imported later.

    Not for runners or filesystems of the cloud.
    """
    _import_beam(with_connectors=False)


def _import_beam(*, with_connectors: bool) -> None:
    """Import Beam and the job. Does nothing when Beam is there already."""
    if "apache_beam" in sys.modules:
        return
    logging.getLogger("apache_beam").setLevel(logging.ERROR)  # it would warn of some
    gc.disable()
    try:
        with absent(*(() if with_connectors else _CONNECTORS)):
            if not with_connectors:
                stand_in()
            import pipeline.job  # noqa: F401
    finally:
        collect_seldom()


def collect_seldom() -> None:
    """Look for cycles a hundredth as often: millions of small records have hardly any.

    What is there already came with the imports and is there to stay.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()
