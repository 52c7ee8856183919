"""What a run is asked for, and what it gives: values that a page or another program can make."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from runner.lazy_dataclass import dataclass
from runner.run.selection import Selection

if TYPE_CHECKING:
    from runner.app.build.forecast import Foresight
    from runner.app.build.saved_file import Saved
    from runner.errors import ExitCode
    from runner.journal.state import RunState
    from runner.model import Task, Usage
    from runner.project import Reading
    from runner.report.summary import Summary


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """What a person wants of a run; `jobs`, `review` and the like are settings of the project."""

    selection: Selection = field(default_factory=Selection)
    saved: Saved | None = None
    """What is to be done exactly, or refused; its selection is the run's."""
    reuse: bool = False
    """Whether recorded bytes land again where nothing changed."""
    rebuild: bool = False
    """Whether what was edited since it was DONE is built anew: an approval, by a person."""
    reopen: bool = False
    """Whether this goes on after a ship."""
    fail_fast: bool = False
    allow_dirty: bool = False
    """Whether it builds on HEAD beside uncommitted changes."""
    removed_meant: bool = False
    """Whether a person confirms that DONE tasks are gone from the plan, and its `!replay`."""
    trusted: bool = False
    """Whether a person lets this plan's commands run, without a question."""
    trust_command: str = "runner --trust"
    """What a person types to let them run."""
    always: bool = False
    """Whether a run with nothing to do is one all the same, for what it reports."""

    @property
    def chosen(self) -> Selection:
        """The tasks that are meant."""
        return self.saved.selection if self.saved else self.selection


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What a run came to."""

    code: ExitCode
    summary: Summary
    usage: Usage
    reading: Reading
    """The plan as it was built."""
    tasks: tuple[Task, ...]
    """Those the run was about."""
    state: RunState
    seconds: float


@dataclass(frozen=True, slots=True)
class NothingToDo:
    """Every task is DONE, by file and journal alike."""

    code: ExitCode
    """What is known of the tree: a verification that failed is not forgotten."""
    tasks: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """What a run would do, and the plan that was read for it."""

    reading: Reading
    selection: Selection
    foresight: Foresight
