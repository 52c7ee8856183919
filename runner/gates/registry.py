"""Every kind of check there is, in the order in which they run."""

from __future__ import annotations

from dataclasses import field, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Protocol, cast

from runner import effects
from runner.gates.base import COVERAGE, INTEGRITY, MUTATION, Proved, make_own_check
from runner.languages.registry import language_of
from runner.lazy_dataclass import dataclass
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
    """What the module of a family has."""

    def checks(self, task: Task, settings: Settings) -> tuple[Check, ...]:
        """What there is to check of a task; only a family without a check of its own has this."""

    def prove(self, check: Check, context: GateContext) -> Proved:
        """What one run of it says."""


@dataclass(frozen=True, slots=True)
class CheckFamily:
    """One kind of check; its module is imported where a task needs it, and not before."""

    name: str
    applies: Callable[[Task, Settings], bool]
    """Whether a task, by its plan and the settings, can need it."""
    own: str = ""
    """The id of its one check, which runs no command; empty where its module names the checks."""
    reads: Callable[[GateContext], bool] = field(default=lambda _context: True)
    """Whether it can find anything in a change."""

    def checks(self, task: Task, settings: Settings) -> tuple[Check, ...]:
        """What there is to check of a task."""
        if not self.applies(task, settings):
            return ()
        if self.own:
            return (make_own_check(self.own, task, settings),)
        return self._module.checks(task, settings)

    def prove(self, check: Check, context: GateContext) -> Proved:
        """What one run of it says."""
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
    """Whether a change has a file in a language that is read here."""
    return any(language_of(change.path) is not None for change in context.changes)


def _changes_what_tools_read(context: GateContext) -> bool:
    """Whether a change has more than new files that are neither code nor settings."""
    return not all(_is_plain_and_new(change, context) for change in context.changes)


def _is_plain_and_new(change: Change, context: GateContext) -> bool:
    is_plain = PurePosixPath(change.path).suffix in _PLAIN and language_of(change.path) is None
    return is_plain and context.before(change.path) is None


_PLAIN = frozenset({".txt", ".md", ".rst", ".csv", ".svg", ".png", ".jpg", ".css", ".html"})
"""Endings of files that no test tool and no compiler reads by itself."""


# The order counts: `base_tests` asks how the contracts ended (`ran`), most of what comes behind
# `coverage_gate` which lines they came to (`observed`), and mutants, which take the most time, are
# not tried of what is refused by then.
FAMILIES = (
    CheckFamily("integrity", _writes, INTEGRITY, _changes_what_tools_read),
    CheckFamily("by_type", _has_type_rules, "task-type", _changes_what_tools_read),
    CheckFamily("contract_tests", _is_tested),
    CheckFamily("base_tests.rerun", _writes, "base-tests", _changes_what_tools_read),
    CheckFamily("contract_checks", _has_contracts),
    CheckFamily("examples", _has_examples, "examples"),
    CheckFamily("commands", _has_gates),
    CheckFamily("coverage_gate", _tests_own_work, COVERAGE),
    CheckFamily("what_changed", _writes, WHAT_CHANGED, _changes_what_tools_read),
    CheckFamily("unrun_tests", _tests_own_work, "unrun-tests", _changes_code),
    CheckFamily("test_awareness", _writes, "knows-tests", _changes_code),
    CheckFamily("mutation.can_fail", _is_run_on_own_work, MUTATION),
)
"""A row each: what a task must have before the module of the family is loaded."""

_NOTHING: Mapping[str, Proved] = {}
_SHOWING = tuple(
    one for one in FAMILIES if one.name in ("contract_tests", "contract_checks", "commands")
)
"""The families that run something of the task; the others say what is wrong with a proof."""


@dataclass(frozen=True, slots=True)
class TaskProof:
    """What all checks of a task say together."""

    proofs: tuple[Proof, ...] = ()
    findings: tuple[Finding, ...] = ()
    coverage: Coverage | None = None
    observed: tuple[Observed, ...] = ()
    tools: tuple[tuple[str, str], ...] = ()
    passed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By test contract that passed, the ids of its tests that did."""
    unshown: frozenset[str] = frozenset()
    """Checks that passed and of which nothing showed that they can fail, by id."""


def checks_of(task: Task, settings: Settings) -> tuple[Check, ...]:
    """Everything that must pass before the task lands."""
    return tuple(check for family in FAMILIES for check in family.checks(task, settings))


def checks_that_show(task: Task, settings: Settings) -> Iterator[Check]:
    """Those among them that may show that a task's work is right, one after the other."""
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
    """One check; where code is nested too deep to be read by it, nobody but a person can tell."""
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
    """The context, and what the checks before found."""
    proofs = tuple(one.proof for one in runs if one.proof)
    observed = tuple(row for one in runs for row in one.observed)
    # A question may be answered with yes: what the rest has to say is wanted then.
    refused = any(finding.refuses and not finding.asks for one in runs for finding in one.findings)
    if (proofs, observed, refused) == (context.proofs, context.observed, context.refused):
        return context
    return replace(context, proofs=proofs, observed=observed, refused=refused)


def together(runs: list[Proved]) -> TaskProof:
    """All of it as one."""
    return TaskProof(
        proofs=tuple(one.proof for one in runs if one.proof),
        findings=tuple(finding for one in runs for finding in one.findings),
        coverage=next((one.coverage for one in runs if one.coverage), None),
        observed=tuple(seen for one in runs for seen in one.observed),
        tools=tuple(dict(tool for one in runs for tool in one.tools).items()),
        unshown=frozenset().union(*(one.unshown for one in runs)),
    )
