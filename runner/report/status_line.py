"""The status line that CHECKPOINT.md gets after each task."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from runner.model import Level, Status, Verdict
from runner.text.display import display, display_markdown
from runner.text.wording import count_words, join_few, read_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runner.model import Coverage, Finding, Proof

    SastCounts: TypeAlias = Mapping[str, int] | str | None


NOT_APPLICABLE = "—"
_SIGN = {
    Verdict.PASS: "✅",
    Verdict.FAIL: "❌",
    Verdict.FLAKY: "⚠",
    Verdict.KNOWN: "⚠",
    Verdict.SKIPPED: NOT_APPLICABLE,
}
_STATUS_SIGN = {Status.DONE: "✅", Status.BLOCKED: "❌", Status.STALE: "⚠"}
_SEVERITIES = ("critical", "high", "medium", "low")


class ProofKind(StrEnum):
    """The kinds of `Proof.kind` that a status line names."""

    TEST = "test"
    GATE = "gate"
    CONTRACT = "contract"
    COVERAGE = "coverage"


class TaskReport(Struct, frozen=True):
    """Everything the status line of one task says."""

    id: str
    title: str
    status: Status
    proofs: tuple[Proof, ...] = ()
    regressions: tuple[str, ...] | None = None
    """Checks of earlier tasks that fail since this one; None if none were run."""
    looked: str = ""
    """What was checked for that: `3 files, 0 tests of other tasks`."""
    coverage: Coverage | None = None
    sast: SastCounts = None
    """Findings by severity; `pending` while it runs; None if not applicable."""
    patterns: tuple[tuple[str, str], ...] = ()
    """(ID, title) of the applied patterns."""
    worth: str = ""
    """Limitation of a DONE: `unproven: nothing proves it`."""
    notes: tuple[str, ...] = ()
    cost: str = ""
    """Usage of its agents and models; its line only appears if they were used."""


def regressions(proofs: Iterable[Proof]) -> tuple[str, ...] | None:
    """Return the failed checks of other tasks, sorted by ID; None if none ran on the change.

    They run side by side, and which of them ends first is chance.
    """
    others = [proof for proof in proofs if proof.is_of_another_task]
    failing = (proof for proof in others if proof.verdict is Verdict.FAIL)
    return tuple(sorted(_short(proof) for proof in failing)) if others else None


def status_line(report: TaskReport) -> str:
    """Return the heading and eight fields of a task's status, in the format of FORMATS.md."""
    sign = _STATUS_SIGN.get(report.status, "")
    if report.worth:
        sign = f"— {display(report.worth)}"
    heading = f"--- {task_name(report.id)}: {display(report.title)} — {report.status} {sign}"
    return "\n".join(
        (
            heading.rstrip(),
            f"TC: {_tests(_of_kind(report, ProofKind.TEST))}",
            _contracts(_of_kind(report, ProofKind.CONTRACT)),
            f"Regression: {_regression(report.regressions)}{_in_brackets(report.looked)}",
            f"Gates: {_gates(_of_kind(report, ProofKind.GATE))}",
            f"Coverage: {_coverage(report.coverage)}",
            f"SAST: {sast_counts(report.sast)}",
            f"Patterns applied: {patterns_applied(report.patterns)}",
            *([f"Cost: {report.cost}"] if report.cost else []),
            f"Notes: {_notes(report.notes)}",
            "",
        )
    )


def _notes(notes: Iterable[str]) -> str:
    return display_markdown("; ".join(filter(str.strip, notes))) or NOT_APPLICABLE


def task_name(task: str) -> str:
    """Return `Task 5` for TASK-005; an id with another prefix is unchanged."""
    prefix, _, digits = task.partition("-")
    number = read_number(digits)
    return f"Task {number}" if prefix == "TASK" and number >= 0 else display(task)


def patterns_applied(patterns: Iterable[tuple[str, str]]) -> str:
    """Return patterns as `PATTERN-001 (Database sessions)`, separated by commas."""
    shown = (f"{name} ({title})" if title else name for name, title in patterns)
    return ", ".join(display(part) for part in shown if part.strip()) or NOT_APPLICABLE


def sast_counts(counts: SastCounts) -> str:
    """Return counts such as `2 low`, most severe first; `0 findings` after a clean scan."""
    if counts is None:
        return NOT_APPLICABLE
    if isinstance(counts, str):
        return counts
    order = (*_SEVERITIES, *sorted(set(counts) - set(_SEVERITIES)))
    parts = [f"{counts[name]} {display(name)}" for name in order if counts.get(name)]
    return ", ".join(parts) or "0 findings"


def _of_kind(report: TaskReport, kind: ProofKind) -> tuple[Proof, ...]:
    return tuple(proof for proof in report.proofs if proof.kind == kind)


