"""The lease that a session holds where what lands is published: begun under, and confirmed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.journal.lock import RunLock
from runner.journal.session_events import LeaseMoved
from runner.project import BUILD
from runner.repo.read import Repository
from runner.run.landing.end_lease import EndLease, open_lease
from runner.run.landing.git_locks import move_branch
from runner.run.landing.lease_standing import LeaseMemory

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.project import Project
    from runner.run.journal_writer import JournalWriter
    from runner.run.landing.branch_lease import BranchLease


def open_session_lease(project: Project, repository: Repository, run: str) -> BranchLease:
    """The lease of what is checked out, not taken yet. Raises RunnerError."""
    settings = project.settings
    if settings.commit == "manual":
        raise RunnerError(
            'publish needs commit = "task": a landing is pushed as it is made',
            hint="RUNNER_COMMIT=task, or RUNNER_PUBLISH=none for this run",
        )
    where = (settings.publish, settings.lease_seconds, project.environ, project.cache)
    lease = open_lease(repository, *where)
    lease.run = run
    return lease


def begin_under(lease: BranchLease, repository: Repository, ledger: JournalWriter) -> None:
    """Say from whom it was taken over, and have landings go to the remote first.

    What a crash left in the remote alone comes here before.
    """
    if (old := lease.taken_from) is not None:
        why = f"not renewed for {lease.seconds:g} s"
        moved = LeaseMoved(lease.branch, old.who, lease.holder, why)
        ledger.note(moved, durable=True)
    # Its landings stay here, and nothing of them is pushed before the end.
    if isinstance(lease, EndLease):
        return
    # In this order: that commit is in the remote already, and a branch that moves by the lease
    # would push it once more.
    if lease.cut_off:
        move_branch(repository, repository.head(), lease.cut_off, "runner: go on")
    repository.publish = lease.move


def give_back_left(project: Project) -> str:
    """Give back the lease that a killed run left, where none goes on; a note where that failed.

    A run with nothing to do takes no lease, so others would wait until that one has lapsed.
    """
    # By what this clone keeps of its lease: a run with nothing to do is to ask no remote.
    if not LeaseMemory(project.cache).token:
        return ""
    try:
        with RunLock(project.root / BUILD), Repository.open(project.root) as repository:
            open_session_lease(project, repository, "").give_back_left()
    except RunnerError as error:
        left = f"a run that was killed may still hold the lease of {project.settings.publish}"
        return f"note: {left}, which lapses by itself: {error.message}"
    return ""


def confirm(
    lease: BranchLease, ledger: JournalWriter, say: Callable[[str], object]
) -> frozenset[ExitCode]:
    """Whether the branch is still ours to build, said where it is not."""
    try:
        # That the remote is away now is no loss of the branch: `trouble` has what was heard of one.
        lease.renew()
    except RunnerError as error:
        say(f"note: {error.message}: {error.detail}")
    if lease.trouble:
        say(f"note: {lease.trouble}")
    if (holder := lease.lost_to) is not None:
        moved = LeaseMoved(lease.branch, lease.holder, holder.who, holder.reason)
        ledger.note(moved, durable=True)
    return frozenset({ExitCode.CONFLICT}) if lease.trouble else frozenset()
