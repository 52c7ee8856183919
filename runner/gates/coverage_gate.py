"""Check that a task's test contracts run enough of the task's own lines.

Tests of a proof that ran nothing of its task are worth to it what a command is.
"""

from __future__ import annotations

from functools import partial
from posixpath import basename, dirname, splitext
from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner import effects
from runner.gates.base import Proved, make_proof
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.model import Finding, Proof, ProvenBy, Severity, Verdict
from runner.model.grades import proof_kind
from runner.plan.globs import is_glob, matches

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from runner.config.settings import Settings
    from runner.gates.base import Check, GateContext
    from runner.gates.coverage import lines, measurements, percent
    from runner.gates.coverage.percent import Weighed, Weight
    from runner.model import Coverage, Observed, Task
else:
    lines = lazy_module("runner.gates.coverage.lines")
    measurements = lazy_module("runner.gates.coverage.measurements")
    percent = lazy_module("runner.gates.coverage.percent")


_WORD = regex(r"[\w./@+:-]+")
_FILE = regex(r"(?:\./)?[\w@+-][\w./@+-]*\.\w{1,5}")


def weigh_proofs(
    task: Task,
    proofs: Iterable[Proof],
    observed: Sequence[Observed],
    written: Iterable[str],
    unshown: Collection[str] = (),
) -> tuple[Proof, ...]:
    """Return the proofs, downgraded if a test does not run the task's own files.

    Those that are `unshown`, of which nothing showed that they can fail, are worth nothing.
    What ran is known by what was `observed`, or by a path that the command names. Where nothing
    was measured, a command that names no file at all is taken to run everything.
    """
    own = tuple(dict.fromkeys((*written, *task.outputs)))
    kept = tuple(
        replace(one, by=ProvenBy.PASSED) if one.id in unshown and proof_kind(one) else one
        for one in proofs
    )
    if not own or task.writes_everything:
        return kept
    return tuple(
        replace(proof, by=ProvenBy.COMMAND)
        if proof_kind(proof) is ProvenBy.TESTS and not _is_about(proof, own, observed)
        else proof
        for proof in kept
    )


def _is_about(proof: Proof, own: Sequence[str], observed: Sequence[Observed]) -> bool:
    if _names(proof.command, own):
        return True
    ran = {one.path for one in observed if one.contract == proof.id}
    if any(path == one or (is_glob(one) and matches(one, path)) for path in ran for one in own):
        return True
    seen = {splitext(path)[1] for path in ran}
    if any(splitext(path)[1] in seen for path in own):
        return False  # such files are measured, and none of these ran
    return not any(_FILE.fullmatch(word.partition("::")[0]) for word in proof.command.split())


def _names(command: str, own: Iterable[str]) -> bool:
    """Return whether a command names one of these files, its module or a parent folder."""
    words = {word.partition("::")[0].strip("./") for word in _WORD.findall(command)}
    for path in own:
        modules = splitext(path)[0].replace("/", ".")
        if words & {path, modules, modules.partition(".")[2] or modules, basename(path)}:
            return True
        folder = dirname(path)
        while folder:
            if folder in words:
                return True
            folder = dirname(folder)
    return False


_LONGEST_NOTE = 2000
_HINT = "add tests for these lines to the task's test contracts, or remove dead code"


def prove(check: Check, context: GateContext) -> Proved:
    """Check the measured coverage of a task's own lines; skipped if its tests failed."""
    failed = any(one.kind == "test" and one.verdict is Verdict.FAIL for one in context.proofs)
    if failed or not context.task.test_contracts:
        return Proved(None)
    start = effects.monotonic()
    content = partial(measurements.source, context)
    each = {
        one.id: measurements.read_measurement(one.id, context)
        for one in context.task.test_contracts
    }
    whole = lines.together(each.values())
    own = lines.own_lines(context)
    rows = tuple(
        row
        for id_, one in each.items()
        for row in lines.make_observed_rows(id_, lines.assume_built(one, own), content)
    )
    weight = percent.weigh(own, whole, context.after, context.environment)
    coverage, findings = _evaluate(check, context, weight, whole.missing)
    proof = _proof(check, weight, coverage, findings, effects.monotonic() - start)
    if weight.files:
        lines.write_lines(context.logs, {one.path: one.whole for one in weight.files})
    return Proved(proof, findings, coverage, rows, whole.tools)


def threshold_of(task: Task, settings: Settings) -> float:
    """Return the required coverage of a task in percent."""
    return settings.proof.coverage if task.coverage is None else task.coverage


def _evaluate(
    check: Check, context: GateContext, weight: Weight, missing: tuple[str, ...]
) -> tuple[Coverage | None, tuple[Finding, ...]]:
    threshold = threshold_of(context.task, context.settings)
    fails = context.settings.proof.coverage_missing == "fail"
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
    for one in weight.unmeasured:
        if one.language == "Python" and missing:
            yield _make_missing(check, missing, severity)
            continue
        yield Finding(
            check=check.id,
            message=f"coverage could not be measured: {one.why}",
            path=one.path,
            severity=severity,
            hint=one.needed,
        )


def _make_missing(check: Check, missing: tuple[str, ...], severity: Severity) -> Finding:
    return Finding(
        check=check.id,
        message=f"coverage could not be measured: {'; '.join(missing)}",
        severity=severity,
        hint="run `pip install coverage` in the environment that runs the test contracts",
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
    check: Check,
    weight: Weight,
    coverage: Coverage | None,
    findings: tuple[Finding, ...],
    seconds: float,
) -> Proof | None:
    """Create the coverage proof; None for a task without executable lines."""
    if coverage is None and not findings:
        return None
    left = [f"{one.path} {one.shown}" for one in weight.files if one.left_out]
    note = f"not run: {'; '.join(left)}" if left and coverage else ""
    refused = any(finding.refuses for finding in findings)
    unknown = Verdict.FAIL if refused else Verdict.SKIPPED
    good = Verdict.FAIL if refused else Verdict.PASS
    return make_proof(
        check,
        good if coverage else unknown,
        note[:_LONGEST_NOTE],
        code=int(refused),
        seconds=seconds,
        output=repr((coverage, note)).encode(),
        counts=(("ran", weight.ran), ("lines", weight.lines)) if coverage else (),
    )
