"""Reconcile the plan's statuses, the journal and git's commits."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from runner.journal.events import (
    REJECTION,
    AttemptFinished,
    TaskAdopted,
    TaskApproved,
    TaskBlocked,
    TaskReopened,
    TaskStaled,
)
from runner.journal.session_events import TaskWaived
from runner.journal.task_state import TaskState
from runner.model import Ending, Reason, Spec, Status
from runner.run.dependents import UNKNOWN, find_reached
from runner.run.limits.failure_policy import was_tried_otherwise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from runner.journal.events import Event
    from runner.journal.state import RunState
    from runner.model import Proof
    from runner.model.task import PlannedTask


REWRITTEN = "its commit was rewritten and carries no trailers"
"""Note of a task whose work exists, but whose evidence only the journal has."""
_IN_THE_PLAN = "set by a person in the plan"


class LandedTask(Struct, frozen=True):
    """The facts in a commit's trailers about the task that it landed."""

    commit: str
    attempt: int
    spec: Spec | None
    proofs: tuple[Proof, ...] = ()
    """As far as trailers contain them: without the commands themselves."""
    unproven: str = ""
    """Why its commit has no proof, as recorded there."""
    verified: bool = True
    """Whether its commit can claim it; files are compared by their bytes later."""


class Presence(Enum):
    """The part of a commit's work that a head contains without reaching the commit."""

    STANDS = "its bytes, or those that landed on them later"
    EDITED = "other bytes, made of its own"
    GONE = "nothing that is known to be of it"


class Facts(Struct, frozen=True):
    """The facts from git that matter here."""

    descends: bool
    """Whether this head descends from the last landing: then the published statuses count."""
    landed: Mapping[str, LandedTask]
    """The newest landing of each task that this head reaches; asked only where it matters.

    Where it descends: of tasks that another clone landed since this journal's last run.
    """
    gone: frozenset[str] = frozenset()
    """Tasks whose landing a later commit of this head reverted (undo, replay)."""
    presence: Callable[[str, Sequence[str]], Presence] = lambda _commit, _outputs: Presence.GONE
    """What this head has of an unreachable commit; called only if needed."""
    fields_of: Callable[[PlannedTask, Spec], tuple[str, ...]] = lambda _task, _proven: UNKNOWN
    """Returns the fields of a task edited since it was built under these digests."""
    waivers: Mapping[str, TaskWaived] = field(default_factory=dict)
    """Waivers by task, in commits unknown to this journal."""
    is_older: Callable[[PlannedTask, str], bool] = lambda _task, _since: False
    """Whether commits had the file's status all along, since a commit or the last publish."""


class AffectedTask(NamedTuple):
    """A DONE task that an edit of another one reaches."""

    task: str
    attempt: int
    event: TaskStaled
    via: str
    """Next task on the path from the edit."""


def readings(
    tasks: Iterable[PlannedTask], state: RunState, facts: Facts
) -> Iterator[tuple[str, int, Event]]:
    """Yield (task, attempt, event) to bring the journal in line with the plan file.

    Pure. Each reading says in words whose hand it saw. Nothing comes out where both agree.
    """
    tasks = tuple(tasks)
    heard = tuple(own_readings(tasks, state, facts))
    yield from heard
    for one in behind(tasks, state, heard):
        yield one.task, one.attempt, one.event


def behind(
    tasks: Sequence[PlannedTask], state: RunState, heard: Iterable[tuple[str, int, Event]]
) -> Iterator[AffectedTask]:
    """Yield DONE tasks that become STALE because a task that they rely on was edited."""
    last = {id_: event for id_, _, event in heard}
    planned = {task.id: task for task in tasks}
    edited = [id_ for id_, event in last.items() if _is_edit(planned[id_], state.task(id_), event)]
    for id_, why in (find_reached(tasks, edited) if edited else {}).items():
        known, event = state.task(id_), last.get(id_)
        # A task adopted in this read counts as DONE, though the journal has no event of it yet.
        now = (TaskAdopted, TaskWaived)
        done = known.status is Status.DONE if event is None else isinstance(event, now)
        if done:
            how = "was edited" if why.via in edited else "is STALE"
            note = f"{why.via} {how}; this task {why.reason}"
            yield AffectedTask(id_, known.last_attempt, TaskStaled(note=note, via=why.via), why.via)


def _is_edit(task: PlannedTask, known: TaskState, event: Event) -> bool:
    """Return whether an event changes the request of a task after it was built."""
    if isinstance(event, TaskReopened) and known.spec is not None:
        return event.by == "person" and known.spec.what != task.spec.what
    return isinstance(event, TaskStaled) and bool(event.fields)


