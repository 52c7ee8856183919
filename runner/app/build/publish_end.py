"""`git.publish_at = "end"`: what a run does with the remote once everything else of it is over.

What moved there meanwhile is taken in, and proven with what was built, before the one push.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.app.prove.prove_again import verify_at_end
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runner.app.build.session import Session
    from runner.app.prove.prove_again import FindUntouched, Wakes
    from runner.model import Task
    from runner.run.landing import end_lease
    from runner.run.landing.end_lease import EndLease
    from runner.run.landing.status_writer import StatusWriter
else:
    end_lease = lazy_module("runner.run.landing.end_lease")


def prove_at_end(
    session: Session,
    tasks: Sequence[Task],
    board: StatusWriter,
    *,
    say: Callable[[str], None],
    wakes: Wakes,
    find_untouched: FindUntouched,
    owed: bool,
) -> frozenset[ExitCode]:
    """Prove together what was accepted one by one, on the remote's tip where that is published."""
    lease, is_merged = _find_end(session), False
    if lease is not None:
        codes, is_merged = _take_in(session, lease, say)
        if codes:
            return codes
    return verify_at_end(
        session,
        tasks,
        board,
        say=say,
        wakes=wakes,
        find_untouched=find_untouched,
        owed=owed,
        merged=is_merged,
    )


def _find_end(session: Session) -> EndLease | None:
    """The lease under which one push is made at the end, where that is how it is published."""
    lease = session.lease
    return lease if lease is not None and isinstance(lease, end_lease.EndLease) else None


def _take_in(
    session: Session, lease: EndLease, say: Callable[[str], object]
) -> tuple[frozenset[ExitCode], bool]:
    """Merge what moved in the remote; the codes that then hold, and whether all is proven anew."""
    repository = session.repository
    plan = session.project.root / session.project.plan_path
    # A merge may bring another plan: what was built here is no answer to that one.
    before = plan.read_bytes()
    try:
        tip = lease.look_again()
        if end_lease.join(repository, lease.name, lease.branch, tip):
            say(f"{display(lease.name)} has moved: merged {tip[:12]}; everything is re-tested")
        is_merged = end_lease.has_merges(repository, tip)
    except RunnerError as error:
        say(f"note: {error.message}; nothing was published. hint: {error.hint}")
        return frozenset({error.code}), False
    if plan.read_bytes() != before:
        say(f"note: the plan in {display(lease.name)} has changed: run again to build it")
        return frozenset({ExitCode.CONFLICT}), False
    return frozenset(), is_merged


def publish(session: Session, say: Callable[[str], object], code: ExitCode) -> ExitCode:
    """Push what was built, where all of it was; the exit code that then holds."""
    lease = _find_end(session)
    if lease is None:
        return code
    here = session.repository.find_head()
    if here.ref != session.branch.ref:
        return code  # a person went elsewhere meanwhile
    if code is not ExitCode.OK:
        say(f"note: nothing was published: finished work stays on {here.branch}")
        return code
    try:
        # The remote first: as long as it has not moved, a kill leaves nothing that looks published.
        lease.publish(here.commit or "")
    except RunnerError as error:
        say(f"note: {error.message}; finished work is on {here.branch}. hint: {error.hint}")
        return ExitCode.CONFLICT
    whose = f"{display(lease.branch)} of {display(lease.name)}"
    say(f"published: {whose} is at {(here.commit or '')[:12]}")
    if why := end_lease.go_home(session.repository):
        say(f"note: {why}")
    return code
