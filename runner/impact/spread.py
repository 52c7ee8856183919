"""Follows names of a module through everything that is made of them while files are imported.

Other names, defaults, tables and classes made of a name are names to follow in turn. Where one
comes to something that cannot be followed, such as a call, the import of that file counts.
"""

from __future__ import annotations

import ast
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from runner.impact.calm import is_calm
from runner.impact.classes import Classes, Making
from runner.impact.exposure import Seen
from runner.impact.mentions import (
    ANY,
    CASED,
    SCOPE,
    SPELLED,
    find_mentions,
    last_name,
    may_come_to,
)
from runner.impact.units import Does, is_own
from runner.lazy_dataclass import dataclass
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from runner.impact.exposure import Exposure
    from runner.impact.mentions import Mentions
    from runner.impact.python_blocks import Key
    from runner.impact.units import Code, Parts, Unit

_TEST = regex(r"(?:\A|/)(?:tests?/|test[^/]*\.py\Z|[^/]*_test\.py\Z|conftest\.py\Z)")
_TO_MODULES = frozenset({"modules", "import_module", "__import__", "getmodule", "find_spec"})
_TO_MODULES |= {"f_globals", "f_locals", "__globals__", "module_from_spec", "load_module"}
_TO_MODULES |= {"exec_module", "resolve_name"}
"""By what code comes to modules that it does not name."""


@dataclass(slots=True)
class Spread:
    """How far names are seen."""

    names: set[Seen]
    reading: dict[str, set[Key]] = field(default_factory=dict)
    """Blocks that read one of them, by file."""
    whole: set[str] = field(default_factory=set)
    """Files of which the import may end otherwise."""


@dataclass
class Names:
    """Follows names through the files that were seen to run."""

    path: str
    """The changed file."""
    after: Parts
    exposure: Exposure
    files: Mapping[str, Parts]
    """All files that ran, as they ran."""
    read: Callable[[str], Parts | None]

    def __post_init__(self) -> None:
        self._loose = set(self.exposure.unsteady)
        self._stem = stem_of(self.path)
        self._passed_on: dict[str, bool] = {}

    @cached_property
    def all_mentions(self) -> tuple[Mentions, ...]:
        """What each piece of all the code mentions."""
        found: list[Mentions] = []
        for parts in self.files.values():
            found += [unit.mentions for unit in parts.units]
            found += [code.mentions for code in parts.codes]
        return tuple(found)

    @cached_property
    def _texts(self) -> tuple[set[str], set[str]]:
        """What all the code spells, whole and in pieces."""
        texts = {text for one in self.all_mentions for text in one.texts}
        return texts, {piece for one in self.all_mentions for piece in one.pieces}

    def follow(self, names: Iterable[Seen]) -> Spread:
        """Everything that reads these names, through all that is made of them on import."""
        spread = Spread(set(names))
        left = list(spread.names)
        while left:
            seen = left.pop()
            for path, parts in self.files.items():
                words = self._words(seen, path)
                for code in parts.codes:
                    if _mentions(code, path, seen, words):
                        spread.reading.setdefault(path, set()).add(code.key)
                for made in self._made(path, parts, seen, words, spread):
                    if made not in spread.names:
                        spread.names.add(made)
                        left.append(made)
        return spread

    def _words(self, seen: Seen, path: str) -> frozenset[str]:
        """How a name may be spelled: itself, and by code that goes through names or makes them."""
        plain = frozenset({seen.name})
        if seen.name == "__all__":
            return plain  # read by an import of everything, which is asked apart, and by its name
        if seen.path and path != seen.path and not self._is_passed_on(seen.path):
            return plain  # nobody has the module itself, of which it is a name
        if seen.path and not self._is_passed_on(seen.path):
            return plain | {SCOPE}
        spelled = {SPELLED} if may_come_to(seen.name, *self._texts) else set()
        return plain | {ANY} | spelled | ({SCOPE} if path == seen.path else set())

    def _is_passed_on(self, path: str) -> bool:
        """Whether code uses a module for something else than to name what is in it."""
        if path not in self._passed_on:
            self._passed_on[path] = any(
                _passes(parts, stem_of(path)) for parts in self.files.values()
            )
        return self._passed_on[path]

    def _made(
        self, path: str, parts: Parts, seen: Seen, words: frozenset[str], spread: Spread
    ) -> Iterator[Seen]:
        """What is made of a name while one file is imported."""
        for unit in self._units(path, parts):
            if not _reads(unit, path, seen, words) or (
                unit.does is Does.IMPORT and not seen.path and seen.name != self._stem
            ):
                continue
            made = self._of_unit(unit, path, seen)
            if made is None:
                spread.whole.add(path)
            else:
                if unit.does is Does.BIND or seen.name in self._loose:
                    self._loose |= {one.name for one in made}
                yield from made
                if unit.does is Does.FUNCTION and id(unit.node) in parts.keys:
                    spread.reading.setdefault(path, set()).add(parts.keys[id(unit.node)])

    def _units(self, path: str, parts: Parts) -> Iterator[Unit]:
        """What is evaluated on import after the change, but for what the change itself brought."""
        if path != self.path:
            return iter(parts.units)
        return (one for one in self.after.units if id(one) not in self.exposure.changed)

    def _of_unit(self, unit: Unit, path: str, seen: Seen) -> list[Seen] | None:
        """What a unit makes of a name; None for what cannot be followed."""
        if unit.does is Does.ANNOTATION and seen not in self.exposure.gone:
            return []
        if unit.does is Does.IMPORT:
            lost = seen in self.exposure.gone or (seen.name == "__all__" and "*" in unit.binds)
            return None if lost else _imported_as(unit, path, seen)
        if unit.does is Does.BIND and unit.binds == ("__all__",) and not unit.scope:
            return [Seen(path, "__all__")] if seen in self.exposure.gone else []
        if seen in self.exposure.gone or len(unit.scope) > 1:
            return None
        match unit.does:
            case Does.BIND if isinstance(unit.node, ast.Assign | ast.AnnAssign):
                value = unit.node.value
                calm = value is not None and is_calm(value, self._is_unsteady)
                plain = calm and value is not None and not _calls_own(value, self.files[path])
                return self._bound(unit, path) if plain else None
            case Does.FUNCTION:
                return self._function(unit, path, seen)
            case Does.CLASS:
                return self._class(unit, path, seen)
        return None

    def _is_unsteady(self, name: str) -> bool:
        """Whether a name may hold a value of another kind now."""
        return name in self._loose

    def _bound(self, unit: Unit, path: str) -> list[Seen] | None:
        if not unit.scope:
            return [Seen(path, name) for name in unit.binds]
        making = Classes(self.read).making(path, unit.scope[0])
        if making is Making.HOOKED or any(name.startswith("__") for name in unit.binds):
            return None
        found = [Seen("", name) for name in unit.binds]
        return found if making < Making.KNOWN else [*found, Seen(path, unit.scope[0])]

    def _function(self, unit: Unit, path: str, seen: Seen) -> list[Seen] | None:
        node = unit.node
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        defaults = [*node.args.defaults, *(one for one in node.args.kw_defaults if one)]
        evaluated = find_mentions([*node.decorator_list, *defaults])
        own = Seen("" if unit.scope else path, node.name)
        if not evaluated.has(seen.name) and not evaluated.attributes & {ANY, SPELLED}:
            return [own] if _TEST.search(path) else []  # a parameter: of a test, it is a fixture
        told = [one for one in node.decorator_list if find_mentions([one]).has(seen.name)]
        if not all(self._is_calm_mark(one) for one in told):
            return None
        parts = self.files[path]
        calm = all(is_calm(one, self._is_unsteady) for one in defaults)
        return [own] if calm and not any(_calls_own(one, parts) for one in defaults) else None

    def _is_calm_mark(self, decorator: ast.expr) -> bool:
        """Whether it gives a test or a fixture of pytest plain values."""
        # Pytest's marks only keep what they are given; any other decorator may do whatever it likes
        # with it.
        if not isinstance(decorator, ast.Call) or not ast.unparse(decorator).startswith("pytest."):
            return False
        values = [*decorator.args, *(one.value for one in decorator.keywords)]
        names = (last_name(one) for one in values)
        calm = all(is_calm(one, self._is_unsteady) for one in values)
        return calm and not any(map(self._is_unsteady, names))

    def _class(self, unit: Unit, path: str, seen: Seen) -> list[Seen] | None:
        node = unit.node
        assert isinstance(node, ast.ClassDef)
        told = [*node.keywords, *node.decorator_list]
        if unit.scope or any(find_mentions([one]).has(seen.name) for one in told):
            return None
        if Classes(self.read).making(path, node.name) is Making.HOOKED:
            return None
        return [Seen(path, node.name)]


