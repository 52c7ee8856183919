"""Compute the grade of each DONE task from the folded journal, without reading a proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner.model import Grade, Graded, Status
from runner.model.grades import BY_HAND, NOTHING, explain_unproven, weakest, without_proof
from runner.model.task import MILESTONE
from runner.model.words import PROVES_NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from runner.journal.task_state import TaskState, Waived
    from runner.model.task import PlannedTask


def grade_one(
    known: TaskState, outputs: tuple[str, ...] = (), *, waived: str = "", unverified: str = ""
) -> Graded:
    """Return the grade of one DONE task from its state; `waived` is a valid waiver's reason.

    `unverified`: why its proofs are not about the bytes that are there.
    """
    by = known.proven
    if known.verified and not unverified and by is not None and by not in PROVES_NOTHING:
        return Graded(Grade.PROVEN, by, gaps=known.gaps)
    if not unverified and not known.verified:
        unverified = known.unproven or BY_HAND
    if waived:
        return Graded(Grade.WAIVED, by, waived)
    none = without_proof(known.unproven, outputs)
    return Graded(Grade.UNPROVEN, by, unverified or none or explain_unproven(by))


def grades_of(
    tasks: Iterable[PlannedTask],
    states: Mapping[str, TaskState],
    stands: Callable[[Waived], bool] = lambda _: True,
    unverified: Mapping[str, str] | None = None,
) -> dict[str, Graded]:
    """Return the grade of every DONE task; a milestone gets its weakest dependency's grade.

    `stands` says whether the bytes are those that a person waived; `unverified` has, by task, why
    the proofs are about other bytes than those that are there.
    """
    planned = {task.id: task for task in tasks}
    other = unverified or {}
    found: dict[str, Graded] = {}
    milestones: list[PlannedTask] = []
    for task in planned.values():
        known = states.get(task.id)
        if known is None or known.status is not Status.DONE:
            continue
        nothing_ran = not task.outputs and known.proven is None  # it rests on others alone
        if task.type == MILESTONE and nothing_ran and task.depends_on:
            milestones.append(task)
            continue
        waived = _valid_waiver(task, known, stands)
        why = other.get(task.id, "")
        found[task.id] = grade_one(known, task.outputs, waived=waived, unverified=why)
    for task in milestones:
        known = states[task.id]
        if waived := _valid_waiver(task, known, stands):
            found[task.id] = Graded(Grade.WAIVED, None, waived)
    _grade_milestones({one.id: one for one in milestones}, found)
    return found


def _valid_waiver(task: PlannedTask, known: TaskState, stands: Callable[[Waived], bool]) -> str:
    waived = known.waived
    if waived is None or waived.what != task.spec.what or not stands(waived):
        return ""
    return waived.reason


def _grade_milestones(milestones: Mapping[str, PlannedTask], found: dict[str, Graded]) -> None:
    """Grade milestones after those that they depend on; a cycle is unproven."""
    # An explicit stack: a chain of milestones may be as long as the plan, and Python's recursion
    # ends at 1,000.
    front = [id_ for id_ in milestones if id_ not in found]
    path: set[str] = set()
    while front:
        id_ = front[-1]
        needs = milestones[id_].depends_on
        first = [one for one in needs if one in milestones.keys() - found.keys() - path]
        if id_ not in path and first:
            path.add(id_)
            front += first
            continue
        front.pop()
        path.discard(id_)
        if id_ not in found:
            found[id_] = _weakest_need(needs, found)


def _weakest_need(needs: Iterable[str], found: Mapping[str, Graded]) -> Graded:
    """Return the grade of a milestone, with the weakest dependency named as the reason."""
    nothing = Graded(Grade.UNPROVEN, None, NOTHING)
    grades = {one: found.get(one, nothing) for one in needs}
    least = weakest(list(grades.values()))
    if least.is_proven:
        return least
    named = next((one for one, graded in grades.items() if graded.grade is least.grade), "")
    return replace(least, why=f"{named} is {least.grade}" if named else least.why)
