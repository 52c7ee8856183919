"""The tools an assistant is given: each is one command of `runner` with `--json`, and no other.

None answers for a person: what waits for a review is told, and stays. A tool's arguments become
words of a command line, never options: each is checked against its schema first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from runner.text.wording import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Arguments: TypeAlias = "Mapping[str, object]"
Schema: TypeAlias = "dict[str, object]"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
}
MOST_RECORDS = 1_000
"""Records of the log in one answer."""
LONGEST_WAIT = 600
"""Seconds that one call of `wait` may take."""


class ArgumentError(Exception):
    """Arguments that a tool does not take; the text says which, and what it takes."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: what it is called, what it takes, and the command line that answers."""

    name: str
    description: str
    properties: Mapping[str, Schema]
    words: Callable[[Arguments], list[str]]
    required: tuple[str, ...] = ()
    changes: bool = False
    """Whether it has something built, rather than read."""

    def document(self) -> dict[str, object]:
        """The tool as `tools/list` gives it."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": dict(self.properties),
                "required": list(self.required),
                "additionalProperties": False,
            },
            "annotations": {
                "readOnlyHint": not self.changes,
                "destructiveHint": False,
                "idempotentHint": not self.changes,
                "openWorldHint": False,
            },
        }

    def check(self, arguments: object) -> Arguments:
        """The arguments, if the tool takes them. Raises ArgumentError."""
        if not isinstance(arguments, dict):
            raise ArgumentError("arguments are an object")
        for name, value in arguments.items():
            if name not in self.properties:
                hint = did_you_mean(str(name), self.properties)
                takes = ", ".join(self.properties) or "none"
                raise ArgumentError(
                    f"{self.name} takes no argument {name!r}: {hint or f'it takes {takes}'}"
                )
            _check_value(name, value, self.properties[name])
        missing = [name for name in self.required if name not in arguments]
        if missing:
            raise ArgumentError(f"{self.name} needs {', '.join(missing)}")
        return arguments


def _check_value(name: str, value: object, schema: Schema) -> None:
    kind = str(schema["type"])
    if not isinstance(value, _KINDS[kind]) or (kind == "integer" and isinstance(value, bool)):
        raise ArgumentError(f"{name} is no {kind}")
    if isinstance(value, list):
        items = schema["items"]
        assert isinstance(items, dict)  # as every array below has it
        for item in value:
            _check_value(f"each of {name}", item, items)
    if isinstance(value, str):
        _check_text(name, value, schema)
    if kind == "integer" and isinstance(value, int):
        lowest, highest = schema["minimum"], schema.get("maximum")
        assert isinstance(lowest, int)  # as every number below has it
        if value < lowest or (isinstance(highest, int) and value > highest):
            bound = f" to {highest}" if highest else " or more"
            raise ArgumentError(f"{name} is {lowest}{bound}")


def _check_text(name: str, value: str, schema: Schema) -> None:
    if "\0" in value or not value:
        raise ArgumentError(f"{name} is empty or holds a NUL")
    if "pattern" in schema and not _NAME.fullmatch(value):
        raise ArgumentError(f"{name} is no id of a task, such as TASK-003 or 3")


_TASK: Schema = {
    "type": "string",
    "description": "the id of a task: TASK-003, or 3",
    "pattern": f"^{_NAME.pattern}$",
}
_SECONDS: Schema = {
    "type": "integer",
    "minimum": 1,
    "maximum": LONGEST_WAIT,
    "description": "how long to wait at most; 60 unless told",
}


def _look(*words: str) -> Callable[[Arguments], list[str]]:
    """A command that takes nothing."""
    return lambda _: [*words, "--json"]


def _one(command: str) -> Callable[[Arguments], list[str]]:
    """A command about one task, or about all where none is named."""

    def words(given: Arguments) -> list[str]:
        return [command, "--json", *(["--", str(given["task"])] if "task" in given else [])]

    return words


def _status(given: Arguments) -> list[str]:
    return ["list", "--json", f"--status={given['status']}"] if given else ["status", "--json"]


def _validate(given: Arguments) -> list[str]:
    return ["validate", "--json", *(["--strict"] if given.get("strict") else [])]


def _impact(given: Arguments) -> list[str]:
    options = [f"--{name}={given[name]}" for name in ("since", "task") if name in given]
    paths = given.get("paths", [])
    assert isinstance(paths, list)  # checked against the schema
    return ["impact", "--json", *options, "--", *map(str, paths)]


def _log(given: Arguments) -> list[str]:
    task = [f"--task={given['task']}"] if "task" in given else []
    limit = given.get("limit", 100)
    # Who goes on from a number wants the next ones: with the newest, what lies between is missed.
    some = [f"--after={given['after']}", f"--first={limit}"] if "after" in given else []
    return ["log", "--json", *task, *(some or [f"--last={limit}"])]


def _run(given: Arguments) -> list[str]:
    tasks = given.get("tasks", [])
    assert isinstance(tasks, list)  # checked against the schema
    jobs = [f"--jobs={given['jobs']}"] if "jobs" in given else []
    look = ["--dry-run"] if given.get("dry_run") else []
    return ["run", "--json", *jobs, *look, "--", *map(str, tasks)]


TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "status",
            "Every task of the plan with its status (PENDING, IN-PROGRESS, DONE, BLOCKED, STALE),"
            " what its DONE is worth (proven, unproven, waived), what is ready, and whether a run"
            " is going on. Ask for one status alone where the plan is long.",
            {"status": {"type": "string", "description": "only tasks of this status"}},
            _status,
        ),
        Tool("next", "The tasks that could start now, in the order of a run.", {}, _look("next")),
        Tool(
            "why",
            "Why a task would run, waits, is blocked, stale or done, with what to do about it;"
            " without a task, everything that does not go on by itself.",
            {"task": _TASK},
            _one("why"),
        ),
        Tool(
            "show",
            "One task whole: what the plan asks, its attempts and findings, its evidence.",
            {"task": _TASK},
            _one("show"),
            ("task",),
        ),
        Tool(
            "brief",
            "What an implementer of this task would be told: read it before you write its files.",
            {"task": _TASK},
            _one("brief"),
            ("task",),
        ),
        Tool(
            "evidence",
            "What a task's DONE rests on: the tests and checks that the runner ran itself.",
            {"task": _TASK},
            _one("evidence"),
            ("task",),
        ),
        Tool(
            "impact",
            "Which tasks and tests a change of files may affect, and why; without paths, what"
            " differs from HEAD. Runs nothing.",
            {
                "paths": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "files or folders, relative to the project",
                },
                "since": {"type": "string", "description": "what differs from this revision"},
                "task": {**_TASK, "description": "what this task changed when it landed"},
            },
            _impact,
        ),
        Tool(
            "validate",
            "Every mistake and warning of TASK-GRAPH.md, with its line and how to write it."
            " Ask after each edit of the plan. Runs nothing.",
            {"strict": {"type": "boolean", "description": "what a run would block is a mistake"}},
            _validate,
        ),
        Tool(
            "log",
            "What happened, from the journal, the newest last: the newest records, or with `after`"
            " those that follow a `seq`. To follow it, give the last `seq` that you were told as"
            " `after`, until nothing comes.",
            {
                "task": _TASK,
                "after": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "only what follows this number, the oldest first; 0: from the"
                    " beginning",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MOST_RECORDS,
                    "description": "how many records at most; 100 unless told",
                },
            },
            _log,
        ),
        Tool(
            "run",
            "Begin to build the plan, or these tasks with what they depend on, and answer at once;"
            " then `wait`. Commands that nobody has trusted are not run: a person types `runner`"
            " once. What waits for a review goes on waiting for a person. With `dry_run`, what"
            " would happen.",
            {
                "tasks": {"type": "array", "items": _TASK, "description": "all unless told"},
                "jobs": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 256,
                    "description": "tasks at once",
                },
                "dry_run": {"type": "boolean", "description": "say it, run nothing"},
            },
            _run,
            changes=True,
        ),
        Tool(
            "wait",
            "Wait until the run that is going on has ended, and say how: `exit` 0 is DONE, 1 a task"
            " failed, 3 a person is asked, 4 something broke.",
            {"seconds": _SECONDS},
            _look("status"),
        ),
    )
}
