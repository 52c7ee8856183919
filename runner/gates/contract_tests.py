"""Test contracts as checks: each `TC-NNN (level): command` of a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner.gates import base_result, coverage, script_targets
from runner.gates.base import Check, Fitted, Proved, command_limits
from runner.gates.check_run import (
    flaky_result,
    make_flaky,
    may_be_chance,
    try_check,
    try_or_stand,
)
from runner.gates.commands import make_refused_proof
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.model import Finding, Severity, Verdict
from runner.plan.shell.exit_status import bypass_of
from runner.plan.shell.programs import without_bypass
from runner.plan.shell.selection import selection_of
from runner.process.base import Ended
from runner.text.wording import join_few

if TYPE_CHECKING:
    from runner.config.settings import Settings
    from runner.gates.base import GateContext
    from runner.gates.check_run import CheckRun
    from runner.gates.coverage import measurements
    from runner.model import Proof, Task
else:
    measurements = lazy_module("runner.gates.coverage.measurements")

_PYTEST_ID = regex(r"^[\w./-]+\.py(?:::[\w\[\]:.,-]+)?$|^[\w./-]+/?::[\w\[\]:.,-]+$")
_NOT_COUNTED = "a test fails under coverage measurement"


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:
    """Return the checks for the task's test contracts, in order."""
    if not task.test_contracts:
        return ()
    limits = command_limits(task, settings)
    return tuple(
        Check(
            id=contract.id,
            kind="test",
            command=as_command(contract.command),
            level=contract.level,
            network=settings.network_for(task.network),
            limits=limits,
            fails=contract.fails,
            held_out=task if contract.held_out else None,
        )
        for contract in task.test_contracts
    )


def as_command(line: str) -> str:
    """Return a test contract's command; a bare pytest path or node ID becomes a pytest call."""
    return f"python -m pytest -q {line}" if _PYTEST_ID.match(line) else line


def prove(check: Check, context: GateContext, ended: CheckRun | None = None) -> Proved:
    """Run one test contract; one that runs no test has not passed.

    What fails is run once more as it stands, and if that passes again with its lines counted: a
    test that then passes is flaky, a warning names it, as where it fails since they are. Another
    task's contract (`check.task`) may fail as it did before the change. `ended` is its first run,
    where that was before.
    """
    if check.held_out and (proved := context.prove_held_out(check, context)) is not None:
        return proved
    if not check.task and (word := bypass_of(check.command)):
        return make_refused_proof(check, f"skips checks (`{word}`)", without_bypass(word, "it"))
    first = try_or_stand(check, context, lambda: _fit_coverage(check, context), ended)
    proved = _make_proved(first, context)
    return replace(proved, findings=(*proved.findings, *_find_scripts(first, context)))


def _find_scripts(first: CheckRun, context: GateContext) -> tuple[Finding, ...]:
    """Return findings on scripts of a task's contract: ignored failures and changed targets."""
    check = first.check
    if check.task:
        return ()
    # If every test was reported, a failure counts regardless of the script's exit code.
    untold = first.passed and not (first.results or first.proof.counts)
    lenient = script_targets.find_lenient(check, context) if untold else ()
    changed = script_targets.find_changed(check, context) if context.changes else ()
    return (*lenient, *changed)


def _fit_coverage(check: Check, context: GateContext) -> Fitted:
    """Return the command with coverage enabled; earlier measurements are removed."""
    return coverage.fit(check, context, Fitted(check.command, {}))


def _make_proved(first: CheckRun, context: GateContext) -> Proved:
    context.ran[first.check.id] = first
    if first.passed and first.flaky:
        return _report_repeat(first)
    if first.passed:
        return Proved(_with_notes(first), first.notes())
    if (may_be_chance(first) or _was_slowed(first, context)) and not context.cancelled.is_set():
        once_more = replace(first.check, id=f"{first.check.id}-again")
        # Unmodified: a time limit may not hold while lines are counted.
        again = try_check(once_more, context)
        if again.passed:
            return _rerun_for_coverage(first, again, context)
    if first.check.task:
        return base_result.evaluate_failure(first, context)
    return Proved(first.proof, first.findings())


def _rerun_for_coverage(first: CheckRun, plain: CheckRun, context: GateContext) -> Proved:
    """Run a contract again with coverage, to tell flaky tests from measurement failures."""
    fitted = _fit_coverage(first.check, context)
    # No tool counts its lines, so a third run would only repeat the second.
    if fitted.line == first.check.command and not fitted.variables:
        context.ran[first.check.id] = plain
        return flaky_result(first, plain)
    counted = first
    if not _was_slowed(first, context):
        counted = try_check(replace(first.check, id=f"{first.check.id}-counted"), context, fitted)
    context.ran[first.check.id] = counted if counted.passed else plain
    if counted.passed:
        return flaky_result(first, counted)
    measurements.add_gap(context.place, first.check.id, _NOT_COUNTED)
    shown = join_few([test.id for test in counted.failing], 3) or first.check.id
    note = f"fails under coverage measurement, and passes without it: {shown}"
    hint = "coverage slows tests down: check for tests that measure time or look for a tracer"
    detail = counted.findings()[0].detail
    finding = Finding(first.check.id, note, severity=Severity.WARNING, hint=hint, detail=detail)
    proof = replace(plain.proof, id=first.proof.id, verdict=Verdict.FLAKY, note=note)
    return Proved(proof, (finding, *plain.notes()))


def _was_slowed(trial: CheckRun, context: GateContext) -> bool:
    """Return whether a check timed out while `sys.settrace` slowed it down."""
    late = trial.ran.ended in (Ended.IDLE, Ended.HARD)
    return late and measurements.is_traced_slowly(context.place, trial.check.id)


def _with_notes(trial: CheckRun) -> Proof:
    """Return the proof with a note on selected tests and failures printed in the output.

    The one is the plan's to choose, the other the program's; whoever reads it should know.
    """
    chosen = selection_of(trial.check.command)
    selected = f"selected by {', '.join(chosen)}" if chosen else ""
    if trial.proof.note:
        return trial.proof
    return replace(trial.proof, note="; ".join(filter(None, (selected, trial.printed_note))))


def _report_repeat(trial: CheckRun) -> Proved:
    """Return a flaky result for a command that passed only after it repeated failed tests."""
    finding = make_flaky(trial.check.id, trial.flaky)
    proof = replace(trial.proof, verdict=Verdict.FLAKY, note=finding.message)
    return Proved(proof, (finding, *trial.notes()))
