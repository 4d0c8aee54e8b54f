"""The README says what is true."""

from __future__ import annotations

from pathlib import Path

from pipeline.depth import CrawlDepth
from pipeline.options import options_table
from transforms.canonical import rules_table
from transforms.filter import REASONS, reasons_table
from transforms.records import OUTCOMES
from transforms.soft_404 import NOTES

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_readme_has_the_options_as_they_are():
    assert options_table() in README


def test_readme_has_the_rules_of_canonical_keys_as_they_are():
    assert rules_table() in README


def test_readme_has_the_reasons_of_refusals_as_they_are():
    assert reasons_table() in README


def test_readme_names_the_steps_in_the_order_of_the_graph():
    steps = [
        line.split(".", 1)[1].split("  ")[0].strip()
        for line in (CrawlDepth.__doc__ or "").splitlines()
        if line.strip()[:1].isdigit()
    ]
    assert len(steps) == 11
    places = [README.index(f"| {step} |") for step in steps]
    assert places == sorted(places)


def test_readme_names_every_outcome_reason_and_note():
    for word in (*OUTCOMES, *REASONS, *NOTES):
        assert f"`{word}`" in README
