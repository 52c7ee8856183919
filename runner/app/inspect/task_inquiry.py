"""Inspect one task: the causes of its status, its history, and its next brief."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.app.inspect import causes
from runner.app.inspect.view import View
from runner.implementers.agents import program
from runner.implementers.base import Instructed, Mode
from runner.journal.events import AttemptFinished, AttemptStarted, DecisionMade
from runner.journal.journal_cache import select_records
from runner.journal.records import read_journal
from runner.lazy_module import lazy_module
from runner.model import Finding, Status
from runner.repo import read
from runner.report import task_report
from runner.run.selection import find_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from runner.app.answer import waiting
    from runner.app.build import run_parts
    from runner.app.inspect.causes import Cause
    from runner.context.brief import Brief
    from runner.implementers.base import Implementer
    from runner.journal.events import Record
    from runner.model import Reason, Task, TaskPlan
    from runner.plan.document import Plan
    from runner.project import Project
else:
    run_parts = lazy_module("runner.app.build.run_parts")
    waiting = lazy_module("runner.app.answer.waiting")


class OneTask(Struct, frozen=True, dict=True):
    """A task that a person named, in a project that was read as a run would."""

    project: Project
    view: View
    id: str

    @cached_property
    def plan(self) -> Plan:
        """The whole plan; parsed when it is first asked for."""
        return self.project.plan(self.project.plan_bytes)

    @cached_property
    def task(self) -> Task:
        """The task as its section says it."""
        return next(task for task in self.plan.tasks if task.id == self.id)


def find_one_task(project: Project, typed: str) -> OneTask:
    """Return the named task. Raises RunnerError for an unknown ID."""
    view = View.of(project)
    return OneTask(project, view, find_id(typed, view.states))


# --- why ------------------------------------------------------------------------------


def explain(asked: OneTask) -> Cause:
    """Return the chain of causes for a task's state."""
    return _inquiry(asked).about(asked.id)


def describe_why(asked: OneTask) -> dict[str, object]:
    """Return the content of the `why` JSON document of one task."""
    cause = explain(asked)
    return {
        "task": asked.id,
        "status": asked.view.status(asked.id),
        "reason": asked.view.states[asked.id].reason,
        "cause": cause,
        "roots": list(dict.fromkeys(root.task for root in cause.roots)),
    }


def explain_all(project: Project) -> tuple[Cause, ...]:
    """Return the cause for each blocked, stale or active task, in plan order."""
    view = View.of(project)
    inquiry = _inquiry(OneTask(project, view, ""))
    stands = (Status.BLOCKED, Status.STALE, Status.IN_PROGRESS)
    return tuple(inquiry.about(one.id) for one in view.tasks if view.status(one.id) in stands)


def _inquiry(asked: OneTask) -> causes.Inquiry:
    def find_section(id_: str) -> Task | None:
        return next((task for task in asked.plan.tasks if task.id == id_), None)

    def in_vain(id_: str) -> str:
        tasks, state = asked.plan.tasks, asked.view.state
        with read.Repository.open(asked.project.root) as repository:
            return waiting.explain_futile_approval(tasks, state, id_, repository)

    return causes.Inquiry(asked.view, _times(asked.project), _lacks(asked), find_section, in_vain)


def _times(project: Project) -> Callable[[str], str]:
    """Return a function that gives the time of a record; it reads the journal at its first call."""
    times: dict[str, str] = {}

    def when(record: str) -> str:
        if not times:
            times.update(
                (one.id, one.time) for one in read_journal(project.journal_path, wanted=())
            )
        return times.get(record, "")

    return when


def _lacks(asked: OneTask) -> Callable[[str], tuple[Reason, str] | None]:
    """Return a function that finds the missing requirement of a task, as a run does."""

    def lacks(id_: str) -> tuple[Reason, str] | None:
        task = next(task for task in asked.plan.tasks if task.id == id_)
        return run_parts.preparation_of(asked.project, asked.plan, asked.view.state).find_missing(
            task
        )

    return lacks


# --- show -----------------------------------------------------------------------------


class Attempt(Struct, frozen=True):
    """One attempt, as far as it came."""

    number: int
    began: str
    implementer: str
    mode: str
    ending: str = ""
    """How it ended; empty while it runs or if no end was recorded."""
    seconds: float = 0.0
    refusals: int = 0
    draft: str = ""


