"""The row of an operation: its fields, API route and MCP tool, and the JSON schema of its input."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from runner.text.wording import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

READS = "reads"
"""Effects: it `reads`, `writes` files, journal or git, `sends` data, `runs` commands."""


class Field(NamedTuple):
    """One field of an operation's input."""

    name: str
    help: str
    flags: tuple[str, ...] = ()
    """Command line flags; empty for a positional argument."""
    kind: type[str | int | float | bool] = str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    default: object = None
    times: str = ""
    """`?`, `*`, `+` as in argparse; `again` for an option that may be repeated; `--` for a command
    line that follows `--`."""
    needed: bool = False
    const: str = ""
    """Value of an option without argument, or of a flag that sets `name`."""
    group: str = ""
    """Heading in the help output."""
    either: str = ""
    """Only one field with the same name here may be given."""
    least: int | None = None
    most: int | None = None
    shown: bool = True

    @property
    def is_list(self) -> bool:
        """Return whether it holds several values."""
        return self.times in ("*", "+", "again")


class Tool(NamedTuple):
    """An operation as a tool of an assistant."""

    name: str
    description: str
    fields: tuple[str | Field, ...] = ()
    """Names of the operation's fields, `NEW=OLD` if the tool renames one; `!` if required."""
    words: tuple[str, ...] = ()
    """First words of the command line; by default the operation's name."""
    effects: str = READS


class Api(NamedTuple):
    """An operation as a route below `/api/v1`."""

    name: str
    route: str
    """HTTP method and path."""
    fields: tuple[str | Field, ...] = ()
    """Query or body fields, as in `Tool`."""
    summary: str = ""
    """Summary, if it differs from the operation's own."""
    streams: bool = False


class Operation(NamedTuple):
    """One thing that a person or program can ask for."""

    name: str
    """Command words: `status`, `pipeline secrets list`."""
    summary: str
    does: str = ""
    """Reference to what carries it out: `module:function`, below `runner.commands` for the core.

    Empty for what no command does.
    """
    fields: tuple[Field, ...] = ()
    output: str = ""
    """Kind of the JSON document that it prints."""
    effects: str = READS
    role: str = "viewer"
    """Minimum role: viewer, reviewer, operator, admin."""
    examples: str = ""
    shown: bool = False
    """Whether plain `help` lists it."""
    listed: bool = True
    """Whether it is listed outside of `help --all`."""
    api: tuple[Api, ...] = ()
    tools: tuple[Tool, ...] = ()

    def field(self, name: str) -> Field:
        """Return a field by its name. Raises KeyError."""
        for one in self.fields:
            if one.name == name:
                return one
        raise KeyError(f"{self.name} has no field {name}")


def flag(name: str, text: str, *more: str, either: str = "", group: str = "") -> Field:
    """Return an option without a value: `flag("--dry-run", "write nothing", "-n")`."""
    return Field(
        _name_of(name), text, (*more, name), bool, default=False, either=either, group=group
    )


def option(typed: str, metavar: str, text: str, *more: str, **rest: Any) -> Field:
    """Return an option with a value."""
    return Field(_name_of(typed), text, (*more, typed), metavar=metavar)._replace(**rest)


def choice(typed: str, choices: tuple[str, ...], text: str, **rest: Any) -> Field:
    """Return an option that takes one of these values."""
    return Field(_name_of(typed), text, (typed,), choices=choices)._replace(**rest)


def word(name: str, metavar: str, text: str, times: str = "", **rest: Any) -> Field:
    """Return a word that stands by its place."""
    return Field(name, text, metavar=metavar, times=times)._replace(**rest)


def _name_of(typed: str) -> str:
    return typed.lstrip("-").replace("-", "_")


JSON = flag("--json", "one JSON document")
PLAN = option("--task-graph", "PATH", "use this plan instead of TASK-GRAPH.md")
TRUST = flag("--trust", "run this plan's commands without asking")
DRY_RUN = flag("--dry-run", "only show what would be done", "-n")
SANDBOXES = ("auto", "bubblewrap", "landlock", "seatbelt", "none")
SANDBOX = choice("--sandbox", SANDBOXES, "sandbox for commands")
REVIEWS = ("prompt", "auto", "off")
JOBS = option("--jobs", "N", "parallel commands (default: cores)", "-j", kind=int)
TASK = word("id", "ID", "task ID, such as TASK-003 or 3")
PROOF = (TRUST, SANDBOX, JOBS, JSON, PLAN)
"""Fields of operations that re-test: trust, sandbox, jobs, form and plan."""
FORMS = (
    flag("--json", "one JSON document", either="form"),
    option(
        "--sarif",
        "OUT.sarif",
        "write SARIF 2.1.0 to standard output, or to this file",
        times="?",
        const="-",
        either="form",
    ),
)


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
