"""Record a person's approval or rejection durably before anything reacts to it."""

from __future__ import annotations

from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.app.answer import waiting
from runner.app.answer.answer_between_runs import answer_at_once, open_journal
from runner.app.answer.waiting import (
    DRAFT,
    PERMISSION,
    PLAN,
    Waiting,
    choose_waiting,
    find_plan,
    find_task,
    list_waiting,
    require_reusable,
)
from runner.app.answer.waiting_document import require_unmoved
from runner.errors import ExitCode, RunnerError
from runner.implementers.requirements import NEEDS_ROOT, needs_root
from runner.journal.events import (
    TaskAdopted,
    TaskApproved,
    WriteRejected,
    WriteReviewed,
)
from runner.journal.lock import RunLock
from runner.journal.session_events import PermissionAnswered, PlanReviewed
from runner.model import Reason
from runner.model.work import items_of
from runner.project import BUILD
from runner.repo.read import Repository
from runner.run.journal_writer import JournalWriter
from runner.run.landing.drafts import let_go
from runner.run.permission_prompts import approvals, needs_reason
from runner.run.planned.task_plans import MOST
from runner.run.regressions import regression
from runner.run.review import (
    WHOLE,
    follow_up_events,
    item_digest,
    open_questions,
    proposal_digest,
    rejection,
    was_refused,
)
from runner.run.waivers import why_no_person
from runner.text.display import display
from runner.text.wording import join_few
from runner.writes.staging import Staging

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runner.journal.events import Event
    from runner.journal.log import Journal
    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.model import Finding
    from runner.project import Project


class AnswerContext(Struct, frozen=True):
    """The pending items when a person began to answer."""

    project: Project
    repository: Repository
    state: RunState
    known: tuple[Waiting, ...]

    @property
    def waiting(self) -> tuple[Waiting, ...]:
        """Items that have no answer yet."""
        return tuple(one for one in self.known if not one.answered)

    def choose(self, typed: Sequence[str]) -> tuple[Waiting, ...]:
        """Return the waiting items of these names. Raises RunnerError if one is not waiting."""
        return choose_waiting(self.project, typed, self.known)


@contextmanager
def open_answers(project: Project) -> Iterator[AnswerContext]:
    """Open the waiting items for answers, and write the resulting statuses to the plan."""
    with Repository.open(project.root) as repository, answer_at_once(project, repository):
        state = project.state()
        yield AnswerContext(project, repository, state, list_waiting(project, repository, state))


# --- approving ------------------------------------------------------------------------


def approve(project: Project, asked: Approve, tell: Callable[[Answered], None]) -> Approved:
    """Approve the chosen items. Raises RunnerError for an item that cannot be approved this way."""
    with open_answers(project) as here:
        chosen = here.waiting if asked.every else here.choose(asked.named)
        chosen = resolve_targets(here, chosen, every=asked.every)
        require_unmoved(project, here.state, chosen, asked.seen)
        if asked.reuse:
            require_reusable(chosen)
        reason = project.without_secrets(asked.reason)
        for one in chosen:
            _require_reason(here, one, reason, asked.via)
        items = _answer_items(project, chosen, asked) if asked.met else []
        answered = []
        with open_journal(project, asked.via) as journal:
            for one in chosen:
                for event in [*items, *_approvals(here.state, one, reason, reuse=asked.reuse)]:
                    note_answer(journal, here.state.task(one.task), event)
                for event in _answer_culprit(here, one, reason):
                    note_answer(journal, here.state.task(one.culprit), event)
                answered.append(Answered(one.task, Became.APPROVED))
                tell(answered[-1])
        release_answered(project, here.waiting, asked.via)  # one answer may be for several
        after = project.state()
        held = tuple(
            HeldChange(
                culprit,
                waiting.find_missing_approvals(after, culprit),
                waiting.find_broken_tasks(after, culprit),
            )
            for culprit in dict.fromkeys(one.culprit for one in chosen if one.culprit)
        )
        return Approved(tuple(answered), held, any(not one.culprit for one in chosen))


def resolve_targets(
    here: AnswerContext, chosen: tuple[Waiting, ...], *, every: bool
) -> tuple[Waiting, ...]:
    """Return the items to approve. Raises RunnerError for a named item that cannot be approved."""
    if every:  # a held change lands by the approval of what it breaks
        chosen = tuple(one for one in chosen if one.kind not in ("regression", DRAFT))
        return tuple(one for one in chosen if not _is_futile(here, one))
    for one in chosen:
        if one.kind == "regression":
            raise waiting.refuse_approval(here.state, one.task, _describe_take_back(here, one.task))
        if why := _is_futile(here, one):
            raise RunnerError(
                f"approving {one.task} has no effect now: {why}",
                hint=f"runner review {one.culprit or one.task}",
                code=ExitCode.PERSON,
            )
    return chosen