def own_readings(
    tasks: Iterable[PlannedTask], state: RunState, facts: Facts
) -> Iterator[tuple[str, int, Event]]:
    """Yield the events that follow from each task by itself."""
    for task in tasks:
        known, landed = state.task(task.id), facts.landed.get(task.id)
        # No work yet, like most tasks of a long plan.
        rests = facts.descends and task.status is known.status is Status.PENDING and not landed
        is_done = known.status is Status.DONE
        for event in () if rests and not known.open_attempt else _read_one(task, known, facts):
            is_done = isinstance(event, TaskAdopted)
            adopted = landed if is_done else None
            yield task.id, adopted.attempt if adopted else known.last_attempt, event
        if is_done and (waiver := facts.waivers.get(task.id)) and _is_news(waiver, task, known):
            yield task.id, known.last_attempt, waiver


def _is_news(waiver: TaskWaived, task: PlannedTask, known: TaskState) -> bool:
    had = known.waived
    before = had and (had.reason, had.what, had.files)
    return waiver.what == task.spec.what and before != (waiver.reason, waiver.what, waiver.files)


def _read_one(task: PlannedTask, known: TaskState, facts: Facts) -> Iterator[Event]:
    # No run is alive here, so the one that began it is gone; yielded first, so that all rules below
    # see a task at rest.
    if known.open_attempt is not None or known.status is Status.IN_PROGRESS:
        why = "the run that started it has ended"
        yield AttemptFinished(ending=Ending.INTERRUPTED, tree="", seconds=0.0, summary=why)
        known = replace(known, open_attempt=None, status=Status.PENDING)
    if not facts.descends or task.id in facts.landed:
        yield from _on_another_branch(task, known, facts)
    # Compares three states: the file, the journal, and what was last published to the file. The
    # file alone is ambiguous: DONE can be a person's edit or a run's status restored by `git
    # checkout`.
    elif task.status in (known.status, known.published or Status.PENDING) or (
        known.published is not None and facts.is_older(task, "")
    ):
        yield from _by_the_journal(task, known, facts)
    else:
        yield from _by_a_persons_hand(task, known, facts)


def _by_the_journal(task: PlannedTask, known: TaskState, facts: Facts) -> Iterator[Event]:
    """Yield events for an unchanged status, if the request of the task has changed."""
    if known.status is Status.DONE and known.spec is not None:
        yield from _against_spec(task, known.spec, facts)
    elif known.status is Status.STALE and _is_edit_reverted(task, known):
        yield from _settle_done(task, known, facts)
    elif known.status is Status.BLOCKED and was_tried_otherwise(known, task.spec):
        yield TaskReopened(note="the task was edited since it was blocked", by="person")


def _is_edit_reverted(task: PlannedTask, known: TaskState) -> bool:
    """Return whether a STALE task's text was changed back to what was built.

    A change that a person recorded stands, whatever the text says.
    """
    own = bool(known.changed) and not (known.via or known.culprit or known.approved)
    own = own and "change" not in known.changed
    return own and known.spec is not None and known.spec.what == task.spec.what


def _against_spec(task: PlannedTask, proven: Spec, facts: Facts) -> Iterator[Event]:
    if proven.what != task.spec.what:
        yield _make_edited(task, proven, facts)
    elif proven.proof != task.spec.proof:
        yield TaskReopened(note="its proof was edited: re-testing", by="proof")


def _make_edited(task: PlannedTask, proven: Spec, facts: Facts) -> TaskStaled:
    fields = facts.fields_of(task, proven)
    what = "" if fields == UNKNOWN else f": {', '.join(fields)}"
    return TaskStaled(note=f"the task was edited since it was built{what}", fields=fields)


def _by_a_persons_hand(task: PlannedTask, known: TaskState, facts: Facts) -> Iterator[Event]:
    match task.status:
        case Status.DONE:
            yield from _settle_done(task, known, facts)
        case Status.PENDING if known.status in (Status.STALE, Status.BLOCKED):
            yield TaskApproved(by="person", note=f"set from {known.status} to PENDING in the plan")
        case Status.PENDING:
            yield TaskReopened(note="set from DONE to PENDING in the plan", by="person")
        case Status.IN_PROGRESS:
            yield from _settle_in_progress(task, known, facts)
        case Status.BLOCKED:
            yield TaskBlocked(reason=Reason.REVIEW, note=task.note or _IN_THE_PLAN)
        case Status.STALE:
            yield TaskStaled(note=task.note or _IN_THE_PLAN, fields=())


def _settle_done(task: PlannedTask, known: TaskState, facts: Facts) -> Iterator[Event]:
    if known.spec is None:
        yield TaskAdopted(
            spec=None,
            commit="",
            verified=False,
            source="person",
            note="marked DONE in the plan, without evidence",
        )
    elif known.spec.what == task.spec.what:
        yield TaskAdopted(
            spec=known.spec,
            commit=known.commit,
            verified=known.verified,
            source="person",
            note="marked DONE again in the plan; its evidence is still valid",
        )
        yield from _against_spec(task, known.spec, facts)
    else:
        yield _make_edited(task, known.spec, facts)


