"""What each tool is called with, as schemas that a model is shown and its calls are held to.

Imported only where a model is asked: pydantic takes a while to start.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from runner.model import Decision, Phase, TaskPlan

Path = Annotated[
    str, Field(min_length=1, max_length=1024, description="Path from the project's folder.")
]
Text = Annotated[str, Field(max_length=4000)]
Lines = Annotated[tuple[Annotated[str, Field(min_length=1, max_length=2000)], ...], Field()]


class Arguments(BaseModel):
    """Of any tool: what no field is for is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ListFiles(Arguments):
    """Which files to list."""

    folder: Annotated[str, Field(max_length=1024, description="Where to look; empty: all.")] = ""
    pattern: Annotated[
        str, Field(max_length=256, description="A glob as in .gitignore, such as *.py.")
    ] = ""


class ReadFile(Arguments):
    """Which file to read, or which of its lines."""

    path: Path
    first_line: Annotated[int, Field(ge=1, description="From this line on.")] = 1
    last_line: Annotated[int | None, Field(ge=1, description="To this line.")] = None


class Search(Arguments):
    """What to look for, and where."""

    pattern: Annotated[
        str, Field(min_length=1, max_length=500, description="A regular expression (RE2).")
    ]
    folder: Annotated[str, Field(max_length=1024, description="Where to look; empty: all.")] = ""
    ignore_case: bool = False


class WriteFile(Arguments):
    """A file, whole."""

    path: Path
    content: Annotated[str, Field(max_length=2_000_000, description="All of the file.")]
    executable: bool = False


class ModifyFile(Arguments):
    """A change of a file: an exact text by another one, or a unified diff."""

    path: Path
    old: Annotated[
        str, Field(max_length=500_000, description="Text that stands in the file exactly once.")
    ] = ""
    new: Annotated[str, Field(max_length=500_000, description="What is to stand in its place.")] = (
        ""
    )
    patch: Annotated[
        str, Field(max_length=500_000, description="Instead of both: a unified diff of the file.")
    ] = ""


class RunGate(Arguments):
    """Which check to run."""

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
        """As the house knows it."""
        return Decision(self.title, self.context, self.decision, self.tradeoff, self.pattern)


class PhaseAnswer(Arguments):
    """A part of the work that can be proven and kept by itself."""

    title: Annotated[str, Field(min_length=1, max_length=300)]
    steps: Lines = ()
    files: Lines = ()


class PlanAnswer(Arguments):
    """How the task is to be built. Nothing is written before it is approved."""

    steps: Annotated[Lines, Field(min_length=1, description="In the order they are done.")]
    files: Annotated[Lines, Field(description="Every path that is created or modified.")]
    context: Annotated[Lines, Field(description="Paths that must be read for it.")] = ()
    type: Annotated[str, Field(max_length=60, description="The kind of task.")] = ""
    gates: Annotated[Lines, Field(description="Names of the checks that will pass.")] = ()
    phases: Annotated[
        tuple[PhaseAnswer, ...], Field(description="Only where the work is large.")
    ] = ()

    def noun(self) -> TaskPlan:
        """As the house knows it."""
        phases = tuple(Phase(one.title, one.steps, one.files) for one in self.phases)
        return TaskPlan(self.steps, self.files, self.context, self.type, self.gates, phases)
