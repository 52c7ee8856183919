"""Build one task now without landing it: show its changes and the tasks that they affect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.app.build.preconditions import require_trust
from runner.app.build.prepare_tasks import load_allow_list, preparation_of, task_plans
from runner.app.change.impact_question import knowledge_for, without
from runner.app.inspect.validation import check_sound
from runner.app.inspect.view import View
from runner.app.prove.prove_tree import worker_setup
from runner.errors import ExitCode, RunnerError
from runner.impact.answer import Changed, Depth, Impacted, Width, judge
from runner.impact.reach import find_reaching
from runner.model import Ending, Status, Usage
from runner.repo.head import OWNERSHIP_MAP
from runner.repo.read import Repository
from runner.report import documents
from runner.report.annotations import format_affected
from runner.report.diff_view import diff_text
from runner.run.interruption import Interruption
from runner.run.planned.dry_run import try_task, without_review
from runner.run.regressions.trace import Tracer
from runner.run.selection import find_id
from runner.run.workers import Finished, WorkerPool
from runner.text.display import display
from runner.text.wording import finding_lines
from runner.writes.safe_io import read_below

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.app.observer import Observer
    from runner.model import Change, Finding, Outcome, Task
    from runner.project import Project, Reading
    from runner.run.planned.dry_run import Trial
    from runner.run.preparation import Preparation
    from runner.run.worker_assignment import Assignment, WorkerContext

_FILES_SHOWN = 20

LOGS = "trial"
"""Folder in the user's cache for the output of trial commands."""


class TrialImpact(Struct, frozen=True):
    """The tasks that the proposal may affect."""

    answer: Impacted
    files: tuple[str, ...]
    """Files that reach a changed one, by import or by name; sorted."""


class TrialResult(Struct, frozen=True):
    """The result that the task would have now."""

    trial: Trial
    impact: TrialImpact
    before: Mapping[str, bytes | None]
    """Bytes of each changed path at the start; None if it did not exist."""

    @property
    def code(self) -> ExitCode:
        """0 where it would land as it is."""
        if self.trial.outcome.ending is Ending.INTERRUPTED:
            return ExitCode.INTERRUPTED
        return ExitCode.OK if self.trial.passed else ExitCode.FAILED


class _TrialContext(Struct, frozen=True):
    """The context of one trial."""

    project: Project
    reading: Reading
    view: View
    repository: Repository
    observer: Observer


def try_one_task(
    project: Project,
    typed: str,
    observer: Observer,
    *,
    trusted: bool = False,
    again: str = "runner --trust",
) -> TrialResult:
    """Build a task in a separate scratch tree. Raises RunnerError for a task that waits."""
    reading = check_sound(project)
    view = View.of(project)
    task = _find_task(typed, reading, view)
    require_trust(project, reading.plan, trusted=trusted, asker=None, again=again)
    with Repository.open(project.root) as repository:
        context = _TrialContext(project, reading, view, repository, observer)
        trial = _run_trial(context, task)
        before = {
            one.path: repository.blob(trial.base, one.path) if trial.base else None
            for one in trial.outcome.changes
        }
        stopped = trial.outcome.ending is Ending.INTERRUPTED
        impact = TrialImpact(Impacted(()), ()) if stopped else _find_impact(context, trial, before)
        return TrialResult(trial, impact, before)


def _find_task(typed: str, reading: Reading, view: View) -> Task:
    """Return the named task. Raises RunnerError if it depends on unfinished tasks."""
    tasks = {task.id: task for task in reading.plan.tasks}
    task = tasks[find_id(typed, tasks)]
    waits = [id_ for id_ in task.depends_on if view.status(id_) is not Status.DONE]
    if waits:
        raise RunnerError(
            f"{task.id} depends on unfinished tasks: {', '.join(waits)}",
            hint=f"runner run {waits[0]}",
        )
    return task


def _run_trial(context: _TrialContext, task: Task) -> Trial:
    """Run the task once in a temporary scratch tree and return the trial."""
    project = context.project
    preparation = _preparation(context)
    settings = preparation.settings
    if (lacks := preparation.find_missing(task)) is not None:
        raise RunnerError(f"{task.id}: {lacks[1]}", hint=f"runner why {task.id}")
    workshop = worker_setup(project, context.repository)
    workshop.settings, workshop.say = settings, context.observer.progress
    interruption = Interruption(context.observer.announce)
    workers = WorkerPool(
        1, lambda number, own: _apart(workshop.site(number, own), project), inline=True
    )
    workers.tracer = _tracer(context, preparation).trace
    interruption.wakes(workers.interrupt)
    interruption.insist()
    try:
        with interruption.listen():
            return try_task(task, preparation, lambda one: _work(workers, one))
    finally:
        workers.close()
        interruption.relent()


