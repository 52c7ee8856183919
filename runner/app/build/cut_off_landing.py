"""A landing that a kill cut off, put right by whichever command comes next."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from runner.lazy_module import lazy_module
from runner.repo.head import find_git

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner import project as projects
    from runner.journal import lock
    from runner.journal.events import TaskLanding
    from runner.run.landing import left_index
else:
    left_index = lazy_module("runner.run.landing.left_index")
    lock = lazy_module("runner.journal.lock")
    projects = lazy_module("runner.project")


def finish_cut_off_landing(start: Path, environ: Mapping[str, str]) -> str:
    """Finish or remove the `index.lock` that a killed run left here; gives a line to show.

    One look at a file where there is none. Raises RunnerError and OSError where it cannot be done.
    """
    folders = find_git(start)
    if folders is None or not os.path.lexists(folders.git / "index.lock"):
        return ""

    def recorded() -> TaskLanding | None:
        project = projects.Project.open(start, environ, plan_needed=False)
        runs = lock.RunLock(project.root / projects.BUILD).holder() is not None
        return None if runs else project.state().open_landing

    return left_index.finish_left_index(folders, recorded)
