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


class _Name:
    """Stands in for a function, or a class that is called, of a module that is put off."""

    def __init__(self, module: str, name: str) -> None:
        self._place = module, name

    def _load(self) -> Any:
        module, name = self._place
        return getattr(load(module), name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._load()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._load(), name)


def _names_later(module: str, *names: str) -> Later:
    return Later(module, **{name: _Name(module, name) for name in names})


def stand_in() -> None:
    """Put off what Beam and Arrow import for the sake of few: 0.13 s of CPU in all.

    - beartype, for type hints of a kind that no stage here has
    - cryptography.fernet, to encrypt what is grouped
    - fastavro, for Avro, and for rows whose schema may change
    - httplib2, to fetch the packages that a remote worker installs
    - numpy.ma, which Arrow and numpy ask whether an array is one of its own
    - proto, for messages of Google's services
    - yaml, for transforms of other languages
    """
    import cryptography  # noqa: F401  (the stand-in is part of it, as with numpy)
    import numpy  # noqa: F401

    stand_ins = [
        Later("beartype"),
        Later("beartype.door", is_subhint=_is_subhint),
        Later("beartype.roar", BeartypeDoorException=_HintError),
        _names_later("cryptography.fernet", "Fernet"),
        _names_later("fastavro", "parse_schema", "schemaless_reader", "schemaless_writer"),
        _names_later("fastavro.read", "block_reader"),
        _names_later("fastavro.write", "Writer"),
        Later("httplib2"),
        Later("numpy.ma", MaskedArray=_NoArray, is_masked=lambda _: False),
        Later("proto"),
        Later("yaml"),
    ]
    for module in stand_ins:
        if sys.modules.setdefault(module.__name__, module) is module and "." in module.__name__:
            parent, _, name = module.__name__.rpartition(".")
            setattr(sys.modules[parent], name, module)
