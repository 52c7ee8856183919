"""Does any test notice? Mutants of a task's own changed lines, run by the tests that ran those.

A family of the registry. It knows nothing of how tests are written: one that writes the product
again, mocks it, swallows what fails or compares with what equals everything lets every mutant pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.gates.base import Check, Proved, command_limits
from runner.lazy_module import lazy_module
from runner.model import Verdict

if TYPE_CHECKING:
    from runner.config.settings import Settings
    from runner.gates.base import GateContext
    from runner.gates.mutation import survivors
    from runner.model import Task
else:
    survivors = lazy_module("runner.gates.mutation.survivors")

ID = "mutation"
_BAD = frozenset({Verdict.FAIL, Verdict.KNOWN})


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:
    """One, for a task that may write and has test contracts."""
    if settings.mutation == "off" or not (task.test_contracts and task.writes_anything):
        return ()
    return (Check(id=ID, kind=ID, command="", limits=command_limits(task, settings)),)


def prove(check: Check, bench: GateContext) -> Proved:
    """Try mutants where the task's own proof stands so far; not of what a person wrote.

    With `strict` it is asked of everybody, and refuses.
    """
    strict = bench.settings.mutation == "strict"
    if not (strict or not bench.by_person) or bench.refused or not is_proven(bench):
        return Proved(None)
    return survivors.evaluate_mutants(check, bench, strict=strict)


def is_proven(bench: GateContext) -> bool:
    """Whether no check before failed: of a proof that does not stand mutants say nothing."""
    return not any(one.verdict in _BAD for one in bench.proofs)
