"""`runner run --dry-run`: order, batches, critical path and commands; nothing is run or written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import ExitCode
from runner.report.documents import document
from runner.report.summary import duration
from runner.run import recovery
from runner.run.forecast import Forecast, forecast
from runner.run.rehearsal import rehearse
from runner.run.selection import find_id, selected
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.model import Task
    from runner.project import Project, Reading
    from runner.run.selection import Selection


def show_forecast(
    project: Project, reading: Reading, selection: Selection, *, as_json: bool
) -> ExitCode:
    """Print what a run would do; exit 0, or 3 where nothing could start that is not DONE."""
    from runner.repo.read import Repository

    plan, graph = reading.plan, reading.graph
    tasks = {task.id: task for task in plan.tasks}
    ledger = rehearse(project.state())
    with Repository.open(project.root) as repository:
        facts = recovery.gather_facts(repository, ledger.state, plan.tasks)
    recovery.reconcile(plan.tasks, ledger, facts)
    named = frozenset(find_id(typed, tasks) for typed in (*selection.ids, *selection.only))
    recovery.reopen(plan.tasks, ledger, named=named, missing=lambda _: "not looked for")
    state = ledger.state
    seconds = {id_: past for id_ in tasks if (past := state.task(id_).typical_seconds)}
    seen = forecast(
        tasks,
        {id_: state.task(id_).status for id_ in tasks},
        selected(selection, graph, tasks),
        graph,
        seconds=seconds,
        capacity={one.name: float(one.amount or 1) for one in project.settings.resources},
        jobs=project.settings.jobs,
    )
    if as_json:
        print(_document(project, seen, tasks))
    else:
        print("\n".join(_lines(project, seen, tasks)))
    return ExitCode.OK


def _document(project: Project, seen: Forecast, tasks: Mapping[str, Task]) -> str:
    return document(
        "forecast",
        order=list(seen.order),
        batches=[list(batch) for batch in seen.batches],
        criticalPath=list(seen.critical_path),
        seconds=round(seen.seconds, 3),
        jobs=project.settings.jobs,
        waiting=list(seen.waiting),
        commands={id_: list(_commands(project, tasks[id_])) for id_ in seen.order},
    )


def _lines(project: Project, seen: Forecast, tasks: Mapping[str, Task]) -> Iterator[str]:
    if not seen.order:
        yield "nothing would run"
    for number, batch in enumerate(seen.batches, start=1):
        yield f"batch {number}"
        for id_ in batch:
            yield f"  {display(id_)} {display(tasks[id_].title)}"
            for command in _commands(project, tasks[id_]):
                yield f"      $ {display(command)}"
    if seen.order:
        yield f"order: {' '.join(map(display, seen.order))}"
        yield f"critical path: {' → '.join(map(display, seen.critical_path))}"
        jobs = project.settings.jobs
        yield f"about {duration(seen.seconds)} with {jobs} at once, by past durations"
    for id_ in seen.waiting:
        yield f"waits: {display(id_)} {display(tasks[id_].title)}"


def _commands(project: Project, task: Task) -> Iterator[str]:
    """What would be run for a task, in that order."""
    from runner.gates.registry import checks_of
    from runner.model import BlockKind

    yield from (block.text.strip() for block in task.blocks if block.kind is BlockKind.RUN)
    if task.command:
        yield task.command
    yield from (check.command for check in checks_of(task, project.settings))
