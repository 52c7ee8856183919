"""What is seen of a Python file whose import-time code changed: names that hold something else.

None where it cannot be said: then everything that imports the file counts. A name of a module is
known with the file that binds it, an attribute of a class by its name alone, whoever's it is.
"""

from __future__ import annotations

import ast
import builtins
from dataclasses import field
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from runner.impact.calm import fold_constant, is_calm, is_of_python
from runner.impact.classes import Classes, Making, places_of
from runner.impact.mentions import last_name
from runner.impact.units import Does, is_own, parts_of
from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.impact.change import Changed
    from runner.impact.python_blocks import Key
    from runner.impact.units import Parts, Unit

_PLAIN_DECORATORS = frozenset(
    {"property", "staticmethod", "classmethod", "abstractmethod", "abstractproperty", "overload"}
    | {"lru_cache", "cache", "cached_property", "wraps", "contextmanager", "asynccontextmanager"}
    | {"setter", "getter", "deleter", "final", "override"}
)
_TELLING = frozenset(
    {
        "__all__",
        "__version__",
        "__author__",
        "__license__",
        "__copyright__",
        "__email__",
        "__title__",
    }
    | {"__url__", "__description__", "__date__", "__credits__", "__maintainer__", "__status__"}
)
"""Names with underscores of which Python itself makes nothing."""
_READ_BY_OTHERS = frozenset(
    {"encoding", "errors", "mode", "name", "closed", "newlines", "buffer", "softspace", "args"}
    | {"maxsize", "typecode", "width", "level", "terminator", "keys", "items", "values", "get"}
    | {"read", "readline", "readlines", "readinto", "write", "writelines", "flush", "close"}
    | {"fileno", "isatty", "seek", "tell", "readable", "writable", "seekable", "send", "throw"}
    | {"append", "extend", "update", "pop", "run", "emit", "format", "filter", "handle", "default"}
    | {"mro", "tzname", "utcoffset", "dst", "fromutc", "isoformat", "setup", "teardown"}
)
"""Attributes that Python's own library reads of whatever it is given."""
_MOST_UNITS = 5000


class Seen(NamedTuple):
    """A name by which something is read."""

    path: str
    """The file of which it is a global; empty for an attribute."""
    name: str


@dataclass(slots=True)
class Exposure:
    """What a change of import-time code lets others see."""

    names: set[Seen] = field(default_factory=set)
    """Names that hold something else, or hold it no more."""
    attributes: dict[str, set[Seen]] = field(default_factory=dict)
    """The same of attributes of classes, by the class: seen on objects of it, or made of it."""
    gone: set[Seen] = field(default_factory=set)
    """Those that are not there any more: on import, reading one is an error."""
    unsteady: set[str] = field(default_factory=set)
    """Those that may hold a value of another kind."""
    bodies: set[Key] = field(default_factory=set)
    """Functions that are called otherwise: by these blocks of the file before."""
    documented: set[Seen] = field(default_factory=set)
    """What is described otherwise: in docstrings, which only some code reads."""
    annotated: set[Seen] = field(default_factory=set)
    """The same of annotations."""
    changed: set[int] = field(default_factory=set)
    """Which units of the file after are not those of the file before, by identity."""


def find_exposure(change: Changed, classes: Classes) -> Exposure | None:
    """What the change of a file's import-time code lets others see; None for not decidable."""
    old, new = parts_of(change.before or b""), parts_of(change.after or b"")
    if old is None or new is None or len(old.units) + len(new.units) > _MOST_UNITS:
        return None
    gone, come = _differing(old.units, new.units)
    if any(unit.does is Does.OTHER for unit in (*gone, *come)):
        return None
    found = Exposure(changed={id(unit) for unit in come})
    step = _Step(change.path, old, new, gone, come, classes, found)
    return found if all(step.take(unit) for unit in (*gone, *come)) else None


def _differing(
    old: tuple[Unit, ...], new: tuple[Unit, ...]
) -> tuple[tuple[Unit, ...], tuple[Unit, ...]]:
    """The units that are not in the other version, or not in the same order."""
    one, other = [unit.said for unit in old], [unit.said for unit in new]
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    changed = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    gone = tuple(unit for _, start, end, _, _ in changed for unit in old[start:end])
    come = tuple(unit for _, _, _, start, end in changed for unit in new[start:end])
    return gone, come


