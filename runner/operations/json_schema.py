"""The JSON schema of an operation's input outside of the command line, and its validation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.operations.row import Field, Operation
from runner.text.wording import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.operations.row import Operation

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_TYPES: dict[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_ID = "ID"
"""Metavar of a task ID."""


class InputError(Exception):
    """Input that an operation does not take; the text says which, and what it takes."""


def choose_fields(row: Operation, chosen: Iterable[str | Field]) -> dict[str, Field]:
    """Return the fields of a route or a tool by the names that they have there."""
    found = {}
    for one in chosen:
        if isinstance(one, Field):
            found[one.name] = one
            continue
        name, _, own = one.removesuffix("!").partition("=")
        field = row.field(own or name)
        found[name] = field._replace(needed=field.needed or one.endswith("!"))
    return found


def describe_input(fields: Mapping[str, Field]) -> dict[str, object]:
    """Return the JSON schema of an object with these fields."""
    return {
        "type": "object",
        "properties": {name: describe_field(one) for name, one in fields.items()},
        "required": [name for name, one in fields.items() if one.needed],
    }


def describe_field(one: Field) -> dict[str, object]:
    """Return the JSON schema of a field."""
    schema: dict[str, object] = {"type": _TYPES[one.kind]}
    if one.metavar == _ID:
        schema["pattern"] = f"^{_NAME.pattern}$"
    if one.choices:
        schema["enum"] = list(one.choices)
    if one.least is not None:
        schema["minimum"] = one.least
    if one.most is not None:
        schema["maximum"] = one.most
    if one.is_list:
        schema = {"type": "array", "items": schema}
    return {**schema, "description": one.help} if one.help else schema


def check_input(who: str, fields: Mapping[str, Field], given: object) -> dict[str, object]:
    """Return the input if it fits. Raises InputError."""
    if not isinstance(given, dict):
        raise InputError("arguments must be an object")
    for name, value in given.items():
        if name not in fields:
            hint = did_you_mean(str(name), fields)
            known = f"known arguments: {', '.join(fields) or 'none'}"
            raise InputError(f"{who}: unknown argument {name!r}; {hint or known}")
        one = fields[name]
        if not one.is_list:
            _check_value(name, value, one)
        elif not isinstance(value, list):
            raise InputError(f"{name} must be of type array")
        else:
            for item in value:
                _check_value(f"each of {name}", item, one)
    if missing := [name for name, one in fields.items() if one.needed and name not in given]:
        raise InputError(f"{who} needs {', '.join(missing)}")
    return given


def _check_value(name: str, value: object, one: Field) -> None:
    if not isinstance(value, one.kind) or (one.kind is int and isinstance(value, bool)):
        raise InputError(f"{name} must be of type {_TYPES[one.kind]}")
    if isinstance(value, str):
        if "\0" in value or not value:
            raise InputError(f"{name} is empty or contains a NUL character")
        if one.metavar == _ID and not _NAME.fullmatch(value):
            raise InputError(f"{name} is not a valid task ID, such as TASK-003 or 3")
        if one.choices and value not in one.choices:
            raise InputError(f"{name} must be one of {', '.join(one.choices)}")
    elif not isinstance(value, bool) and isinstance(value, int):
        low, high = one.least, one.most
        if (low is not None and value < low) or (high is not None and value > high):
            bound = f" to {high}" if high else " or more"
            raise InputError(f"{name} must be {low}{bound}")
