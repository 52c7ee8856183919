"""Repair a landing that a kill interrupted, at the start of the next command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.journal.lock import RunLock
from runner.project import BUILD, Project
from runner.run.crash_cleanup import finish_left_index

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.journal.events import TaskLanding
    from runner.repo.head import Folders


def finish_cut_off_landing(folders: Folders, environ: Mapping[str, str], start: Path) -> str:
    """Finish or remove the `index.lock` that a killed run left here; gives a line to show.

    Raises RunnerError and OSError where it cannot be done.
    """

    def recorded() -> TaskLanding | None:
        project = Project.open(start, environ, plan_needed=False)
        runs = RunLock(project.root / BUILD).holder() is not None
        return None if runs else project.state().open_landing

    return finish_left_index(folders, recorded)
