"""Attempts that go in circles: the same tree, or the same failing checks, one after the other."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from runner.model import Failure, Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.journal.task_state import Try

CHECK = "loop"
"""The name under which a finding says what repeated; an implementer's own word has it too."""
_BY_OTHERS = ("conflict",)
"""Checks that fail for what somebody else did meanwhile."""
_UNREAD = ("scope",)
"""The checks of a proposal that was refused before it was read: too much, so it has no tree."""
_ENDED = "budget"
"""The check of an attempt that a limit ended: nobody knows what it would have come to."""
MOST = 2
"""Loops after which a task is stuck."""


def loops(tries: Sequence[Try]) -> tuple[str, ...]:
    """What repeated, one text a loop, in the order of the attempts.

    An attempt that ended for a connection, a rate limit or a budget says nothing of the work, and
    is left out: waiting is no loop.
    """
    worked = [one for one in tries if _says_of_the_work(one)]
    found = {one.attempt: "it repeated itself" for one in worked if CHECK in one.checks}
    for before, now in pairwise(worked):
        if what := _explain_repeat(before, now):
            found[now.attempt] = f"attempts {before.attempt} and {now.attempt} {what}"
    return tuple(found[one.attempt] for one in worked if one.attempt in found)


def _says_of_the_work(attempt: Try) -> bool:
    return attempt.failure in (None, Failure.SEMANTIC) and _ENDED not in attempt.checks


def _explain_repeat(before: Try, now: Try) -> str:
    if now.tree and now.tree == before.tree:
        return "came to the same files"
    failed = _find_failed(now)
    if failed not in ((), _BY_OTHERS) and failed == _find_failed(before):
        return f"failed the same checks: {', '.join(failed)}"
    return ""


def _find_failed(attempt: Try) -> tuple[str, ...]:
    """The checks of the work; that it went in circles is no check of it."""
    return tuple(check for check in attempt.checks if check != CHECK)


def gave_the_same(tries: Sequence[Try]) -> bool:
    """Whether the last two attempts came to the same files, and failed the same checks with them.

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
    """Whether the last attempt closed a loop."""
    return len(loops(tries)) > len(loops(tries[:-1]))


def warning(tries: Sequence[Try]) -> Finding:
    """What the next attempt is told of the loop that the last one closed."""
    return Finding(
        check=CHECK,
        message=loops(tries)[-1],
        hint="begin anew, and solve it another way",
    )