def _settle_in_progress(task: PlannedTask, known: TaskState, facts: Facts) -> Iterator[Event]:
    """Yield the events for IN-PROGRESS in the plan without a run: an old text was saved again.

    It undoes no work, and answers nothing that waits for a person.
    """
    if known.status is Status.DONE and known.spec is not None:
        yield from _against_spec(task, known.spec, facts)
    elif known.status is Status.DONE:
        yield TaskReopened(note="IN-PROGRESS, but no run is working on it", by="person")
    else:
        yield from _by_the_journal(task, known, facts)


def _on_another_branch(task: PlannedTask, known: TaskState, facts: Facts) -> Iterator[Event]:
    """Yield events for another branch, from its plan file and reachable trailers."""
    landed = facts.landed.get(task.id)
    match task.status:
        case Status.DONE | Status.IN_PROGRESS if landed is not None and landed.spec is not None:
            yield from _by_its_trailers(task, known, landed, landed.spec, facts)
        case Status.DONE | Status.IN_PROGRESS if task.id in facts.gone:
            yield TaskReopened(note="what it built was reverted", by="branch")
        case Status.DONE | Status.IN_PROGRESS if known.status is Status.DONE and known.commit:
            yield from _find_events_off_branch(task, known, facts)
        case Status.DONE | Status.IN_PROGRESS if known.status is Status.DONE:
            yield from _by_the_journal(task, known, facts)
        case Status.DONE:
            yield from _settle_done(task, TaskState(id=task.id), facts)
        case Status.PENDING if known.status is Status.PENDING and landed is not None:
            yield from _not_as_known(task, known, facts)
        case status if status is not known.status:
            yield from _not_as_known(task, known, facts)


def _by_its_trailers(
    task: PlannedTask, known: TaskState, landed: LandedTask, spec: Spec, facts: Facts
) -> Iterator[Event]:
    """Yield the events for a task whose commit is on this branch."""
    if known.status is not Status.DONE or known.commit != landed.commit:
        yield TaskAdopted(
            spec=spec,
            commit=landed.commit,
            verified=landed.verified,
            source="trailers",
            note="its commit is in this branch",
            proofs=landed.proofs,
            unproven=landed.unproven,
        )
    yield from _against_spec(task, spec, facts)


def _not_as_known(task: PlannedTask, known: TaskState, facts: Facts) -> Iterator[Event]:
    """Yield events for a plan on another branch that differs from the journal.

    A rebase or a clone of what a killed run left has the landings, and the plan from before them.
    """
    landed = facts.landed.get(task.id)
    spec = landed.spec if landed is not None else None
    if landed is not None and spec is not None and known.status in _ITS_WORK_MAY_COUNT:
        # A rebase renames commits but keeps trailers: what they record of the same text counts,
        # whichever journal it came from.
        same = known.status is Status.DONE or spec.what == task.spec.what
        if same and facts.is_older(task, landed.commit):
            yield from _by_its_trailers(task, known, landed, spec, facts)
            return
    if task.status is known.status:
        return
    if known.published is None or not facts.is_older(task, ""):
        yield from _by_a_persons_hand(task, known, facts)
    elif known.status is not Status.DONE:
        yield from _by_the_journal(task, known, facts)
    elif known.commit:
        yield from _find_events_off_branch(task, known, facts)
    elif landed is not None and spec is not None:  # a check of it, which had nothing to land
        yield from _by_its_trailers(task, known, landed, spec, facts)
    else:  # a check that was made elsewhere
        yield TaskReopened(note="it was proven on another branch", by="branch")


_ITS_WORK_MAY_COUNT = (Status.DONE, Status.PENDING)
"""Journal statuses of a task whose landing on a branch counts: others wait for a person."""


def _find_events_off_branch(task: PlannedTask, known: TaskState, facts: Facts) -> Iterator[Event]:
    """Yield the events for a task whose commit is not on this branch."""
    match facts.presence(known.commit, task.outputs):
        case Presence.STANDS:
            # Once: else each run would adopt it again, and the journal grow by a record per task
            # and run.
            if known.note != REWRITTEN:
                yield TaskAdopted(
                    spec=known.spec,
                    commit=known.commit,
                    verified=known.verified,
                    source=REJECTION,
                    note=REWRITTEN,
                    proofs=tuple(known.proofs),
                )
            yield from _by_the_journal(task, known, facts)
        case Presence.EDITED:
            note = f"{REWRITTEN}, and its files were changed since"
            yield TaskAdopted(spec=None, commit="", verified=False, source="journal", note=note)
        case Presence.GONE:
            yield TaskReopened(note="its commit is not in this branch", by="branch")
