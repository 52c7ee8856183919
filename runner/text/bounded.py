"""What constants come to, computed where it is small: foreign code fills no memory."""

from __future__ import annotations

import ast
import operator
from typing import TYPE_CHECKING, Any

from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

LONGEST = 10_000
"""Letters, bytes, or bits of a number, of a constant that is computed."""
# No power among them: what `9 ** 9 ** 9` comes to is not bounded by the size of its sides.
_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Div: operator.truediv,
    ast.LShift: operator.lshift,
}
_FILLED = regex(r"%([^A-Za-z%]*)")
_WIDTH = regex(r"[0-9]+")
# The largest double has 309 digits before its point (sys.float_info.max_10_exp is 308).
_LONGEST_FLOAT = 400
"""Letters of a float written out by `%f` before its point, or less."""


class TooLarge(ValueError):  # noqa: N818 - the word for what it is
    """It may be computed by whoever needs it."""


def combine(kind: type[ast.operator], one: object, other: object) -> Any:
    """What an operation on two constants gives.

    Raises TooLarge where that may be large, TypeError, ValueError or ArithmeticError where it is
    nothing.
    """
    if kind not in _OPERATIONS:
        raise TypeError(kind)
    if _size(kind, one, other) > LONGEST:
        raise TooLarge
    return _OPERATIONS[kind](one, other)


def _size(kind: type[ast.operator], one: object, other: object) -> int:
    """The most that comes of it, in letters or bits."""
    match one, other:
        case (int(), int()) if kind is ast.LShift:
            return one.bit_length() + max(other, 0)
        case (int() | float(), int() | float()):
            return sum(number.bit_length() for number in (one, other) if isinstance(number, int))
        case (str(), str()) | (bytes(), bytes()) if kind is ast.Add:
            return len(one) + len(other)  # type: ignore[arg-type]  # both have letters
        case (str() | bytes(), int()) if kind is ast.Mult:
            return len(one) * max(other, 0)
        case (int(), str() | bytes()) if kind is ast.Mult:
            return len(other) * max(one, 0)
        case ((str() | bytes()) as pattern, _) if kind is ast.Mod:
            return _filled_size(pattern, other)
    raise TypeError(kind)


def _filled_size(pattern: str | bytes, value: object) -> int:
    """The most that `pattern % value` comes to: widths and precisions are part of it."""
    text = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
    given = [found[1] for found in _FILLED.finditer(text)]
    # A `*` takes the width from the values, a name in brackets picks one of them any number of
    # times (Python, "printf-style String Formatting"): what is written tells no size then.
    if any("*" in one or "(" in one for one in given):
        raise TooLarge
    widths = sum(int(number) for one in given for number in _WIDTH.findall(one))
    return len(text) + widths + _written_size(value)


def _written_size(value: object) -> int:
    """The most letters in which a plain constant is written: an escaped letter takes ten."""
    match value:
        case str() | bytes():
            # U+10FFFF is ten letters for `%r` and `%a`: `\U0010ffff`.
            return 10 * len(value)
        case int():
            return value.bit_length() + 1
        case float() | None:
            return _LONGEST_FLOAT
        case tuple() | list():
            return sum(_written_size(one) + 4 for one in value) + 2
    raise TypeError(value)


def letters(value: object) -> int:
    """How long a constant is, with what it holds."""
    match value:
        case str() | bytes():
            return len(value)
        case dict():
            return sum(letters(key) + letters(held) for key, held in value.items())
        case tuple() | list() | set() | frozenset():
            return sum(map(letters, value)) + len(value)
    return 1


def write(value: object) -> str:
    """What `str(value)` is. Raises TooLarge, or TypeError for what is no plain constant."""
    if isinstance(value, str):
        return value
    if _written_size(value) > LONGEST:
        raise TooLarge
    return str(value)


def join(glue: str, parts: Iterable[str]) -> str:
    """What `glue.join(parts)` is, or raises TooLarge."""
    parts = list(parts)
    if sum(map(len, parts)) + len(glue) * len(parts) > LONGEST:
        raise TooLarge
    return glue.join(parts)


def replace(text: Any, *given: Any) -> Any:
    """What `text.replace(old, new)` is, of texts or of bytes. Raises TooLarge, too."""
    old, new = given[:2]
    if len(text) + text.count(old) * max(len(new) - len(old), 0) > LONGEST:
        raise TooLarge
    return text.replace(*given)