@dataclass(slots=True)
class _Step:
    """Judges the units that differ, one after the other."""

    path: str
    old: Parts
    new: Parts
    gone: tuple[Unit, ...]
    come: tuple[Unit, ...]
    classes: Classes
    found: Exposure

    def take(self, unit: Unit) -> bool:
        """Add what one unit lets others see; False where that cannot be said."""
        if unit.does is Does.DOCSTRING:
            self.found.documented.add(self._described(unit))
            return True
        if len(unit.scope) > 1:
            return False
        match unit.does:
            case Does.ANNOTATION:
                return self._annotation(unit)
            case Does.IMPORT:
                return self._import(unit)
            case Does.BIND:
                return self._bind(unit)
            case Does.FUNCTION:
                return self._function(unit)
            case Does.CLASS:
                return self._class(unit)
        return False

    # --- kinds of units -------------------------------------------------------------------

    def _described(self, unit: Unit) -> Seen:
        """Whose docstring or annotation it is."""
        if unit.does is Does.ANNOTATION and unit.scope and isinstance(unit.node, ast.AnnAssign):
            return Seen(self.path, unit.scope[0])
        if unit.binds:
            return self._seen(unit, unit.binds[0])
        if len(unit.scope) > 1:
            return Seen("", unit.scope[-1])
        return Seen(self.path, unit.scope[0] if unit.scope else "")

    def _annotation(self, unit: Unit) -> bool:
        if isinstance(unit.node, ast.AnnAssign):
            making = self._making(unit)
            partner = self._partner(unit)
            if making >= Making.KNOWN and (partner is None or making is Making.HOOKED):
                return False
        elif not self._is_plain(unit):
            return False
        if not self.new.lazy_annotations and self._is_new(unit) and not self._is_known(unit):
            return False
        self.found.annotated.add(self._described(unit))
        return True

    def _is_known(self, unit: Unit) -> bool:
        """Whether an annotation that is evaluated surely can be."""
        node = unit.node
        if any(isinstance(one, ast.Call | ast.BinOp) for one in _annotations(node)):
            return False
        return unit.mentions.names <= self._names_there()

    def _import(self, unit: Unit) -> bool:
        node = unit.node
        assert isinstance(node, ast.Import | ast.ImportFrom)
        if any(alias.name == "*" for alias in node.names) or not self._is_harmless(node):
            return False
        for name in unit.binds:
            self._hold(unit, name, steady=False)
        return not unit.scope

    def _is_harmless(self, node: ast.Import | ast.ImportFrom) -> bool:
        """Whether no module is imported that was not, and the other way round."""
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            return False
        always = (self._always(self.old), self._always(self.new))
        for target in self._targets(node):
            known = is_of_python(target) and not target.endswith(".py")
            if not known and not all(target in some for some in always):
                return False
        return True

    def _always(self, parts: Parts) -> set[str]:
        """What a file imports under no condition."""
        nodes = (unit.node for unit in parts.units if not unit.branch)
        imports = (one for one in nodes if isinstance(one, ast.Import | ast.ImportFrom))
        return {target for node in imports for target in self._targets(node)}

    def _targets(self, node: ast.Import | ast.ImportFrom) -> Iterable[str]:
        """The files of the project that are imported, else the package of others."""
        level = 0 if isinstance(node, ast.Import) else node.level
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        else:
            start = node.module or ""
            inner = (f"{start}.{alias.name}".lstrip(".") for alias in node.names)
            modules = [start, *inner]
        for at, module in enumerate(modules):
            places = places_of(self.path, module, level)
            ours = next((one for one in places if self.classes.read(one) is not None), None)
            if ours is not None:
                yield ours
            elif at == 0 or isinstance(node, ast.Import):
                yield "." * level + module.partition(".")[0]

    def _bind(self, unit: Unit) -> bool:
        value = _value(unit.node)
        if value is None or not is_calm(value) or not self._is_sound(unit, value):
            return False
        if not self._is_of_python(value):
            return False
        partner = self._partner(unit)
        steady = partner is not None and _is_steady(value, _value(partner.node))
        if not unit.scope:
            if any(_is_special(name) and name not in _TELLING for name in unit.binds):
                return False
            for name in unit.binds:
                self._hold(unit, name, steady=steady)
            return True
        making = self._making(unit)
        if making is Making.HOOKED:
            return False
        for name in unit.binds:
            self._hold(unit, name, steady=steady)
            if self._is_wide(unit, name, making):
                self._whole_class(unit)
        return True

    def _is_wide(self, unit: Unit, name: str, making: Making) -> bool:
        """Whether more may read an attribute of a class than code that names it."""
        if making is Making.KNOWN or _is_special(name) or name in _READ_BY_OTHERS:
            return True
        if making is Making.PLAIN or self._partner(unit) is not None:
            return False
        return self._classes_with(self.old).forbids(self.path, unit.scope[0], name)

    def _function(self, unit: Unit) -> bool:
        node = unit.node
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        name = node.name
        defaults = [*node.args.defaults, *(one for one in node.args.kw_defaults if one)]
        if not self._is_plain(unit) or name.startswith("pytest_"):
            return False
        if not all(is_calm(one) and self._is_sound(unit, one) for one in defaults):
            return False
        if not all(map(self._is_of_python, defaults)):
            return False
        if unit.scope:
            if self._making(unit) is Making.HOOKED:
                return False
            if self._is_wide(unit, name, self._making(unit)):
                self._whole_class(unit)
        elif _is_special(name):
            return False
        self._hold(unit, name, steady=True)
        if id(node) in self.old.keys:
            self.found.bodies.add(self.old.keys[id(node)])
        return True

    def _class(self, unit: Unit) -> bool:
        if unit.scope or unit.branch or _is_special(unit.binds[0]):
            return False
        partner = self._partner(unit)
        if self._made(self.new if self._is_new(unit) else self.old, unit.binds[0]) is Making.HOOKED:
            return False
        if self._is_new(unit) and not unit.mentions.names <= self._names_there():
            return False
        node = unit.node
        assert isinstance(node, ast.ClassDef)
        if partner is not None and (node.keywords or node.decorator_list):
            return False
        self._hold(unit, unit.binds[0], steady=True)
        return True

    # --- what they are asked --------------------------------------------------------------

    def _is_new(self, unit: Unit) -> bool:
        return id(unit) in self.found.changed

    def _partner(self, unit: Unit) -> Unit | None:
        """The unit of the other version that it takes the place of."""
        others = self.gone if self._is_new(unit) else self.come
        place = (unit.does, unit.scope, unit.branch, unit.binds)
        alike = (one for one in others if (one.does, one.scope, one.branch, one.binds) == place)
        return next(alike, None)

    def _making(self, unit: Unit) -> Making:
        """How the class around a unit is made, before and after; a module is plain."""
        if not unit.scope:
            return Making.PLAIN
        both = (parts for parts in (self.old, self.new) if unit.scope[0] in parts.classes)
        return max((self._made(parts, unit.scope[0]) for parts in both), default=Making.HOOKED)

    def _made(self, parts: Parts, name: str) -> Making:
        return self._classes_with(parts).making(self.path, name)

    def _classes_with(self, parts: Parts) -> Classes:
        """All classes, the file's own as in one version of it."""
        read = self.classes.read
        return Classes(lambda path: parts if path == self.path else read(path))

    def _seen(self, unit: Unit, name: str) -> Seen:
        return Seen("" if unit.scope else self.path, name)

    def _hold(self, unit: Unit, name: str, *, steady: bool) -> None:
        """A name holds something else from now on."""
        seen = self._seen(unit, name)
        if unit.scope:
            self.found.attributes.setdefault(unit.scope[0], set()).add(seen)
        else:
            self.found.names.add(seen)
        if not steady:
            self.found.unsteady.add(name)
        there = any(name in one.binds for one in self.new.units if one.scope == unit.scope)
        if not there:
            self.found.gone.add(seen)

    def _whole_class(self, unit: Unit) -> None:
        """Whoever makes an object of the class, or of one made of it, may see the difference."""
        self.found.names.add(Seen(self.path, unit.scope[0]))

    def _is_sound(self, unit: Unit, value: ast.expr) -> bool:
        """Whether a new value mentions nothing that may not be there."""
        if not self._is_new(unit):
            return True
        partner = self._partner(unit)
        names = {one.id for one in ast.walk(value) if isinstance(one, ast.Name)}
        dotted = {ast.dump(one) for one in ast.walk(value) if isinstance(one, ast.Attribute)}
        old = _value(partner.node) if partner else None
        before = {ast.dump(one) for one in ast.walk(old)} if old else set()
        if dotted - before - _dotted_in(self.old):
            return False
        return names <= self._names_there(unit.scope)

    def _is_plain(self, unit: Unit) -> bool:
        """Whether nobody but Python's own library is told of a function where it is defined."""
        decorators = getattr(unit.node, "decorator_list", [])
        known = all(last_name(one) in _PLAIN_DECORATORS for one in decorators)
        return known and all(self._is_of_python(one) for one in decorators)

    def _is_of_python(self, value: ast.expr) -> bool:
        """Whether nothing is called in an expression that is not Python's own."""
        named = isinstance(value, ast.Name) and value.id not in _PLAIN_DECORATORS
        return named or not any(is_own(value, parts) for parts in (self.old, self.new))

    def _names_there(self, scope: tuple[str, ...] = ()) -> set[str]:
        bound = (name for one in self.new.units if one.scope in ((), scope) for name in one.binds)
        return {*bound, *dir(builtins)}


def _annotations(node: ast.stmt) -> Iterable[ast.AST]:
    for one in ast.walk(node):
        for said in (getattr(one, "annotation", None), getattr(one, "returns", None)):
            if isinstance(said, ast.AST):
                yield from ast.walk(said)


def _dotted_in(parts: Parts) -> set[str]:
    """Every attribute that is read while the file is imported."""
    nodes = (unit.node for unit in parts.units if unit.does in (Does.BIND, Does.FUNCTION))
    values = (one for node in nodes if (one := _value(node)) is not None)
    return {
        ast.dump(one)
        for value in values
        for one in ast.walk(value)
        if isinstance(one, ast.Attribute)
    }


def _value(node: ast.stmt) -> ast.expr | None:
    return node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None


def _is_steady(one: ast.expr, other: ast.expr | None) -> bool:
    """Whether two plain values are of one kind."""
    old, new = fold_constant(one), fold_constant(other) if other is not None else None
    shown = ast.List | ast.Tuple | ast.Dict | ast.Set
    if isinstance(one, shown):
        return type(one) is type(other)
    if isinstance(one, ast.Call) and isinstance(other, ast.Call):
        return ast.dump(one.func) == ast.dump(other.func)
    return old is not None and type(old) is type(new)


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")
