"""Another value in a value's place, in languages with braces: of the same type where they ask."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_OTHER = (
    "typeof v === 'boolean' ? !v : typeof v === 'number' ? v * 3 + 7 : "
    "typeof v === 'bigint' ? -v - BigInt(7) : "
    "typeof v === 'string' ? '~' + v.split('').reverse().join('') : "
    "Array.isArray(v) ? (v.length > 1 ? v.slice(1) : v.concat([null])) : "
    "v === null || v === undefined ? 0 : "
    "typeof v.then === 'function' ? v.then(() => null, (e{any}) => {{ throw e; }}) : "
    "v instanceof Map ? new Map(v.size ? [] : [[null, null]]) : "
    "v instanceof Set ? new Set(v.size ? [] : [null]) : "
    "v instanceof Date ? new Date(+v + 864e5) : "
    "Object.keys(v).length ? Object.assign(Object.create(Object.getPrototypeOf(v)), v, "
    "{{ [Object.keys(v)[0]]: v[Object.keys(v)[0]] == null ? 0 : null }}) : null"
)
_EMPTY = (
    "typeof v === 'boolean' ? !v : typeof v === 'number' ? (v ? 0 : 1) : "
    "typeof v === 'string' ? (v ? '' : '~') : Array.isArray(v) ? (v.length ? [] : [null]) : "
    "v && typeof v.then === 'function' ? v.then(() => undefined) : v == null ? 0 : {{}}"
)
_NUMBERS = re.compile(r"u?int(?:8|16|32|64)?\Z|float(?:32|64)\Z|byte\Z|rune\Z|time\.Duration\Z")
_TEXT = re.compile(r'\A"(?:[^"\\]|\\.)*"\Z')
_NILS = re.compile(r"(?:\*|\[\]|map\[|error\Z|interface\b|any\Z|func\b|chan\b)")


def other_value(value: str, language: str, types: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Names (`other`, `empty`, `none`) and texts of what can stand in a value's place."""
    if language in ("js", "ts"):
        any_ = ": any" if language == "ts" else ""
        for name, body in (("other", _OTHER), ("empty", _EMPTY)):
            yield name, f"((v{any_}){any_} => {body.format(any=any_)})({value})"
        yield "none", f"((v{any_}){any_} => null)({value})"
    elif language == "go":
        yield from _of_go(value, types)


def _of_go(value: str, types: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """By the types that the function says it gives: the first that can be changed."""
    parts = _split(value) if len(types) > 1 else [value]
    if len(parts) != len(types):
        return
    for at, (part, type_) in enumerate(zip(parts, types, strict=True)):
        for name, text in _mutate_typed(part.strip(), type_):
            yield name, ", ".join([*parts[:at], text, *parts[at + 1 :]])
        if type_ != "error":
            return


def _mutate_typed(value: str, type_: str) -> Iterator[tuple[str, str]]:
    if _NUMBERS.match(type_):
        yield "other", f"({value})*3 + 7"
        yield "empty", f"({value}) * 0"
    elif type_ == "string" and not _TEXT.match(value):
        yield "other", f'"~" + ({value})'
        yield "empty", f'({value})[:0] + ""'
    elif type_ == "bool":
        yield "other", f"!({value})"
    elif type_.startswith("[]") and value != "nil":
        body = "if len(v) > 1 { return v[1:] }; return append(v, *new(" + type_[2:] + "))"
        yield "other", f"func(v {type_}) {type_} {{ {body} }}({value})"
        yield "none", "nil"
    elif _NILS.match(type_) and value != "nil":
        yield "none", "nil"


def _split(value: str) -> list[str]:
    """At commas outside of brackets and quotes."""
    parts, depth, start, quote = [], 0, 0, ""
    for at, letter in enumerate(value):
        if quote:
            quote = "" if letter == quote and value[at - 1] != "\\" else quote
        elif letter in "\"'`":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and not depth:
            parts.append(value[start:at].strip())
            start = at + 1
    return [*parts, value[start:].strip()]