def _is_futile(here: AnswerContext, one: Waiting) -> str:
    """Return why an approved task would be BLOCKED again immediately; empty if it would not."""
    if one.culprit:
        return _describe_take_back(here, one.culprit)
    if one.kind != "blocked":
        return ""
    known, task = here.state.task(one.task), find_task(here.project, one.task)
    if task and task.blocks and known.tried == task.spec and was_refused(known):
        return "you rejected these code blocks; edit them in the plan, or: runner adopt " + one.task
    if known.reason is not Reason.ROOT:
        return ""
    gates = here.project.settings.gates_for(task.type) if task else ()
    return f"it {NEEDS_ROOT}" if task and needs_root(task, gates) else ""


def _describe_take_back(here: AnswerContext, culprit: str) -> str:
    tasks = here.project.plan(here.project.plan_bytes).tasks
    return waiting.explain_futile_approval(tasks, here.state, culprit, here.repository)


def _require_reason(here: AnswerContext, one: Waiting, reason: str, via: str) -> None:
    """Raise RunnerError where held-out tests would be waived without a person and a reason."""
    concerned = filter(None, (one.task, one.culprit))
    asked = [found for id_ in concerned for found in open_questions(here.state.task(id_))]
    if not needs_reason(asked):
        return
    if not via and (why := why_no_person(here.project.environ)):
        hint = "approve it at a terminal or on the page"
        message = f"only a person may waive held-out tests: {why.text}"
        raise RunnerError(message, hint=hint, code=ExitCode.PERSON)
    if not reason:
        message = f"{one.task} failed its held-out tests: an approval needs a reason"
        raise RunnerError(message, hint=f'runner approve {one.task} --reason "…"')


def _answer_items(project: Project, chosen: Sequence[Waiting], asked: Approve) -> list[Event]:
    """Return events that record acceptance items of one task as met by a person.

    Raises RunnerError for other tasks, for items that are not in the plan, and without a person.
    """
    if len(chosen) != 1 or not chosen[0].changes:
        hint = "name one task with work to review: runner approve TASK-001 --met A1,A2"
        raise RunnerError("acceptance items are answered one task at a time", hint=hint)
    (one,) = chosen
    if not asked.via and (why := why_no_person(project.environ)):
        message = f"only a person may answer acceptance items: {why.text}"
        raise RunnerError(message, hint=f"omit --met: runner approve {one.task}")
    task = find_task(project, one.task)
    items = items_of(task) if task else {}
    named = list(items) if asked.met == ("all",) else asked.met
    unknown = [item for item in named if item not in items]
    if unknown or not items:
        message = f"{one.task} has no acceptance item {', '.join(map(display, unknown))}".rstrip()
        raise RunnerError(message, hint=f"it has {', '.join(items) or 'no item IDs: omit --met'}")
    whole = proposal_digest(one.changes)
    digests = [item_digest(item, items[item]) for item in named]
    return [WriteReviewed(WHOLE, digest, whole, "applied", "person") for digest in digests]


def _approvals(state: RunState, one: Waiting, reason: str, *, reuse: bool) -> list[Event]:
    known = state.task(one.task)
    if one.kind == PLAN:
        digest = find_plan(state, one.task).digest
        return [PlanReviewed(digest, approved=True, review="applied", by="person")]
    if one.kind == PERMISSION:
        return _permission_answers(known, allowed=True)
    if one.changes:
        go_on = [let_go_on(known, one)] if one.culprit else []
        return [*_approve_writes(one, open_questions(known), reason), *go_on]
    return [let_go_on(known, one, reuse=reuse)]


def _approve_writes(one: Waiting, asked: Sequence[Finding], reason: str) -> list[Event]:
    """Return events that approve all questions about a proposal and each of its files."""
    return [
        *approvals(one.changes, asked, reason),
        *(
            WriteReviewed(change.path, change.before, change.after, "applied", "person")
            for change in one.changes
        ),
    ]


def _answer_culprit(here: AnswerContext, one: Waiting, reason: str) -> list[Event]:
    """Return events that approve the open questions of the held change that broke the task."""
    asked = open_questions(here.state.task(one.culprit)) if one.culprit else ()
    held = (each for each in here.waiting if each.task == one.culprit and each.kind == "regression")
    return [event for each in held if asked for event in _approve_writes(each, asked, reason)]


def _permission_answers(known: TaskState, *, allowed: bool, reason: str = "") -> list[Event]:
    """Return one permission answer (allow or deny) for each pending call of a task."""
    return [
        PermissionAnswered(one.tool, one.subject, allowed, reason, by="person")
        for one in known.asks
    ]