def _tests(proofs: Sequence[Proof]) -> str:
    if not proofs:
        return NOT_APPLICABLE
    good = sum(proof.verdict in {Verdict.PASS, Verdict.FLAKY} for proof in proofs)
    levels = [proof.level or Level.UNIT for proof in proofs]
    counts = ", ".join(f"{levels.count(level)} {level}" for level in Level if level in levels)
    passed = f"{good}/{len(proofs)} pass ({counts})"
    bad = [proof for proof in proofs if proof.verdict is not Verdict.PASS]
    return " ".join([passed, *(_format_verdict(proof.verdict, proof.id) for proof in bad)])


def _contracts(proofs: Sequence[Proof]) -> str:
    openapi = [proof for proof in proofs if _short(proof).startswith("openapi")]
    others = [proof for proof in proofs if not _short(proof).startswith("openapi")]
    return f"Contracts: {_verdicts(others, 'valid')} | OpenAPI: " + (
        _one_verdict(openapi, "conformant") if openapi else NOT_APPLICABLE
    )


def _verdicts(proofs: Sequence[Proof], good: str) -> str:
    if not proofs:
        return NOT_APPLICABLE
    return " ".join(
        _format_verdict(proof.verdict, f"{_short(proof)} {_word(proof.verdict, good)}")
        for proof in proofs
    )


def _one_verdict(proofs: Sequence[Proof], good: str) -> str:
    worst = max((proof.verdict for proof in proofs), key=_GRAVITY.index)
    return _format_verdict(worst, _word(worst, good))


_GRAVITY = (Verdict.SKIPPED, Verdict.PASS, Verdict.FLAKY, Verdict.KNOWN, Verdict.FAIL)


def _word(verdict: Verdict, good: str) -> str:
    words = {Verdict.PASS: good, Verdict.FAIL: f"not {good}"}
    return words.get(verdict, str(verdict))


def _short(proof: Proof) -> str:
    """Return `schema` for `contract:schema`."""
    return proof.id.partition(":")[2] or proof.id


def _regression(failing: tuple[str, ...] | None) -> str:
    if failing is None:
        return NOT_APPLICABLE
    if not failing:
        return "✅ no cross-task failures"
    return " ".join(f"❌ {display(check)}" for check in failing)


def _in_brackets(text: str) -> str:
    return f" ({display(text)})" if text else ""


def format_checks(files: int, proofs: Iterable[Proof]) -> str:
    """Return which checks a change passed; empty for a task without changes and tests."""
    tests = sum(proof.is_of_another_task for proof in proofs)
    if not (files or tests):
        return ""
    parts = [count_words(files, "files")] if files else []
    return ", ".join([*parts, f"{count_words(tests, 'tests')} of other tasks"])


def format_unseen(findings: Iterable[Finding]) -> str:
    """Return `not parsed: no parser for Flow here (a.js, b.js)`; empty if all was compiled."""
    found: dict[str, list[str]] = {}
    for one in findings:
        if one.check == "compile" and not one.refuses:
            found.setdefault(one.message, []).append(one.path)
    return "; ".join(f"{why} ({join_few(paths)})" for why, paths in found.items())


def _gates(proofs: Sequence[Proof]) -> str:
    verdicts = [_format_verdict(proof.verdict, _short(proof)) for proof in proofs]
    return " ".join(verdicts) or NOT_APPLICABLE


def _coverage(coverage: Coverage | None) -> str:
    if coverage is None:
        return NOT_APPLICABLE
    sign = "✅" if coverage.percent >= coverage.threshold else "❌"
    return f"{sign} {coverage.shown} (threshold {coverage.threshold:g}%)"


def _format_verdict(verdict: Verdict, name: str) -> str:
    return f"{_SIGN[verdict]} {display(name)}"


_OPEN = (Status.PENDING, Status.IN_PROGRESS)


class StatusWork(Struct, frozen=True):
    """The tasks of a run."""

    needs: Mapping[str, tuple[str, ...]]
    """Selected tasks in dependency order, with the IDs they depend on."""
    seconds: Mapping[str, float]
    """Past duration of each task; tasks that never ran are missing."""
    jobs: int


def seconds_left(
    work: StatusWork,
    statuses: Mapping[str, Status],
    seconds: Mapping[str, float],
    elapsed: Mapping[str, float],
) -> float | None:
    """Return a lower bound of the remaining seconds; None if no task has a past duration.

    The longer of two bounds: the longest chain of open tasks, and all their work divided by the
    jobs. A task without a past is taken to last as long as the others do in the mean; one that
    waits for a task that cannot be built is left out.
    """
    known = {**work.seconds, **seconds}
    if not known:
        return None
    mean = sum(known.values()) / len(known)
    ends: dict[str, float] = {}
    total = 0.0
    for id_, needs in work.needs.items():
        status = statuses.get(id_)
        behind = [ends.get(need, 0.0) for need in needs]
        if status is Status.DONE:
            ends[id_] = 0.0
        elif status not in _OPEN or any(end < 0 for end in behind):
            ends[id_] = -1.0  # it will not be built, nor what needs it
        else:
            lasts = max(0.0, known.get(id_, mean) - elapsed.get(id_, 0.0))
            total += lasts
            ends[id_] = max(behind, default=0.0) + lasts
    return max(max(ends.values(), default=0.0), total / max(1, work.jobs))
