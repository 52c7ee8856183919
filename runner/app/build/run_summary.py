"""What a run came to: how every task stands, what waits for whom, and what helps."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from runner.app.prove.verified_tree import grades_in
from runner.errors import ExitCode
from runner.lazy_module import lazy_module
from runner.model import Grade, Status
from runner.report.cost import cost, cost_part, per_proven
from runner.report.next_step import next_step
from runner.report.summary import BlockedTask, Summary
from runner.report.task_report import find_report
from runner.run.landing.moved_branch import PlanConflict
from runner.run.regressions.regression import find_unapproved, victims_of
from runner.text.wording import refusal_lines

if TYPE_CHECKING:
    from runner.app.answer import waiting
    from runner.app.build.session import Session
    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.model import Task, Usage
    from runner.plan.document import Plan
    from runner.project import Project
else:
    waiting = lazy_module("runner.app.answer.waiting")

_FINDINGS = 2
"""Findings of a BLOCKED task that the summary tells; the report has all."""


def summary_of(session: Session, plan: Plan, code: ExitCode) -> Summary:
    """How the run ended."""
    said = _summary(session.ledger.state, plan, code, session.elapsed, session.landed)
    root, state = session.project.root, session.ledger.state
    blocked = tuple(
        replace(
            one,
            report=find_report(root, state.task(one.id)),
            in_vain=waiting.explain_vain_approval(plan.tasks, state, one.id, session.repository),
        )
        for one in said.blocked
    )
    notes = _format_uncommitted(session)
    grades = grades_in(session.project, plan.tasks, state, session.repository)
    tasks = ((state.task(id_).usage, one.is_proven) for id_, one in grades.items())
    worth = ((state.drafted, False), *tasks)
    used = cost(session.manifest.usage)
    used = ", ".join(filter(None, (used, per_proven(worth)))) if used else ""
    unproven = tuple(id_ for id_, one in grades.items() if one.grade is Grade.UNPROVEN)
    proofs = session.manifest.proofs
    took = proofs.words if proofs.stood else ""
    edited = _find_edited(session.project, plan, said)
    said = replace(said, edited=edited)
    return replace(said, blocked=blocked, notes=notes, cost=used, unproven=unproven, proofs=took)


def facts_of(said: Summary, usage: Usage) -> dict[str, object]:
    """The same for a program."""
    return {
        "exit": int(said.exit),
        "seconds": round(said.seconds, 3),
        "counts": {str(status): number for status, number in said.counts.items()},
        "landed": said.landed,
        "unproven": list(said.unproven),
        "blocked": [
            {
                "id": one.id,
                "reason": one.reason and str(one.reason),
                "note": one.note,
                "draft": one.draft,
                "report": one.report,
                "victims": list(one.victims),
            }
            for one in said.blocked
        ],
        "stale": [{"id": id_, "note": note} for id_, note in said.stale],
        "waiting": [{"id": id_, "needs": list(needs)} for id_, needs in said.waiting],
        **cost_part(usage),
    }


def _find_edited(project: Project, plan: Plan, said: Summary) -> dict[str, str]:
    """What a person changed of tasks that were not begun for that; a text is read once more."""
    left = {id_ for id_, needs in said.waiting if not needs}
    if said.exit is not ExitCode.CONFLICT or not left:
        return {}
    now = PlanConflict(project.root / project.plan_path, lambda _text: False, project.plan)
    told = {task.id: now.describe_edit(task) for task in plan.tasks if task.id in left}
    return {id_: how for id_, how in told.items() if how}


def _format_uncommitted(session: Session) -> tuple[str, ...]:
    """A line for what landed and waits for a person's commit (`commit = "manual"`)."""
    count = len(session.shadow.paths)
    files = f"{count} file{'' if count == 1 else 's'}"
    return (f"{files} landed and not committed: runner commit-by-task",) if count else ()


def _make_blocked_task(known: TaskState, state: RunState, task: Task) -> BlockedTask:
    victims = victims_of(known.id, state)
    return BlockedTask(
        known.id,
        known.note,
        known.reason,
        known.draft,
        victims,
        find_unapproved(victims, state),
        next=next_step(known, state, task),
        findings=tuple(refusal_lines(known.findings, _FINDINGS)),
    )


def _summary(state: RunState, plan: Plan, code: ExitCode, seconds: float, landed: int) -> Summary:
    # Not a state for each task: of those that the journal does not know nothing is to be told.
    known = state.tasks
    statuses = {task.id: state.task(task.id).status for task in plan.tasks}
    return Summary(
        exit=code,
        counts=dict(Counter(statuses.values())),
        seconds=seconds,
        landed=landed,
        blocked=tuple(
            _make_blocked_task(known[task.id], state, task)
            for task in plan.tasks
            if statuses[task.id] is Status.BLOCKED
        ),
        stale=tuple(
            (id_, known[id_].note) for id_, status in statuses.items() if status is Status.STALE
        ),
        waiting=tuple(
            (
                task.id,
                tuple(
                    [
                        id_
                        for id_ in task.depends_on
                        if statuses.get(id_, Status.DONE) is not Status.DONE
                    ]
                ),
            )
            for task in plan.tasks
            if statuses[task.id] is Status.PENDING
        ),
    )
