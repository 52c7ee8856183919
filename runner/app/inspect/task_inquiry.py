"""Inspect one task: its history, its next brief, and the causes of its status down to the roots."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner.app.inspect.view import View
from runner.implementers.agents import program
from runner.implementers.base import Instructed, Mode
from runner.implementers.registry import NOBODY
from runner.journal.events import AttemptFinished, AttemptStarted, DecisionMade
from runner.journal.evidence import EvidenceState, evaluate_standing
from runner.journal.journal_cache import select_records
from runner.journal.records import read_journal
from runner.lazy_module import lazy_module
from runner.model import Finding, Reason, Status, Verdict
from runner.repo import read
from runner.report import task_report
from runner.report.event_lines import format_attempt
from runner.report.summary import stale_step
from runner.report.task_report import LACKING, next_step
from runner.run.landing import drafts
from runner.run.review import CHECK
from runner.run.selection import find_id
from runner.text.display import display
from runner.text.wording import join_few, moment, name_attempt, plural, refusal_lines, short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from runner.app.answer import waiting
    from runner.app.build import prepare_tasks
    from runner.context.brief import Brief
    from runner.implementers.base import Implementer
    from runner.journal.events import Record
    from runner.journal.task_state import TaskState
    from runner.model import Task, TaskPlan
    from runner.plan.document import Plan
    from runner.plan.outline import OutlineTask
    from runner.project import Project
else:
    prepare_tasks = lazy_module("runner.app.build.prepare_tasks")
    waiting = lazy_module("runner.app.answer.waiting")


_FINDINGS = 5
_DEEPEST = 12
"""Links of a chain that are shown; beyond that only its last one."""
_CHANGED = {"what": "what to build", "proof": "how to prove it"}
"""Readable names of a task's digests."""


class Cause(Struct, frozen=True):
    """One sentence, about one task, and what lies behind it."""

    task: str
    text: str
    behind: tuple[Cause, ...] = ()
    details: tuple[str, ...] = ()
    """Additional lines: findings, proofs."""
    next: str = ""
    """What a person could do next."""

    @property
    def roots(self) -> Iterator[Cause]:
        """The causes that have none behind them."""
        if not self.behind:
            yield self
        for cause in self.behind:
            yield from cause.roots


class _Asked(Struct, frozen=True):
    """A task that is asked about, and how the question came to it."""

    id: str
    tasks: Mapping[str, OutlineTask]
    path: tuple[str, ...] = ()
    explained: set[str] = field(default_factory=set)
    """Tasks whose causes were already shown."""

    @property
    def task(self) -> OutlineTask:
        """The task as the plan has it."""
        return self.tasks[self.id]

    def deeper(self, id_: str) -> _Asked:
        """Return the question for a dependency of this task."""
        return _Asked(id_, self.tasks, (*self.path, self.id), self.explained)


def _unread(_id: str) -> None:
    """Return no task; used for a plan that is not parsed."""


