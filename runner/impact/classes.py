"""How a class comes to be: whether something else than its own body is told of what is in it."""

from __future__ import annotations

import ast
import builtins
from enum import IntEnum
from typing import TYPE_CHECKING

from runner.impact.calm import is_of_python
from runner.impact.mentions import last_name
from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runner.impact.units import Parts

_DEEPEST = 12
_KNOWN_DECORATORS = frozenset(
    {"dataclass", "total_ordering", "final", "runtime_checkable", "unique", "python_2_unicode"}
)


_ABSTRACT = frozenset({"ABC", "Generic", "Protocol"})


class Making(IntEnum):
    """How a class is made."""

    PLAIN = 0
    """Of its body alone, and nobody else reads its attributes by names of their own."""
    ABSTRACT = 1
    """The same, but a method that is missing may forbid to make objects of it."""
    KNOWN = 2
    """By Python's own library, which may read any attribute of it, but tells nobody."""
    HOOKED = 3
    """By code of the project or of others, which may do anything with it."""


@dataclass(frozen=True)
class Classes:
    """Looks classes up, through the imports that lead to them."""

    read: Callable[[str], Parts | None]
    """Path to what is in a file; None for no file."""

    def making(self, path: str, name: str, depth: int = 0) -> Making:
        """How a class at the level of a module is made."""
        parts = self.read(path)
        node = parts.classes.get(name) if parts else None
        if parts is None or node is None or depth > _DEEPEST:
            return Making.HOOKED
        found = Making.PLAIN
        for decorator in node.decorator_list:
            known = last_name(decorator) in _KNOWN_DECORATORS
            found = max(found, Making.KNOWN if known else Making.HOOKED)
        for keyword in node.keywords:
            known = keyword.arg == "metaclass" and last_name(keyword.value) == "ABCMeta"
            found = max(found, Making.ABSTRACT if known else Making.HOOKED)
        return max([found, *(self._base(path, parts, base, depth) for base in node.bases)])

    def forbids(self, path: str, name: str, method: str) -> bool:
        """Whether no object of a class can be made unless it has this method itself."""
        for node in self._ancestors(path, name, 0):
            for one in node.body:
                if getattr(one, "name", "") == method:
                    marks = getattr(one, "decorator_list", [])
                    return any(last_name(mark).startswith("abstract") for mark in marks)
        return False

    def _ancestors(self, path: str, name: str, depth: int) -> Iterator[ast.ClassDef]:
        """The classes that a class is made of, as far as they are of the project."""
        parts = self.read(path)
        if parts is None or name not in parts.classes or depth > _DEEPEST:
            return
        for base in parts.classes[name].bases:
            if isinstance(base, ast.Name) and base.id in parts.classes:
                yield parts.classes[base.id]
                yield from self._ancestors(path, base.id, depth + 1)
            elif module := self._module_of(parts, base):
                for place in places_of(path, *module[:2]):
                    there = self.read(place)
                    if there is not None and module[2] in there.classes:
                        yield there.classes[module[2]]
                        yield from self._ancestors(place, module[2], depth + 1)
                        break

    def _base(self, path: str, parts: Parts, base: ast.expr, depth: int) -> Making:
        """How a class is made that has this base."""
        if isinstance(base, ast.Subscript):
            base = base.value
        name = last_name(base)
        if isinstance(base, ast.Call) or not name:
            return Making.HOOKED
        if isinstance(base, ast.Name) and name in parts.classes:
            return self._inherited(path, name, depth)
        module = self._module_of(parts, base)
        if module is None:
            return _built_in(name) if isinstance(base, ast.Name) else Making.HOOKED
        for place in places_of(path, *module[:2]):
            if self.read(place) is not None:
                return self._there(place, module[2], depth)
        if module[1] or not is_of_python(module[0]):
            return Making.HOOKED
        return Making.ABSTRACT if name in _ABSTRACT else Making.KNOWN

    def _inherited(self, path: str, name: str, depth: int) -> Making:
        parts = self.read(path)
        if parts is None or _tells(parts.classes[name]):
            return Making.HOOKED
        return self.making(path, name, depth + 1)

    def _there(self, path: str, name: str, depth: int) -> Making:
        """A class that is imported from another file, which may import it itself."""
        parts = self.read(path)
        if parts is None or depth > _DEEPEST:
            return Making.HOOKED
        if name in parts.classes:
            return self._inherited(path, name, depth)
        return self._base(path, parts, ast.Name(name), depth + 1)

    def _module_of(self, parts: Parts, base: ast.expr) -> tuple[str, int, str] | None:
        """Module, level and name by which a base is imported; None where no import binds it."""
        root = base
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name):
            return None
        for node, alias in _imports(parts):
            if (alias.asname or alias.name.partition(".")[0]) != root.id:
                continue
            inner = ast.unparse(base).split(".")[1:]
            if isinstance(node, ast.Import):
                said = [*(alias.name if alias.asname else root.id).split("."), *inner]
                return ".".join(said[:-1]), 0, said[-1]
            if not inner:
                return node.module or "", node.level, alias.name
            between = [node.module] if node.module else []
            said = [*between, alias.name, *inner]
            return ".".join(said[:-1]), node.level, said[-1]
        return None


def _imports(parts: Parts) -> Iterator[tuple[ast.Import | ast.ImportFrom, ast.alias]]:
    for unit in parts.units:
        if isinstance(unit.node, ast.Import | ast.ImportFrom):
            for alias in unit.node.names:
                yield unit.node, alias


def _tells(node: ast.ClassDef) -> bool:
    """Whether a class is told of each class that is made of it."""
    names = (getattr(one, "name", "") for one in node.body)
    return "__init_subclass__" in names


def _built_in(name: str) -> Making:
    kind = getattr(builtins, name, None)
    if not isinstance(kind, type):
        return Making.HOOKED
    plain = kind is object or issubclass(kind, BaseException)
    return Making.PLAIN if plain else Making.KNOWN


def places_of(path: str, module: str, level: int) -> Iterator[str]:
    """Where a module may lie that a file imports."""
    folders = path.split("/")[:-1]
    inner = module.split(".") if module else []
    if level:
        bases = [folders[: len(folders) - (level - 1)]]
    else:
        bases = [folders[:end] for end in range(len(folders), -1, -1)] + [["src"], ["lib"]]
    for base in bases:
        stem = "/".join((*base, *inner))
        yield f"{stem}.py"
        yield f"{stem}/__init__.py" if stem else "__init__.py"
