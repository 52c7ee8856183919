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
_BAD = frozenset({Verdict.FAIL, Verdict.KNOWN})


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:
    """One, for a task that may write and is proven by a command."""
    proven = task.test_contracts or task.gates or settings.gates_for(task.type)
    if not (proven and task.writes_anything):
        return ()
    return (Check(id=ID, kind=ID, command="", limits=command_limits(task, settings)),)


def prove(check: Check, bench: GateContext) -> Proved:
    """Ask what fails on other bytes, where the task's own proof is good so far."""
    if bench.on_base is None or not bench.changes or bench.refused or not is_proven(bench):
        return Proved(None)
    return can_fail.evaluate(check, bench)


def is_proven(bench: GateContext) -> bool:
    """Whether no check before failed: of a failed proof nothing is to be shown."""
    return not any(one.verdict in _BAD for one in bench.proofs)
