"""The request for a run and its result, as values that a page or another program can create."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner.run.selection import Selection

if TYPE_CHECKING:
    from runner.app.build.forecast import Foresight
    from runner.app.build.saved_proposal import Saved
    from runner.errors import ExitCode
    from runner.journal.state import RunState
    from runner.model import Task, Usage
    from runner.project import Reading
    from runner.report.summary import Summary


class BuildRequest(Struct, frozen=True):
    """A person's request for a run; `jobs`, `review` and the like are settings of the project."""

    selection: Selection = field(default_factory=Selection)
    saved: Saved | None = None
    """Exact work to do or refuse; its selection is the run's."""
    reuse: bool = False
    """Whether recorded bytes land again if nothing changed."""
    rebuild: bool = False
    """Whether tasks edited since they were DONE are rebuilt: a person's approval."""
    reopen: bool = False
    """Whether this run continues after a ship."""
    fail_fast: bool = False
    allow_dirty: bool = False
    """Whether to build on HEAD despite uncommitted changes."""
    removed_meant: bool = False
    """Whether a person confirms removed DONE tasks and the plan's `!replay`."""
    trusted: bool = False
    """Whether a person allows this plan's commands, without a prompt."""
    trust_command: str = "runner --trust"
    """Command that a person types to allow them."""
    always: bool = False
    """Whether a run with nothing to do still counts as a run, for its reports."""

    @property
    def chosen(self) -> Selection:
        """The tasks that are meant."""
        return self.saved.selection if self.saved else self.selection


class BuildResult(Struct, frozen=True):
    """The result of a run."""

    code: ExitCode
    summary: Summary
    usage: Usage
    reading: Reading
    """The plan as it was built."""
    tasks: tuple[Task, ...]
    """Tasks of the run."""
    state: RunState
    seconds: float


class NothingToDo(Struct, frozen=True):
    """Every task is DONE, by file and journal alike."""

    code: ExitCode
    """Known state of the tree: a failed verification is not forgotten."""
    tasks: int
    notes: tuple[str, ...]


class Preview(Struct, frozen=True):
    """The dry run of a build, and the plan that was read for it."""

    reading: Reading
    selection: Selection
    foresight: Foresight