class Inquiry(Struct, frozen=True):
    """Asks a view.

    `when` gives the time of a record of the journal, `lacks` what keeps a task from starting,
    `task` its section, `in_vain` why no approval lets its held change land.
    """

    view: View
    when: Callable[[str], str]
    lacks: Callable[[str], tuple[Reason, str] | None]
    task: Callable[[str], Task | None] = _unread
    in_vain: Callable[[str], str] = lambda _id: ""
    refresh: Callable[[TaskState], TaskState] = lambda known: known
    """Drops a draft whose branch is gone."""

    def about(self, id_: str) -> Cause:
        """Return the full chain of causes for a task."""
        return self._cause(_Asked(id_, {task.id: task for task in self.view.tasks}))

    def _cause(self, asked: _Asked) -> Cause:
        task = asked.task
        asked.explained.add(task.id)
        match self.view.status(task.id):
            case Status.PENDING if self.view.waits_for(task):
                return self._explain_waiting(asked)
            case Status.PENDING:
                return self._ready(task)
            case Status.IN_PROGRESS:
                return self._in_progress(task)
            case Status.DONE:
                return self._explain_done(task)
            case Status.BLOCKED:
                return self._explain_blocked(task)
            case Status.STALE:
                return self._stale(asked)

    # --- a task that waits ------------------------------------------------------------

    def _explain_waiting(self, asked: _Asked) -> Cause:
        task = asked.task
        waits = self.view.waits_for(task)
        text = f"waits for {join_few([display(id_) for id_ in waits])}"
        if len(asked.path) >= _DEEPEST:
            waits, between = self._ends(asked)
            if between:
                text += f", and indirectly, through {plural(between, 'task')}, for"
        behind = tuple(self._behind(asked, id_) for id_ in waits)
        return Cause(task.id, text + self._read(task), behind)

    def _behind(self, asked: _Asked, id_: str) -> Cause:
        if id_ not in asked.tasks:
            return Cause(id_, "is not in the plan", next="runner validate")
        if id_ == asked.id or id_ in asked.path:
            return Cause(id_, "waits for itself: dependency cycle", next="runner validate")
        # Explain each once: a plan with many layers has too many paths to one task.
        if id_ in asked.explained:
            return Cause(id_, "(see above)")
        return self._cause(asked.deeper(id_))

    def _ends(self, asked: _Asked) -> tuple[tuple[str, ...], int]:
        """Return the last tasks of a dependency chain and the number of waiting tasks between."""
        seen = {asked.id}
        front = [asked.id]
        ends: list[str] = []
        while front:
            for id_ in self.view.waits_for(asked.tasks[front.pop()]):
                if id_ in seen:
                    continue
                seen.add(id_)
                waiting = id_ in asked.tasks and self.view.waits_for(asked.tasks[id_])
                (front if waiting else ends).append(id_)
        return tuple(ends), len(seen) - len(ends) - 1

    # --- one status each --------------------------------------------------------------

    def _ready(self, task: OutlineTask) -> Cause:
        missing = self.lacks(task.id)
        if missing is not None:
            text = f"would be BLOCKED at once: {display(missing[1])}"
            plan = missing[0] in (Reason.PROOF, Reason.WISH)  # the plan lacks it, no machine
            return Cause(task.id, text, next=LACKING[missing[0]] if plan else "`runner doctor`")
        reason = (
            f"PENDING, and its dependencies are DONE ({', '.join(map(display, task.depends_on))})"
            if task.depends_on
            else "PENDING, and it has no dependencies"
        )
        known = self.view.states[task.id]
        details = []
        if known.tries:
            details.append(f"{plural(known.attempts_in_row, 'attempt')} in a row failed before:")
            details += refusal_lines(known.findings, _FINDINGS)
        elif any(finding.check == CHECK for finding in known.findings):
            details.append("the next attempt reads:")
            details += refusal_lines(known.findings, _FINDINGS)
        return Cause(
            task.id,
            f"would run now: {reason}{self._read(task)}",
            details=tuple(details),
            next="runner",
        )

    def _in_progress(self, task: OutlineTask) -> Cause:
        if task.id == self.view.landing:
            text = "was landing when the last run ended: the next run finishes this landing first"
            return Cause(task.id, text, next="runner")
        attempt = self.view.states[task.id].open_attempt
        text = "is IN-PROGRESS"
        if attempt is not None:
            how = format_attempt(attempt.mode, attempt.implementer)
            text += (
                f": {name_attempt(attempt.attempt)} ({display(how)}) since {moment(attempt.time)}"
            )
        return Cause(task.id, text, next="runner log --follow")

    def _explain_done(self, task: OutlineTask) -> Cause:
        known = self.view.states[task.id]
        graded = self.view.grades[task.id]
        if not known.verified:
            why = self.view.remark(task)
            text = (
                f"is DONE{self._since(known)}, {graded.grade}{f': {display(why)}' if why else ''}"
            )
            return Cause(task.id, text + self._read(task))
        own = [proof for proof in known.proofs if not proof.is_of_another_task]
        ran = [proof for proof in own if proof.row is None and proof.verdict is not Verdict.SKIPPED]
        details = tuple(
            f"{display(one.id)}: {one.verdict}, exit {one.exit}, {one.seconds:.2f} s" for one in ran
        )
        landed = f" as {short(known.commit)}" if known.commit else ", with no changes"
        proven = f", {display(graded.words)}"
        text = f"is DONE{self._since(known)}{landed}{proven}{_note(self.view, task)}"
        return Cause(task.id, text + self._read(task), details=details)

    def _explain_blocked(self, task: OutlineTask) -> Cause:
        known = self.refresh(self.view.states[task.id])
        reason = f" ({known.reason})" if known.reason else ""
        details = refusal_lines(known.findings, _FINDINGS)
        in_vain = self.in_vain(task.id) if known.held is not None else ""
        step = next_step(known, self.view.state, self.task(task.id), in_vain=in_vain)
        if known.draft and known.draft not in f"{known.note}{step}":
            details.append(f"its work is saved on {display(known.draft)}")
        text = f"is BLOCKED{reason}{self._since(known)}{_note(self.view, task)}{self._read(task)}"
        return Cause(task.id, text, details=tuple(details), next=step)

    def _stale(self, asked: _Asked) -> Cause:
        task = asked.task
        known = self.view.states[task.id]
        details = []
        if known.changed:
            changed = (_CHANGED.get(one, one) for one in known.changed)
            details.append(f"changed: {', '.join(map(display, changed))}")
        if known.commit and evaluate_standing(known, task.spec) is not EvidenceState.NONE:
            details.append(f"it was DONE as {short(known.commit)}")
        text = f"is STALE{self._since(known)}{_note(self.view, task)}{self._read(task)}"
        if self._waits_through(known):
            via = display(known.via)
            details.append(
                f"once {via} is DONE with the same interface, {display(task.id)} is only re-tested"
            )
            behind = (self._behind(asked, known.via),)
            return Cause(task.id, text, behind, tuple(details))
        if not known.culprit:
            lacks = self.lacks(task.id)
            step = stale_step(task.id, nobody=lacks is not None and lacks[1].startswith(NOBODY))
            return Cause(task.id, text, details=tuple(details), next=step)
        if known.approved:
            details.append(f"approved: it is rebuilt on the change of {display(known.culprit)}")
        behind = (self._behind(asked, known.culprit),)
        return Cause(task.id, text, behind, details=tuple(details))

    def _waits_through(self, known: TaskState) -> bool:
        """Return whether a task is STALE only because of another task that is not DONE."""
        via = self.view.states.get(known.via)
        return via is not None and via.status is not Status.DONE

    # --- parts of a sentence ----------------------------------------------------------

    def _since(self, known: TaskState) -> str:
        time = self.when(known.cause) if known.cause else ""
        return f" since {moment(time)}" if time else ""

    def _read(self, task: OutlineTask) -> str:
        """Return a note if the journal does not have the task's state yet; else empty."""
        event = self.view.read_now.get(task.id)
        if event is None:
            return ""
        note = getattr(event, "note", "") or getattr(event, "summary", "")
        if not note or note == self.view.note(task):
            return " (not in the journal yet)"
        return f" (not in the journal yet: {display(note)})"


