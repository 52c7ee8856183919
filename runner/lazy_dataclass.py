"""A `dataclass` decorator that generates the methods when they are first called.

A start loads hundreds of nouns, makes few of them and prints or compares fewer still, and
`dataclasses` compiles six functions for each: two fifths of a short run's own time. Here the
standard library collects the fields when they are first asked for; each of `__init__`, `__repr__`,
`__eq__` and `__hash__` is a stand-in that has the true one written and puts that in its own place.

Only `frozen` and `slots` are known. To type checkers it is `dataclasses.dataclass` itself.

A class with slots may name in `__seldom__` the fields that most of its objects leave at their
default: those have one slot together, which holds what differs.
"""

from __future__ import annotations

import abc
import dataclasses
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass
else:

    def dataclass(kind: type | None = None, /, *, frozen: bool = False, slots: bool = False) -> Any:
        """Make a class a dataclass; also usable as `@dataclass(frozen=True, slots=True)`."""
        if kind is None:
            return lambda named: _finish(named, frozen=frozen, slots=slots)
        return _finish(kind, frozen=frozen, slots=slots)


__all__ = ["dataclass", "other_than_usual"]

_NOT_GIVEN = object()


def _finish(kind: Any, *, frozen: bool, slots: bool) -> Any:
    own = set(vars(kind))
    if kind.__doc__ is None:
        kind.__doc__ = ""  # else the standard library writes the signature there, for 0.1 ms
    made = _with_fields(kind, slots=slots)
    if "__init__" not in own:
        _stand_in(made, "__init__", lambda: _init(made, frozen=frozen))
    if "__repr__" not in own:
        _stand_in(made, "__repr__", lambda: _twin(made, repr=True).__repr__)
    if "__eq__" not in own:
        _stand_in(made, "__eq__", lambda: _twin(made, eq=True).__eq__)
    if "__hash__" not in own:
        made.__hash__ = None
        if frozen:
            _stand_in(made, "__hash__", lambda: _twin(made, unsafe_hash=True).__hash__)
    if frozen:
        _freeze(made)
        if slots:
            made.__getstate__, made.__setstate__ = _state, _set_state
    return made


# --- fields -------------------------------------------------------------------------------


def _with_fields(kind: Any, *, slots: bool) -> Any:
    """Return the class with its slots and fields, without generated methods."""
    if slots and "__seldom__" in vars(kind):
        return _with_one_slot(_collect(kind))
    return _collect_later(kind, slots=slots) if _is_plain(kind) else _collect(kind, slots=slots)


_COLLECTED = ("__dataclass_fields__", "__dataclass_params__", "__match_args__")
_ODD_FIELDS = ("InitVar", "KW_ONLY")
_OF_THE_CLASS = ("ClassVar", "typing.ClassVar")


def _collect(kind: Any, *, slots: bool = False) -> Any:
    """Return the class as `dataclass` makes it, without generated methods."""
    return dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(kind)


def _is_plain(kind: Any) -> bool:
    """Return whether a class's fields can be collected from its own annotations alone."""
    if "__slots__" in vars(kind) or any(_COLLECTED[0] in vars(one) for one in kind.__mro__[1:]):
        return False
    return all(
        isinstance(annotation, str)
        and not any(odd in annotation for odd in _ODD_FIELDS)
        and (annotation.startswith(_OF_THE_CLASS) or "ClassVar" not in annotation)
        for annotation in vars(kind).get("__annotations__", {}).values()
    )


