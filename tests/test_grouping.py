"""All that is known of one shard, brought together."""

from __future__ import annotations

from typing import NamedTuple

import apache_beam as beam
import pytest
from apache_beam.testing.util import assert_that, equal_to

from tests.samples import pipeline_of_stage
from transforms.grouping import GroupParts, Parts, at_the_end


class Apple(NamedTuple):
    number: int


class Pear(NamedTuple):
    number: int


def test_parts_all_are_of_one_type_in_order():
    parts = Parts([Apple(2), Pear(9), Apple(1), (7,)])
    assert parts.all(Apple) == [Apple(2), Apple(1)]
    assert parts.all(tuple) == [(7,)]  # equal to a Pear, and none
    assert parts.all(int) == []


def test_parts_one_is_the_only_one():
    parts = Parts([Apple(0), Pear(1)])
    assert parts.one(Apple) == Apple(0)
    assert parts.one(Pear, Pear(5)) == Pear(1)
    assert Parts([]).one(Pear, Pear(5)) == Pear(5)


@pytest.mark.parametrize(
    ("values", "default", "said"),
    [
        ([], None, "expected one Apple, got 0"),
        ([Pear(1)], None, "expected one Apple, got 0"),
        ([Apple(1), Apple(1)], None, "expected one Apple, got 2"),
        ([Apple(1), Apple(2)], Apple(3), "expected one Apple, got 2"),
    ],
)
def test_parts_one_of_none_or_many_raises(values, default, said):
    with pytest.raises(ValueError, match=said):
        Parts(values).one(Apple, default)


def test_parts_all_may_be_read_again():
    parts = Parts(iter([Apple(1), Apple(2)]))  # a runner hands over an iterator
    assert parts.all(Apple) == parts.all(Apple) == [Apple(1), Apple(2)]


class _CountAtTheEnd(beam.DoFn):
    def start_bundle(self):
        self.count = 0

    def process(self, element):
        self.count += 1
        return []

    def finish_bundle(self):
        if self.count:
            yield at_the_end(("all", self.count))


def test_at_the_end_lets_a_bundle_say_something_last():
    with pipeline_of_stage() as pipeline:
        counts = pipeline | beam.Create([1, 2, 3]) | beam.ParDo(_CountAtTheEnd())
        total = counts | beam.CombinePerKey(sum)
        assert_that(total, equal_to([("all", 3)]))


def test_group_parts_brings_all_inputs_together_by_key():
    with pipeline_of_stage() as pipeline:
        apples = pipeline | "Apples" >> beam.Create([(1, Apple(1)), (2, Apple(2)), (1, Apple(3))])
        pears = pipeline | "Pears" >> beam.Create([(2, Pear(4)), (3, Pear(5))])
        nothing = pipeline | "Nothing" >> beam.Create([])
        grouped = (apples, pears, nothing) | GroupParts()
        found = grouped | beam.MapTuple(
            lambda key, values: (key, sorted((type(value).__name__, value) for value in values))
        )
        assert_that(
            found,
            equal_to(
                [
                    (1, [("Apple", Apple(1)), ("Apple", Apple(3))]),
                    (2, [("Apple", Apple(2)), ("Pear", Pear(4))]),
                    (3, [("Pear", Pear(5))]),
                ]
            ),
        )
