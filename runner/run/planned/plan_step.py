"""What the next attempt of a task is, where it has a plan of its own; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.context.task_plan import files_of, plan_text
from runner.implementers.base import Mode
from runner.model import ReviewMode

if TYPE_CHECKING:
    from runner.journal.state import RunState
    from runner.journal.task_state import Planned
    from runner.model import Change, Task, TaskPlan


@dataclass(frozen=True, slots=True)
class Step:
    """What the next attempt of a task is: a session in plan mode, or work under a plan."""

    mode: Mode = Mode.EXECUTE
    plan: TaskPlan | None = None
    phase: int = 0
    carried: tuple[Change, ...] = ()
    """What earlier phases of the plan came to."""
    review: ReviewMode | None = None
    """Who reviews the plan in the worker; None where the task's writes are reviewed."""


def phase_step(plan: TaskPlan, number: int, carried: tuple[Change, ...] = ()) -> Step:
    """One phase; writes are reviewed when all of them are there."""
    number = min(number, len(plan.phases))
    review = ReviewMode.OFF if number < len(plan.phases) else None
    return Step(plan=plan, phase=number, carried=carried, review=review)


def plan_of(state: RunState, task: Task) -> Planned | None:
    """The plan that lies on the table for a task as it is written now, approved or not."""
    planned = state.task(task.id).planned
    return planned if planned is not None and planned.what == task.spec.what else None


def files_of_plan(plan: TaskPlan | None) -> tuple[str, ...] | None:
    """The files that work under a plan is held to; None where there is no plan."""
    return None if plan is None else files_of(plan)


def plan_told(state: RunState, task: Task, step: Step | None = None) -> str:
    """The plan as who executes it is told, with the phase that is its turn; empty for none."""
    if step is None:
        planned = plan_of(state, task)
        if planned is None or not planned.approved:
            return ""
        kept = state.task(task.id).kept
        step = Step(plan=planned.plan)
        if planned.plan.phases:
            step = phase_step(planned.plan, 1 + (kept.phases if kept else 0))
    if step.plan is None or step.mode is Mode.PLAN:
        return ""
    told = (plan_text(step.plan, task.id), phase_text(step.plan, step.phase))
    return "\n".join(part for part in told if part)


def phase_text(plan: TaskPlan, phase: int) -> str:
    """What a session is told of the phase that it is to build; empty where it builds all."""
    if not phase or not plan.phases:
        return ""
    now, count = plan.phases[phase - 1], len(plan.phases)
    before = "; the phases before it are in the files already" if phase > 1 else ""
    after = "; leave the later phases alone" if phase < count else "; then all of it must pass"
    lines = [f"Now build phase {phase} of {count}: {now.title}{before}{after}."]
    lines += [f"{number}. {step}" for number, step in enumerate(now.steps, start=1)]
    lines += ["Its files: " + ", ".join(now.files)] if now.files else []
    return "\n".join(lines) + "\n"
