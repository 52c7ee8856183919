"""The list of all check families, in the order in which they run."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Protocol, cast

from msgspec import Struct, field
from msgspec.structs import replace

from runner import effects
from runner.gates.base import COVERAGE, INTEGRITY, MUTATION, Proved, make_own_check
from runner.languages.registry import language_of
from runner.lazy_module import lazy_module
from runner.model import Finding, Severity
from runner.model.words import WHAT_CHANGED
from runner.plan.proofs import find_examples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from runner.config.settings import Settings
    from runner.gates.base import Check, GateContext
    from runner.model import Change, Coverage, Observed, Proof, Task
    from runner.plan import task_types
else:
    task_types = lazy_module("runner.plan.task_types")


class Checks(Protocol):
    """The interface of a family's module."""

    def checks(self, task: Task, settings: Settings) -> tuple[Check, ...]:
        """Return the checks of a task, for families without a check of their own."""

    def prove(self, check: Check, context: GateContext) -> Proved:
        """Run the check and return its result."""


class CheckFamily(Struct, frozen=True):
    """One kind of check; its module is imported where a task needs it, and not before."""

    name: str
    applies: Callable[[Task, Settings], bool]
    """Whether a task, by its plan and the settings, may need it."""
    own: str = ""
    """ID of its single check, which runs no command; empty if its module names the checks."""
    reads: Callable[[GateContext], bool] = field(default=lambda _context: True)
    """Whether it can find anything in a change."""

    def checks(self, task: Task, settings: Settings) -> tuple[Check, ...]:
        """Return the checks of a task."""
        if not self.applies(task, settings):
            return ()
        if self.own:
            return (make_own_check(self.own, task, settings),)
        return self._module.checks(task, settings)

    def prove(self, check: Check, context: GateContext) -> Proved:
        """Run the check and return its result."""
        return self._module.prove(check, context)

    @property
    def _module(self) -> Checks:
        return cast("Checks", lazy_module(f"runner.gates.{self.name}"))


def _writes(task: Task, settings: Settings) -> bool:  # noqa: ARG001 - one shape for all
    return task.writes_anything


def _is_tested(task: Task, settings: Settings) -> bool:  # noqa: ARG001 - one shape for all
    return bool(task.test_contracts)


def _has_type_rules(task: Task, settings: Settings) -> bool:
    work = task_types.classify(task)
    asks = work.wants(task_types.Extra.TESTS_STAY) or work.wants(task_types.Extra.OLD_DATA)
    return asks and _writes(task, settings)


def _tests_own_work(task: Task, settings: Settings) -> bool:
    return _is_tested(task, settings) and task.writes_anything


def _is_run_on_own_work(task: Task, settings: Settings) -> bool:
    return (_is_tested(task, settings) or _has_gates(task, settings)) and task.writes_anything


def _has_contracts(task: Task, settings: Settings) -> bool:  # noqa: ARG001 - one shape for all
    return bool(task.contracts)


def _has_examples(task: Task, settings: Settings) -> bool:  # noqa: ARG001 - one shape for all
    return bool(find_examples(task))


def _has_gates(task: Task, settings: Settings) -> bool:
    return bool(task.gates or settings.gates_for(task.type))


def _changes_code(context: GateContext) -> bool:
    """Return whether a change has a file in a supported language."""
    return any(language_of(change.path) is not None for change in context.changes)


def _changes_tool_inputs(context: GateContext) -> bool:
    """Return whether a change has anything but new files without code and settings."""
    return not all(_is_plain_and_new(change, context) for change in context.changes)


def _is_plain_and_new(change: Change, context: GateContext) -> bool:
    is_plain = PurePosixPath(change.path).suffix in _PLAIN and language_of(change.path) is None
    return is_plain and context.before(change.path) is None


_PLAIN = frozenset({".txt", ".md", ".rst", ".csv", ".svg", ".png", ".jpg", ".css", ".html"})
"""Suffixes of files that no test tool or compiler reads by itself."""


# The order counts: `base_tests` uses the results of the contracts (`ran`), most families after
# `coverage_gate` use the executed lines (`observed`), and mutants, which take the most time, are
# skipped if an earlier family rejects the change.
FAMILIES = (
    CheckFamily("integrity", _writes, INTEGRITY, _changes_tool_inputs),
    CheckFamily("by_type", _has_type_rules, "task-type", _changes_tool_inputs),
    CheckFamily("contract_tests", _is_tested),
    CheckFamily("base_tests.rerun", _writes, "base-tests", _changes_tool_inputs),
    CheckFamily("contract_checks", _has_contracts),
    CheckFamily("examples", _has_examples, "examples"),
    CheckFamily("commands", _has_gates),
    CheckFamily("coverage_gate", _tests_own_work, COVERAGE),
    CheckFamily("what_changed", _writes, WHAT_CHANGED, _changes_tool_inputs),
    CheckFamily("unrun_tests", _tests_own_work, "unrun-tests", _changes_code),
    CheckFamily("test_awareness", _writes, "knows-tests", _changes_code),
    CheckFamily("mutation.can_fail", _is_run_on_own_work, MUTATION),
)
"""One row for each family: the condition under which its module is loaded."""

