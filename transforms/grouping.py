"""All that is known of one shard, brought together: each value says by its type what it is.

One shuffle for any number of inputs. (Beam's CoGroupByKey does the same with three more
steps an input, which cost more than the work when a round is small.)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import apache_beam as beam
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.timestamp import MIN_TIMESTAMP
from apache_beam.utils.windowed_value import WindowedValue

T = TypeVar("T")


class Parts:
    """The values of one shard, by type."""

    def __init__(self, values: Iterable[Any]) -> None:
        self._by_type: dict[type, list[Any]] = {}
        for value in values:
            self._by_type.setdefault(type(value), []).append(value)

    def all(self, kind: type[T]) -> list[T]:
        return self._by_type.get(kind, [])

    def one(self, kind: type[T], default: T | None = None) -> T:
        """The only value of its kind; `default`, if given, when there is none."""
        found: list[T] = self._by_type.get(kind, [])
        if len(found) == 1:
            return found[0]
        if not found and default is not None:
            return default
        raise ValueError(f"expected one {kind.__name__}, got {len(found)}")


def at_the_end(value: Any) -> WindowedValue:
    """A value as `finish_bundle` must yield it."""
    return WindowedValue(value, MIN_TIMESTAMP, (GlobalWindow(),))


class GroupParts(beam.PTransform):  # type: ignore[misc]
    """Any number of PCollections of (key, value) → (key, values of all of them)."""

    def expand(self, inputs: tuple[beam.PCollection, ...]) -> beam.PCollection:
        return inputs | beam.Flatten() | beam.GroupByKey()
