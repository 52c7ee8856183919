"""Show who builds the current branch on any machine, and take the lease from them.

What a remote lets a lease do, tried with refs of our own that are gone at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from runner import effects
from runner.app.inspect.diagnostic import Diagnostic, State, make_missing_sign
from runner.errors import ExitCode, RunnerError
from runner.journal.lock import RunLock
from runner.journal.log import Journal
from runner.journal.session_events import LeaseMoved
from runner.project import BUILD
from runner.repo.lease_text import LeaseHolder, refs_of, write_lease
from runner.repo.read import Repository
from runner.repo.remote import Move, Remote, Swap
from runner.report.documents import document
from runner.run.landing.branch_lease import find_protection
from runner.run.landing.publish_at_end import open_lease
from runner.run.waivers import why_no_person
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.project import Project
    from runner.run.landing.branch_lease import BranchLease
    from runner.run.landing.lease_state import LeaseState


class LeaseView(Struct, frozen=True):
    """The state of the checked-out branch's lease."""

    remote: str
    branch: str
    standing: LeaseState
    seconds: float
    """The lease's ttl."""
    first: str = ""
    """What to do before the next run here can start."""


def look_at_lease(project: Project) -> LeaseView:
    """Ask the remote. Raises RunnerError, exit 2 where it does not answer."""
    with Repository.open(project.root) as repository:
        lease = _open(project, repository)
        return LeaseView(lease.name, lease.branch, lease.look(), lease.seconds)


def take_lease(project: Project, reason: str, *, meant: bool = False) -> LeaseView:
    """Take the lease for the next run on a person's request, and return its previous state.

    Raises RunnerError: no person is here, a run is going on in this folder, the remote is away.
    """
    why = why_no_person(project.environ)
    if why is not None and not (why.ci and meant):
        raise RunnerError(
            f"only a person may take over a lease: {why.text}",
            hint="in CI: add --yes" if why.ci else "ask a person to run it",
            code=ExitCode.PERSON,
        )
    text = " ".join(redact(reason).split())
    with RunLock(project.root / BUILD), Repository.open(project.root) as repository:
        lease = _open(project, repository)
        lease.doing = "taken manually"
        before, problem = lease.take_manually(text)
        if before.value is not None and not before.is_own:
            moved = LeaseMoved(lease.branch, before.lease.who, lease.holder, text, by="person")
            with Journal.open(project.journal_path) as journal:
                journal.append(moved, durable=True)
        first = f"{problem.message}; {problem.hint}" if problem else ""
        return LeaseView(lease.name, lease.branch, before, lease.seconds, first)


def _open(project: Project, repository: Repository) -> BranchLease:
    settings = project.settings
    name = settings.git.publish or "origin"
    where = (name, settings.git.lease_seconds, project.environ, project.cache)
    return open_lease(repository, *where)


def examine_remote(project: Project) -> Iterator[Diagnostic]:
    """Yield the diagnostics of `doctor --remote`: reachability, atomic pushes and the lease."""
    name = project.settings.git.publish or "origin"
    what = f"remote {display(name)}"
    try:
        with (
            Repository.open(project.root) as repository,
            Remote(repository, name, project.environ) as remote,
        ):
            branch = open_lease(
                repository, name, project.settings.git.lease_seconds, project.environ, project.cache
            ).branch
            seen = remote.read(f"refs/heads/{branch}")
            head = repository.find_head().commit
            yield _compare(what, branch, seen.get(f"refs/heads/{branch}"), head)
            yield _try_leases(what, remote)
            if (tip := seen.get(f"refs/heads/{branch}")) == head and tip:
                yield _try_branch(what, branch, find_protection(remote, repository, branch, tip))
    except RunnerError as error:
        yield make_missing_sign(what, error)


def _compare(what: str, branch: str, there: str | None, here: str | None) -> Diagnostic:
    shown = display(branch)
    if there is None:
        return Diagnostic(what, State.NOTE, f"branch {shown} does not exist there yet", "git push")
    if there != here:
        hint = "git pull --rebase, git push"
        return Diagnostic(
            what, State.NOTE, f"branch {shown} has another commit there than here", hint
        )
    return Diagnostic(
        what, State.OK, f"reachable; branch {shown} has the same commit there and here"
    )


def _try_branch(what: str, branch: str, refusal: str | None) -> Diagnostic:
    shown = display(branch)
    if refusal is None:
        text = f"the first landing shows whether {shown} is protected"
        return Diagnostic(what, State.NOTE, text)
    if not refusal:
        return Diagnostic(what, State.OK, f"{shown} accepts pushes")
    text = f"{shown} rejects pushes: {display(refusal)}"
    return Diagnostic(what, State.MISSING, text, "runner run --branch NAME; open a pull request")


def _try_leases(what: str, remote: Remote) -> Diagnostic:
    """Check that the remote accepts two refs in one push, and remove them again."""
    refusal = ""
    # A forge may reject refs other than branches and tags: the second name is a branch.
    for ref in refs_of(f"probe-{effects.new_id()}"):
        value = remote.write_commit(write_lease(LeaseHolder(doing="doctor --remote")))
        refs = (ref, f"{ref}-2")
        made = remote.swap(*(Move(one, None, value) for one in refs))
        if made.swap is Swap.DONE:
            gone = remote.swap(*(Move(one, value, None) for one in refs))
            if gone.swap is Swap.DONE:
                where = ref.partition("/probe-")[0]
                text = f"atomic pushes, and leases under {where}"
                return Diagnostic(what, State.OK, text)
            refusal = f"the test refs could not be deleted: {gone.output}"
            break
        refusal = made.output
    text = f"the remote does not support leases: {' '.join(refusal.split())}"
    return Diagnostic(
        what,
        State.MISSING,
        text,
        "git.publish needs a remote that accepts atomic pushes of these refs",
    )


def lease_document(seen: LeaseView, *, taken: bool) -> str:
    """Return the state of the lease, or its state before the takeover, as a JSON document."""
    there = seen.standing
    lease = there.lease._asdict()
    lease.pop("token")
    return document(
        "lease",
        remote=seen.remote,
        branch=seen.branch,
        ref=there.ref,
        held=there.value is not None,
        own=there.is_own,
        unchanged=round(there.unchanged, 1),
        over=there.value is not None and there.is_over,
        taken=taken,
        lease=lease if there.value is not None else None,
    )


def lease_text(seen: LeaseView) -> str:
    """Return the holder of the branch as text."""
    there, branch = seen.standing, display(seen.branch)
    if there.value is None:
        return f"no run is building {branch} of {display(seen.remote)}"
    text = f"{branch} of {display(seen.remote)} is being built {there.lease}"
    text += " (from this folder)" if there.is_own else ""
    if there.lease.reason:
        text += f"\ntaken manually: {display(there.lease.reason)}"
    if there.is_over:
        return (
            text + f"\nnot renewed for {there.unchanged:.0f} s: the next run takes the lease over"
        )
    if there.unchanged:
        text += f"\nnot renewed for {there.unchanged:.0f} s, as seen from this clone"
    return text


def takeover_text(seen: LeaseView) -> str:
    """Describe which lease was taken, and from whom."""
    there, branch = seen.standing, display(seen.branch)
    whose = f"taken from {there.lease.who}" if there.value is not None else "taken; nobody held it"
    again = f"without a run it expires after {seen.seconds:g} s"
    how = seen.first or "the next `runner run` uses it"
    return f"the lease of {branch}: {whose}\n{how}; {again}"
