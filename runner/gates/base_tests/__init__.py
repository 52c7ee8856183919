"""The base's tests on the proposed code: whose expectations a change does not meet any more.

A family of the registry. Where a change touches tests, what supports them or what says which of
them run, those that passed on the base run on the proposed code as they were; and what was
collected and passed is compared by id. It asks nothing where no test is touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.gates.base import INTEGRITY, Check, Proved
from runner.gates.base_tests.compare import CHECK
from runner.gates.base_tests.rerun import findings
from runner.process.limits import Limits

if TYPE_CHECKING:
    from runner.config.settings import Settings
    from runner.gates.base import GateContext
    from runner.model import Task


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:  # noqa: ARG001 - a family's shape
    """One comparison of all that the task changed."""
    return (Check(id=CHECK, kind=INTEGRITY, command="", limits=Limits()),)


def prove(check: Check, context: GateContext) -> Proved:  # noqa: ARG001 - a family's shape
    """What tests of before say of the proposal."""
    if context.on_base is None or not context.base or not context.changes:
        return Proved(None)
    return findings(context)
