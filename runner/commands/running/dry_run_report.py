"""What a dry run with the implementer came to, for a person and as a document."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.app.change.affected_lines import format_affected
from runner.model import Usage
from runner.report.diff_view import diff_text
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from runner.app.inspect.view import View
    from runner.impact.answer import Answer
    from runner.model import Change, Finding, Outcome, Proof
    from runner.project import Project, Reading
    from runner.repo.read import Repository
    from runner.report.console import Console
    from runner.run.planned.dry_run import Trial

_FILES_SHOWN = 20
_DETAIL_LINES = 8


@dataclass(frozen=True, slots=True)
class Impact:
    """What the proposal may reach."""

    answer: Answer
    files: tuple[str, ...]
    """Files that reach a changed one, by imports or by naming it; sorted."""


@dataclass(frozen=True)
class DryRun:
    """What one dry run works with."""

    given: argparse.Namespace
    project: Project
    reading: Reading
    view: View
    repository: Repository
    console: Console


def render_trial(bureau: DryRun, trial: Trial, impact: Impact, *, as_json: bool) -> str:
    """All of it, as text or as one JSON document."""
    if as_json:
        return _document(bureau, trial, impact)
    return "\n".join(_lines(bureau, trial, impact)) + "\n"


# --- for a person ---------------------------------------------------------------------


def _lines(bureau: DryRun, trial: Trial, impact: Impact) -> Iterator[str]:
    outcome = trial.outcome
    for change in outcome.changes:
        yield _diff(bureau, trial, change)
        yield ""
    yield from _coverage(trial)
    yield from _impact(impact)
    if outcome.findings:
        yield "findings:"
        for finding in outcome.findings:
            yield from _finding(finding)
    if outcome.proofs:
        yield "tests and gates:"
        yield from (f"  {_proof(proof)}" for proof in outcome.proofs)
    if outcome.coverage is not None:
        known, asked = outcome.coverage, f"{outcome.coverage.threshold:g}%"
        yield f"coverage: {known.shown} (threshold {asked})"
    yield f"cost: {_cost(trial)}"
    yield _verdict(trial)


def _diff(bureau: DryRun, trial: Trial, change: Change) -> str:
    from runner.report.console import wants_colour

    if change.path in trial.outcome.tainted:
        return f"{display(change.path)}: refused, so it is not shown"
    before = bureau.repository.blob(trial.base, change.path) if trial.base else None
    colour = wants_colour(sys.stdout, bureau.project.environ)
    width = shutil.get_terminal_size().columns if colour else 0
    return diff_text(before, change, colour=colour, width=width)


def _coverage(trial: Trial) -> Iterator[str]:
    found = trial.covered
    how = "its plan" if trial.plan is not None else "its Output files"
    made = len(set(found.planned) & set(found.produced))
    yield f"planned by {how}: {len(found.planned)}; produced of them: {made}"
    for word, paths in (("missing", found.missing), ("unplanned", found.unplanned)):
        if paths:
            yield f"  {word}: {', '.join(map(display, paths))}"


def _impact(impact: Impact) -> Iterator[str]:
    affected = impact.answer.affected
    yield f"may affect: {len(affected)} tasks, {len(impact.files)} files"
    for one in affected:
        yield from (f"  {line}" for line in format_affected(one))
    yield from (f"  {display(path)}" for path in impact.files[:_FILES_SHOWN])
    if len(impact.files) > _FILES_SHOWN:
        yield f"  and {len(impact.files) - _FILES_SHOWN} more files (--json shows them)"
    yield from (
        f"  not decided: {display(one.place)} {display(one.text)}" for one in impact.answer.doubts
    )


def _finding(finding: Finding) -> Iterator[str]:
    place = f"{finding.path}:{finding.line}: " if finding.line else ""
    place = place or (f"{finding.path}: " if finding.path else "")
    mark = "✗" if finding.refuses else "⚠"
    yield f"  {mark} {display(finding.check)}: {display(place + finding.message)}"
    yield from (f"      {display(line)}" for line in finding.detail.splitlines()[-_DETAIL_LINES:])
    if finding.hint:
        yield f"      hint: {display(finding.hint)}"


def _proof(proof: Proof) -> str:
    return f"{display(proof.id)} {proof.verdict}, exit {proof.exit}, {proof.seconds:.2f} s"


def _cost(trial: Trial) -> str:
    used = trial.usage
    said = f"{trial.seconds:.1f} s in {_sessions(trial)}"
    if used == Usage():
        return f"{said}; it tells no tokens"
    dollars = f", ${used.dollars:.4f}" if used.dollars else ""
    return f"{said}; {used.input_tokens} tokens in, {used.output_tokens} out{dollars}"


def _sessions(trial: Trial) -> str:
    kinds = [one.kind for one in trial.sessions]
    return ", ".join(dict.fromkeys(f"{kinds.count(kind)} {kind}" for kind in kinds))


def _verdict(trial: Trial) -> str:
    name = display(trial.task.id)
    if trial.passed and trial.outcome.changes:
        return f"{name} would land as it is; nothing has landed"
    if trial.passed:
        return f"{name} would change nothing and be DONE"
    return f"{name} would not land"


# --- as a document --------------------------------------------------------------------


def _document(bureau: DryRun, trial: Trial, impact: Impact) -> str:
    from runner.report.documents import document

    outcome = trial.outcome
    return document(
        "trial",
        task=trial.task.id,
        title=trial.task.title,
        base=trial.base,
        passed=trial.passed,
        ending=outcome.ending,
        sessions=[_session(one.kind, one.outcome) for one in trial.sessions],
        plan=trial.plan,
        coverage=trial.covered,
        changes=[_change(bureau, trial, change) for change in outcome.changes],
        impact={
            "tasks": impact.answer.affected,
            "files": impact.files,
            "doubts": impact.answer.doubts,
        },
        findings=outcome.findings,
        proofs=outcome.proofs,
        lines_covered=outcome.coverage,
        decisions=outcome.decisions,
        usage=trial.usage,
        seconds=trial.seconds,
    )


def _session(kind: str, outcome: Outcome) -> dict[str, object]:
    return {
        "kind": kind,
        "ending": outcome.ending,
        "seconds": outcome.seconds,
        "usage": outcome.usage,
        "findings": outcome.findings,
        "summary": outcome.summary,
    }


def _change(bureau: DryRun, trial: Trial, change: Change) -> dict[str, object]:
    refused = change.path in trial.outcome.tainted
    before = bureau.repository.blob(trial.base, change.path) if trial.base else None
    return {
        "path": change.path,
        "action": change.action,
        "mode": f"{change.mode:06o}",
        "before": change.before,
        "after": change.after,
        "bytes": len(change.content or b""),
        "refused": refused,
        "diff": None if refused else diff_text(before, change, colour=False, width=0),
    }
