"""Dry-run one task with its implementer: everything except the landing.

The same worker, pipeline and proof as in a run, over a journal that forgets; no plan is asked
about, no phase is kept under a ref, and the logs stay in the user's cache.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.config.settings import ReviewSettings
from runner.context.task_plan import files_of
from runner.implementers.base import Mode
from runner.journal.session_events import PlanProposed
from runner.model import Ending, ReviewMode, Usage, digest_of
from runner.run.planned.phases import phase_step
from runner.run.resource_locks import is_glob

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.config.settings import Settings
    from runner.model import Outcome, Task, TaskPlan
    from runner.run.preparation import Preparation
    from runner.run.worker_assignment import Assignment


class DrySession(Struct, frozen=True):
    """One call of the implementer: what for, and what came of it."""

    kind: str
    """Kind: `plan`, `phase`, or `build`."""
    outcome: Outcome


class Covered(Struct, frozen=True):
    """The planned paths, and the paths that were changed; sorted."""

    planned: tuple[str, ...]
    produced: tuple[str, ...]
    missing: tuple[str, ...]
    """Planned but neither created nor changed."""
    unplanned: tuple[str, ...]


class Trial(Struct, frozen=True, dict=True):
    """The result that the task would have now."""

    task: Task
    base: str
    plan: TaskPlan | None
    """Plan that was executed: an approved one, or the one just made."""
    sessions: tuple[DrySession, ...]

    @property
    def outcome(self) -> Outcome:
        """The last one: what would be landed."""
        return self.sessions[-1].outcome

    @property
    def passed(self) -> bool:
        """Whether it would land as it is, once whoever reviews it agrees."""
        return self.sessions[-1].kind == "build" and self.outcome.ending is Ending.PASSED

    @property
    def usage(self) -> Usage:
        """Usage of all sessions."""
        return sum((one.outcome.usage for one in self.sessions), Usage())

    @property
    def seconds(self) -> float:
        """Duration of all sessions in seconds."""
        return round(sum(one.outcome.seconds for one in self.sessions), 3)

    @cached_property
    def covered(self) -> Covered:
        """Planned and produced, compared; without a plan its Output files by name are planned."""
        if self.plan is not None:
            planned = set(files_of(self.plan))
        else:
            named = (path.removeprefix("./") for path in self.task.outputs if path != "any")
            planned = {path for path in named if not is_glob(path) and not path.endswith("/")}
        produced = {change.path for change in self.outcome.changes}
        unplanned = produced - planned if self.plan is not None else set()
        parts = (planned, produced, planned - produced, unplanned)
        return Covered(*(tuple(sorted(part)) for part in parts))


def without_review(settings: Settings) -> Settings:
    """Return the settings of a dry run, without reviews because nothing lands."""
    off = ReviewSettings(
        mode=ReviewMode.OFF, insisted=True, plan=ReviewMode.OFF, plan_insisted=True
    )
    return replace(settings, review=off)


def try_task(task: Task, preparation: Preparation, work: Callable[[Assignment], Outcome]) -> Trial:
    """Plan where that comes first, then build all phases; `work` has one assignment worked on."""
    sessions: list[DrySession] = []
    plans = preparation.plans
    if plans is not None:
        plans.may_begin(task)  # an earlier plan that waits is as good as approved here
    assignment = preparation.assignment(task)
    if assignment.mode is Mode.PLAN:
        sessions.append(DrySession(assignment.kind, work(assignment)))
        planned = sessions[-1].outcome
        if planned.ending is not Ending.PASSED or planned.plan is None or plans is None:
            return Trial(task, assignment.base, None, tuple(sessions))
        _propose(preparation, task, planned.plan)
        plans.may_begin(task)
        assignment = preparation.assignment(task)
    while True:
        outcome = work(assignment)
        sessions.append(DrySession(assignment.kind, outcome))
        if not assignment.is_partial or outcome.ending is not Ending.PASSED:
            return Trial(task, assignment.base, assignment.plan, tuple(sessions))
        assignment = _next_phase(preparation, assignment, outcome)


def _propose(preparation: Preparation, task: Task, plan: TaskPlan) -> None:
    """Record the proposed plan in a journal that is not saved."""
    digest = digest_of(repr(plan).encode("utf-8", "replace"))
    event = PlanProposed(plan, "", digest, what=task.spec.what)
    preparation.journal.note(event, task=task.id)


def _next_phase(preparation: Preparation, done: Assignment, outcome: Outcome) -> Assignment:
    """Return the assignment for the next phase, on the current tree."""
    assert done.plan is not None  # it was partial
    step = phase_step(done.plan, done.phase + 1, outcome.changes)
    return replace(
        done,
        phase=step.phase,
        carried=step.carried,
        brief=preparation.brief(done.task, done.attempt, step),
        review=step.review or preparation.review_mode(done.task),
    )
