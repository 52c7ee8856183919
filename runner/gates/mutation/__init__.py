"""Whether a proof can fail: stub first, small changes of the task's functions, red first.

A family of the registry. It knows nothing of how tests are written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.gates.base import Check, Proved, command_limits
from runner.lazy_module import lazy_module
from runner.model import Verdict

if TYPE_CHECKING:
    from runner.config.settings import Settings
    from runner.gates.base import GateContext
    from runner.gates.mutation import can_fail
    from runner.model import Task
else:
    can_fail = lazy_module("runner.gates.mutation.can_fail")

ID = "mutation"


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:
    """One, for a task that may write and is proven by a command."""
    proven = task.test_contracts or task.gates or settings.gates_for(task.type)
    if not (proven and task.writes_anything):
        return ()
    return (Check(id=ID, kind=ID, command="", limits=command_limits(task, settings)),)


def prove(check: Check, context: GateContext) -> Proved:
    """Ask what fails on other bytes, where the task's own proof is good so far."""
    if context.on_base is None or not context.changes or context.refused or not is_proven(context):
        return Proved(None)
    return can_fail.evaluate(check, context)


def is_proven(context: GateContext) -> bool:
    """Return whether the task's own proof is good; a gate that was red before does not matter."""
    return not any(
        one.verdict is Verdict.FAIL or (one.verdict is Verdict.KNOWN and one.kind != "gate")
        for one in context.proofs
    )
