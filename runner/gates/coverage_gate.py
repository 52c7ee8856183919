"""Whether a task's own test contracts run enough of the task's own lines."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from runner import effects
from runner.gates.base import Check, Proved, command_limits
from runner.model import Finding, Proof, Severity, Verdict, digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.config.settings import Settings
    from runner.gates.base import GateContext
    from runner.gates.coverage.percent import Weighed, Weight
    from runner.model import Coverage, Task

ID = "coverage"
_LONGEST_NOTE = 2000
_HINT = "add tests that run these lines to the task's test contracts, or take out what is dead"


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:
    """One, for a task that may write and has test contracts."""
    if not (task.test_contracts and task.writes_anything):
        return ()
    return (Check(id=ID, kind=ID, command="", limits=command_limits(task, settings)),)


def prove(check: Check, bench: GateContext) -> Proved:
    """Weigh what the test contracts left; a task whose tests failed hears of those alone."""
    from runner.gates.coverage.lines import make_observed_rows, together
    from runner.gates.coverage.measurements import read_measurement, source
    from runner.gates.coverage.own_lines import own_lines
    from runner.gates.coverage.percent import weigh

    if _tests_failed(bench):
        return Proved(None)
    start = effects.monotonic()
    content = partial(source, bench)
    each = {one.id: read_measurement(one.id, bench) for one in bench.task.test_contracts}
    whole = together(each.values())
    rows = tuple(row for id_, one in each.items() for row in make_observed_rows(id_, one, content))
    weight = weigh(own_lines(bench), whole, bench.after)
    coverage, findings = _evaluate(check, bench, weight, whole.missing)
    proof = _proof(weight, coverage, findings, effects.monotonic() - start)
    return Proved(proof, findings, coverage, rows, whole.tools)


def _tests_failed(bench: GateContext) -> bool:
    return any(one.kind == "test" and one.verdict is Verdict.FAIL for one in bench.proofs)


def threshold_of(task: Task, settings: Settings) -> float:
    """The percent that is asked of a task."""
    return settings.coverage if task.coverage is None else task.coverage


def _evaluate(
    check: Check, bench: GateContext, weight: Weight, missing: tuple[str, ...]
) -> tuple[Coverage | None, tuple[Finding, ...]]:
    threshold = threshold_of(bench.task, bench.settings)
    fails = bench.settings.coverage_missing == "fail"
    severity = Severity.ERROR if fails else Severity.WARNING
    unmeasured = tuple(_find_unmeasured(check, weight, missing, severity))
    if weight.reaches(threshold):
        return (None if unmeasured else weight.coverage(threshold)), unmeasured
    if missing and not unmeasured:  # what was not measured may be all that is lacking
        return None, (_make_missing(check, missing, severity),)
    coverage = weight.coverage(threshold)
    short = tuple(_short(check, one, coverage) for one in weight.files if one.left_out)
    return coverage, (*short, *unmeasured)


def _find_unmeasured(
    check: Check, weight: Weight, missing: tuple[str, ...], severity: Severity
) -> Iterable[Finding]:
    from runner.gates.coverage.percent import why_unmeasured

    for language, path, needed in weight.unmeasured:
        if language == "Python" and missing:
            yield _make_missing(check, missing, severity)
            continue
        yield Finding(
            check=check.id,
            message=f"coverage could not be measured: {why_unmeasured(language, needed)}",
            path=path,
            severity=severity,
            hint=needed,
        )


def _make_missing(check: Check, missing: tuple[str, ...], severity: Severity) -> Finding:
    return Finding(
        check=check.id,
        message=f"coverage could not be measured: {'; '.join(missing)}",
        severity=severity,
        hint="pip install coverage, into the environment that runs the test contracts",
    )


def _short(check: Check, one: Weighed, coverage: Coverage | None) -> Finding:
    many = f"lines {one.shown} are" if len(one.left_out) > 1 else f"line {one.shown} is"
    reached = coverage.shown if coverage else ""
    threshold = f"threshold {coverage.threshold:g}%" if coverage else ""
    return Finding(
        check=check.id,
        message=f"{many} not run by any test contract ({reached}, {threshold})",
        path=one.path,
        line=min(one.left_out),
        hint=_HINT,
    )


def _proof(
    weight: Weight, coverage: Coverage | None, findings: tuple[Finding, ...], seconds: float
) -> Proof | None:
    """What is kept; None for a task without executable lines."""
    if coverage is None and not findings:
        return None
    left = [f"{one.path} {one.shown}" for one in weight.files if one.left_out]
    note = f"not run: {'; '.join(left)}" if left and coverage else ""
    refused = any(finding.refuses for finding in findings)
    unknown = Verdict.FAIL if refused else Verdict.SKIPPED
    good = Verdict.FAIL if refused else Verdict.PASS
    return Proof(
        id=ID,
        kind=ID,
        command="",
        verdict=good if coverage else unknown,
        exit=int(refused),
        seconds=round(seconds, 3),
        output=digest_of(repr((coverage, note)).encode()),
        counts=(("ran", weight.ran), ("lines", weight.lines)) if coverage else (),
        note=note[:_LONGEST_NOTE],
    )
