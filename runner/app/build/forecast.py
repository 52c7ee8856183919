"""Simulate a run and estimate its duration without running or writing anything."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner.gates.registry import checks_of
from runner.held_out.part import needs_author
from runner.held_out.store import NOT_WRITTEN
from runner.model import BlockKind, Status
from runner.repo.read import Repository
from runner.report.documents import document
from runner.report.summary import duration
from runner.run import recovery
from runner.run.frontier import Forecast, RunDuration, estimate_seconds, forecast, make_reached
from runner.run.journal_writer import rehearse
from runner.run.limits.budget import reopen_raised
from runner.run.preflight import find_lacking, is_obstacle_gone
from runner.run.regressions.early_cutoff import may_be_let_go
from runner.run.resource_locks import Agents, ResourceLocks, capacities, load_owned_paths
from runner.run.selection import find_id, select_ids
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.journal.state import RunState
    from runner.model import Task
    from runner.plan.graph import TaskGraph
    from runner.project import Project, Reading
    from runner.run.selection import Selection


class Foresight(Struct, frozen=True):
    """A run's expected actions, and the commands that it would start for each task, in order."""

    forecast: Forecast
    commands: Mapping[str, tuple[str, ...]]
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Why tasks would be BLOCKED instead of started, by task."""
    may_be_let_go: Mapping[str, str] = field(default_factory=dict)
    """STALE tasks that early cut-off may release, each with the task that decides it."""


def foresee(project: Project, reading: Reading, selection: Selection) -> Foresight:
    """Read file, journal and git as a run does, then play it; nothing is run or written."""
    plan, graph = reading.plan, reading.graph
    tasks = {task.id: task for task in plan.tasks}
    journal = rehearse(project.state())
    with Repository.open(project.root) as repository:
        recovery.take_in(repository, journal, plan.tasks, project.plan_file)
    named = frozenset(find_id(typed, tasks) for typed in (*selection.ids, *selection.only))
    is_given = partial(is_obstacle_gone, settings=project.settings, root=project.root)
    recovery.reopen(plan.tasks, journal, named, lambda task: _lacks(project, task), is_given)
    reopen_raised(plan.tasks, journal, project.settings)
    chosen = select_ids(selection, graph, tasks)
    state = journal.state
    pending = [task for task in plan.tasks if state.task(task.id).status is Status.PENDING]
    lacks = {task.id: lack for task in pending if (lack := _lacks(project, task))}
    seconds = estimate_seconds(plan.tasks, state)
    seen = forecast(
        tasks,
        {id_: Status.BLOCKED if id_ in lacks else state.task(id_).status for id_ in tasks},
        chosen,
        graph,
        seconds=seconds,
        claims=_claims(project),
        jobs=project.settings.build.jobs,
    )
    commands = {id_: tuple(_commands(project, tasks[id_])) for id_ in seen.order}
    return Foresight(seen, commands, lacks, may_be_let_go(tasks, state, seen.order))


def _claims(project: Project) -> ResourceLocks:
    """Return resource locks like those of a run, with none held."""
    settings = project.settings
    owned = load_owned_paths(project.root, settings.build.id_prefixes)
    return ResourceLocks(capacities(settings.resources), owned, Agents.of(settings))


def _lacks(project: Project, task: Task) -> str:
    """Return why a run would block a task instead of starting it; empty if it would start."""
    found = find_lacking(task, project.settings, project.environ, project.root)
    return found[1] if found else NOT_WRITTEN if needs_author(task) else ""


class Outlook(Struct, frozen=True):
    """The expectations of a run that begins now; compared with the result at its end."""

    graph: TaskGraph
    chosen: frozenset[str]
    jobs: int
    expected: Mapping[str, float]
    """Expected seconds by task, from past durations; empty if unknown."""
    estimate: float
    """Expected total seconds; 0 if unknown."""
    done_before: Mapping[str, str]

    @classmethod
    def of(
        cls, project: Project, reading: Reading, chosen: frozenset[str], state: RunState
    ) -> Outlook:
        """Build the outlook from plan, journal and git before anything starts."""
        tasks, settings = reading.plan.tasks, project.settings
        seconds = estimate_seconds(tasks, state)
        seen = seconds and forecast(
            {task.id: task for task in tasks},
            {task.id: state.task(task.id).status for task in tasks},
            chosen,
            reading.graph,
            seconds=seconds,
            claims=_claims(project),
            jobs=settings.build.jobs,
        )
        before = {one.id: one.done_at for one in state.tasks.values()}
        estimate = seen.seconds if seen else 0.0
        return cls(reading.graph, chosen, settings.build.jobs, seconds, estimate, before)

    def weigh(self, state: RunState) -> Mapping[str, float]:
        """Return the longest remaining duration from each task; empty for fewer than two tasks."""
        done = (state.task(id_).status is Status.DONE for id_ in self.chosen)
        if len(self.chosen) - sum(done) < 2:  # noqa: PLR2004 - networkx is slow to import
            return {}
        return self.graph.longest_remaining(self.expected)

    def compare_estimate(self, state: RunState, seconds: float) -> str:
        """Compare the run's duration to its estimate and lower bound; empty without an estimate."""
        took = {
            id_: known.seconds
            for id_ in self.chosen
            if (known := state.task(id_)).status is Status.DONE
            and known.done_at != self.done_before.get(id_)
        }
        if not self.estimate or len(took) < 2:  # noqa: PLR2004 - of one there is nothing to order
            return ""
        reached = make_reached(
            self.graph, took, seconds=seconds, jobs=self.jobs, estimate=self.estimate
        )
        return _format_reached(reached)