def _work(workers: WorkerPool, assignment: Assignment) -> Outcome:
    workers.start(assignment, workers.take_slot())
    while True:
        message = workers.wait()
        if isinstance(message, Finished):
            return message.result()


def _apart(site: WorkerContext, project: Project) -> WorkerContext:
    """Return the worker context with logs outside the repository."""
    folder = project.cache / LOGS
    return replace(site, logs=folder, logs_shown=str(folder))


def _preparation(context: _TrialContext) -> Preparation:
    """Prepare as a run does, with a separate plan for the task if one comes first."""
    project = context.project
    preparation = preparation_of(project, context.reading.plan, context.view.state)
    preparation.allowed = load_allow_list(project.root)
    preparation.settings = without_review(project.settings)
    preparation.plans = task_plans(preparation, context.repository)
    return preparation


def _tracer(context: _TrialContext, preparation: Preparation) -> Tracer:
    project = context.project
    return Tracer(
        repository=context.repository,
        cache=project.cache,
        tasks={task.id: task for task in context.reading.plan.tasks},
        journal=preparation.journal,
        settings=preparation.settings,
        owners=lambda: read_below(project.root, OWNERSHIP_MAP),
        say=context.observer.say,
        environ=project.environ,
    )


def _find_impact(
    context: _TrialContext, trial: Trial, before: Mapping[str, bytes | None]
) -> TrialImpact:
    """Return the other tasks and the files that the proposal may affect."""
    settings, repository = context.project.settings, context.repository
    changes = tuple(
        Changed(one.path, before[one.path], one.content) for one in trial.outcome.changes
    )
    knowledge = knowledge_for(context.project, repository, context.view)
    width = Width(Depth(settings.proof.changed_dependents), settings.proof.conservative)
    answer = without(judge(changes, knowledge, width), trial.task.id)
    own = {one.path for one in changes}
    deepest = 1 if width.dependents is Depth.DIRECT else None
    reached = {at.path for path in own for at in find_reaching(knowledge.references, path, deepest)}
    return TrialImpact(answer, tuple(sorted(reached - own)))


def trial_lines(found: TrialResult) -> Iterator[str]:
    """Yield what would land and its evidence as lines of text, without the diffs."""
    trial, outcome = found.trial, found.trial.outcome
    yield from _coverage(trial)
    yield from _impact(found.impact)
    if outcome.findings:
        yield "findings:"
        for finding in outcome.findings:
            yield from _finding(finding)
    if outcome.proofs:
        yield "tests and gates:"
        for proof in outcome.proofs:
            yield f"  {display(proof.id)} {proof.verdict}, exit {proof.exit}, {proof.seconds:.2f} s"
    if outcome.coverage is not None:
        known, asked = outcome.coverage, f"{outcome.coverage.threshold:g}%"
        yield f"coverage: {known.shown} (threshold {asked})"
    yield f"cost: {_cost(trial)}"
    yield _verdict(trial)


def _coverage(trial: Trial) -> Iterator[str]:
    found = trial.covered
    how = "its plan" if trial.plan is not None else "its Output files"
    made = len(set(found.planned) & set(found.produced))
    yield f"files planned by {how}: {len(found.planned)}; produced: {made}"
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


def _cost(trial: Trial) -> str:
    used = trial.usage
    spent = f"{trial.seconds:.1f} s in {_sessions(trial)}"
    if used == Usage():
        return f"{spent}; no token usage reported"
    dollars = f", ${used.dollars:.4f}" if used.dollars else ""
    return f"{spent}; {used.input_tokens} tokens in, {used.output_tokens} out{dollars}"


def _sessions(trial: Trial) -> str:
    kinds = [one.kind for one in trial.sessions]
    return ", ".join(dict.fromkeys(f"{kinds.count(kind)} {kind}" for kind in kinds))


def _verdict(trial: Trial) -> str:
    name = display(trial.task.id)
    if trial.passed and trial.outcome.changes:
        return f"{name} would land; nothing has landed"
    if trial.passed:
        return f"{name} would change nothing and be DONE"
    return f"{name} would not land"


def trial_document(found: TrialResult) -> str:
    """Return the trial as one JSON document."""
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
