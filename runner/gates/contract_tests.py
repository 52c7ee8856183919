"""Test contracts as checks: each `TC-NNN (level): command` of a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner.gates import base_result, coverage, script_targets
from runner.gates.base import Check, Fitted, Proved, command_limits
from runner.gates.check_run import try_check, try_or_stand
from runner.gates.commands import make_refused_proof
from runner.gates.junit import TestOutcome
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.model import Finding, Severity, Verdict
from runner.plan.shell.exit_status import bypass_of
from runner.plan.shell.programs import without_bypass
from runner.plan.shell.selection import selection_of
from runner.process.base import Ended
from runner.text.wording import join_few

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.config.settings import Settings
    from runner.gates.base import GateContext
    from runner.gates.check_run import CheckRun
    from runner.gates.coverage import measurements
    from runner.model import Proof, Task
else:
    measurements = lazy_module("runner.gates.coverage.measurements")

_PYTEST_ID = regex(r"^[\w./-]+\.py(?:::[\w\[\]:.,-]+)?$|^[\w./-]+/?::[\w\[\]:.,-]+$")
_NEVER_ELSE = regex(r"\b(?:SyntaxError|IndentationError|TabError|ModuleNotFoundError)\b")
"""Reasons for which a test file can never be collected."""
_SHOWN = 3
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
    if (_may_be_chance(first) or _was_slowed(first, context)) and not context.cancelled.is_set():
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
        return _flaky(first, plain)
    counted = first
    if not _was_slowed(first, context):
        counted = try_check(replace(first.check, id=f"{first.check.id}-counted"), context, fitted)
    context.ran[first.check.id] = counted if counted.passed else plain
    if counted.passed:
        return _flaky(first, counted)
    measurements.add_gap(context.place, first.check.id, _NOT_COUNTED)
    shown = join_few([test.id for test in counted.failing], _SHOWN) or first.check.id
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


def _may_be_chance(trial: CheckRun) -> bool:
    """Return whether a failed check could pass when it runs again."""
    if trial.ran.ended is not Ended.EXITED or trial.ran_no_test:
        return False
    certain = all(
        test.outcome is TestOutcome.ERROR and _NEVER_ELSE.search(test.message)
        for test in trial.failing
    )
    return not (trial.failing and certain)


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
    finding = _make_flaky(trial.check.id, trial.flaky)
    proof = replace(trial.proof, verdict=Verdict.FLAKY, note=finding.message)
    return Proved(proof, (finding, *trial.notes()))


def _make_flaky(id_: str, names: Sequence[str], detail: str = "") -> Finding:
    note = f"failed once, then passed: {join_few(names, _SHOWN) or id_}"
    hint = "a flaky test proves little: remove its dependence on time, order and randomness"
    return Finding(id_, note, severity=Severity.WARNING, hint=hint, detail=detail)


def _flaky(first: CheckRun, again: CheckRun) -> Proved:
    """Return a flaky result that names the tests which failed once."""
    (failure, *_) = first.findings()
    names = [test.id for test in first.failing]
    finding = _make_flaky(first.check.id, names, failure.detail)
    proof = replace(
        again.proof,
        id=first.proof.id,
        verdict=Verdict.FLAKY,
        seconds=round(first.proof.seconds + again.proof.seconds, 3),
        log=first.proof.log,
        note=finding.message,
    )
    return Proved(proof, (finding, *first.notes()))
