"""`runner run --dry-run`: order, batches, critical path and commands; nothing is run or written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner.model import Status
from runner.report.documents import document
from runner.report.summary import duration
from runner.run import recovery
from runner.run.claims import capacities
from runner.run.forecast import Forecast, forecast
from runner.run.lacking import lacking
from runner.run.rehearsal import rehearse
from runner.run.selection import find_id, selected
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.model import Task
    from runner.project import Project, Reading
    from runner.run.selection import Selection


@dataclass(frozen=True, slots=True)
class Foresight:
    """What a run would do, and the commands it would start for each task, in their order."""

    forecast: Forecast
    commands: Mapping[str, tuple[str, ...]]
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Why tasks would be BLOCKED instead of started."""


def foresee(project: Project, reading: Reading, selection: Selection) -> Foresight:
    """Read file, journal and git as a run does, then play it; nothing is run or written."""
    from runner.repo.read import Repository

    plan, graph = reading.plan, reading.graph
    tasks = {task.id: task for task in plan.tasks}
    ledger = rehearse(project.state())
    with Repository.open(project.root) as repository:
        facts = recovery.gather_facts(repository, ledger.state, plan.tasks)
    recovery.reconcile(plan.tasks, ledger, facts)
    named = frozenset(find_id(typed, tasks) for typed in (*selection.ids, *selection.only))
    recovery.reopen(
        plan.tasks, ledger, named=named, missing=lambda task: _lacks(project, task) or None
    )
    state = ledger.state
    pending = [task for task in plan.tasks if state.task(task.id).status is Status.PENDING]
    lacks = {task.id: said for task in pending if (said := _lacks(project, task))}
    seconds = {id_: past for id_ in tasks if (past := state.task(id_).typical_seconds)}
    seen = forecast(
        tasks,
        {id_: Status.BLOCKED if id_ in lacks else state.task(id_).status for id_ in tasks},
        selected(selection, graph, tasks),
        graph,
        seconds=seconds,
        capacity=capacities(project.settings.resources),
        jobs=project.settings.jobs,
    )
    commands = {id_: tuple(_commands(project, tasks[id_])) for id_ in seen.order}
    return Foresight(seen, commands, lacks)


def _lacks(project: Project, task: Task) -> str:
    """Why a run would block a task instead of starting it; empty where it would start."""
    found = lacking(task, project.settings, project.environ)
    return found[1] if found else ""


def show_forecast(project: Project, reading: Reading, seen: Foresight, *, as_json: bool) -> None:
    """Print what a run would do."""
    if as_json:
        print(_document(project, seen), end="")
    else:
        tasks = {task.id: task for task in reading.plan.tasks}
        print("\n".join(_lines(project, seen, tasks)))


def _document(project: Project, foresight: Foresight) -> str:
    seen = foresight.forecast
    return document(
        "forecast",
        order=seen.order,
        batches=seen.batches,
        criticalPath=seen.critical_path,
        seconds=round(seen.seconds, 3),
        jobs=project.settings.jobs,
        waiting=seen.waiting,
        commands=foresight.commands,
        lacking=foresight.lacking,
    )


def _lines(project: Project, foresight: Foresight, tasks: Mapping[str, Task]) -> Iterator[str]:
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
        jobs = project.settings.jobs
        by = "by past durations" if seen.known else "if each took a second"
        yield f"about {duration(seen.seconds)} with {jobs} at once, {by}"
    for id_, note in foresight.lacking.items():
        yield f"would be BLOCKED: {display(id_)} {display(tasks[id_].title)} — {display(note)}"
    for id_ in seen.waiting:
        yield f"waits: {display(id_)} {display(tasks[id_].title)}"


def _commands(project: Project, task: Task) -> Iterator[str]:
    """What would be run for a task, in that order."""
    from runner.gates.registry import checks_of
    from runner.model import BlockKind

    yield from (block.text.strip() for block in task.blocks if block.kind is BlockKind.RUN)
    if task.command:
        yield task.command
    yield from (check.command for check in checks_of(task, project.settings) if check.command)
