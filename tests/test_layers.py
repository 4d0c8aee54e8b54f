"""The house rules that a reader relies on."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "transforms").glob("*.py"))


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_transforms_never_import_the_job(path):
    assert not {name for name in imports(path) if name.split(".")[0] in ("pipeline", "tests")}


@pytest.mark.parametrize(
    "name",
    ["canonical", "shape", "deny",
     "html", "urls", "charset", "refresh", "robots", "robots_cache", "robots_meta", "scheduler",
     "pace", "frontier", "runs", "storage", "gcs", "transport_curl", "slot_fetcher", "outcome"],
)  # fmt: skip
def test_rules_do_without_beam(name):
    assert not {
        module
        for module in imports(ROOT / f"transforms/{name}.py")
        if module == "apache_beam" or module.startswith("apache_beam.")
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_says_what_it_is_for(path):
    assert ast.get_docstring(ast.parse(path.read_text()))