def _note(view: View, task: OutlineTask) -> str:
    note = view.note(task)
    return f": {display(note)}" if note else ""


def format_cause(cause: Cause, depth: int = 0) -> Iterator[str]:
    """Yield the chain as lines, each cause indented two columns below its effect."""
    before = "  " * depth
    yield f"{before}{display(cause.task)} {cause.text}"
    yield from (f"{before}    {line}" for line in cause.details)
    for behind in cause.behind:
        yield from format_cause(behind, depth + 1)


def explain_cause(cause: Cause) -> Iterator[str]:
    """Yield the causes for a person, then each action once with the tasks that it helps."""
    yield from format_cause(cause)
    by_advice: dict[str, list[str]] = {}
    for root in cause.roots:
        if root.next:
            by_advice.setdefault(root.next, []).append(root.task)
    if by_advice:
        yield ""
    for advice, tasks in by_advice.items():
        about = f"  ({', '.join(tasks)})" if tasks != [cause.task] else ""
        yield f"next: {advice}{about}"


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


def _inquiry(asked: OneTask) -> Inquiry:
    def find_section(id_: str) -> Task | None:
        return next((task for task in asked.plan.tasks if task.id == id_), None)

    def in_vain(id_: str) -> str:
        tasks, state = asked.plan.tasks, asked.view.state
        with read.Repository.open(asked.project.root) as repository:
            return waiting.explain_futile_approval(tasks, state, id_, repository)

    def refresh(known: TaskState) -> TaskState:
        with read.Repository.open(asked.project.root) as repository:
            return drafts.without_deleted(repository, known)

    return Inquiry(
        *(asked.view, _times(asked.project), _lacks(asked), find_section, in_vain, refresh)
    )


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
        return prepare_tasks.preparation_of(
            asked.project, asked.plan, asked.view.state
        ).find_missing(task)

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
    preparation = prepare_tasks.preparation_of(asked.project, asked.plan, asked.view.state)
    with read.Repository.open(asked.project.root) as repository:
        step = prepare_tasks.task_plans(preparation, repository).step(task, preparation.base())
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