def _collect_later(kind: Any, *, slots: bool) -> Any:
    """Return the class with slots and defaults; its fields are collected on first access."""
    annotations = vars(kind).get("__annotations__", {})
    names = [name for name, one in annotations.items() if not one.startswith(_OF_THE_CLASS)]
    usual = {name: vars(kind)[name] for name in annotations if name in vars(kind)}
    if slots:
        made = _slotted(kind, names)
    else:
        made = kind
        for name in usual.keys() & set(names):
            if not isinstance(usual[name], Field):
                continue
            if usual[name].default is MISSING:
                delattr(made, name)
            else:
                setattr(made, name, usual[name].default)

    def collect() -> None:
        body = {"__annotations__": annotations, "__module__": kind.__module__, "__doc__": ""}
        twin = _collect(type(kind.__name__, (), body | usual))
        for name in _COLLECTED:
            setattr(made, name, vars(twin)[name])

    for name in _COLLECTED:
        setattr(made, name, _Uncollected(name, made, collect))
    return abc.update_abstractmethods(made)


class _Uncollected:
    """The fields of a class, collected on first use."""

    __slots__ = ("_collect", "_kind", "_name")

    def __init__(self, name: str, kind: Any, collect: Callable[[], None]) -> None:
        self._name, self._kind, self._collect = name, kind, collect

    def __get__(self, _noun: Any, _kind: type | None = None) -> Any:
        self._collect()
        return vars(self._kind)[self._name]


def _slotted(kind: Any, names: list[str]) -> Any:
    """Return the class with slots for these fields."""
    inherited = {
        name
        for base in kind.__mro__[1:-1]
        for slots in (vars(base).get("__slots__", ()),)
        for name in ((slots,) if isinstance(slots, str) else slots)
    }
    gone = {*names, "__dict__", "__weakref__"}
    body = {name: value for name, value in vars(kind).items() if name not in gone}
    body["__slots__"] = tuple(name for name in names if name not in inherited)
    made = type(kind)(kind.__name__, kind.__bases__, body)
    made.__qualname__ = kind.__qualname__
    return made


# --- methods ------------------------------------------------------------------------------


def _stand_in(kind: type, name: str, write: Callable[[], Any]) -> None:
    """Give a class a method that writes the real one at its first call and calls it."""

    def first(*given: Any, **named: Any) -> Any:
        true = write()
        true.__qualname__ = first.__qualname__
        setattr(kind, name, true)
        return true(*given, **named)

    first.__name__, first.__qualname__ = name, f"{kind.__qualname__}.{name}"
    setattr(kind, name, first)


def _twin(kind: Any, **asked: bool) -> Any:
    """Return a class of equal fields with only the requested generated methods."""
    body: dict[str, Any] = {one.name: one for one in fields(kind)}
    body["__annotations__"] = {name: one.type for name, one in body.items()}
    body |= {"__module__": kind.__module__, "__doc__": ""}
    wanted = {"init": False, "repr": False, "eq": False} | asked
    return dataclasses.dataclass(**wanted)(type(kind.__name__, (), body))


def _init(kind: Any, *, frozen: bool) -> Any:
    """Create only `__init__`; for a frozen class dataclass would create two more methods."""
    known: dict[str, Any] = {"put": object.__setattr__, "NOT_GIVEN": _NOT_GIVEN}
    given, lines = ["self"], ["pass"]
    seldom = getattr(kind, "__seldom__", ())
    if seldom:
        known["differing"] = _Differing(seldom, [vars(kind)[name].usual for name in seldom])
        same = " and ".join(f"{name} is usual_{name}" for name in seldom)
        lines.append(f"put(self, '__rest__', () if {same} else differing({', '.join(seldom)}))")
    for one in fields(kind):
        default, value = _default(one, known)
        if one.init:
            given.append(f"{one.name}={default}" if default else one.name)
        if value and one.name not in seldom:
            to = f"put(self, {one.name!r}, {value})" if frozen else f"self.{one.name} = {value}"
            lines.append(to)
    if hasattr(kind, "__post_init__"):
        lines.append("self.__post_init__()")
    source = f"def __init__({', '.join(given)}):\n " + "\n ".join(lines)
    exec(source, known)  # noqa: S102 - names of fields alone, as `dataclasses` does it
    return known["__init__"]


