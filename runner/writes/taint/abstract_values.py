"""What the walk knows of a value: a constant, a container, or where it came from.

What the walk says: where foreign values do harm, and where sinks are fed harmless ones.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Protocol

from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import ast
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Known:
    """A constant, folded: its Python value."""

    value: object


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody can say inside this function: a parameter, an answer of something foreign."""


@dataclass(frozen=True, slots=True)
class Taint:
    """Somebody else's text."""

    source: str
    """In words: `flask.request.args`."""
    weak: bool = False
    """Whether it is the person's own who runs the program."""
    disarmed: frozenset[str] = frozenset()
    """Kinds of sinks at which it does no harm any more."""
    origin: int = 0
    """Which reading it came from: a check of one of its copies checks all."""

    def without(self, kinds: frozenset[str]) -> Taint:
        """The same, harmless at these kinds too."""
        return replace(self, disarmed=self.disarmed | kinds)


@dataclass(frozen=True, slots=True)
class Named:
    """A function, class or module by its dotted name."""

    name: str


@dataclass(frozen=True, slots=True)
class FromRequest:
    """An object that was given the whole request."""

    source: str


@dataclass(slots=True)
class Box:
    """A dict, a list, a configuration: values by key, and what may lie under any other."""

    items: dict[object, Value] = field(default_factory=dict)
    rest: Value = Unknown()
    is_list: bool = False
    exact: bool = True
    """Whether every key is known; a list whose order is not known is not exact."""

    def copy(self) -> Box:
        """One that changes apart from this."""
        return Box(dict(self.items), self.rest, self.is_list, self.exact)

    def any(self) -> Value:
        """What any of its values may be."""
        return join_values([self])


Value = Known | Unknown | Taint | Named | FromRequest | Box


def join_values(values: Sequence[Value]) -> Value:
    """What a value is that may be any of these: foreign if one is."""
    return _join_flat(values, {})


def _join_flat(values: Sequence[Value], boxes: dict[int, Value]) -> Value:
    """`boxes` are those that were looked into: `a = [a, a]` over and over holds few, often."""
    flat = [_any_of(one, boxes) if isinstance(one, Box) else one for one in values]
    tainted = [one for one in flat if isinstance(one, Taint)]
    if tainted:
        worst = min(tainted, key=lambda one: (one.weak, len(one.disarmed)))
        kinds = frozenset.intersection(*(one.disarmed for one in tainted))
        return replace(worst, disarmed=kinds)
    if flat and all(one == flat[0] for one in flat):
        return flat[0]
    if flat and all(isinstance(one, Known) for one in flat):
        return Known(_EITHER)
    return Unknown()


def _any_of(box: Box, boxes: dict[int, Value]) -> Value:
    if id(box) not in boxes:
        boxes[id(box)] = _join_flat([*box.items.values(), box.rest], boxes)
    return boxes[id(box)]


def is_same(one: Value, other: Value, met: set[tuple[int, int]] | None = None) -> bool:
    """Whether both are known to be equal: every pair of containers is compared once."""
    if not (isinstance(one, Box) and isinstance(other, Box)):
        return one == other
    met = set() if met is None else met
    if one is other or (id(one), id(other)) in met:
        return True
    met.add((id(one), id(other)))
    return (
        (one.is_list, one.exact) == (other.is_list, other.exact)
        and one.items.keys() == other.items.keys()
        and all(is_same(held, other.items[key], met) for key, held in one.items.items())
        and is_same(one.rest, other.rest, met)
    )


class _Either:
    """One of several constants: harmless, and which one is not known."""

    def __repr__(self) -> str:
        return "one of several constants"


_EITHER = _Either()


def is_exact(value: Value) -> bool:
    """Whether the constant itself is known."""
    return isinstance(value, Known) and value.value is not _EITHER


def either() -> Known:
    """A constant of which only is known that it is one."""
    return Known(_EITHER)


# --- taint report ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """One finding: what kind of harm, where, and from which source."""

    kind: str
    line: int
    column: int
    source: str
    weak: bool = False


@dataclass(slots=True)
class Report:
    """What the walk says of a module."""

    found: dict[tuple[str, int], Place] = field(default_factory=dict)
    constant: set[tuple[str, int]] = field(default_factory=set)
    """Kinds of sinks, by line, that constants alone reach."""
    checked: set[tuple[str, int]] = field(default_factory=set)
    """Those that foreign values reach after a check, or disarmed."""


class Evaluator(Protocol):
    """What gives expressions their values, as far as calls ask it; `Expressions` is one."""

    @property
    def report(self) -> Report:
        """What is found."""

    @property
    def values(self) -> dict[str, Value]:
        """Values of names."""

    @property
    def checked(self) -> set[int]:
        """Origins of foreign values that a condition has looked at."""

    @property
    def route(self) -> str | None:
        """The path of the page that the function returns; None where it returns none."""

    def value(self, node: ast.expr) -> Value:
        """What an expression may be."""

    def attribute_of(self, node: ast.Attribute, owner: Value) -> Value:
        """What an attribute may be of what is known already."""

    def fresh(self, source: str, *, weak: bool) -> Taint:
        """A foreign value of its own."""