def let_go_on(
    known: TaskState, one: Waiting, *, reuse: bool = False, by: str = "person"
) -> TaskApproved:
    """Return the event that approves a task to run again, or on the change that broke it."""
    how = ": re-test only" if reuse else ""
    on = f" on the change of {one.culprit}" if one.culprit else ""
    note = f"{known.status} was approved{on}{how}"
    return TaskApproved(by=by, note=note, reuse=reuse)


# --- rejecting ------------------------------------------------------------------------


def reject(
    project: Project,
    asked: Reject,
    tell: Callable[[Answered], None],
    ask_reason: Callable[[], str] = str,
) -> tuple[Answered, ...]:
    """Refuse what was chosen. Raises RunnerError without a reason, or with nothing to refuse."""
    with open_answers(project) as here:
        named = here.choose(asked.named)
        require_unmoved(project, here.state, named, asked.seen)
        chosen = _culprits_first(named, here.waiting)
        reason = project.without_secrets(asked.reason or ask_reason())
        if not reason:
            raise RunnerError(
                "a rejection needs a reason", hint="add --reason TEXT; the next attempt reads it"
            )
        for one in chosen:
            if one.kind == "blocked":
                raise RunnerError(
                    f"{one.task} has no writes to reject",
                    hint=f"runner why {one.task}; to retry it: runner retry {one.task}",
                )
        answered = []
        with open_journal(project, asked.via) as journal:
            for one in chosen:
                answered.append(_reject(here, journal, one, reason))
                tell(answered[-1])
        release_answered(project, chosen, asked.via)
        return tuple(answered)


def _culprits_first(
    chosen: tuple[Waiting, ...], waiting: tuple[Waiting, ...]
) -> tuple[Waiting, ...]:
    """Replace each task that a held change breaks by the held change itself."""
    held = {one.task: one for one in waiting if one.kind == "regression"}
    meant = (one if one.changes else held.get(one.culprit, one) for one in chosen)
    return tuple(dict.fromkeys(meant))


def _reject(here: AnswerContext, journal: Journal, one: Waiting, reason: str) -> Answered:
    known = here.state.task(one.task)
    if one.kind == PLAN:
        digest = find_plan(here.state, one.task).digest
        note_answer(
            journal, known, PlanReviewed(digest, approved=False, reason=reason, by="person")
        )
        refused = known.plans_refused + 1
        became = Became.OUT_OF_PLANS if refused > MOST else Became.PLANNED_AGAIN
        return Answered(one.task, became, plans_refused=refused)
    if one.kind == PERMISSION:
        for answer in _permission_answers(known, allowed=False, reason=reason):
            note_answer(journal, known, answer)
        return Answered(one.task, Became.DENIED)
    if one.kind == "regression":
        return _drop(here, journal, one, reason)
    if one.kind == "stale":
        note_answer(journal, known, _stands(here.project, known, reason))
        return Answered(one.task, Became.STANDS)
    event = WriteRejected(WHOLE, None, proposal_digest(one.changes), reason, "person")
    note_answer(journal, known, event)
    return Answered(one.task, Became.REJECTED)


def _drop(here: AnswerContext, journal: Journal, one: Waiting, reason: str) -> Answered:
    """Drop a held change, and have the tasks that it breaks DONE again.

    A person's no is durable before anything follows from it; what a crash leaves undone, and all
    of it while a run is going on, the next run does.
    """
    state = here.project.state()
    known = state.task(one.task)
    stale = regression.victims_of(one.task, state)
    victims = tuple(id_ for id_ in waiting.find_broken_tasks(state, one.task) if id_ in stale)
    writer = JournalWriter(journal, state)
    rejected = WriteRejected(WHOLE, None, proposal_digest(one.changes), reason, "person")
    writer.note(rejected, task=one.task, attempt=known.last_attempt, durable=True)
    if RunLock(here.project.root / BUILD).holder() is not None:
        return Answered(one.task, Became.DROPPED_LATER)
    staging = Staging(here.project.root)

    def forget(task: str) -> None:
        let_go(here.repository, task)
        staging.remove(staging.list(task))

    regression.drop(one.task, (rejection(rejected),), writer, forget)
    return Answered(one.task, Became.DROPPED, draft=known.draft, done_again=victims)


def _stands(project: Project, known: TaskState, reason: str) -> TaskAdopted:
    """Return the event that rejects a change: the existing build is DONE for the current task.

    Raises RunnerError for a task that a held change breaks: then that change is to be refused.
    """
    if known.culprit:
        raise RunnerError(
            f"{known.id} is STALE: {known.culprit} waits, and its change breaks this task",
            hint=f"runner reject {known.culprit} --reason …",
        )
    task = find_task(project, known.id)
    spec = task.spec if task else known.spec
    return TaskAdopted(
        spec=spec,
        commit=known.commit,
        verified=known.verified and spec == known.spec,
        source="person",
        note=f"existing build kept: {reason}",
        proofs=tuple(known.proofs),
    )


