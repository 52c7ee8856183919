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
MOST = 2
"""Loops after which a task is stuck."""


def loops(tries: Sequence[Try]) -> tuple[str, ...]:
    """What repeated, one text a loop, in the order of the attempts.

    An attempt that ended for a connection or a rate limit says nothing of the work, and is left
    out: waiting is no loop.
    """
    worked = [one for one in tries if one.failure in (None, Failure.SEMANTIC)]
    found = {one.attempt: "it repeated itself" for one in worked if CHECK in one.checks}
    for before, now in pairwise(worked):
        if what := _repeated(before, now):
            found[now.attempt] = f"attempts {before.attempt} and {now.attempt} {what}"
    return tuple(found[one.attempt] for one in worked if one.attempt in found)


def _repeated(before: Try, now: Try) -> str:
    if now.tree and now.tree == before.tree:
        return "came to the same files"
    failed = _failed(now)
    if failed not in ((), _BY_OTHERS) and failed == _failed(before):
        return f"failed the same checks: {', '.join(failed)}"
    return ""


def _failed(attempt: Try) -> tuple[str, ...]:
    """The checks of the work; that it went in circles is no check of it."""
    return tuple(check for check in attempt.checks if check != CHECK)


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
