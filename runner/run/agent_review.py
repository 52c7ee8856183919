"""Review by a session of an agent: the same program, another model, the tree read-only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from runner.gates.base import command_limits
from runner.implementers.base import ImplementerContext, Said
from runner.implementers.registry import choose
from runner.model import Finding
from runner.process.sandbox import ReadOnly
from runner.run.review import CHECK

if TYPE_CHECKING:
    from runner.context.brief import Brief
    from runner.run.assignment import Assignment, WorkerContext


@runtime_checkable
class Reviewer(Protocol):
    """An implementer that can read a diff and say yes, or why not."""

    def review(self, brief: Brief, bench: ImplementerContext, diff: str) -> Said:
        """Findings where it says no, and what it used."""


def review_by_agent(assignment: Assignment, site: WorkerContext, diff: str) -> Said | None:
    """What a session of the task's own agent says of a diff; None where no such review is set."""
    if not site.settings.model_review:
        return None
    agent = assignment.implementer or choose(assignment.task, site.settings)
    if not isinstance(agent, Reviewer):
        message = "review is auto, and what implements this task cannot review"
        hint = "set review_command in your own settings, or review = prompt"
        return Said(findings=(Finding(CHECK, message, hint=hint),))
    return agent.review(assignment.brief, _bench(assignment, site), diff)


def _bench(assignment: Assignment, site: WorkerContext) -> ImplementerContext:
    logs = site.logs / assignment.task.id / str(assignment.attempt)
    return ImplementerContext(
        place=site.place,
        sandbox=ReadOnly(site.sandbox),
        limits=command_limits(assignment.task, site.settings),
        environment=site.environment(assignment),
        tell=site.teller(assignment),
        cancelled=site.cancelled,
        log=logs / "review.log",
        known_secrets=tuple(value for _, value in assignment.secrets),
        left=assignment.left,
        plan=assignment.plan,
        record=lambda event: site.crew.report(assignment.task.id, assignment.attempt, event),
    )
