"""When one equality says less than another for sure: the same is done to both of its sides.

`a == b` always gives `c(a) == c(b)`, never the other way round: a slice, a replacement, a length
of both sides is a weaker claim, whatever `a` and `b` are.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, TypeAlias

from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Sides: TypeAlias = "tuple[str, ...]"
"""Both sides of an equality as they are written; empty for a claim that is none."""
_WORD = re.compile(r"\w")
_PLACE = "it_is_here"
_NAMES: dict[str, Callable[..., object]] = {
    **{one.__name__: one for one in (len, str, int, float, round, abs, bool, repr)},
    **{one.__name__: one for one in (sorted, set, frozenset, list, tuple, sum, min, max)},
}
_METHODS_WORDS = """
lower upper strip lstrip rstrip casefold title split rsplit splitlines replace removeprefix
removesuffix partition count keys values items
"""
_METHODS = frozenset(_METHODS_WORDS.split())
_SCRIPT_METHODS = {"toLowerCase": "lower", "toUpperCase": "upper", "trim": "strip"}
_LONGEST = 4000


def says_less(old: Sides, new: Sides) -> bool:
    """Whether `new` follows from `old` and is not the same."""
    if len(old) != 2 or len(new) != 2:  # noqa: PLR2004 - both sides
        return False
    for first, second in (old, old[::-1]):
        for before, after in _around(first, new[0]):
            if f"{before}{after}".strip("() "):
                if any(_with(before, one, after) == new[1] for one in _forms(second)):
                    return True
                if _is_computed(before, second, after, new[1]):
                    return True
    return False


def is_about_a_part(old: str, new: str) -> bool:
    """Whether a claim is about something made of what another is about: `str(x)` of `x`."""
    return bool(old) and old != new and any(True for _ in _around(old, new))


def _forms(text: str) -> tuple[str, str]:
    return text, f"({text})"


def _with(before: str, text: str, after: str) -> str:
    return f"{before}{text}{after}"


def _around(inner: str, outer: str) -> Iterator[tuple[str, str]]:
    """What stands before and behind each place where one expression holds another whole."""
    if not inner or len(outer) > _LONGEST:
        return
    for one in reversed(_forms(inner)):
        at = outer.find(one)
        while at >= 0:
            before, after = outer[:at], outer[at + len(one) :]
            if not (_WORD.match(before[-1:]) and _WORD.match(one[:1])) and not (
                _WORD.match(after[:1]) and _WORD.match(one[-1:])
            ):
                yield before, after
            at = outer.find(one, at + 1)


# --- of what is written out, computed -------------------------------------------------


def _is_computed(before: str, old: str, after: str, new: str) -> bool:
    """Whether the new side is what the same, done to the old one, gives: `"abc"` of `"abcde"`."""
    try:
        value = ast.literal_eval(_plain(old))
        expected = ast.literal_eval(_plain(new))
        tree = python_tree(_plain(f"{before}{_PLACE}{after}").strip())
        body = tree.body if tree else []
        node = body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None
        return node is not None and _value(node, value) == expected
    except (ValueError, SyntaxError, TypeError, LookupError, ArithmeticError, RecursionError):
        return False
    except (AttributeError, MemoryError):
        return False


def _plain(text: str) -> str:
    """JavaScript's words for what Python can compute."""
    text = re.sub(r"\.slice\((-?\d+),\s*(-?\d+)\)", r"[\1:\2]", text)
    text = re.sub(r"\.slice\((-?\d+)\)", r"[\1:]", text)
    text = re.sub(r"\.substring\((\d+),\s*(\d+)\)", r"[\1:\2]", text)
    text = re.sub(rf"({_PLACE})\.length\b", r"len(\1)", text)
    for script, name in _SCRIPT_METHODS.items():
        text = text.replace(f".{script}(", f".{name}(")
    return text


def _value(node: ast.expr, given: object) -> object:
    """The value of an expression over `given`. Raises ValueError for what is not computed here."""
    match node:
        case ast.Name(id=name) if name == _PLACE:
            return given
        case ast.Constant(value=value):
            return value
        case ast.Subscript(value=of, slice=index):
            return _value(of, given)[_index(index)]  # type: ignore[index]  # TypeError is caught
        case ast.Call(func=ast.Name(id=name), args=[of, *more], keywords=[]) if name in _NAMES:
            return _NAMES[name](_value(of, given), *map(ast.literal_eval, more))
        case ast.Call(func=ast.Attribute(value=of, attr=name), args=more, keywords=[]):
            if name in _METHODS:
                return getattr(_value(of, given), name)(*map(ast.literal_eval, more))
    raise ValueError(ast.dump(node))


def _index(node: ast.expr) -> object:
    if isinstance(node, ast.Slice):
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if one is None else ast.literal_eval(one) for one in parts))
    return ast.literal_eval(node)
