"""Which tests may see that names of a module hold something else: those that ran code reading them.

A name is followed through everything that is evaluated on import (other names made of it, defaults,
tables, classes) in all files that a test contract was seen to run. Where it comes to something that
cannot be followed, such as a call, all that ran that file count.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from runner.impact.blocks import runs
from runner.impact.calm import is_calm, is_of_python
from runner.impact.classes import Classes, Making
from runner.impact.exposure import Seen
from runner.impact.mentions import ANY, DOC_AS_TEXT, SPELLED, last_name, may_come_to, mentioned
from runner.impact.ranges import spans_in
from runner.impact.units import Does

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from runner.impact.blocks import Key
    from runner.impact.exposure import Exposure
    from runner.impact.mentions import Mentions
    from runner.impact.units import Code, Parts, Unit
    from runner.model import Observed

_TEST = re.compile(r"(?:\A|/)(?:tests?/|test[^/]*\.py\Z|[^/]*_test\.py\Z|conftest\.py\Z)")
_DOC_READERS = frozenset({"__doc__", "getdoc", "DocTestSuite", "getcomments", "getsource"})
_DOC_READERS |= {"WRAPPER_ASSIGNMENTS", "DocTestFinder"}
_DOC_MODULES = frozenset({"doctest", "pydoc", "cmd", "xmlrpc"})
"""Modules that read docstrings for whoever imports them."""
_HINT_READERS = frozenset(
    {"__annotations__", "get_type_hints", "get_annotations", "signature", "getfullargspec"}
    | {"getargspec", "singledispatch", "singledispatchmethod", "Signature", "WRAPPER_ASSIGNMENTS"}
)
_KNOWN_PACKAGES = frozenset(
    {"pytest", "_pytest", "hypothesis", "attr", "attrs", "six", "typing_extensions", "freezegun"}
    | {
        "mock",
        "coverage",
        "packaging",
        "pretend",
        "simplejson",
        "pytz",
        "dateutil",
        "exceptiongroup",
    }
)
"""Packages of others that read neither docstrings nor annotations of what is given to them."""


class Reader(NamedTuple):
    """Where a name is read that holds something else."""

    path: str
    line: int


@dataclass(slots=True)
class Spread:
    """How far names are seen."""

    names: set[Seen]
    reading: dict[str, set[Key]] = field(default_factory=dict)
    """Blocks that read one of them, by file."""
    whole: set[str] = field(default_factory=set)
    """Files of which the import may end otherwise."""


@dataclass
class Readers:
    """Follows names through the files that were seen to run."""

    path: str
    """The changed file."""
    before: Parts
    after: Parts
    exposure: Exposure
    files: Mapping[str, Parts]
    """All files that ran, as they ran."""
    read: Callable[[str], Parts | None]

    def __post_init__(self) -> None:
        self._loose = set(self.exposure.unsteady)
        own = self.path.removesuffix("/__init__.py").removesuffix(".py")
        self._stem = own.rpartition("/")[2]

    def tests(self, rows: Sequence[Observed]) -> Mapping[str, Reader] | None:
        """The tests of one contract that may see the change; None for all that there are."""
        paths = {row.path for row in rows}
        found: dict[str, Reader] = {}
        if self._spread.whole & paths:
            return None
        found |= self._running(rows, self._spread.reading)
        for subject, words in ((self._documented, _DOC_READERS), (self._annotated, _HINT_READERS)):
            if subject is None:
                continue
            described = self._of_descriptions(rows, subject, words)
            if described is None:
                return None
            found |= described
        return None if "" in found else found

    def _running(
        self, rows: Sequence[Observed], reading: Mapping[str, set[Key]]
    ) -> dict[str, Reader]:
        """The tests that ran one of these blocks."""
        found: dict[str, Reader] = {}
        for row in rows:
            keys = reading.get(row.path)
            if not keys or row.test in found:
                continue
            blocks = [code.block for code in self.files[row.path].codes]
            spans = spans_in(row.lines)
            for code in self.files[row.path].codes:
                if code.key in keys and (not spans or runs(code.block, spans, blocks)):
                    found[row.test] = Reader(row.path, code.block.first)
                    break
        return found

    # --- descriptions: docstrings and annotations -------------------------------------------

    @cached_property
    def _documented(self) -> Spread | None:
        return self._described(self.exposure.documented)

    @cached_property
    def _annotated(self) -> Spread | None:
        return self._described(self.exposure.annotated)

    def _described(self, names: set[Seen]) -> Spread | None:
        if not names:
            return None
        of_module = Seen(self.path, "") in names
        started = {name for name in names if name.name}
        spread = self._followed(started | ({Seen("", self._stem)} if of_module else set()))
        if of_module:
            for code in self.before.codes:
                if "__doc__" in code.mentions.names:
                    spread.reading.setdefault(self.path, set()).add(code.key)
        return spread

    def _of_descriptions(
        self, rows: Sequence[Observed], subject: Spread, words: frozenset[str]
    ) -> dict[str, Reader] | None:
        """The tests that ran code that reads descriptions, and code that has what is described."""
        paths = {row.path for row in rows}
        modules = _DOC_MODULES if words is _DOC_READERS else frozenset()
        if any(self._is_foreign(path) or modules & self._imported(path) for path in paths):
            return None
        reading = self._reading_descriptions(words)
        names = {seen.name for seen in subject.names} | {ANY}
        units = (unit for path in paths for unit in self.files[path].units)
        if any(_both(unit, words, names) for unit in units):
            return None
        readers = self._running(rows, reading)
        if "" in readers:
            return None
        if not readers:
            return {}
        holders = self._running(rows, subject.reading)
        if "" in holders or subject.whole & paths:
            return readers
        return {test: at for test, at in readers.items() if test in holders}

    def _reading_descriptions(self, words: frozenset[str]) -> dict[str, set[Key]]:
        as_text = any(DOC_AS_TEXT in one.attributes for one in self._all_mentions)
        wanted = words | ({SPELLED, ANY} if as_text else set())
        return {
            path: {
                code.key
                for code in parts.codes
                if wanted & code.mentions.attributes or words & code.mentions.names
            }
            for path, parts in self.files.items()
        }

    def _is_foreign(self, path: str) -> bool:
        """Whether a file imports packages of others that may read descriptions."""
        folders = {part for one in self.files for part in one.removesuffix(".py").split("/")}
        for top in self._packages(path):
            if not (is_of_python(top) or top in folders or top in _KNOWN_PACKAGES):
                return True
        return False

    def _packages(self, path: str) -> Iterator[str]:
        for node in self._imports(path):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif not node.level:
                yield (node.module or "").partition(".")[0]

    def _imported(self, path: str) -> set[str]:
        found: set[str] = set()
        for node in self._imports(path):
            found |= mentioned([node]).attributes
        return found

    def _imports(self, path: str) -> Iterator[ast.Import | ast.ImportFrom]:
        for unit in self.files[path].units:
            if isinstance(unit.node, ast.Import | ast.ImportFrom):
                yield unit.node

    # --- following names --------------------------------------------------------------------

    @cached_property
    def _spread(self) -> Spread:
        found = self._followed(self.exposure.names)
        if self.exposure.bodies:
            found.reading.setdefault(self.path, set()).update(self.exposure.bodies)
        return found

    @cached_property
    def _all_mentions(self) -> tuple[Mentions, ...]:
        found: list[Mentions] = []
        for parts in self.files.values():
            found += [unit.mentions for unit in parts.units]
            found += [code.mentions for code in parts.codes]
        return tuple(found)

    @cached_property
    def _texts(self) -> tuple[set[str], set[str]]:
        """What all the code spells, whole and in pieces."""
        texts = {text for one in self._all_mentions for text in one.texts}
        return texts, {piece for one in self._all_mentions for piece in one.pieces}

    def _followed(self, names: Iterable[Seen]) -> Spread:
        """Everything that reads these names, through all that is made of them on import."""
        spread = Spread(set(names))
        left = list(spread.names)
        while left:
            seen = left.pop()
            for path, parts in self.files.items():
                words = self._words(seen)
                for code in parts.codes:
                    if _mentions(code, path, seen, words):
                        spread.reading.setdefault(path, set()).add(code.key)
                for made in self._made(path, parts, seen, words, spread):
                    if made not in spread.names:
                        spread.names.add(made)
                        left.append(made)
        return spread

    def _words(self, seen: Seen) -> frozenset[str]:
        """How a name may be spelled: itself, and by code that makes names at run time."""
        spelled = {SPELLED} if may_come_to(seen.name, *self._texts) else set()
        return frozenset({seen.name, ANY} | spelled)

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
            return None if seen in self.exposure.gone else _imported_as(unit, path, seen)
        if unit.does is Does.BIND and unit.binds == ("__all__",) and not unit.scope:
            return None if seen in self.exposure.gone else []
        if seen in self.exposure.gone or len(unit.scope) > 1:
            return None
        match unit.does:
            case Does.BIND if isinstance(unit.node, ast.Assign | ast.AnnAssign):
                value = unit.node.value
                calm = value is not None and is_calm(value, self._is_unsteady)
                return self._bound(unit, path) if calm else None
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
        return found if making is Making.PLAIN else [*found, Seen(path, unit.scope[0])]

    def _function(self, unit: Unit, path: str, seen: Seen) -> list[Seen] | None:
        node = unit.node
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        defaults = [*node.args.defaults, *(one for one in node.args.kw_defaults if one)]
        evaluated = mentioned([*node.decorator_list, *defaults])
        own = Seen("" if unit.scope else path, node.name)
        if not evaluated.has(seen.name) and not evaluated.attributes & {ANY, SPELLED}:
            return [own] if _TEST.search(path) else []  # a parameter: of a test, it is a fixture
        told = [one for one in node.decorator_list if mentioned([one]).has(seen.name)]
        if not all(self._is_calm_mark(one) for one in told):
            return None
        return [own] if all(is_calm(one, self._is_unsteady) for one in defaults) else None

    def _is_calm_mark(self, decorator: ast.expr) -> bool:
        """Whether it gives a test or a fixture of pytest plain values."""
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
        if unit.scope or any(mentioned([one]).has(seen.name) for one in told):
            return None
        if Classes(self.read).making(path, node.name) is Making.HOOKED:
            return None
        return [Seen(path, node.name)]


def _both(unit: Unit, words: frozenset[str], names: set[str]) -> bool:
    """Whether a unit reads descriptions, and mentions what is described."""
    seen = unit.mentions.names | unit.mentions.attributes
    return unit.does is not Does.IMPORT and bool(words & seen) and bool(names & seen)


def _mentions(code: Code, path: str, seen: Seen, words: frozenset[str]) -> bool:
    bare = path == seen.path and seen.name in code.mentions.names
    return bare or bool(words & code.mentions.attributes)


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
