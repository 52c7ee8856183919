"""The row type of the table: an operation with its fields, API route and MCP tool."""

from __future__ import annotations

from typing import Any, NamedTuple

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
