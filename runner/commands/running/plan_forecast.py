"""`runner run --dry-run`: order, batches, critical path and commands, for a person and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.report.documents import document
from runner.report.summary import duration
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.app.build.outlook import Foresight
    from runner.model import Task
    from runner.project import Project, Reading


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
        mayBeReleased=foresight.may_be_let_go,
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
    for id_, through in foresight.may_be_let_go.items():
        yield (
            f"may be released by early cut-off: {display(id_)} {display(tasks[id_].title)} — "
            f"if {display(through)} offers what it did before"
        )
    for id_ in seen.waiting:
        yield f"waits: {display(id_)} {display(tasks[id_].title)}"
