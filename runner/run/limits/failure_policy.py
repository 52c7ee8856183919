"""The reaction to a failed attempt by class of failure: one table.

`blocks` gives the same bytes again and is called once. A `command` that tells no class of failure
is local work: it is called again at once, as often as the task's attempts allow, since a pause
would help nobody. The table is for agents and models, and for whatever names a class itself.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from runner.model import Failure, Finding, Reason
from runner.text.wording import name_attempt

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runner.journal.task_state import TaskState, Try
    from runner.model import Spec


_MET_AGAIN = (
    *(Reason.TOOL, Reason.SECRET, Reason.ROOT, Reason.POLICY),
    *(Reason.PROOF, Reason.WISH, Reason.HELD_OUT, Reason.TEST_AUTHOR),
)
"""Reasons that may have disappeared: what was missing is checked again."""
_LONGEST_LINE = 160
LONGEST_ASKED = 3600.0
"""Maximum seconds a provider may ask to wait; for longer ones the task is BLOCKED."""


class Pause(Struct, frozen=True):
    """Exponential back-off with jitter; all times in seconds."""

    first: float
    growth: float
    longest: float
    jitter: float
    """Maximum share by which a pause varies, so that callers don't return together."""

    def seconds(self, failures: int, chance: float) -> float:
        """Return the pause after this many `failures` of the class; `chance` is in [0, 1)."""
        even = min(self.longest, self.first * self.growth ** (failures - 1))
        return even * (1 + self.jitter * (2 * chance - 1))


class FailureAction(Struct, frozen=True):
    """The reaction to one class of failure."""

    tries: int
    """Attempts of this class before a person must decide; 0: as for all classes."""
    pause: Pause | None
    reason: Reason
    """Reason for BLOCKED once they are used up."""


COURSES: Mapping[Failure, FailureAction] = {
    Failure.TRANSIENT: FailureAction(5, Pause(1, 2, 60, 0.2), Reason.TOOL),
    Failure.DETERMINISTIC: FailureAction(1, None, Reason.TOOL),
    Failure.SEMANTIC: FailureAction(3, Pause(5, 1.5, 30, 0.1), Reason.CHECKS),
    Failure.INFRASTRUCTURE: FailureAction(
        0, None, Reason.CHECKS
    ),  # the journal says where to go on
}


class Again(Struct, frozen=True):
    """Another attempt, after so many seconds."""

    seconds: float = 0.0


class Over(Struct, frozen=True):
    """No further attempt."""

    reason: Reason
    tries: int
    """Tries of the class that ended it."""


Next: TypeAlias = Again | Over


def class_of(attempt: Try) -> Failure:
    """Return the failure class of an attempt; semantic by default."""
    return attempt.failure or Failure.SEMANTIC


def find_own_failure(known: TaskState) -> Failure | None:
    """Return the failure that left a task BLOCKED (tool), or None if a tool was missing.

    Then nothing here says when it would go better: a person does, or a later run that names it.
    """
    last = known.tries[-1].failure if known.tries else None
    if known.reason is not Reason.TOOL or last not in (Failure.TRANSIENT, Failure.DETERMINISTIC):
        return None
    lines = (one.message.splitlines()[0][:_LONGEST_LINE] for one in known.findings if one.message)
    return last if any(known.note.startswith(one) for one in lines) else None


def may_be_met(known: TaskState) -> bool:
    """Return whether a missing requirement blocked the task before an attempt started."""
    return known.reason in _MET_AGAIN and not find_own_failure(known)


def was_tried_otherwise(known: TaskState, spec: Spec) -> bool:
    """Return whether a task is BLOCKED by an attempt at a former text of it.

    One that something kept from an attempt is of the text that it has; every run looks again.
    """
    return known.tried not in (None, spec) and not may_be_met(known)


def first_refusal(findings: Iterable[Finding]) -> str:
    """Return the first error of the findings, for the start of a task's note."""
    refusals = (one.message for one in findings if one.refuses)
    return next(refusals, "it did not pass").splitlines()[0][:_LONGEST_LINE]


