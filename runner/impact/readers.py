"""Which tests may see that names of a module hold something else: who ran code that reads them."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from runner.impact.calm import is_of_python
from runner.impact.exposure import Seen
from runner.impact.mentions import (
    ANY,
    DOC_AS_TEXT,
    SPELLED,
    find_mentions,
    last_name,
)
from runner.impact.python_blocks import runs, spans_in
from runner.impact.spread import Names, stem_of
from runner.impact.units import Does
from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from runner.impact.exposure import Exposure
    from runner.impact.python_blocks import Key
    from runner.impact.spread import Spread
    from runner.impact.units import Parts, Unit
    from runner.model import Observed

_DOC_READERS = frozenset({"__doc__", "getdoc", "DocTestSuite", "getcomments", "getsource"})
_DOC_READERS |= {"WRAPPER_ASSIGNMENTS", "DocTestFinder"}
_DOC_MODULES = frozenset({"doctest", "pydoc", "cmd", "xmlrpc"})
"""Modules that read docstrings for whoever imports them."""
_HINT_READERS = frozenset(
    {"__annotations__", "get_type_hints", "get_annotations", "signature", "getfullargspec"}
    | {"getargspec", "singledispatch", "singledispatchmethod", "Signature", "WRAPPER_ASSIGNMENTS"}
    | {"fields", "fields_dict", "__dataclass_fields__", "__attrs_attrs__"}
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


@dataclass
class Readers:
    """Asks the code that was seen to run who reads what a change lets others see."""

    path: str
    """The changed file."""
    before: Parts
    after: Parts
    exposure: Exposure
    files: Mapping[str, Parts]
    """All files that ran, as they ran."""
    read: Callable[[str], Parts | None]

    @cached_property
    def _names(self) -> Names:
        return Names(self.path, self.after, self.exposure, self.files, self.read)

    def tests(self, rows: Sequence[Observed]) -> Mapping[str, Reader] | None:
        """The tests of one contract that may see the change; None for all that there are."""
        paths = {row.path for row in rows}
        if self._spread.whole & paths:
            return None
        if self._lasts(rows, self._spread.reading):
            return None
        found = self._running(rows, self._spread.reading)
        for name in self.exposure.attributes:
            seen = self._of_class(rows, *self._of_classes[name])
            if seen is None:
                return None
            found |= seen
        for subject, words in ((self._documented, _DOC_READERS), (self._annotated, _HINT_READERS)):
            if subject is None:
                continue
            described = self._of_descriptions(rows, subject, words)
            if described is None:
                return None
            found |= described
        # Without a test's name (`Observed.test`) it is the whole contract that ran it.
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

    def _lasts(self, rows: Sequence[Observed], reading: Mapping[str, set[Key]]) -> bool:
        """Whether what one test read may be kept for others, which do not run that code again.

        So do caches, fixtures that several tests share, and modules that a test was the first to
        import.
        """
        for path in {row.path for row in rows}:
            lasting = reading.get(path, set()) & self._lasting[path]
            own = [row for row in rows if row.path == path]
            if lasting and self._running(own, {path: lasting}):
                return True
        early = {row.path for row in rows if not row.test}
        late = {row.path for row in rows} - early if early else set()
        names = {key[0].rpartition(".")[2] for keys in reading.values() for key in keys}
        units = (unit for path in late for unit in self.files[path].units)
        return any(_may_call(unit) and names & unit.mentions.names for unit in units)

    @cached_property
    def _lasting(self) -> dict[str, set[Key]]:
        """The functions of each file of which the result is kept."""
        return {
            path: {
                parts.keys[id(unit.node)]
                for unit in parts.units
                if unit.does is Does.FUNCTION and id(unit.node) in parts.keys and _is_kept(unit)
            }
            for path, parts in self.files.items()
        }

    # --- attributes of classes ----------------------------------------------------------------

    @cached_property
    def _of_classes(self) -> dict[str, tuple[Spread, Spread]]:
        """For each class: who reads its attributes by their names, and who has the class."""
        found = {}
        for name, seen in self.exposure.attributes.items():
            holding = self._names.follow({Seen(self.path, name)})
            own = {one.key for one in self.before.codes if one.key[0].startswith(f".{name}.")}
            holding.reading.setdefault(self.path, set()).update(own)
            found[name] = self._names.follow(seen), holding
        return found

    def _of_class(
        self, rows: Sequence[Observed], reading: Spread, holding: Spread
    ) -> dict[str, Reader] | None:
        """The tests that read an attribute, and have the class or an object of it."""
        paths = {row.path for row in rows}
        if self._lasts(rows, reading.reading) or self._lasts(rows, holding.reading):
            return None
        readers = self._running(rows, reading.reading)
        holders = self._running(rows, holding.reading)
        if "" in holders or holding.whole & paths:
            return None if "" in readers or reading.whole & paths else readers
        return {test: at for test, at in readers.items() if test in holders}

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
        spread = self._names.follow(
            started | ({Seen("", stem_of(self.path))} if of_module else set())
        )
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
        as_text = any(DOC_AS_TEXT in one.attributes for one in self._names.all_mentions)
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
            found |= find_mentions([node]).attributes
        return found

    def _imports(self, path: str) -> Iterator[ast.Import | ast.ImportFrom]:
        for unit in self.files[path].units:
            if isinstance(unit.node, ast.Import | ast.ImportFrom):
                yield unit.node

    @cached_property
    def _spread(self) -> Spread:
        found = self._names.follow(self.exposure.names)
        if self.exposure.bodies:
            found.reading.setdefault(self.path, set()).update(self.exposure.bodies)
        return found


def _both(unit: Unit, words: frozenset[str], names: set[str]) -> bool:
    """Whether a unit reads descriptions, and mentions what is described."""
    seen = unit.mentions.names | unit.mentions.attributes
    return unit.does is not Does.IMPORT and bool(words & seen) and bool(names & seen)


def _may_call(unit: Unit) -> bool:
    """Whether functions may be called where a unit is evaluated."""
    if unit.does is Does.FUNCTION:
        return bool(getattr(unit.node, "decorator_list", ()))
    return unit.does in (Does.BIND, Does.OTHER, Does.CLASS)


def _is_kept(unit: Unit) -> bool:
    """Whether a function is called once for several tests: a cache, or a shared fixture."""
    for decorator in getattr(unit.node, "decorator_list", ()):
        if last_name(decorator) in ("cache", "lru_cache", "cached", "memoize"):
            return True
        keywords = decorator.keywords if isinstance(decorator, ast.Call) else ()
        if any(one.arg == "scope" for one in keywords):
            return True
    return False
