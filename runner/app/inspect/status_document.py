"""The status of every task, as a JSON document and as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.journal.display_status import display_of, format_status
from runner.model import Reason, Status
from runner.report.cost import cost, cost_part, per_proven, together
from runner.report.documents import document, grade_part
from runner.report.table import GAP, table
from runner.text.display import columns, display, pad
from runner.text.wording import did_you_mean, join_few, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from runner.app.inspect.view import View
    from runner.model import Usage
    from runner.plan.outline import OutlineTask


def describe_status(view: View, shown: Iterable[OutlineTask]) -> dict[str, object]:
    """Return the `status` JSON document's content for the shown tasks."""
    live = view.live
    return {
        "title": view.title,
        "counts": {str(status): number for status, number in view.counts().items()},
        "unproven": view.find_unproven(),
        "ready": [task.id for task in view.ready()],
        "run": {"pid": live.pid, "started": live.started} if live else None,
        "mistakes": view.mistakes,
        "tasks": [describe_task(view, task) for task in shown],
        **cost_part(sum_usage(view)),
    }


def describe_task(view: View, task: OutlineTask) -> dict[str, object]:
    """Return the JSON data of one task in the `status` document."""
    known = view.states[task.id]
    shown = display_of(known)
    return {
        "id": task.id,
        "title": task.title,
        "status": known.status,
        "note": view.note(task),
        "display": shown.display if shown else None,
        "reason": shown.reason if shown else known.reason,
        "verified": view.is_verified(task.id) if known.status is Status.DONE else None,
        **grade_part(view.grades.get(task.id)),
        "ready": view.is_ready(task),
        "waitsFor": view.waits_for(task),
        "dependsOn": task.depends_on,
        "line": task.line,
        **cost_part(known.usage),
    }


def sum_usage(view: View) -> Usage:
    """Return the usage of agents and models for all tasks and drafts of the plan."""
    return together((view.state.drafted, *(known.usage for known in view.states.values())))


def find_status(typed: str) -> Status:
    """Parse a status in any spelling, such as `in_progress`. Raises RunnerError."""
    word = typed.strip().upper().replace("_", "-").replace(" ", "-")
    if word not in set(Status):
        hint = did_you_mean(word, Status) or f"one of {', '.join(Status)}"
        raise RunnerError(f'unknown status "{typed}"', hint=hint)
    return Status(word)


def status_document(command: str, view: View, shown: Iterable[OutlineTask]) -> str:
    """Return the JSON document of `status`, `list` or `next`."""
    if command != "status":
        return document(command, tasks=[describe_task(view, task) for task in shown])
    return document("status", **describe_status(view, shown))


def _is_proven(view: View, id_: str) -> bool:
    graded = view.grades.get(id_)
    return graded is not None and graded.is_proven


def status_text(view: View, shown: list[OutlineTask], width: int) -> str:
    """Return the tasks as a table of `width` columns, with counts above and the next step below."""
    rows = [(task.id, _word(view, task), task.title, _note(view, task)) for task in shown]
    ready = view.ready()
    tasks = ((one.usage, _is_proven(view, id_)) for id_, one in view.states.items())
    proven = ((view.state.drafted, False), *tasks)
    used = ", ".join(filter(None, (cost(sum_usage(view)), per_proven(proven))))
    parts = [_counts(view, len(ready)) + (f"used so far: {used}\n" if used else "")]
    if rows:
        parts.append(table(("TASK", "STATUS", "TITLE", "NOTE"), rows, width=width))
    return "\n".join([*parts, describe_next_step(view, ready)]) + "\n"


def _counts(view: View, ready: int) -> str:
    counts = ", ".join(_count(view, status, number) for status, number in view.counts().items())
    tail = f" ({ready} ready)" if ready else ""
    name = f"{display(view.title)}: " if view.title else ""
    return f"{name}{plural(len(view.tasks), 'task')}: {counts or 'none'}{tail}\n"


def _count(view: View, status: Status, number: int) -> str:
    """Return a count such as `7 DONE (2 unproven)`."""
    lacking = len(view.find_unproven()) if status is Status.DONE else 0
    return f"{number} {status} ({lacking} unproven)" if lacking else f"{number} {status}"


def _word(view: View, task: OutlineTask) -> str:
    """Return the status as text, with the grade of a DONE task in parentheses."""
    known = view.states[task.id]
    if known.status is Status.DONE and (worth := view.worth(task.id)):
        return f"{known.status} ({worth})"
    return format_status(known)


def _note(view: View, task: OutlineTask) -> str:
    note, status = view.remark(task), view.states[task.id].status
    derived = ""
    if status is Status.DONE and view.worth(task.id):
        return note
    if task.id == view.landing:
        derived = "its landing was interrupted: the next run finishes it"
    elif status is Status.PENDING:
        waits = view.waits_for(task)
        derived = f"waits for {join_few(waits)}" if waits else "ready"
    return f"{derived} — {note}" if derived and note else derived or note


def _of(view: View, status: Status, counts: Mapping[Status, int]) -> list[OutlineTask]:
    return (
        [task for task in view.tasks if view.status(task.id) is status] if status in counts else []
    )


def describe_next_step(view: View, could_start: tuple[OutlineTask, ...]) -> str:
    """Return one line with the next command to run."""
    ready = [display(task.id) for task in could_start]
    counts = view.counts()
    blocked = _of(view, Status.BLOCKED, counts)
    if view.live:
        return f"a run is active ({view.live}): runner log --follow"
    if view.mistakes:
        return "next: runner validate"
    if ready or view.landing:
        return f"next: runner    (starts {join_few(ready)})" if ready else "next: runner"
    if any(view.states[task.id].reason is Reason.REVIEW for task in blocked):
        return "next: runner review"
    first = next(iter((*blocked, *_of(view, Status.STALE, counts))), None)
    if first:
        return f"next: runner why {display(first.id)}"
    if counts.get(Status.DONE, 0) == len(view.tasks):
        return "all tasks are DONE" if view.tasks else "next: runner init"
    return "next: runner validate    (nothing can start)"


def list_text(view: View, shown: list[OutlineTask]) -> str:
    """Return one line per task without a heading."""
    return "".join(_lines(shown, lambda task: _word(view, task)))


def _lines(shown: list[OutlineTask], word: Callable[[OutlineTask], str]) -> Iterator[str]:
    """Yield one line a task without a heading, for `cut` and `awk`."""
    rows = [(display(task.id), word(task), display(task.title)) for task in shown]
    ids = max((columns(row[0]) for row in rows), default=0)
    words = max((columns(row[1]) for row in rows), default=0)
    for name, status, title in rows:
        yield GAP.join((pad(name, ids), pad(status, words), title)).rstrip() + "\n"


def describe_graph(view: View) -> dict[str, object]:
    """Return the `graph` JSON document's content: tasks, and edges from dependencies to tasks."""
    return {
        "nodes": [
            {"id": task.id, "title": task.title, "status": view.status(task.id)}
            for task in view.tasks
        ],
        "edges": [
            {"from": needed, "to": task.id}
            for task in view.tasks
            for needed in task.depends_on
            if needed in view.states
        ],
    }
