"""The table of operations, and the lookup of a command line's operation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from runner.errors import RunnerError
from runner.extensions.interface import load
from runner.extensions.registry import OURS, name_others, others, read_names
from runner.lazy_module import lazy_module
from runner.text.wording import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.config import paths
    from runner.extensions.interface import Extension, FlagGroup
    from runner.operations.row import Operation
else:
    paths = lazy_module("runner.config.paths")

_MODULES = {
    "building": "run demo init prune",
    "looking": "status show why doctor blame log stats settings impact help",
    "answering": "review retry approve reject edit change cancel adopt replay undo waive",
    "planning": "validate draft import sync graph plan",
    "proving": "evidence hold-out verify gate ship shell",
    "pipeline": "pipeline",
    "programs": "version lsp serve mcp hook wait builds events text save stop",
    "team": "team",
}
"""Modules of rows, with the first words of the operations in each."""
_MODULE_OF = {word: module for module, words in _MODULES.items() for word in words.split()}


class Table(Mapping[str, "Operation"]):
    """The operations of the core by name. A name loads the one module that has its row."""

    def __getitem__(self, name: str) -> Operation:
        """Return an operation. Raises KeyError."""
        return _load_rows(_MODULE_OF[name.partition(" ")[0]])[name]

    def __iter__(self) -> Iterator[str]:
        """Yield all names; this loads every module."""
        return (name for module in _MODULES for name in _load_rows(module))

    def __len__(self) -> int:
        """Return how many there are; this loads every module."""
        return sum(1 for _ in self)


@cache
def _load_rows(module: str) -> dict[str, Operation]:
    rows = import_module(f"runner.operations.{module}").ROWS
    return {
        row.name: row._replace(does=f"runner.commands.{row.does}" if row.does else "")
        for row in rows
    }


TABLE = Table()
TOP = (
    *("run", "status", "show", "why", "review", "retry", "demo", "init", "doctor", "help"),
    *("approve", "reject", "edit", "waive", "cancel", "adopt"),
    *("change", "undo", "replay", "blame", "log"),
    *("validate", "graph", "import", "sync", "draft", "plan"),
    *("gate", "verify", "evidence", "ship", "hold-out", "shell"),
    *("impact", "stats", "settings", "prune"),
    *("pipeline", "team", "serve"),
)
"""Top names, in the order of help."""
FOR_PROGRAMS = ("lsp", "mcp", "hook")
"""Commands started by programs: only `help --all` lists them."""
TOPICS = ("blocked", "exit")
"""Topics that `runner help` explains besides the commands."""
SYNONYMS = {"build": "run", "resume": "run", "test": "verify"}
"""Words of other tools, with the equivalent command here."""
_PIPELINE = (
    *("secret-scan", "staged-write", "sast-scan", "write-log"),
    *("check-coverage", "commit-by-task", "parallel"),
)
_TEAM = ("lease", "bridge", "artifacts", "store", "repo", "queue", "worker", "people")
STAYING: dict[str, tuple[str, ...]] = {
    **{name: (new,) for name, new in SYNONYMS.items()},
    **{name: ("pipeline", name) for name in _PIPELINE},
}
"""Permanent aliases of operations."""
OLD: dict[str, tuple[str, ...]] = {
    "list": ("status", "--list"),
    "next": ("status", "--next"),
    "analyse": ("doctor", "--repository"),
    "brief": ("show", "--brief"),
    "verify-attestation": ("evidence", "--check"),
    "ownership": ("plan", "ownership"),
    "pattern": ("plan", "pattern"),
    "decide": ("plan", "decide"),
    "completion": ("help", "completion"),
    "secrets": ("pipeline", "secrets"),
    "sast show": ("pipeline", "sast-log"),
    "sast": ("pipeline", "sast-log"),
    "events": ("log", "--events"),
    **{name: ("team", name) for name in _TEAM},
}
"""Names until 0.4, with their replacement."""
_OF_TEAM = ("--team", "--build", "--store", "--deliver", "--doors", "--beside")
"""Options of the old `events` that only `team events` has."""


class NamedOperation(NamedTuple):
    """The operation of a command line, and the words that are left for it."""

    operation: Operation
    rest: list[str]
    renamed: str = ""
    """New name to type if an old one was used."""


def find_operation(words: Sequence[str], environ: Mapping[str, str]) -> NamedOperation:
    """Return the operation that is named. Raises RunnerError.

    The extensions that the person's own settings name are loaded only for a name that neither the
    core nor an extension of ours has.
    """
    given = list(words)
    if given and given[0] in ("-h", "--help"):
        return NamedOperation(TABLE["help"], given[1:])
    if given and given[0] in ("--version", "version"):
        return NamedOperation(TABLE["version"], given[1:])
    if not given or given[0].startswith("-"):
        return NamedOperation(TABLE["run"], given)
    if given[0] == "help" and _asks_about_command(given):
        return find_operation([*given[1:], "--help"], environ)
    given[0] = given[0].removeprefix("!")
    new, renamed = _rename(given)
    found = _find_longest(new, TABLE) or _find_longest(new, all_operations())
    found = found or _find_longest(new, operations_of(find_others(environ)))
    if found is None:
        raise _refuse_unknown(new[0])
    if not found.operation.does or find_flags(found.operation.name):
        found = _find_longest(new, all_operations()) or found  # extensions add to it
    if found.operation.does or not {"-h", "--help"}.isdisjoint(found.rest):
        return found._replace(renamed=renamed)
    raise _refuse_group(found)


@cache
def all_operations() -> dict[str, Operation]:
    """Return the operations of the core and of our extensions, whose flags are among the fields."""
    known = {**TABLE, **operations_of(OURS)}
    for name in {group.operation for one in OURS for group in one.flags}:
        fields = [field for group in find_flags(name) for field in load(group.fields)]
        known[name] = known[name]._replace(fields=(*known[name].fields, *fields))
    return known


def operations_of(extensions: Sequence[Extension]) -> dict[str, Operation]:
    """Return the operations that extensions offer."""
    offered = (load(one.operations) for one in extensions if one.operations)
    return {row.name: row for rows in offered for row in rows}


def find_flags(name: str) -> tuple[FlagGroup, ...]:
    """Return the flags that our extensions add to an operation of the core."""
    return tuple(group for one in OURS for group in one.flags if group.operation == name)


def find_others(environ: Mapping[str, str]) -> tuple[Extension, ...]:
    """Load the extensions that the person's own settings file names. Raises RunnerError."""
    file = paths.Places.of(environ).settings_file
    try:
        content = file.read_bytes()
    except OSError:
        return ()
    name_others(read_names(content))
    return others()


