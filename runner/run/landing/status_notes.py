"""What stands behind a status in the plan: why a task waits, and what a DONE is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.journal.grading import grade_alone, grades_of
from runner.model import Grade, Status, grade_of
from runner.model.grades import is_grade, without_proof
from runner.plan.status import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.model import Change, Proof, Task
    from runner.run.journal_writer import JournalWriter

_NOTED = (Status.BLOCKED, Status.STALE)
"""Statuses whose own note stands behind them."""


def format_note(known: TaskState, there: str = "") -> str:
    """The note of a task in the plan; `there` is the one beside its status now.

    A DONE of an older journal has no grade written down: its line stays as it is.
    """
    if known.status in _NOTED:
        return known.note
    if known.status is not Status.DONE:
        return ""
    if known.waived is not None:
        return f"{Grade.WAIVED}: {known.waived.reason}"
    if grade_alone(known).is_proven:
        return ""
    if known.unproven:
        return f"{Grade.UNPROVEN}: {known.unproven}"
    return there if is_grade(there) else ""


def statuses_of(tasks: Iterable[Task], ledger: JournalWriter) -> dict[str, tuple[Status, str]]:
    """What the plan says of each task, by the journal."""
    planned = {task.id: task for task in tasks}
    return {id_: (ledger.state.task(id_).status, note_in(planned, id_, ledger.state))
            for id_ in planned}  # fmt: skip


def note_in(tasks: Mapping[str, Task], id_: str, state: RunState) -> str:
    """The note of one of these tasks; of a milestone, by what it rests on is worth now."""
    task, known = tasks[id_], state.task(id_)
    if not (task.is_milestone and known.status is Status.DONE and known.unproven) or known.waived:
        return format_note(known, task.note)
    near: dict[str, Task] = {}
    front = [id_]
    while front:
        one = tasks.get(front.pop())
        if one is not None and one.id not in near:
            near[one.id] = one
            front += one.depends_on if one.is_milestone else ()
    graded = grades_of(near.values(), {one: state.task(one) for one in near}).get(id_)
    return format_note(known, task.note) if graded is None else graded.note


def find_differing(tasks: Sequence[Task], ledger: JournalWriter) -> dict[str, tuple[Status, str]]:
    """The same of those tasks of which the plan says another status, or a DONE of other worth."""
    said = statuses_of(tasks, ledger)
    return {task.id: said[task.id] for task in tasks if says_other(task, *said[task.id])}


def says_other(task: Task, status: Status, note: str) -> bool:
    """Whether the plan has to be written for a task to say this.

    Who writes a plain DONE over one that says what it is worth proves nothing by it: a record
    commit says the worth, so the file must, too, or it would seem edited ever after.
    """
    if status is not task.status:
        return True
    if status is not Status.DONE:
        return False
    return one_line(note) != task.note if note else is_grade(task.note)


def why_unproven(
    task: Task,
    proofs: Iterable[Proof],
    changes: Iterable[Change] = (),
    states: Mapping[str, TaskState] | None = None,
) -> str:
    """Why a task that becomes DONE now is not proven; empty where it is.

    A milestone is as good as what it depends on.
    """
    if task.is_milestone:
        return _of_needs(task, states or {})
    paths = [change.path for change in changes] or list(task.outputs)
    return grade_of(proofs, none=without_proof(task.no_proof, paths)).why


def _of_needs(task: Task, states: Mapping[str, TaskState]) -> str:
    for need in task.depends_on:
        known = states.get(need)
        if known is not None and known.unproven and not grade_alone(known).is_proven:
            return f"{need} is {Grade.WAIVED if known.waived else Grade.UNPROVEN}"
    return ""
