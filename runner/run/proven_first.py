"""What a person set DONE is proven before anything is built on it; what has no proof is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.journal.grading import grade_alone
from runner.model import ProvenBy, Status
from runner.model.grades import without_proof
from runner.run.proof_required import strongest_possible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.config.settings import Settings
    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.model import Task


def is_by_word(known: TaskState) -> bool:
    """Whether nothing but somebody's word says that a task is DONE, and nobody waived its proof."""
    return known.status is Status.DONE and not known.verified and known.waived is None


def has_proof(task: Task, settings: Settings) -> bool:
    """Whether a task names something that could prove it, beside lint and types."""
    return strongest_possible(task, settings) not in (None, ProvenBy.STATIC)


def format_unprovable(tasks: Mapping[str, Task], words: Iterable[str], settings: Settings) -> str:
    """What a person hears once of DONE tasks that nothing can prove; empty where there are none."""
    unproven = [id_ for id_ in tasks if id_ in set(words) and not has_proof(tasks[id_], settings)]
    if not unproven:
        return ""
    return f"{', '.join(unproven)}: DONE by a person's word and unproven; built on as it is"


def stands_on_words(
    task: Task, tasks: Mapping[str, Task], state: RunState, settings: Settings
) -> str:
    """Why a task may not start where everything is to be proven; empty where it may."""
    if settings.require_proof != "always":
        return ""
    lacking = [one for one in task.depends_on if one in tasks and _is_weak(tasks[one], state)]
    if not lacking:
        return ""
    return f"it stands on {', '.join(lacking)}, unproven (require_proof): prove or waive it"


def _is_weak(task: Task, state: RunState) -> bool:
    known = state.task(task.id)
    if known.status is not Status.DONE or known.waived is not None or task.is_milestone:
        return False
    return not (grade_alone(known).is_proven or without_proof(task.no_proof, task.outputs))


def find_unproven_beneath(needs: Iterable[str], states: Mapping[str, TaskState]) -> dict[str, str]:
    """By task why what is needed is not proven; for the evidence of what was built on it."""
    found = ((one, states.get(one)) for one in needs)
    return {
        one: grade_alone(known).words
        for one, known in found
        if known is not None and known.status is Status.DONE and not known.verified
    }
