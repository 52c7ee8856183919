"""Choose the branch that a run builds on, and lease it if landings are published.

`run --branch NAME` creates a missing branch at HEAD; uncommitted changes stay. With `publish` the
remote's branch is created first. A HEAD with commits that are on no branch of the remote is
refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.journal.lock import RunLock
from runner.journal.session_events import LeaseMoved
from runner.project import BUILD
from runner.repo.head import UNPUBLISHED
from runner.repo.read import Repository
from runner.run.landing.git_locks import move_branch
from runner.run.landing.lease_state import LeaseMemory
from runner.run.landing.publish_at_end import EndLease, open_lease
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.project import Project
    from runner.run.journal_writer import JournalWriter
    from runner.run.landing.branch_lease import BranchLease

# --- chosen ---------------------------------------------------------------------------


_HEADS = "refs/heads/"


def switch_to(project: Project, name: str) -> bool:
    """Switch to a branch; return False if it is checked out already. Raises RunnerError."""
    _require_alone(project)
    with Repository.open(project.root) as repository:
        if repository.git.ask("check-ref-format", "--branch", name).exit or name.startswith("-"):
            raise RunnerError("invalid branch name", where=display(name))
        ref = f"{_HEADS}{name}"
        if repository.find_head().ref == ref:
            return False
        is_there = repository.resolve(ref) is not None
        if not is_there and project.settings.git.publish:
            _begin_in_remote(project, repository, ref)
        new = () if is_there else ("--create",)
        # `git switch` would run the post-checkout hook (githooks(5)), which is unwanted here.
        quiet = ("-c", "core.hooksPath=/dev/null", "switch", "--quiet", "--no-guess")
        answer = repository.git.ask(*quiet, *new, name)
        if answer.exit:
            raise RunnerError(
                f"git cannot switch to {display(name)}",
                detail=display(answer.stderr.strip()[-1000:], lines=True),
                hint="commit or stash the changes that conflict, then run again",
                code=ExitCode.CONFLICT,
            )
    return True


def build_apart(project: Project, *, saved: bool) -> str:
    """Switch to the branch that is published at the end, and return a note on it.

    Raises RunnerError: a run goes on here, the remote is away, its commits do not fit.
    """
    from runner.run.landing.publish_at_end import switch_to_unpublished

    if saved:
        raise RunnerError(
            'a saved plan cannot run with git.publish_at = "end", which builds on a new branch',
            hint="run without --apply, or set RUNNER_GIT_PUBLISH_AT=task",
        )
    _require_alone(project)
    with Repository.open(project.root) as repository:
        name = project.settings.git.publish
        branch = switch_to_unpublished(repository, name, project.environ)
    whose = display(branch.removeprefix(UNPUBLISHED))
    return f"on branch {display(branch)}; {whose} is updated once everything is published"


def _require_alone(project: Project) -> None:
    holder = RunLock(project.root / BUILD).holder()
    if holder is not None:
        raise RunnerError(
            f"a run is active in this folder: {holder}",
            hint="build another branch in a separate clone or work tree",
            code=ExitCode.CONFLICT,
        )


def _begin_in_remote(project: Project, repository: Repository, ref: str) -> None:
    from runner.repo.remote import Move, Remote, Swap

    head, origin = repository.find_head(), project.settings.git.publish
    shown, there = display(ref.removeprefix(_HEADS)), display(origin)
    with Remote(repository, origin, project.environ) as remote:
        seen = remote.read(ref, head.ref) if head.ref else remote.read(ref)
        if seen.get(ref) == head.commit:
            return  # a crash came between the two
        if ref in seen:
            raise RunnerError(
                f"branch {shown} exists on {there} but not in this clone",
                hint=f"git fetch {there} {shown}:{shown}, then run again; or use another name",
                code=ExitCode.CONFLICT,
            )
        commit = head.commit or ""
        if seen.get(head.ref) != commit and not _was_there(repository, origin):
            raise RunnerError(
                f"HEAD has commits that are not on {there}: a new branch would push them",
                hint=f"git push {there} {display(head.ref.removeprefix(_HEADS))}, then run again",
                code=ExitCode.PERSON,
            )
        made = remote.swap(Move(ref, None, commit, is_branch=True))
        if made.swap is not Swap.DONE:
            raise RunnerError(
                f"{there} rejected the branch {shown}",
                detail=display(made.output.strip()[-1000:], lines=True),
                hint="it may be protected: use another name",
                code=ExitCode.CONFLICT,
            )


def _was_there(repository: Repository, origin: str) -> bool:
    """Return whether the remote-tracking branches of `origin` contain all commits of HEAD."""
    words = ("rev-list", "--max-count=1", "HEAD", "--not", f"--remotes={origin}")
    answer = repository.git.ask(*words)
    return answer.exit == 0 and not answer.out.strip()


# --- leased ---------------------------------------------------------------------------


def open_session_lease(project: Project, repository: Repository, run: str) -> BranchLease:
    """Create the lease for the current branch without taking it. Raises RunnerError."""
    settings = project.settings
    if settings.git.commit == "manual":
        raise RunnerError(
            'publish needs git.commit = "task": each landing is pushed as a commit',
            hint="set RUNNER_GIT_COMMIT=task, or RUNNER_GIT_PUBLISH=none for this run",
        )
    where = (settings.git.publish, settings.git.lease_seconds, project.environ, project.cache)
    lease = open_lease(repository, *where)
    lease.run = run
    return lease


def begin_under(lease: BranchLease, repository: Repository, journal: JournalWriter) -> None:
    """Record a lease takeover, and make later commits go to the remote first.

    What a crash left in the remote alone comes here before.
    """
    if (old := lease.taken_from) is not None:
        why = f"not renewed for {lease.seconds:g} s"
        moved = LeaseMoved(lease.branch, old.who, lease.holder, why)
        journal.note(moved, durable=True)
    # Landings stay local; nothing is pushed before the end.
    if isinstance(lease, EndLease):
        return
    # Order matters: the remote already has that commit, and moving the branch through the lease
    # would push it again.
    if lease.cut_off:
        move_branch(repository, repository.head(), lease.cut_off, "runner: go on")
    repository.publish = lease.move


def release_leftover_lease(project: Project) -> str:
    """Give back the lease of a killed run if no run is active; returns a note if that failed.

    A run with nothing to do takes no lease, so others would wait until that one has lapsed.
    """
    # Uses this clone's record of its lease: a run with nothing to do must not contact the remote.
    if not LeaseMemory(project.cache).token:
        return ""
    try:
        with RunLock(project.root / BUILD), Repository.open(project.root) as repository:
            open_session_lease(project, repository, "").release_leftover_lease()
    except RunnerError as error:
        left = f"a killed run may still hold the lease of {project.settings.git.publish}"
        return f"note: {left}, which expires by itself: {error.message}"
    return ""


def confirm(
    lease: BranchLease, journal: JournalWriter, say: Callable[[str], object]
) -> frozenset[ExitCode]:
    """Return the exit codes of a lost branch, and explain the loss; empty while it is ours."""
    try:
        # An unreachable remote does not mean the branch is lost: `trouble` has its last error.
        lease.renew()
    except RunnerError as error:
        say(f"note: {error.message}: {error.detail}")
    if lease.trouble:
        say(f"note: {lease.trouble}")
    if (holder := lease.lost_to) is not None:
        moved = LeaseMoved(lease.branch, lease.holder, holder.who, holder.reason)
        journal.note(moved, durable=True)
    return frozenset({ExitCode.CONFLICT}) if lease.trouble else frozenset()
