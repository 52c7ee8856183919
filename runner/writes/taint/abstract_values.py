"""What the walk knows of a value: a constant, a container, or where it came from.

What the walk says: where foreign values do harm, and where sinks are fed harmless ones.

Constants folded and containers looked into: what an expression of abstract values is.
"""

from __future__ import annotations

import ast
import operator
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Protocol

from runner.lazy_dataclass import dataclass
from runner.text.literals import TooLarge, combine, join, write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# --- values ---------------------------------------------------------------------------


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


# --- folding --------------------------------------------------------------------------


_COMPARISONS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_FOLDED = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Div)


def truth(value: Value) -> bool:
    """Whether a constant counts as true."""
    return bool(value.value) if isinstance(value, Known) else False


def hashable(value: Value) -> bool:
    """Whether a constant can be a key that is told apart."""
    return isinstance(value, Known) and isinstance(value.value, str | bytes | int | float | None)


def apply_operator(kind: ast.operator, left: Value, right: Value) -> Value:
    """What an operation on two values gives."""
    if is_exact(left) and is_exact(right) and isinstance(kind, _FOLDED):
        try:
            return Known(combine(type(kind), left.value, right.value))  # type: ignore[union-attr]
        except TooLarge:  # of constants alone all the same
            return either()
        except (TypeError, ValueError, ArithmeticError):
            return Unknown()
    if isinstance(kind, ast.Mod | ast.Add | ast.Div):
        return text([left, right])
    return join_values([one for one in (left, right) if isinstance(one, Taint)] or [Unknown()])


def text(parts: list[Value]) -> Value:
    """What a text put together from these is."""
    if all(is_exact(one) and isinstance(one.value, str) for one in parts):  # type: ignore[union-attr]
        try:
            return Known(join("", [one.value for one in parts]))  # type: ignore[union-attr,misc]
        except TooLarge:
            return either()
    flat = [one.any() if isinstance(one, Box) else one for one in parts]
    tainted = [one for one in flat if isinstance(one, Taint)]
    if tainted:
        return join_values(list(tainted))
    harmless = all(isinstance(one, Known) for one in flat)
    return either() if harmless else Unknown()


def as_text(value: Value) -> Value:
    """What `str(value)` is."""
    if not is_exact(value):
        return value
    try:
        return Known(write(value.value))  # type: ignore[union-attr]
    except (TypeError, ValueError):
        return either()


def apply_comparison(kind: ast.cmpop, left: object, right: object) -> Value:
    """What a comparison of two constants gives."""
    try:
        if isinstance(kind, ast.In):
            return Known(left in right)  # type: ignore[operator]
        if isinstance(kind, ast.NotIn):
            return Known(left not in right)  # type: ignore[operator]
        operate = _COMPARISONS.get(type(kind))
        return Known(operate(left, right)) if operate else Unknown()
    except (TypeError, ValueError):
        return Unknown()


def apply_slice(owner: Value, bounds: list[Value]) -> Value:
    """What a slice of a value is."""
    if is_exact(owner) and all(is_exact(one) for one in bounds):
        low, high, step = (one.value for one in bounds)  # type: ignore[union-attr]
        try:
            return Known(owner.value[low:high:step])  # type: ignore[union-attr,index]
        except (TypeError, ValueError):
            return Unknown()
    if isinstance(owner, Box):
        return Box({}, owner.any(), is_list=True, exact=False)
    return owner


def item_at(owner: Value, key: Value) -> Value:
    """What lies under a key."""
    if isinstance(owner, Box):
        if is_exact(key) and hashable(key):
            at = key.value  # type: ignore[union-attr]
            if owner.is_list and isinstance(at, int) and at < 0 and owner.exact:
                at += len(owner.items)
            if at in owner.items:
                return owner.items[at]
            return owner.rest
        return owner.any()
    if is_exact(owner) and is_exact(key):
        try:
            return Known(owner.value[key.value])  # type: ignore[union-attr,index]
        except (TypeError, LookupError):
            return Unknown()
    return owner if isinstance(owner, Taint | Known) else Unknown()


def item_of(over: Value) -> Value:
    """What any item is that a loop meets."""
    if isinstance(over, Box):
        return over.any()
    return over if isinstance(over, Taint) else Unknown()


def matches(pattern: ast.pattern, subject: object) -> bool:
    """Whether a constant fits a pattern of `match`."""
    match pattern:
        case ast.MatchValue(value=ast.Constant(value=wanted)):
            return bool(wanted == subject)
        case ast.MatchOr(patterns=several):
            return any(matches(one, subject) for one in several)
        case ast.MatchAs(pattern=None):
            return True
        case ast.MatchSingleton(value=wanted):
            return subject is wanted
        case _:
            return False
