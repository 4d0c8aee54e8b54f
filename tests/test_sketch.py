"""Sketches: near texts are within a few bits of each other, others are not."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.sketch import NEAR, SHINGLE, distance, sketch_text

LETTERS = b"etaoinshrdlu"


def text_of(dice: random.Random, words: int) -> list[bytes]:
    return [bytes(dice.choices(LETTERS, k=dice.randint(2, 9))) for _ in range(words)]


@pytest.mark.parametrize("words", [100, 1000, 10_000])
def test_sketch_of_a_text_with_few_words_changed_is_near(words):
    dice = random.Random(words)
    near = 0
    for _ in range(100):
        text = text_of(dice, words)
        place = dice.randrange(words)
        changed = [*text[:place], b"another", *text[place + 1 :]]
        near += distance(sketch_text(b" ".join(text)), sketch_text(b" ".join(changed))) <= NEAR
    assert near >= 95


def test_sketch_of_half_a_text_and_of_another_is_far():
    dice = random.Random(7)
    texts = [text_of(dice, 500) for _ in range(200)]
    half = [one[:250] + two[:250] for one, two in pairwise(texts)]
    whole = [sketch_text(b" ".join(text)) for text in texts]
    mixed = [sketch_text(b" ".join(text)) for text in half]
    assert min(distance(a, b) for a, b in zip(whole, mixed, strict=False)) > NEAR
    assert min(distance(a, b) for a, b in pairwise(whole)) > NEAR


def test_sketch_is_of_what_is_there_and_not_how_often():
    dice = random.Random(3)
    text = b" ".join(text_of(dice, 300))
    assert distance(sketch_text(text), sketch_text(text + b" " + text)) <= 1


@given(st.binary(min_size=SHINGLE, max_size=100))
def test_sketch_of_any_text_is_64_bits_and_the_same_again(text):
    sketch = sketch_text(text)
    assert 0 <= sketch < 2**64
    assert sketch == sketch_text(bytes(text))


def test_sketch_is_pinned():
    # Runs of sketches are compared over years, and between machines.
    assert sketch_text(b"A page is a place. Its links are doors.") == PINNED


@given(st.integers(0, 2**64 - 1), st.sets(st.integers(0, 63), max_size=10))
def test_distance_is_the_number_of_bits_that_differ(sketch, bits):
    other = sketch
    for bit in bits:
        other ^= 1 << bit
    assert distance(sketch, other) == len(bits)


PINNED = 0xA8A0002800130012
