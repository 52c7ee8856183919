"""A person ends the run that is going on, from another process; what is done stays done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.journal.lock import RunLock
from runner.process import platform
from runner.project import BUILD

if TYPE_CHECKING:
    from runner.journal.lock import Holder
    from runner.project import Project


def stop_run(project: Project) -> Holder:
    """Ask the run to end, as Ctrl-C does. Raises RunnerError where none is going on."""
    lock = RunLock(project.root / BUILD)
    holder = lock.holder()
    if holder is None:
        raise RunnerError("no run is going on here", hint="runner status", code=ExitCode.CONFLICT)
    if not platform.interrupt(holder.pid, holder.lives):
        raise RunnerError("the run has just ended", code=ExitCode.CONFLICT)
    return holder
