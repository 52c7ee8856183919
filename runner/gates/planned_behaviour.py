"""What the plan says and no small mutant shows: what stays as it is given, units, errors.

A family of the registry. Functions that the plan names are wrapped whole (`wrapped_functions`), and
the tests that ran them run once more; so they do with a size that bounds what was done always
(`narrow_conditions`), with failures that are kept for ever (`failure_cache`), and with `strict`
with an expression that both sides share (`same_expression`). The means are loaded where a task has
come that far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.gates import mutation
from runner.gates.base import Check, Proved, command_limits
from runner.lazy_module import lazy_module
from runner.model import Severity

if TYPE_CHECKING:
    from runner.config.settings import Settings
    from runner.gates import failure_cache, wrapped_functions
    from runner.gates.base import GateContext
    from runner.gates.mutation import narrow_conditions, same_expression
    from runner.model import Task
else:
    failure_cache = lazy_module("runner.gates.failure_cache")
    narrow_conditions = lazy_module("runner.gates.mutation.narrow_conditions")
    same_expression = lazy_module("runner.gates.mutation.same_expression")
    wrapped_functions = lazy_module("runner.gates.wrapped_functions")

CHECK = "planned-behaviour"


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:
    """One, for a task that may write and has test contracts; none where nobody asks for mutants."""
    if settings.mutation == "off" or not (task.test_contracts and task.writes_anything):
        return ()
    limits = command_limits(task, settings)
    return (Check(id=CHECK, kind=mutation.ID, command="", limits=limits),)


def prove(check: Check, bench: GateContext) -> Proved:
    """Where the task's own proof stands so far, and with no word of what a person wrote."""
    if bench.by_person or bench.refused or not mutation.is_proven(bench):
        return Proved(None)
    strict = bench.settings.mutation == "strict"
    severity = Severity.QUESTION if strict else Severity.WARNING
    found = (
        *narrow_conditions.find_narrow(check.id, bench, Severity.QUESTION),
        *wrapped_functions.find_wrapped(check.id, bench, severity),
        *failure_cache.find_unforgotten(check.id, bench, severity),
    )
    repeated = same_expression.find_repeated(check.id, bench, severity) if strict else ()
    return Proved(None, (*found, *repeated))
