"""Options: what a person types is a value, or one line that says what was expected."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.options import (
    OPTIONS,
    Settings,
    at_least,
    canonical_rule,
    duration,
    factor,
    header,
    lifted_reason,
    options_table,
    pattern,
    size,
    some_time,
)


@given(st.integers(0, 10**6), st.sampled_from([("", 1), ("s", 1), ("m", 60), ("h", 3600)]))
def test_duration_is_a_number_times_its_unit(number, unit):
    word, seconds = unit
    assert duration(f"{number}{word}") == number * seconds
    assert duration(f" {number} {word.upper()} ") == number * seconds


@given(st.integers(0, 10**6), st.sampled_from([("", 0), ("B", 0), ("KiB", 10), ("GiB", 30)]))
def test_size_is_a_number_times_its_unit(number, unit):
    word, bits = unit
    assert size(f"{number}{word}") == size(f"{number} {word.lower()}") == number << bits


@pytest.mark.parametrize(
    ("parse", "text", "said"),
    [
        *((duration, text, "is not a duration such as 20s, 30m, 2h or 7d")
          for text in ("", "s", "soon", "-1", "1w", "1h30m", "1e3", "inf", "nan", ".5", "1.")),
        *((some_time, text, "is no time at all; expected a duration such as 20s or 1m")
          for text in ("0", "0s", "0.0m", " 0 ")),
        (some_time, "soon", "is not a duration such as 20s, 30m, 2h or 7d"),
        *((size, text, "is not a size such as 512KiB or 5MiB")
          for text in ("", "KiB", "-1", "5MB", "5K", "1 000", "0x10")),
        *((factor, text, "is not a number of at least 0")
          for text in ("", "-1", "two", "1e3", "inf", "nan", ".5")),
        *((at_least(1), text, "is not a whole number of at least 1")
          for text in ("", "0", "-1", "--5", "1.5", "one", "1 2", "1_000", "\u00b2")),
        (canonical_rule, "fragment", "is not a rule that can be off: escapes, "),
        (lifted_reason, "scope", "is not a filter that can be lifted: length, "),
        (pattern, "(", "is not a regular expression: "),
        (pattern, "*", "is not a regular expression: "),
        *((header, text, "is not a header such as 'Accept-Language: de'")
          for text in ("", "nocolon", ": x", "a b: c", "\u00e9: x", "A: b\r\nE: 1", "A: b\nE: 1")),
    ],
)  # fmt: skip
def test_malformed_value_says_what_was_expected(parse, text, said):
    with pytest.raises(ValueError) as error:
        parse(text)
    assert repr(text) in str(error.value)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (factor, "2", 2.0),
        (factor, "0.5", 0.5),
        (some_time, "0.1", 0.1),
        (some_time, "1m", 60.0),
        (at_least(0), "0", 0),
        (at_least(-2), "-2", -2),
        (at_least(1), " 16 ", 16),
        (canonical_rule, "query-order", "query-order"),
        (lifted_reason, "calendar", "calendar"),
        (pattern, r"\.pdf$", r"\.pdf$"),
        (header, "Accept-Language:  de ", ("Accept-Language", "de")),
        (header, "X: a:b", ("X", "a:b")),
        (header, "X:", ("X", "")),
    ],
)
def test_value_is_read(parse, text, value):
    assert parse(text) == value


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_option_is_complete(option):
    assert option.effect
    assert option.flags.split()[-1].startswith("--")
    assert (option.parse is None) == isinstance(option.default, bool)
    assert bool(option.metavar) == (option.parse is not None)
    assert not option.choices or option.default in option.choices
    assert not option.many or option.default == ()


def test_options_have_names_and_flags_of_their_own():
    flags = [flag for option in OPTIONS for flag in option.flags.split()]
    assert len(set(flags)) == len(flags)
    assert len({option.name for option in OPTIONS}) == len(OPTIONS)


@pytest.mark.parametrize(
    "option", [o for o in OPTIONS if o.shown and o.parse and o.default], ids=lambda o: o.name
)
def test_default_as_shown_is_the_default(option):
    assert option.parse(option.shown) == option.default


def test_settings_are_defaults_but_for_what_is_given():
    settings = Settings.of(("http://a/",), depth=3)
    assert (settings.seeds, settings.depth) == (("http://a/",), 3)
    for option in OPTIONS:
        if option.name != "depth":
            assert getattr(settings, option.name) == option.default
    with pytest.raises(TypeError):
        Settings.of(nonsense=1)


def test_options_table_has_a_row_for_each_option():
    lines = options_table().splitlines()
    assert lines[0] == "| option | effect | default | why |"
    assert len(lines) == 2 + len(OPTIONS)
    for line, option in zip(lines[2:], OPTIONS, strict=True):
        assert line.startswith(f"| `{'/'.join(option.flags.split())}")
        assert option.effect in line
        assert line.replace("\\|", "").count("|") == 5