class TaskHistory(Struct, frozen=True):
    """The journal's records of one task, in their order."""

    attempts: tuple[Attempt, ...]
    decisions: tuple[DecisionMade, ...]
    times: dict[str, str]
    """Time of each record, by its ID."""


def past_of(project: Project, task: str) -> TaskHistory:
    """Read what the journal has of one task. Raises RunnerError where it is damaged."""
    where = (project.journal_path, project.cache)
    records = list(select_records(*where, tasks=(task,)))
    return TaskHistory(
        attempts=tuple(_attempts(records).values()),
        decisions=tuple(one.event for one in records if isinstance(one.event, DecisionMade)),
        times={record.id: record.time for record in records},
    )


def _attempts(records: Iterable[Record]) -> dict[int, Attempt]:
    found: dict[int, Attempt] = {}
    for record in records:
        event = record.event
        if isinstance(event, AttemptStarted):
            found[record.attempt] = Attempt(
                record.attempt, record.time, event.implementer, event.mode
            )
        elif isinstance(event, AttemptFinished) and record.attempt in found:
            begun = found[record.attempt]
            found[record.attempt] = Attempt(
                number=begun.number,
                began=begun.began,
                implementer=begun.implementer,
                mode=begun.mode,
                ending=str(event.ending),
                seconds=event.seconds,
                refusals=sum(finding.refuses for finding in event.findings),
                draft=event.draft,
            )
    return found


class TaskStory(Struct, frozen=True):
    """The history of a task."""

    past: TaskHistory
    report: str
    """Path of the report on its last attempt; empty if there is none."""


def load_story(asked: OneTask) -> TaskStory:
    """Load the story of a task from journal and reports."""
    past = past_of(asked.project, asked.id)
    return TaskStory(past, task_report.find_report(asked.project.root, asked.view.states[asked.id]))


# --- brief ----------------------------------------------------------------------------


class NextBrief(Struct, frozen=True):
    """Exactly the brief that an implementer would get in the next attempt."""

    brief: Brief
    mode: Mode
    """Whether the task is planned or executed next."""


def next_brief(asked: OneTask) -> NextBrief:
    """Return the brief of the task's next attempt, with the session's instructions."""
    from runner.context.brief import BriefPart, tokens_of

    task, attempt = asked.task, asked.view.states[asked.id].last_attempt + 1
    preparation = run_parts.preparation_of(asked.project, asked.plan, asked.view.state)
    with read.Repository.open(asked.project.root) as repository:
        step = run_parts.task_plans(preparation, repository).step(task, preparation.base())
    brief = preparation.brief(task, attempt, step)
    # a plan in review needs no new planning: it is executed once approved
    mode = step.mode if step.plan is None else Mode.EXECUTE
    words = _around(preparation.implementer(task), brief, mode, step.plan)
    if not words:
        return NextBrief(brief, mode)
    part = BriefPart("session", tokens_of(words))
    return NextBrief(replace(brief, text=brief.text + words, parts=(*brief.parts, part)), mode)


def describe_brief(id_: str, made: NextBrief) -> dict[str, object]:
    """Return the brief as JSON data."""
    brief = made.brief
    return {
        "task": id_,
        "attempt": brief.attempt,
        "mode": made.mode,
        "task_type": brief.kind,
        "patterns": [pattern.id for pattern in brief.patterns],
        "searched": brief.searched,
        "skills": list(brief.skills),
        "tokens": brief.tokens,
        "parts": [part._asdict() for part in brief.parts],
        "warnings": list(brief.warnings),
        "text": brief.text,
    }


def _around(
    implementer: Implementer | Finding, brief: Brief, mode: Mode, plan: TaskPlan | None
) -> str:
    """Yield what an agent or a model gets beside the brief; empty for other implementers."""
    if isinstance(implementer, Finding) or not implementer.is_agent:
        return ""
    if isinstance(implementer, Instructed):
        return f"\n---\n\n# Its instructions\n\n{implementer.instructions(mode)}"
    return program.planning_prompt() if mode is Mode.PLAN else program.execution(brief, plan)