def _format_reached(reached: RunDuration) -> str:
    path = reached.longest_path >= reached.bound
    why = "the longest path" if path else f"total work on {reached.jobs} slots"
    return (
        f"{reached.tasks} tasks took {duration(reached.seconds)} with {reached.jobs} at once; "
        f"{duration(reached.estimate)} estimated; lower bound {duration(reached.bound)} ({why})"
    )


def _commands(project: Project, task: Task) -> Iterator[str]:
    """Yield the commands that a task would run, in order."""
    yield from (block.text.strip() for block in task.blocks if block.kind is BlockKind.RUN)
    if task.command:
        yield task.command
    yield from (check.command for check in checks_of(task, project.settings) if check.command)


def forecast_document(project: Project, foresight: Foresight) -> str:
    """Return the forecast of a run as one JSON document."""
    seen = foresight.forecast
    return document(
        "forecast",
        order=seen.order,
        batches=seen.batches,
        criticalPath=seen.critical_path,
        seconds=round(seen.seconds, 3),
        jobs=project.settings.build.jobs,
        waiting=seen.waiting,
        commands=foresight.commands,
        lacking=foresight.lacking,
        mayBeReleased=foresight.may_be_let_go,
    )


def forecast_lines(
    project: Project, foresight: Foresight, tasks: Mapping[str, Task]
) -> Iterator[str]:
    """Yield the forecast of a run as lines of text."""
    seen = foresight.forecast
    if not seen.order:
        yield "nothing would run"
    for number, batch in enumerate(seen.batches, start=1):
        yield f"batch {number}"
        for id_ in batch:
            yield f"  {display(id_)} {display(tasks[id_].title)}"
            for command in foresight.commands[id_]:
                yield f"      $ {display(command)}"
    if seen.order:
        yield f"order: {' '.join(map(display, seen.order))}"
        yield f"critical path: {' → '.join(map(display, seen.critical_path))}"
        jobs = project.settings.build.jobs
        by = "based on past durations" if seen.known else "assuming 1 s a task"
        yield f"about {duration(seen.seconds)} with {jobs} at once, {by}"
    for id_, note in foresight.lacking.items():
        yield f"would be BLOCKED: {display(id_)} {display(tasks[id_].title)} — {display(note)}"
    for id_, through in foresight.may_be_let_go.items():
        yield (
            f"may only be re-tested (early cut-off): {display(id_)} {display(tasks[id_].title)} — "
            f"if the interface of {display(through)} stays the same"
        )
    for id_ in seen.waiting:
        yield f"waits: {display(id_)} {display(tasks[id_].title)}"