def count_worked(tries: Sequence[Try]) -> int:
    """Count the attempts whose work was rejected by a check."""
    return sum(class_of(one) is Failure.SEMANTIC for one in tries)


def after(tries: Sequence[Try], most: int, *, asked: float = 0.0, chance: float = 0.5) -> Next:
    """Return the next step after these failed attempts, of which a task may have `most`.

    `asked` are the seconds its provider asked to wait: they are the least that is waited.
    """
    failure = class_of(tries[-1])
    course = COURSES[failure]
    same = sum(class_of(one) is failure for one in tries)
    if course.tries and (same >= course.tries or asked > LONGEST_ASKED):
        return Over(course.reason, same)
    if len(tries) >= most:
        return Over(course.reason, same)
    pause = course.pause.seconds(same, chance) if course.pause else 0.0
    return Again(max(pause, asked))


CHECK = "loop"
"""Check name of findings about repetition, including an implementer's own."""
_BY_OTHERS = ("conflict",)
"""Checks that fail because of others' concurrent changes."""
_UNREAD = ("scope",)
"""Checks of a proposal rejected before it was read: it is too large and has no tree."""
_ENDED = "budget"
"""Check of an attempt that a limit ended: its result is unknown."""
MOST = 2
"""Number of loops after which a task is stuck."""


def loops(tries: Sequence[Try]) -> tuple[str, ...]:
    """Return descriptions of repeated attempts, in order.

    An attempt that ended for a connection, a rate limit or a budget says nothing of the work, and
    is left out: waiting is no loop.
    """
    worked = [one for one in tries if _says_of_the_work(one)]
    found = {one.attempt: "the agent repeated itself" for one in worked if CHECK in one.checks}
    for before, now in pairwise(worked):
        if what := _explain_repeat(before, now):
            found[now.attempt] = f"{_name_both(before.attempt, now.attempt)} {what}"
    return tuple(found[one.attempt] for one in worked if one.attempt in found)


def _name_both(before: int, now: int) -> str:
    """Return `attempts 1 and 2`; for sessions that only plan, `plans 1 and 2`."""
    if before > 0 and now > 0:
        return f"attempts {before} and {now}"
    if before < 0 and now < 0:
        return f"plans {-before} and {-now}"
    return f"{name_attempt(before)} and {name_attempt(now)}"


def _says_of_the_work(attempt: Try) -> bool:
    return attempt.failure in (None, Failure.SEMANTIC) and _ENDED not in attempt.checks


def _explain_repeat(before: Try, now: Try) -> str:
    if now.tree and now.tree == before.tree:
        return "produced identical files"
    failed = _find_failed(now)
    if failed not in ((), _BY_OTHERS) and failed == _find_failed(before):
        return f"failed the same checks: {', '.join(failed)}"
    return ""


def _find_failed(attempt: Try) -> tuple[str, ...]:
    """Return the failed checks of an attempt, except the loop check."""
    return tuple(check for check in attempt.checks if check != CHECK)


def gave_the_same(tries: Sequence[Try]) -> bool:
    """Return whether the last two attempts had identical files and failures.

    For what no brief reaches, as a plain command: a third call would give these bytes again.
    """
    worked = [one for one in tries if _says_of_the_work(one)]
    if len(worked) < 2 or worked[-1] is not tries[-1]:  # noqa: PLR2004 - a pair
        return False
    before, now = worked[-2:]
    failed = _find_failed(now)
    same = now.tree == before.tree and (bool(now.tree) or failed == _UNREAD)
    return same and failed not in ((), _BY_OTHERS) and failed == _find_failed(before)


def has_looped(tries: Sequence[Try]) -> bool:
    """Return whether the last attempt repeated an earlier state."""
    return len(loops(tries)) > len(loops(tries[:-1]))


def warning(tries: Sequence[Try]) -> Finding:
    """Return the next attempt's finding on the loop that the last one closed."""
    return Finding(
        check=CHECK,
        message=loops(tries)[-1],
        hint="start over, and solve the task in another way",
    )
