"""`runner run ID --dry-run --with-implementer`: what a task would come to now; nothing lands."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands.running.dry_run_report import DryRun, Impact
from runner.errors import ExitCode, RunnerError
from runner.model import Ending, Status
from runner.run.workers import Finished, WorkerPool

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.inspect.view import View
    from runner.model import Outcome, Task
    from runner.project import Project, Reading
    from runner.repo.read import Repository
    from runner.run.assignment import Assignment, WorkerContext
    from runner.run.planned.dry_run import Trial
    from runner.run.preparation import Preparation
    from runner.run.regressions.trace import Tracer

LOGS = "trial"
"""Folder in the user's cache for what its commands print."""


def execute(
    given: argparse.Namespace, environ: Mapping[str, str], flags: dict[str, object]
) -> ExitCode:
    """Work on the task in a scratch tree, and show what would land."""
    from runner.app.build.trust_question import require_trust
    from runner.app.inspect.view import View
    from runner.commands.running.run_options import console_of
    from runner.project import Project
    from runner.repo.read import Repository

    if not (given.dry_run or given.plan_out):
        raise RunnerError(
            "--with-implementer belongs to --dry-run", hint="runner run ID -n --with-implementer"
        )
    project = Project.open(Path.cwd(), environ, flags)
    reading = project.check()
    if any(problem.stops_all for problem in reading.problems):
        raise RunnerError("the plan has mistakes; nothing has run", hint="runner validate")
    view = View.of(project)
    task = _task(given, reading, view)
    with console_of(given, environ, project.root) as console:
        require_trust(project, reading.plan, trusted=given.trust, asker=None)
        with Repository.open(project.root) as repository:
            bureau = DryRun(given, project, reading, view, repository, console)
            return _try_task(bureau, task)


def _task(given: argparse.Namespace, reading: Reading, view: View) -> Task:
    """The one task that is named. Raises RunnerError for none, several, or one that waits."""
    from runner.run.selection import find_id

    named = [*given.ids, *given.only]
    if len(named) != 1:
        raise RunnerError(
            "--with-implementer is about one task", hint="runner run TASK-003 -n --with-implementer"
        )
    tasks = {task.id: task for task in reading.plan.tasks}
    task = tasks[find_id(named[0], tasks)]
    waits = [id_ for id_ in task.depends_on if view.status(id_) is not Status.DONE]
    if waits:
        raise RunnerError(
            f"{task.id} waits for {', '.join(waits)}: it would not see what they build",
            hint=f"runner run {waits[0]}",
        )
    return task


def _try_task(bureau: DryRun, task: Task) -> ExitCode:
    from runner.commands.running.dry_run_report import render_trial

    trial = _run_trial(bureau, task)
    if trial.outcome.ending is Ending.INTERRUPTED:
        return ExitCode.INTERRUPTED
    impact = _impact(bureau, trial)
    print(render_trial(bureau, trial, impact, as_json=bureau.given.json), end="")
    if bureau.given.plan_out:
        _save(bureau, trial)
    return ExitCode.OK if trial.passed else ExitCode.FAILED


def _save(bureau: DryRun, trial: Trial) -> None:
    from runner.app.build.saved_file import save_proposal

    file = bureau.given.plan_out
    save_proposal(Path.cwd() / file, bureau.project, trial)
    print(f"saved; to land exactly this: runner run --apply {file}", file=sys.stderr)


# --- the work -------------------------------------------------------------------------


def _run_trial(bureau: DryRun, task: Task) -> Trial:
    """The trial, in a scratch tree of its own that is given back."""
    from runner.app.build.machine import sandbox_of
    from runner.run.interruption import Interruption
    from runner.run.planned.dry_run import try_task
    from runner.run.worker_setup import WorkerSetup

    project = bureau.project
    preparation = _preparation(bureau)
    settings = preparation.settings
    if (lacks := preparation.find_missing(task)) is not None:
        raise RunnerError(f"{task.id}: {lacks[1]}", hint=f"runner why {task.id}")
    workshop = WorkerSetup(
        root=project.root,
        repository=bureau.repository,
        cache=project.cache,
        settings=settings,
        sandbox=sandbox_of(settings),
        environ=project.environ,
        say=bureau.console.progress,
    )
    interruption = Interruption(bureau.console.announce)
    crew = WorkerPool(
        1, lambda number, own: _apart(workshop.site(number, own), project), inline=True
    )
    crew.tracer = _tracer(bureau, preparation).trace
    interruption.wakes(crew.interrupt)
    interruption.insist()
    try:
        with interruption.listen():
            return try_task(task, preparation, lambda one: _work(crew, one))
    finally:
        crew.close()
        interruption.relent()


def _work(crew: WorkerPool, assignment: Assignment) -> Outcome:
    crew.start(assignment, crew.take_slot())
    while True:
        message = crew.wait()
        if isinstance(message, Finished):
            return message.result()


def _apart(site: WorkerContext, project: Project) -> WorkerContext:
    """The site with its logs outside the repository."""
    folder = project.cache / LOGS
    return replace(site, logs=folder, logs_shown=str(folder))


def _preparation(bureau: DryRun) -> Preparation:
    """What a run would prepare, with a plan of the task's own where that comes first."""
    from runner.app.answer.task_plans import task_plans
    from runner.app.build.preparation_preview import preparation_of
    from runner.app.build.secret_allow_list import load_allow_list
    from runner.run.planned.dry_run import without_review

    project = bureau.project
    preparation = preparation_of(project, bureau.reading.plan, bureau.view.state)
    preparation.allowed = load_allow_list(project.root)
    preparation.settings = without_review(project.settings)
    preparation.plans = task_plans(preparation, bureau.repository)
    return preparation


def _tracer(bureau: DryRun, preparation: Preparation) -> Tracer:
    from runner.run.landing.plan_documents import MAP
    from runner.run.regressions.trace import Tracer
    from runner.writes.safe_io import read_beneath

    project = bureau.project
    return Tracer(
        repository=bureau.repository,
        cache=project.cache,
        tasks={task.id: task for task in bureau.reading.plan.tasks},
        ledger=preparation.ledger,
        settings=preparation.settings,
        owners=lambda: read_beneath(project.root, MAP),
        say=bureau.console.say,
        environ=project.environ,
    )


def _impact(bureau: DryRun, trial: Trial) -> Impact:
    """Which other tasks, and which files, the proposal may reach."""
    from runner.app.change.impact_inputs import knowledge_for, without
    from runner.impact.answer import Changed, Dependents, Width, judge
    from runner.impact.reach import find_reaching

    settings, repository = bureau.project.settings, bureau.repository
    changes = tuple(
        Changed(one.path, _before(repository, trial.base, one.path), one.content)
        for one in trial.outcome.changes
    )
    knowledge = knowledge_for(bureau.project, repository, bureau.view)
    width = Width(Dependents(settings.changed_dependents), settings.conservative)
    answer = without(judge(changes, knowledge, width), trial.task.id)
    own = {one.path for one in changes}
    deepest = 1 if width.dependents is Dependents.DIRECT else None
    reached = {at.path for path in own for at in find_reaching(knowledge.references, path, deepest)}
    return Impact(answer, tuple(sorted(reached - own)))


def _before(repository: Repository, base: str, path: str) -> bytes | None:
    return repository.blob(base, path) if base else None
