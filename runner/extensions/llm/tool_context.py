"""The context of a session's tools, and the format of their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct, field
from pydantic import BaseModel, ConfigDict, Field

from runner.config.permissions import Rulebook
from runner.model import Decision, Phase, TaskPlan
from runner.secrets.redact import redact

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterable

    from runner.config.settings import Settings
    from runner.config.shell_rules import PermissionAnswer
    from runner.implementers.base import ImplementerContext
    from runner.model import Finding, Task


LONGEST_ANSWER = 32_000
"""Characters of one tool's answer: about 8,000 tokens."""


class ToolContext(Struct, frozen=True):
    """One session's work place; the decisions that are made at it are collected."""

    attempt: ImplementerContext
    task: Task
    settings: Settings
    known_secrets: tuple[str, ...] = ()
    """Secrets that no answer may show: the task's and the provider's key."""
    decisions: list[Decision] = field(default_factory=list)
    answers: list[PermissionAnswer] = field(default_factory=list)
    """The person's answers to questions of this session."""

    @property
    def project(self) -> pathlib.Path:
        """The folder that all paths start from. Raises RunnerError where it is a link by now."""
        return self.attempt.place.project

    @property
    def book(self) -> Rulebook:
        """Current permission rules, including the answers."""
        answers = (*self.attempt.answers, *self.answers)
        rules, floor = self.settings.permission, self.settings.floor.permission
        return Rulebook(rules, floor, answers, self.known_secrets)

    def safe(self, text: str) -> str:
        """Return a text redacted and cut to the maximum length."""
        shown = redact(text, self.known_secrets)
        if len(shown) <= LONGEST_ANSWER:
            return shown
        return f"{shown[:LONGEST_ANSWER]}\n… ({len(shown) - LONGEST_ANSWER} characters more)"


class ToolRefusal(str):
    """A tool's answer that says why nothing was done."""

    __slots__ = ()


def normalize_path(path: str) -> str:
    """Normalise a path to the form used in the tree."""
    return path.removeprefix("./").rstrip("/")


def format_findings(findings: Iterable[Finding]) -> str:
    """Return findings as a tool's answer, separated by blank lines."""
    return "\n\n".join(map(_finding, findings))


def _finding(finding: Finding) -> str:
    place = ":".join(str(part) for part in (finding.path, finding.line) if part)
    head = f"{finding.check} ({finding.severity}){f' at {place}' if place else ''}"
    hint = f"\nhint: {finding.hint}" if finding.hint else ""
    detail = f"\n{finding.detail.strip()}" if finding.detail.strip() else ""
    return f"{head}: {finding.message}{hint}{detail}"


Path = Annotated[
    str, Field(min_length=1, max_length=1024, description="Path from the project's folder.")
]
Text = Annotated[str, Field(max_length=4000)]
Lines = Annotated[tuple[Annotated[str, Field(min_length=1, max_length=2000)], ...], Field()]


class Arguments(BaseModel):
    """Base of all tool arguments: unknown fields are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ListFiles(Arguments):
    """The files to list."""

    folder: Annotated[
        str, Field(max_length=1024, description="Folder to look in; empty for all.")
    ] = ""
    pattern: Annotated[
        str, Field(max_length=256, description="A glob as in .gitignore, such as *.py.")
    ] = ""


class ReadFile(Arguments):
    """The file to read, or a range of its lines."""

    path: Path
    first_line: Annotated[int, Field(ge=1, description="First line.")] = 1
    last_line: Annotated[int | None, Field(ge=1, description="Last line.")] = None


class SearchArguments(Arguments):
    """The search text, and the files to search."""

    pattern: Annotated[
        str, Field(min_length=1, max_length=500, description="A regular expression (RE2).")
    ]
    folder: Annotated[
        str, Field(max_length=1024, description="Folder to look in; empty for all.")
    ] = ""
    ignore_case: bool = False


class WriteFile(Arguments):
    """A file, whole."""

    path: Path
    content: Annotated[str, Field(max_length=2_000_000, description="The whole file.")]
    executable: bool = False


class ModifyFile(Arguments):
    """A change of a file: an exact text by another one, or a unified diff."""

    path: Path
    old: Annotated[
        str, Field(max_length=500_000, description="Text that occurs in the file exactly once.")
    ] = ""
    new: Annotated[str, Field(max_length=500_000, description="The text that replaces it.")] = ""
    patch: Annotated[
        str, Field(max_length=500_000, description="Instead of both: a unified diff of the file.")
    ] = ""


class RunGate(Arguments):
    """The check to run."""

    name: Annotated[
        str, Field(min_length=1, max_length=200, description="Such as TC-001, or a gate's name.")
    ]


class RecordDecision(Arguments):
    """A choice that is not obvious, or that leaves the plan."""

    title: Annotated[str, Field(min_length=1, max_length=300)]
    context: Text = ""
    decision: Text = ""
    tradeoff: Text = ""
    pattern: Annotated[str, Field(max_length=200)] = ""

    def noun(self) -> Decision:
        """Convert to a Decision."""
        return Decision(self.title, self.context, self.decision, self.tradeoff, self.pattern)


class PhaseAnswer(Arguments):
    """A part of the work that can be proven and kept by itself."""

    title: Annotated[str, Field(min_length=1, max_length=300)]
    steps: Lines = ()
    files: Lines = ()


class PlanAnswer(Arguments):
    """The plan for the task. Nothing is written before it is approved."""

    steps: Annotated[Lines, Field(min_length=1, description="In the order of work.")]
    files: Annotated[Lines, Field(description="Every path that is created or modified.")]
    context: Annotated[Lines, Field(description="Paths that must be read for it.")] = ()
    type: Annotated[str, Field(max_length=60, description="The kind of task.")] = ""
    gates: Annotated[Lines, Field(description="Names of the checks that will pass.")] = ()
    phases: Annotated[tuple[PhaseAnswer, ...], Field(description="Only if the work is large.")] = ()

    def noun(self) -> TaskPlan:
        """Convert to a TaskPlan."""
        phases = tuple(Phase(one.title, one.steps, one.files) for one in self.phases)
        return TaskPlan(self.steps, self.files, self.context, self.type, self.gates, phases)