# --- the journal ----------------------------------------------------------------------


def release_answered(project: Project, chosen: Sequence[Waiting], via: str) -> None:
    """Release the tasks whose held writes all have an answer."""
    written = [one for one in chosen if one.kind == "writes"]
    if not written:
        return
    state = project.state()
    with open_journal(project, via) as journal:
        for one in written:
            for event in follow_up_events(state, one.task, one.changes):
                note_answer(journal, state.task(one.task), event)


def note_answer(journal: Journal, known: TaskState, event: Event) -> None:
    """Write down one answer about a task; durable once this returns."""
    journal.append(event, task=known.id, attempt=known.last_attempt, durable=True)


class Became(StrEnum):
    """The effect of a person's answer on one pending item."""

    APPROVED = "approved"
    REJECTED = "rejected"
    DROPPED = "dropped"
    """A held change that breaks other tasks was dropped: those tasks are DONE again."""
    DROPPED_LATER = "dropped-later"
    """As DROPPED, but a run is in progress: the next run drops the change."""
    PLANNED_AGAIN = "planned-again"
    OUT_OF_PLANS = "out-of-plans"
    """The limit of rejected plans is reached: the next run blocks the task."""
    DENIED = "denied"
    """The task continues without the calls that it requested."""
    STANDS = "stands"
    """The existing result counts as DONE for the task as it is now written."""
    EDITED = "edited"
    PLAN_EDITED = "plan-edited"
    UNCHANGED = "unchanged"


class Answered(Struct, frozen=True):
    """One answer that is in the journal."""

    task: str
    became: Became
    plans_refused: int = 0
    draft: str = ""
    """Branch with the work of a dropped change."""
    done_again: tuple[str, ...] = ()


class HeldChange(Struct, frozen=True):
    """A held change after an approval of something that it breaks."""

    culprit: str
    missing: tuple[str, ...]
    """Approvals that are still missing before the change lands."""
    victims: tuple[str, ...]


class Approved(Struct, frozen=True):
    """The result of an approval."""

    answered: tuple[Answered, ...]
    held: tuple[HeldChange, ...]
    """Held changes on which the approved work is rebuilt."""
    is_next_run: bool
    """Whether the next run continues automatically."""


class Approve(Struct, frozen=True):
    """The items to approve: by number in the list or by id, or all of them."""

    named: tuple[str, ...] = ()
    every: bool = False
    reuse: bool = False
    """For a STALE task: only re-test the existing code, call no implementer."""
    seen: str = ""
    """Digest of what the person saw: no other state is answered; empty: no check."""
    reason: str = ""
    """Why failed held-out tests are waived; nothing else needs a reason."""
    met: tuple[str, ...] = ()
    """Acceptance items of the single task that the person checked; `all` means every item."""
    via: str = ""
    """Origin of the answer: `page`; empty for a terminal."""


class Reject(Struct, frozen=True):
    """The items to reject, and the reason; without one the person is asked for it."""

    named: tuple[str, ...]
    reason: str = ""
    seen: str = ""
    """Digest of what the person saw, as in `Approve`."""
    via: str = ""


def describe_answer(one: Answered) -> str:
    """Return one answer as a sentence."""
    name, refused = display(one.task), one.plans_refused
    kept = f"; its work is saved on {display(one.draft)}" if one.draft else ""
    verb = "is" if len(one.done_again) == 1 else "are"
    again = ", ".join(map(display, one.done_again))
    return {
        Became.APPROVED: f"{name} approved",
        Became.REJECTED: f"{name} rejected",
        Became.DROPPED: f"{name} rejected{kept}"
        + (f"; {again} {verb} DONE again" if again else ""),
        Became.DROPPED_LATER: f"{name} rejected; the next run drops its work, this run keeps it",
        Became.PLANNED_AGAIN: f"the plan of {name} was rejected: the next run makes a new one",
        Became.OUT_OF_PLANS: f"{refused} plans of {name} were rejected: the task becomes BLOCKED",
        Became.DENIED: f"{name}: permission denied; the agent continues without it",
        Became.STANDS: f"{name} is DONE: its existing build is kept",
        Became.EDITED: f"{name} edited; next: runner",
        Became.PLAN_EDITED: f"the plan of {name} is edited and approved; next: runner",
        Became.UNCHANGED: f"{name} unchanged",
    }[one.became]


def describe_held(one: HeldChange) -> str:
    """Describe what happens to a held change after one of the tasks it breaks is approved."""
    name, missing = display(one.culprit), [display(id_) for id_ in one.missing]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        return (
            f"{name} lands once {join_few(missing)} {verb} approved as well: "
            f"runner approve {' '.join(missing)}"
        )
    victims = join_few([display(id_) for id_ in one.victims])
    return f"next: runner    ({victims} rebuilt on the change of {name}; they land together)"
