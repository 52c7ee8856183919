"""Import modules when one of their attributes is first used.

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

import sys
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


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
        # Two threads may both load it: the second gets the same module and stores it again.
        if self._true is None:
            object.__setattr__(self, "_true", import_module(self._name))
        return self._true

    def __repr__(self) -> str:
        return f"<lazy module {self._name}>"


def lazy_module(name: str) -> LazyModule:
    """Return a module that is imported on first use."""
    return LazyModule(name)


def name_package(name: str, *parts: str) -> None:
    """Import modules of a package without running its `__init__`, which may load everything.

    The package is there for the import system. What is asked of it is looked for in `parts`, some
    of its modules; for what they do not have its start runs. Raises ImportError where it is not
    installed.
    """
    if name in sys.modules:
        return
    found = find_spec(name)
    if found is None or found.loader is None:
        raise ImportError(name)
    package, loader = module_from_spec(found), found.loader

    def find(asked: str) -> Any:
        if asked.startswith("__") and asked != "__version__":
            raise AttributeError(asked)
        for part in parts:
            held = vars(import_module(f"{name}.{part}"))
            if asked in held:
                return held[asked]
        vars(package).pop("__getattr__", None)
        loader.exec_module(package)
        return getattr(package, asked)

    vars(package)["__getattr__"] = find
    sys.modules[name] = package


@contextmanager
def put_off(*names: str) -> Iterator[None]:
    """Replace these modules by lazy ones during the block, which load at their first use.

    For foreign modules that import what they do not use for us. What is loaded already stays.
    """
    given = {name: _stand_in(name) for name in names if name not in sys.modules}
    sys.modules.update(given)
    try:
        yield
    finally:
        for name, stand_in in given.items():
            _make_room(name, stand_in)


def _stand_in(name: str) -> ModuleType:
    stand_in = ModuleType(name)

    def find(asked: str) -> Any:
        if asked.startswith("__") and asked != "__path__":
            raise AttributeError(asked)
        _make_room(name, stand_in)
        return getattr(import_module(name), asked)

    vars(stand_in)["__getattr__"] = find
    return stand_in


def _make_room(name: str, stand_in: ModuleType) -> None:
    if sys.modules.get(name) is stand_in:
        sys.modules.pop(name, None)
