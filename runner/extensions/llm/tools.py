"""Every tool of the loop in one visible list: its name, its schema, and what it does."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Generic, Protocol, TypeAlias, TypeVar

from pydantic import ValidationError

from runner.config.permissions import FILE_TOOLS
from runner.errors import ExitCode, MachineError, RunnerError
from runner.extensions.llm import file_tools
from runner.extensions.llm import tool_context as schemas
from runner.extensions.llm.tool_context import ToolRefusal, normalize_path
from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from runner.extensions.llm.tool_context import ToolContext
    from runner.implementers.base import Mode

_A = TypeVar("_A", bound=schemas.Arguments)

Given: TypeAlias = Mapping[str, object]
"""What a model calls a tool with: JSON, not yet looked at."""


class BadArgumentsError(ValueError):
    """A call that the tool's schema does not let through; the message is for the model."""


class SessionTool(Protocol):
    """What a session can call."""

    @property
    def name(self) -> str:
        """As the model calls it."""

    @property
    def purpose(self) -> str:
        """The description for the model."""

    @property
    def schema(self) -> dict[str, object]:
        """JSON Schema of its arguments."""

    @property
    def once(self) -> bool:
        """Whether a repeated call is not done again, since it changes something."""

    def subject(self, given: Given) -> str:
        """What a call is about: the subject of the permission rules."""

    def call(self, given: Given) -> str:
        """Do it. Raises BadArgumentsError."""


@dataclass(frozen=True, slots=True)
class Own(Generic[_A]):
    """A tool of ours in one session."""

    context: ToolContext
    name: str
    purpose: str
    arguments: type[_A]
    work: Callable[[ToolContext, _A], str]
    about: str
    """The argument that is its subject."""
    once: bool = False

    @property
    def schema(self) -> dict[str, object]:
        """JSON Schema of its arguments."""
        return self.arguments.model_json_schema()

    def subject(self, given: Given) -> str:
        """The path, or the name, that it is called with."""
        value = given.get(self.about, "")
        value = value if isinstance(value, str) else ""
        return (normalize_path(value) or ".") if self.name in FILE_TOOLS else value

    def call(self, given: Given) -> str:
        """Hold the arguments to the schema, then do it."""
        try:
            asked = self.arguments.model_validate_json(json.dumps(given))
        except ValidationError as error:
            raise BadArgumentsError(_mistakes(error)) from error
        try:
            return self.work(self.context, asked)
        except MachineError:
            raise  # a full disk is nobody's fault
        except RunnerError as error:  # a link in the way
            if error.code is not ExitCode.CONFLICT:
                raise
            return ToolRefusal(f"refused: {error.message}")


def own_tools(context: ToolContext, mode: Mode) -> tuple[SessionTool, ...]:
    """The tools of a mode: only where it executes there are some that write."""
    return (*_readers(context), *_writers(context)) if mode.writes else _readers(context)


def _readers(context: ToolContext) -> tuple[SessionTool, ...]:
    return (
        Own(
            context,
            "list_files",
            "Lists files with their sizes.",
            schemas.ListFiles,
            file_tools.list_files,
            "folder",
        ),
        Own(
            context,
            "read_file",
            "Reads a file, or some of its lines.",
            schemas.ReadFile,
            file_tools.read_file,
            "path",
        ),
        Own(
            context,
            "search",
            "Finds lines by a regular expression.",
            schemas.SearchArguments,
            file_tools.search,
            "folder",
        ),
    )


def _writers(context: ToolContext) -> tuple[SessionTool, ...]:
    return (
        Own(
            context,
            "write_file",
            "Writes a whole file. A refused write changes nothing and says why.",
            schemas.WriteFile,
            file_tools.write_file,
            "path",
            once=True,
        ),
        Own(
            context,
            "modify_file",
            "Replaces a text that occurs exactly once in a file, or applies a unified diff to it.",
            schemas.ModifyFile,
            file_tools.modify_file,
            "path",
            once=True,
        ),
        Own(
            context,
            "run_gate",
            "Runs one check of the task, by its name, on the files as they are.",
            schemas.RunGate,
            file_tools.run_gate,
            "name",
        ),
        Own(
            context,
            "record_decision",
            "Records a choice that is not obvious, with its trade-off.",
            schemas.RecordDecision,
            file_tools.record_decision,
            "title",
            once=True,
        ),
    )


def _mistakes(error: ValidationError) -> str:
    """What is wrong with the arguments, without repeating what was given."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    mistakes = (f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}" for one in found)
    return "; ".join(mistakes)