def _default(one: Field[Any], known: dict[str, Any]) -> tuple[str, str]:
    """Return a field's default and its value as source of `__init__`; empty for none."""
    name = one.name
    if one.default_factory is not MISSING:
        known[f"make_{name}"] = one.default_factory
        if not one.init:
            return "", f"make_{name}()"
        return "NOT_GIVEN", f"make_{name}() if {name} is NOT_GIVEN else {name}"
    if one.default is MISSING:
        return "", name if one.init else ""
    known[f"usual_{name}"] = one.default
    return f"usual_{name}", name if one.init else f"usual_{name}"


# --- fields that most objects leave at their default -----------------------------------


def _with_one_slot(kind: Any) -> Any:
    """Return the class with slots, where the `__seldom__` fields share one.

    An object of 36 slots takes 328 bytes; of a long plan's tasks most say a third of that.
    """
    names = [one.name for one in fields(kind)]
    gone = {*names, "__dict__", "__weakref__"}
    body = {name: value for name, value in vars(kind).items() if name not in gone}
    body["__slots__"] = (*(one for one in names if one not in kind.__seldom__), "__rest__")
    made: Any = type(kind)(kind.__name__, kind.__bases__, body)
    made.__qualname__ = kind.__qualname__
    usual = {one.name: one.default for one in fields(kind)}
    for name in kind.__seldom__:
        setattr(made, name, _Seldom(name, usual[name]))
    return made


class _Seldom:
    """A field whose value stands in `__rest__`, behind the names of those that stand there."""

    def __init__(self, name: str, usual: object) -> None:
        self._name, self.usual = name, usual

    def __get__(self, noun: Any, _: type | None = None) -> Any:
        if noun is None:
            return self
        rest = noun.__rest__
        if not rest or self._name not in rest[0]:
            return self.usual
        return rest[rest[0].index(self._name) + 1]

    def __set__(self, noun: Any, value: object) -> None:
        names, *values = getattr(noun, "__rest__", ()) or ((),)
        stored = dict(zip(names, values, strict=True)) | {self._name: value}
        noun.__class__.__rest__.__set__(noun, (tuple(stored), *stored.values()))


def other_than_usual(noun: Any) -> dict[str, object]:
    """Return the fields in the shared slot that differ from their defaults."""
    names, *values = noun.__rest__ or ((),)
    return dict(zip(names, values, strict=True))


class _Differing:
    """The values of such fields that differ from the defaults, with their names."""

    def __init__(self, names: tuple[str, ...], usual: list[object]) -> None:
        self._names, self._usual = names, usual
        self._shapes: dict[tuple[str, ...], tuple[str, ...]] = {}
        """One tuple for equal names: a plan has few kinds of tasks."""

    def __call__(self, *values: object) -> tuple[object, ...]:
        differing = [
            (name, value)
            for name, value, usual in zip(self._names, values, self._usual, strict=True)
            if value is not usual and (type(value) is not type(usual) or value != usual)
        ]
        names = tuple([name for name, _ in differing])
        known = self._shapes.setdefault(names, names)
        return (known, *[value for _, value in differing]) if differing else ()


def _freeze(kind: Any) -> None:
    """Make the class frozen as the standard library does: fields and own instances."""

    def refuse_to_set(self: object, name: str, value: object) -> None:
        if type(self) is kind or name in kind.__dataclass_fields__:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(kind, self).__setattr__(name, value)

    def refuse_to_delete(self: object, name: str) -> None:
        if type(self) is kind or name in kind.__dataclass_fields__:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(kind, self).__delattr__(name)

    kind.__setattr__, kind.__delattr__ = refuse_to_set, refuse_to_delete


def _state(self: Any) -> list[object]:
    """Return the field values for `copy` and `pickle` of a frozen object."""
    return [getattr(self, one.name) for one in fields(self)]


def _set_state(self: Any, state: list[object]) -> None:
    for one, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)