_NOTHING: Mapping[str, Proved] = {}
_SHOWING = tuple(
    one for one in FAMILIES if one.name in ("contract_tests", "contract_checks", "commands")
)
"""Families that run something of the task; the others report what is wrong with a proof."""


class TaskProof(Struct, frozen=True):
    """The combined result of all checks of a task."""

    proofs: tuple[Proof, ...] = ()
    findings: tuple[Finding, ...] = ()
    coverage: Coverage | None = None
    observed: tuple[Observed, ...] = ()
    tools: tuple[tuple[str, str], ...] = ()
    passed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By passed test contract, the IDs of its passed tests."""
    unshown: frozenset[str] = frozenset()
    """IDs of passed checks for which no evidence shows that they can fail."""
    failing: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By failed check, file and ID of the tests that fail since the change, if all are known."""


def checks_of(task: Task, settings: Settings) -> tuple[Check, ...]:
    """Return all checks that must pass before the task lands."""
    return tuple(check for family in FAMILIES for check in family.checks(task, settings))


def checks_that_show(task: Task, settings: Settings) -> Iterator[Check]:
    """Yield the checks that can prove a task's work."""
    return (check for family in _SHOWING for check in family.checks(task, settings))


def prove_all(
    task: Task,
    settings: Settings,
    context: GateContext,
    *,
    started: Callable[[Check], None],
    completed: Callable[[Proof], None],
    known: Mapping[str, Proved] = _NOTHING,
    took: Callable[[str, float], None] = lambda _check, _seconds: None,
) -> TaskProof:
    """Run every check of a task, so that the next attempt hears of all failures at once.

    What `known` has of a check was found when it ran, before this was called. `took` hears how many
    seconds a check took besides its own command.
    """
    runs: list[Proved] = []
    for family in (one for one in FAMILIES if one.reads(context)):
        for check in family.checks(task, settings):
            if context.cancelled.is_set():
                return together(runs)
            if check.id in known:
                runs.append(known[check.id])
                continue
            if check.command:
                started(check)
            began = effects.monotonic()
            proved = _prove(family, check, _with(context, runs))
            if proved.proof:
                completed(proved.proof)
            own = proved.proof.seconds if proved.proof else 0.0
            took(check.id, effects.monotonic() - began - own)
            runs.append(proved)
    return replace(together(runs), passed=_passed(context))


def _passed(context: GateContext) -> dict[str, frozenset[str]]:
    return {
        id_: frozenset(test.id for test in run.results.passing) if run.results else frozenset()
        for id_, run in context.ran.items()
        if run.passed
    }


def _prove(family: CheckFamily, check: Check, context: GateContext) -> Proved:
    """Run one check; too deeply nested code results in a question or an error."""
    try:
        return family.prove(check, context)
    except RecursionError:
        finding = Finding(
            check=check.id,
            message="the changed code is nested too deeply to check",
            severity=Severity.ERROR if check.command else context.origin.question,
            hint="split deeply nested calls, sums and else-ifs",
        )
        return Proved(None, (finding,))


def _with(context: GateContext, runs: list[Proved]) -> GateContext:
    """Return the context with the results of the earlier checks."""
    proofs = tuple(one.proof for one in runs if one.proof)
    observed = tuple(row for one in runs for row in one.observed)
    # A question may be approved: then the results of the other checks are needed.
    refused = any(finding.refuses and not finding.asks for one in runs for finding in one.findings)
    if (proofs, observed, refused) == (context.proofs, context.observed, context.refused):
        return context
    return replace(context, proofs=proofs, observed=observed, refused=refused)


def together(runs: list[Proved]) -> TaskProof:
    """Combine the results of checks into one task proof."""
    return TaskProof(
        proofs=tuple(one.proof for one in runs if one.proof),
        findings=tuple(finding for one in runs for finding in one.findings),
        coverage=next((one.coverage for one in runs if one.coverage), None),
        observed=tuple(seen for one in runs for seen in one.observed),
        tools=tuple(dict(tool for one in runs for tool in one.tools).items()),
        unshown=frozenset().union(*(one.unshown for one in runs)),
        failing={one.proof.id: one.failing for one in runs if one.proof and one.failing},
    )
