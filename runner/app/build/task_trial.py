"""One task built now by its implementer: what would land, whom it would reach; nothing lands."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.app.build.run_parts import load_allow_list, preparation_of, sandbox_of, task_plans
from runner.app.build.suitability import require_trust
from runner.app.change.impact_question import knowledge_for, without
from runner.app.inspect.view import View
from runner.errors import ExitCode, RunnerError
from runner.impact.answer import Answer, Changed, Dependents, Width, judge
from runner.impact.reach import find_reaching
from runner.lazy_dataclass import dataclass
from runner.model import Ending, Status
from runner.repo.head import OWNERSHIP_MAP
from runner.repo.read import Repository
from runner.run.interruption import Interruption
from runner.run.planned.dry_run import try_task, without_review
from runner.run.regressions.trace import Tracer
from runner.run.selection import find_id
from runner.run.worker_setup import WorkerSetup
from runner.run.workers import Finished, WorkerPool
from runner.writes.safe_io import read_beneath

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.app.observer import Observer
    from runner.model import Outcome, Task
    from runner.project import Project, Reading
    from runner.run.assignment import Assignment, WorkerContext
    from runner.run.planned.dry_run import Trial
    from runner.run.preparation import Preparation

LOGS = "trial"
"""Folder in the user's cache for what its commands print."""


@dataclass(frozen=True, slots=True)
class TrialImpact:
    """What the proposal may reach."""

    answer: Answer
    files: tuple[str, ...]
    """Files that reach a changed one, by imports or by naming it; sorted."""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What the task would come to now."""

    trial: Trial
    impact: TrialImpact
    before: Mapping[str, bytes | None]
    """The bytes of each changed path where it began; None where it was not there."""

    @property
    def code(self) -> ExitCode:
        """0 where it would land as it is."""
        if self.trial.outcome.ending is Ending.INTERRUPTED:
            return ExitCode.INTERRUPTED
        return ExitCode.OK if self.trial.passed else ExitCode.FAILED


@dataclass(frozen=True, slots=True)
class _Bench:
    """What one trial works with."""

    project: Project
    reading: Reading
    view: View
    repository: Repository
    observer: Observer


def try_one_task(
    project: Project, typed: str, observer: Observer, *, trusted: bool = False
) -> TrialResult:
    """Have the task built in a scratch tree of its own. Raises RunnerError for one that waits."""
    reading = project.check_sound()
    view = View.of(project)
    task = _find_task(typed, reading, view)
    require_trust(project, reading.plan, trusted=trusted, asker=None)
    with Repository.open(project.root) as repository:
        bench = _Bench(project, reading, view, repository, observer)
        trial = _run_trial(bench, task)
        before = {
            one.path: repository.blob(trial.base, one.path) if trial.base else None
            for one in trial.outcome.changes
        }
        stopped = trial.outcome.ending is Ending.INTERRUPTED
        impact = TrialImpact(Answer(()), ()) if stopped else _find_impact(bench, trial, before)
        return TrialResult(trial, impact, before)


def _find_task(typed: str, reading: Reading, view: View) -> Task:
    """The task that is meant. Raises RunnerError for one that waits for others."""
    tasks = {task.id: task for task in reading.plan.tasks}
    task = tasks[find_id(typed, tasks)]
    waits = [id_ for id_ in task.depends_on if view.status(id_) is not Status.DONE]
    if waits:
        raise RunnerError(
            f"{task.id} waits for {', '.join(waits)}: it would not see what they build",
            hint=f"runner run {waits[0]}",
        )
    return task


def _run_trial(bench: _Bench, task: Task) -> Trial:
    """The trial, in a scratch tree of its own that is given back."""
    project = bench.project
    preparation = _preparation(bench)
    settings = preparation.settings
    if (lacks := preparation.find_missing(task)) is not None:
        raise RunnerError(f"{task.id}: {lacks[1]}", hint=f"runner why {task.id}")
    workshop = WorkerSetup(
        root=project.root,
        repository=bench.repository,
        cache=project.cache,
        settings=settings,
        sandbox=sandbox_of(settings),
        environ=project.environ,
        say=bench.observer.progress,
    )
    interruption = Interruption(bench.observer.announce)
    crew = WorkerPool(
        1, lambda number, own: _apart(workshop.site(number, own), project), inline=True
    )
    crew.tracer = _tracer(bench, preparation).trace
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


def _preparation(bench: _Bench) -> Preparation:
    """What a run would prepare, with a plan of the task's own where that comes first."""
    project = bench.project
    preparation = preparation_of(project, bench.reading.plan, bench.view.state)
    preparation.allowed = load_allow_list(project.root)
    preparation.settings = without_review(project.settings)
    preparation.plans = task_plans(preparation, bench.repository)
    return preparation


def _tracer(bench: _Bench, preparation: Preparation) -> Tracer:
    project = bench.project
    return Tracer(
        repository=bench.repository,
        cache=project.cache,
        tasks={task.id: task for task in bench.reading.plan.tasks},
        ledger=preparation.ledger,
        settings=preparation.settings,
        owners=lambda: read_beneath(project.root, OWNERSHIP_MAP),
        say=bench.observer.say,
        environ=project.environ,
    )


def _find_impact(bench: _Bench, trial: Trial, before: Mapping[str, bytes | None]) -> TrialImpact:
    """Which other tasks, and which files, the proposal may reach."""
    settings, repository = bench.project.settings, bench.repository
    changes = tuple(
        Changed(one.path, before[one.path], one.content) for one in trial.outcome.changes
    )
    knowledge = knowledge_for(bench.project, repository, bench.view)
    width = Width(Dependents(settings.changed_dependents), settings.conservative)
    answer = without(judge(changes, knowledge, width), trial.task.id)
    own = {one.path for one in changes}
    deepest = 1 if width.dependents is Dependents.DIRECT else None
    reached = {at.path for path in own for at in find_reaching(knowledge.references, path, deepest)}
    return TrialImpact(answer, tuple(sorted(reached - own)))
