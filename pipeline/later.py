"""Modules that are imported when something is first asked of them, and often never.

What imports them needs one name of each at the start: that name stands in.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


class Later(ModuleType):
    """Stands in for a module that is imported when anything but `known` is asked of it."""

    def __init__(self, name: str, **known: Any) -> None:
        super().__init__(name)
        self.__dict__.update(known)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked of every module by whoever looks for one
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(load(self.__name__), name)


def load(name: str) -> ModuleType:
    """The module itself, in the place of what stands in for it and its family."""
    family = name.split(".")[0]
    for known, module in list(sys.modules.items()):
        if isinstance(module, Later) and known.split(".")[0] == family:
            del sys.modules[known]
    return importlib.import_module(name)


class _HintError(Exception):
    """Stands in for `beartype.roar.BeartypeDoorException`."""


def _is_subhint(subhint: object, superhint: object) -> bool:
    load("beartype")
    from beartype.door import is_subhint
    from beartype.roar import BeartypeDoorException

    try:
        return is_subhint(subhint, superhint)
    except BeartypeDoorException as error:
        raise _HintError(str(error)) from error


class _NoArray:
    """Stands in for `numpy.ma.MaskedArray`, of which no instance is made here."""


def stand_in() -> None:
    """Put off what Beam and Arrow import for the sake of few: 0.1 s of CPU in all.

    - beartype, for type hints of a kind that no stage here has
    - httplib2, to fetch the packages that a remote worker installs
    - numpy.ma, which Arrow asks whether an array is one of its own
    """
    import numpy  # noqa: F401  (numpy.ma is part of it)

    stand_ins = [
        Later("beartype"),
        Later("beartype.door", is_subhint=_is_subhint),
        Later("beartype.roar", BeartypeDoorException=_HintError),
        Later("httplib2"),
        Later("numpy.ma", MaskedArray=_NoArray),
    ]
    for module in stand_ins:
        if sys.modules.setdefault(module.__name__, module) is module and "." in module.__name__:
            parent, _, name = module.__name__.rpartition(".")
            setattr(sys.modules[parent], name, module)