def _calls_own(value: ast.expr, parts: Parts) -> bool:
    """Whether something is called that is not of Python's own library."""
    return not isinstance(value, ast.Name) and is_own(value, parts)


def stem_of(path: str) -> str:
    """The last name of a module: `models` of `booking/models.py`."""
    return path.removesuffix("/__init__.py").removesuffix(".py").rpartition("/")[2]


def _passes(parts: Parts, stem: str) -> bool:
    """Whether a file uses a module as a value, or comes to modules that it does not name."""
    bound = {alias.asname or alias.name.partition(".")[0] for alias in parts.aliases}
    own = {alias.asname or stem for alias in parts.aliases if alias.name.rpartition(".")[2] == stem}
    every = [unit.mentions for unit in parts.units] + [code.mentions for code in parts.codes]
    for one in every:
        for value in one.values:
            first, last = value.partition(".")[0], value.rpartition(".")[2]
            if (
                value in own
                or last in _TO_MODULES
                or (last == stem and first in bound and first != value)
            ):
                return True
    return False


def _mentions(code: Code, path: str, seen: Seen, words: frozenset[str]) -> bool:
    said = code.mentions.attributes
    bare = path == seen.path and seen.name in code.mentions.names
    made = ANY in words and SPELLED in said and CASED in said
    return bare or made or bool(words & said)


def _reads(unit: Unit, path: str, seen: Seen, words: frozenset[str]) -> bool:
    """Whether a unit reads a name; a class reads its own attributes by their bare names."""
    if unit.does is Does.DOCSTRING:
        return False
    if unit.does is Does.IMPORT and "*" in unit.binds and seen.path not in ("", path):
        return True
    fixture = unit.does is Does.FUNCTION and _TEST.search(path)
    given = fixture and (not seen.path or _TEST.search(seen.path))
    bare = path == seen.path or (not seen.path and unit.scope) or given
    if bare and seen.name in unit.mentions.names:
        return True
    return bool(words & unit.mentions.attributes)


def _imported_as(unit: Unit, path: str, seen: Seen) -> list[Seen]:
    """The names by which an import binds something."""
    node = unit.node
    assert isinstance(node, ast.Import | ast.ImportFrom)
    found = []
    for alias in node.names:
        if alias.name == "*":
            found.append(Seen(path, seen.name))
        elif seen.name in alias.name.split("."):
            found.append(Seen(path, alias.asname or alias.name.partition(".")[0]))
    return found
