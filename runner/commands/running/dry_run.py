"""`runner run ID --dry-run --with-implementer`: what a task would come to now; nothing lands."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.model import Usage
from runner.project import Project
from runner.report.affected_lines import format_affected
from runner.report.diff_view import diff_text
from runner.text.display import display
from runner.text.wording import finding_lines

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from runner.app.build import saved_file, task_trial
    from runner.app.build.task_trial import TrialImpact, TrialResult
    from runner.commands.running import run_options
    from runner.model import Change, Finding, Outcome, Proof
    from runner.report import documents
    from runner.run.planned.dry_run import Trial
else:
    documents = lazy_module("runner.report.documents")
    run_options = lazy_module("runner.commands.running.run_options")
    saved_file = lazy_module("runner.app.build.saved_file")
    task_trial = lazy_module("runner.app.build.task_trial")

_FILES_SHOWN = 20


def execute(
    given: argparse.Namespace, environ: Mapping[str, str], flags: dict[str, object]
) -> ExitCode:
    """Work on the task in a scratch tree, and show what would land."""
    if not (given.dry_run or given.plan_out):
        raise RunnerError(
            "--with-implementer belongs to --dry-run", hint="runner run ID -n --with-implementer"
        )
    named = [*given.ids, *given.only]
    if len(named) != 1:
        raise RunnerError(
            "--with-implementer is about one task", hint="runner run TASK-003 -n --with-implementer"
        )
    project = Project.open(Path.cwd(), environ, flags)
    with run_options.console_of(given, environ, project.root) as console:
        found = task_trial.try_one_task(project, named[0], console, trusted=given.trust)
        if found.code is ExitCode.INTERRUPTED:
            return found.code
        print(render_trial(found, environ, as_json=given.json), end="")
        if given.plan_out:
            saved_file.save_proposal(Path.cwd() / given.plan_out, project, found.trial)
            print(
                f"saved; to land exactly this: runner run --apply {given.plan_out}",
                file=sys.stderr,
            )
    return found.code


def render_trial(found: TrialResult, environ: Mapping[str, str], *, as_json: bool) -> str:
    """All of it, as text or as one JSON document."""
    return _document(found) if as_json else "\n".join(_lines(found, environ)) + "\n"


# --- for a person ---------------------------------------------------------------------


def _lines(found: TrialResult, environ: Mapping[str, str]) -> Iterator[str]:
    trial, outcome = found.trial, found.trial.outcome
    for change in outcome.changes:
        yield _diff(found, change, environ)
        yield ""
    yield from _coverage(trial)
    yield from _impact(found.impact)
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


def _diff(found: TrialResult, change: Change, environ: Mapping[str, str]) -> str:
    from runner.report.console import wants_colour

    if change.path in found.trial.outcome.tainted:
        return f"{display(change.path)}: refused, so it is not shown"
    before = found.before[change.path]
    colour = wants_colour(sys.stdout, environ)
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


def _impact(impact: TrialImpact) -> Iterator[str]:
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
    first, *rest = finding_lines(finding)
    yield f"  {'✗' if finding.refuses else '⚠'} {first}"
    yield from (f"    {line}" for line in rest)


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


def _document(found: TrialResult) -> str:
    trial, outcome, impact = found.trial, found.trial.outcome, found.impact
    return documents.document(
        "trial",
        task=trial.task.id,
        title=trial.task.title,
        base=trial.base,
        passed=trial.passed,
        ending=outcome.ending,
        sessions=[_session(one.kind, one.outcome) for one in trial.sessions],
        plan=trial.plan,
        coverage=trial.covered,
        changes=[_change(found, change) for change in outcome.changes],
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


def _change(found: TrialResult, change: Change) -> dict[str, object]:
    refused = change.path in found.trial.outcome.tainted
    before = found.before[change.path]
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
