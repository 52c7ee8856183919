"""Format the next step for a task that waits for a person: the same sentence everywhere.

Summary, console, report, `why` and `review` print it; none has words of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.journal.permission_fold import waits as permission_waits
from runner.journal.plan_fold import waits
from runner.lazy_module import lazy_module
from runner.model import Failure, Reason
from runner.run.limits.budget import was_one_attempts
from runner.run.limits.failure_policy import find_own_failure
from runner.run.proof_sufficiency import CHECK, PROOF_HINT, WISH_HINT, lacks_proof
from runner.run.regressions.regression import find_unapproved, victims, victims_of
from runner.run.review import was_refused
from runner.text.display import display

if TYPE_CHECKING:
    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.model import Task
    from runner.run import preflight
else:
    preflight = lazy_module("runner.run.preflight")

SCOPE = "scope"
"""Check whose hint is a line for the plan, if one is enough."""
_MISSING = "provide what is missing (`runner doctor` lists it), then `runner`"
LACKING = {
    # Every run checks again for what these lacked: rebuilding them changes nothing.
    Reason.SECRET: _MISSING,
    Reason.TOOL: _MISSING,
    Reason.ROOT: (
        "do the task yourself and set its Status to DONE, or remove root (Requires, "
        "sudo) from the task; then `runner`"
    ),
    Reason.POLICY: "fix the task's section (`runner validate` shows the problem), then `runner`",
    Reason.PROOF: f"{PROOF_HINT}; then `runner`",
    Reason.HELD_OUT: "put the files back (`runner hold-out --check` names them), then `runner`",
    Reason.TEST_AUTHOR: "fix the cause in the note, then `runner`: the test author retries",
    Reason.WISH: f"{WISH_HINT}; then `runner`",
}
"""What to do if a task lacks something before it can start."""
_REVIEW = (
    "`runner review` shows what needs your decision; `runner approve` or `runner reject` answers"
)
_HELD = {
    "review": _REVIEW,
    "in-the-way": "commit or move your own file, then `runner`",
    "cannot-land": "fix the cause, then `runner`: the proven work lands",
    "conflict": "switch to the branch of the run, then `runner`: the work is re-tested on it",
}
"""What to do if proven work cannot land, by the reason it is held."""


def next_step(
    known: TaskState, state: RunState, task: Task | None = None, *, in_vain: str | None = None
) -> str:
    """Return what a person can do about a BLOCKED task; `task` is its section, if it was read.

    `in_vain` says why no approval helps what its held change breaks; None where nobody looked.
    """
    name = display(known.id)
    if waits(known) or permission_waits(known):
        return _REVIEW
    if broken := _find_broken(known, state):
        ids = " ".join(map(display, find_unapproved(broken, state) or broken))
        drops = f"`runner reject {name} --reason …` drops the change"
        if in_vain is None:
            return f"`runner review {name}` shows how to keep the change, {drops}"
        keeps = f"{in_vain}, then `runner approve {ids}`" if in_vain else f"`runner approve {ids}`"
        return f"{keeps} keeps the change, {drops}"
    if known.held is not None and known.reason is Reason.HELD_OUT:
        shows = f"`runner review {name}` shows what failed"
        right = f"`runner retry {name}`: the tests are right"
        waives = f"`runner approve {name} --reason …`: accept the failures"
        mends = f"`runner hold-out {name} FILE --replace`: FILE is fixed"
        return f"{shows}; {right}; {waives}; {mends}"
    if known.held is not None and known.held.kind in _HELD:
        return _HELD[known.held.kind]
    hint = next((display(one.hint) for one in known.findings if one.refuses and one.hint), "")
    if failure := find_own_failure(known):
        finish = f",{_or_finish(known)}" if known.draft else ""
        if failure is Failure.TRANSIENT:
            return f"`runner retry {name}` later: a service did not answer{finish}"
        return f"{hint or f'`runner why {name}`'}; then `runner retry {name}`{finish}"
    return _by_reason(known, task, hint)


def _find_broken(known: TaskState, state: RunState) -> tuple[str, ...]:
    """Return what its held change breaks, also before these are STALE."""
    recorded = victims(known.findings) if known.reason is Reason.REGRESSION else ()
    return recorded or victims_of(known.id, state)


def _by_reason(known: TaskState, task: Task | None, hint: str) -> str:
    name = display(known.id)
    match known.reason:
        case Reason.CHECKS | Reason.STUCK:
            return _mend(known, hint)
        case Reason.BUDGET:
            own = hint if was_one_attempts(known) else ""
            helps = own or "raise the task's Budget, or the limit in your settings"
            return f"{helps}; then `runner retry {name}`"
        case Reason.PROOF if _is_provable(known, task):
            is_wrong = task is not None and _has_wrong_line(task)
            shows = "`runner validate` shows the line; " if is_wrong else ""
            return f"{shows}fix the task as the note says, then `runner`"
        case Reason.REVIEW if was_refused(known):
            return _mend(known, hint)
        case Reason.REVIEW | Reason.REGRESSION | None:
            return f"`runner why {name}` shows the reason; `runner retry {name}` retries it"
        case reason:
            return LACKING[reason]


def _mend(known: TaskState, hint: str) -> str:
    """Return the next step for a task that checks rejected."""
    name = display(known.id)
    refused = [one for one in known.findings if one.refuses]
    if hint and refused and all(one.check in (SCOPE, "implementer") for one in refused):
        if hint.startswith("- "):
            return f"in the plan, replace the task's Output files line, then `runner`:  {hint}"
        return f"{hint}; then `runner retry {name}`"
    if was_refused(known):
        return f"fix the plan{_or_finish(known)}, then `runner`"
    return (
        f"fix the plan{_or_finish(known)}, then `runner`; to retry unchanged: `runner retry {name}`"
    )


def _or_finish(known: TaskState) -> str:
    """Return a hint to finish the draft branch of an attempt, or an empty string."""
    adopt = f"`runner adopt {display(known.id)}`"
    return f" or finish {display(known.draft)} ({adopt})" if known.draft else ""


def _is_provable(known: TaskState, task: Task | None) -> bool:
    """Return whether the task names a proof, so that its block has another cause."""
    named = task is None or bool(task.test_contracts or task.contracts or task.gates)
    asked = any(one.check == CHECK and one.refuses for one in known.findings)
    return named and not asked and not lacks_proof(known.note)


def _has_wrong_line(task: Task) -> bool:
    """Return whether a test contract of the task cannot fail or skips checks."""
    return bool(preflight.no_proof(task))
