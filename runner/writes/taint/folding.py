"""Constants folded and containers looked into: what an expression of abstract values is."""

from __future__ import annotations

import ast
import operator
from typing import TYPE_CHECKING, Any

from runner.text.literals import TooLarge, combine, join, write
from runner.writes.taint.abstract_values import (
    Box,
    Known,
    Taint,
    Unknown,
    Value,
    either,
    is_exact,
    join_values,
)

if TYPE_CHECKING:
    from collections.abc import Callable

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
