"""Modules that are loaded when something of them is first used.

What answers at once may not load what it does not need. The type checker and the check of the
floors read a plain import; at run time a stand-in takes its place:

    if TYPE_CHECKING:
        from runner.report import documents
    else:
        documents = lazy_module("runner.report.documents")

The first `documents.document` loads the module, by the import system's own lock: threads that ask
at once wait for the whole module (`importlib.util.LazyLoader` of Python before 3.11.9 let the
second one see half of it, python/cpython#114763). Each use asks the module anew, so what a test
puts into it is what is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LazyModule:
    """Stands for a module that may not be loaded yet."""

    __slots__ = ("_name", "_true")

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_true", None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._load(), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._load(), name)

    def _load(self) -> Any:
        # Two threads may both load it: the second gets the same module, and puts it here again.
        if self._true is None:
            object.__setattr__(self, "_true", import_module(self._name))
        return self._true

    def __repr__(self) -> str:
        return f"<lazy module {self._name}>"


def lazy_module(name: str) -> LazyModule:
    """The module of this full name, loaded at its first use."""
    return LazyModule(name)
