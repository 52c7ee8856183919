"""What the code of a mutant calls: a value of the same type that differs in one way alone.

It is put into the tested program as a text and runs there, so it imports nothing of ours and uses
no syntax that an older Python does not know. What it changed, and what it saw, it writes to a file.
"""

from __future__ import annotations

import copy
import os
from typing import Any

OUT = ""
"""The file; whoever puts this text into a program says which."""
WAYS = ("order", "longer", "shorter", "first", "middle", "last", "more", "less", "other")
_ANY = ("more", "other", "last", "first", "longer")
_NUMBERS = ("int", "float", "Decimal", "Fraction")
_MOST = 300
"""Values of a place that are looked at."""
_seen: dict[str, int] = {}
_open, _write, _close = os.open, os.write, os.close  # a test may put others in their place


def change(value: Any, way: str, depth: int = 3) -> Any:
    """The value changed in this way; the very value where that cannot be."""
    if value is None or depth == 0 or isinstance(value, type):
        return value
    try:
        new = _change(value, way, depth, [one.__name__ for one in type(value).__mro__])
        return new if _differs(new, value) and value == value else value  # noqa: PLR0124 - not of NaN
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError):
        return value


def _differs(new: Any, value: Any) -> bool:
    return new is not value and not (type(new) is type(value) and new == value)


def _change(value: Any, way: str, depth: int, names: list[str]) -> Any:
    made = type(value)
    if "Enum" in names or made is bool:
        others = [not value] if made is bool else [one for one in made if one is not value]
        return others[0] if way == "other" and others else value
    if [one for one in names if one in _NUMBERS]:
        return _number(value, way)
    if "timedelta" in names:
        return value + {"more": 1, "less": -1}.get(way, 0) * (abs(value) / 20 or value.resolution)
    if "date" in names:
        day = type(value.max - value)(seconds=1) if "datetime" in names else value.resolution
        return value + day if way == "more" else value - day if way == "less" else value
    if "str" in names or "bytes" in names or "bytearray" in names:
        return made(_letters(value, way))
    if "list" in names or "tuple" in names:
        listed = _listed(list(value), way, depth, fixed="_fields" in dir(made))
        return value._make(listed) if "_fields" in dir(made) else made(listed)
    if "set" in names or "frozenset" in names:
        return made(_listed(sorted(value, key=repr), way, depth)) if way != "order" else value
    if "dict" in names:
        return _mapped(value, way, depth)
    if "__dict__" in dir(value) and "__eq__" in [n for c in made.__mro__[:-1] for n in vars(c)]:
        return _attributes(value, way, depth)
    return value


def _number(value: Any, way: str) -> Any:
    sign = {"more": 1, "less": -1}.get(way)
    if sign is None:
        return value
    whole = "int" in [one.__name__ for one in type(value).__mro__]
    step = 1 if whole else abs(value) / 20 or type(value)(1) / 20
    return type(value)(value + sign * step)


def _letters(value: Any, way: str) -> Any:
    if way == "longer":
        return value + ("~" if isinstance(value, str) else b"~")
    if way == "shorter":
        return value[:-1]
    at = _place(len(value), way)
    if at < 0:
        return value
    if not isinstance(value, str):
        return value[:at] + bytes([(value[at] + 1) % 256]) + value[at + 1 :]
    letter = value[at]
    other = "~" if letter != "~" else "-"
    if letter.isdigit() and letter.isascii():
        other = str((int(letter) + 1) % 10)
    elif letter.isalpha() and letter.isascii():
        other = chr(ord(letter) - 1 if letter in "zZ" else ord(letter) + 1)
    return value[:at] + other + value[at + 1 :]


def _place(many: int, way: str) -> int:
    if way == "first" and many:
        return 0
    if way == "middle" and many > 2:  # noqa: PLR2004 - between the first and the last
        return many // 2
    return many - 1 if way == "last" and many > 1 else -1


def _listed(listed: list[Any], way: str, depth: int, fixed: bool = False) -> list[Any]:  # noqa: FBT001, FBT002
    if way == "order" and not fixed:
        return listed[::-1]
    if way == "longer" and listed and not fixed:
        return listed + listed[-1:]
    if way == "shorter" and not fixed:
        return listed[:-1]
    at = _place(len(listed), way)
    if at < 0:
        return listed
    return [*listed[:at], other(listed[at], depth - 1), *listed[at + 1 :]]


def _mapped(value: Any, way: str, depth: int) -> Any:
    new, keys = copy.copy(value), list(value)
    if way == "longer" and keys:
        key = other(keys[-1], depth - 1)
        if key not in new:
            new[key] = new[keys[-1]]
    elif way == "shorter" and keys:
        del new[keys[-1]]
    else:
        at = _place(len(keys), way)
        if at >= 0:
            new[keys[at]] = other(new[keys[at]], depth - 1)
    return new


def _attributes(value: Any, way: str, depth: int) -> Any:
    own = vars(value)
    names = [one for one in own if one[:2] != "__" and other(own[one], depth - 1) is not own[one]]
    at = _place(len(names), way)
    if at < 0:
        return value
    new = copy.copy(value)
    vars(new)[names[at]] = other(own[names[at]], depth - 1)
    return new


def other(value: Any, depth: int = 3) -> Any:
    """The value changed in any way; the very value where there is none."""
    for way in _ANY:
        new = change(value, way, depth)
        if new is not value:
            return new
    return value


def write(key: str) -> None:
    """Write a word down, once."""
    if key not in _seen:
        _seen[key] = 0
        file = _open(OUT, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        _write(file, (key + "\n").encode())
        _close(file)


def give_changed(value: Any, way: str) -> Any:
    """What comes out of a mutant, which says that it was another value."""
    new = other(value) if way == "any" else change(value, way)
    if new is not value:
        write("changed")
    return new


def look_at(value: Any, key: str) -> Any:
    """The very value; the ways in which it could be another one are written down."""
    many = _seen.get("?" + key, 0)
    if many < _MOST:
        _seen["?" + key] = many + 1
        for way in WAYS:
            if key + "." + way not in _seen and change(value, way) is not value:
                write(key + "." + way)
    return value


def side(value: Any, key: str) -> Any:
    """The very value of a condition; whether it held is written down."""
    write(key + (".true" if value else ".false"))
    return value