def children(name: str) -> tuple[Operation, ...]:
    """Return the operations below a name."""
    return tuple(row for row in all_operations().values() if row.name.startswith(f"{name} "))


def _asks_about_command(words: list[str]) -> bool:
    if len(words) < 2 or words[1][:1] == "-" or words[1] in TOPICS:  # noqa: PLR2004
        return False
    return words[1] != "completion" or len(words) == 2  # noqa: PLR2004


def _rename(words: list[str]) -> tuple[list[str], str]:
    """Return the words with today's names, and what to type now where an old one was typed."""
    first = words[0]
    if first in STAYING:
        return [*STAYING[first], *words[1:]], ""
    if first == "events" and any(one.partition("=")[0] in _OF_TEAM for one in words):
        new: tuple[str, ...] = ("team", "events")
    elif (both := " ".join(words[:2])) in OLD:
        return [*OLD[both], *words[2:]], f"runner {' '.join(OLD[both])}"
    elif first in OLD:
        new = OLD[first]
    else:
        return words, ""
    return [*new, *words[1:]], f"runner {' '.join(new)}"


def _find_longest(words: list[str], table: Mapping[str, Operation]) -> NamedOperation | None:
    for length in (3, 2, 1):
        name = " ".join(words[:length])
        row = table.get(name)
        if row and len(words) >= length and (row.does or children(name)):
            return NamedOperation(row, words[length:])
    return None


def _refuse_unknown(name: str) -> RunnerError:
    looks_like_a_task = any(letter.isdigit() for letter in name)
    hint = f"runner run {name}" if looks_like_a_task else did_you_mean(name, (*TOP, *OLD, *STAYING))
    return RunnerError(f'unknown command "{name}"', hint=hint or "runner help --all")


def _refuse_group(found: NamedOperation) -> RunnerError:
    """Return what is wrong with `runner pipeline` or `runner team WORD`."""
    name = found.operation.name
    names = [row.name.removeprefix(f"{name} ") for row in children(name)]
    if not found.rest:
        return RunnerError(f"{name} needs one of: {', '.join(names)}", hint=f"runner {name} --help")
    typed = " ".join(found.rest[:1])
    below = [one for one in names if one.startswith(f"{typed} ")]
    if below:
        verbs = ", ".join(one.removeprefix(f"{typed} ") for one in below)
        return RunnerError(f"{name} {typed} needs one of: {verbs}", hint=f"runner {name} --help")
    hint = did_you_mean(typed, names) or f"runner {name} --help"
    return RunnerError(f'unknown command "{name} {typed}"', hint=hint)
