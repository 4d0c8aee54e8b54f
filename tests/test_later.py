"""Modules that are put off, each case in an interpreter that has imported nothing yet."""

from __future__ import annotations

import subprocess
import sys

import pytest


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


LEAN = "from pipeline.lean import import_beam_lean; import_beam_lean(); import sys\n"


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("'beartype._check' in sys.modules, 'httplib2.auth' in sys.modules", "False False"),
        # What stands in answers as the module itself does.
        ("__import__('beartype.door').door.is_subhint(int, object)", "True"),
        ("__import__('beartype.door').door.is_subhint(object, int)", "False"),
        ("__import__('beartype').beartype.__name__", "beartype"),
        ("__import__('httplib2').Http.__name__", "Http"),
        ("__import__('yaml').safe_load('[1, 2]')", "[1, 2]"),
        ("__import__('proto').Message.__name__", "Message"),
        ("__import__('fastavro').parse_schema({'type': 'int'})['type']", "int"),
        ("len(__import__('cryptography.fernet').fernet.Fernet.generate_key())", "44"),
        ("__import__('numpy').ma.masked_array([1, 2], mask=[0, 1]).sum()", "1"),
        ("__import__('pyarrow').array([1, None]).null_count", "1"),
        ("hasattr(sys.modules['beartype'], '__nothing__')", "False"),
    ],
)
def test_module_that_is_put_off_is_there_when_it_is_asked(asked, found):
    assert run(f"{LEAN}print({asked})") == found


def test_hint_that_is_none_is_told_as_the_module_tells_it():
    code = (
        "from beartype.roar import BeartypeDoorException\n"
        "from beartype.door import is_subhint\n"
        "try: is_subhint('no hint', 0)\n"
        "except BeartypeDoorException: print('told')"
    )
    assert run(code) == run(LEAN + code) == "told"


def test_masked_array_is_known_once_there_is_one():
    code = (
        "import numpy, pyarrow\n"
        "print(pyarrow.array(numpy.ma.masked_array([1, 2], mask=[0, 1])).null_count)"
    )
    assert run(code) == run(LEAN + code) == "1"
