"""Who is right, file or journal: statuses of the plan, journal and commits read together."""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

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
from runner.lazy_dataclass import dataclass
from runner.model import Ending, Reason, Spec, Status
from runner.run.dependents import UNKNOWN, find_reached
from runner.run.limits.failure_policy import was_tried_otherwise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from runner.journal.events import Event
    from runner.journal.state import RunState
    from runner.model import Proof
    from runner.model.planned_task import PlannedTask


REWRITTEN = "its commit was rewritten and carries no trailers"
"""The note of a task whose work is there, and whose evidence the journal alone has."""


@dataclass(frozen=True, slots=True)
class LandedTask:
    """What a commit's trailers say of the task it landed."""

    commit: str
    attempt: int
    spec: Spec | None
    proofs: tuple[Proof, ...] = ()
    """As far as the trailers carry them: the commands themselves they do not."""
    unproven: str = ""
    """Why its commit says that nothing proves it."""
    verified: bool = True
    """Whether its commit can say so; files are compared by their bytes later."""


class Presence(Enum):
    """What a head has of the work of a commit that it does not reach."""

    STANDS = "its bytes, or those that landed on them later"
    EDITED = "other bytes, made of its own"
    GONE = "nothing that is known to be of it"


@dataclass(frozen=True, slots=True)
class Facts:
    """What git says, so far as it matters here."""

    descends: bool
    """Whether this head comes after the last landing: then what the journal published counts."""
    landed: Mapping[str, LandedTask]
    """The newest landing of each task that this head reaches; asked only where it matters.

    Where it descends: of tasks that another clone landed since this journal's last run.
    """
    gone: frozenset[str] = frozenset()
    """Tasks whose landing a later commit of this head took back (undo, replay)."""
    presence: Callable[[str, Sequence[str]], Presence] = lambda _commit, _outputs: Presence.GONE
    """What this head has of a commit out of its reach; asked only where it matters."""
    fields_of: Callable[[PlannedTask, Spec], tuple[str, ...]] = lambda _task, _proven: UNKNOWN
    """Which fields of a task were edited since it was built under these digests."""
    waivers: Mapping[str, TaskWaived] = field(default_factory=dict)
    """What commits that this journal does not know tell of waivers, by task."""
    is_older: Callable[[PlannedTask, str], bool] = lambda _task, _since: False
    """Whether the file's status is what the commits had all along, since one or the last note."""


class AffectedTask(NamedTuple):
    """A DONE task that an edit of another one reaches."""

    task: str
    attempt: int
    event: TaskStaled
    via: str
    """The task next to it on the way from the edit."""


def readings(
    tasks: Iterable[PlannedTask], state: RunState, facts: Facts
) -> Iterator[tuple[str, int, Event]]:
    """The events that bring the journal's picture in line with the file: (task, attempt, event).

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
    """DONE tasks that depend on an edited one, read its files or share its contracts: STALE."""
    last = {id_: event for id_, _, event in heard}
    planned = {task.id: task for task in tasks}
    edited = [id_ for id_, event in last.items() if _is_edit(planned[id_], state.task(id_), event)]
    for id_, why in (find_reached(tasks, edited) if edited else {}).items():
        known, event = state.task(id_), last.get(id_)
        # Adopted in this very reading counts as DONE, though the journal has no event of it yet.
        now = (TaskAdopted, TaskWaived)
        done = known.status is Status.DONE if event is None else isinstance(event, now)
        if done:
            how = "was edited" if why.via in edited else "is STALE"
            note = f"{why.via} {how}; this {why.reason}"
            yield AffectedTask(id_, known.last_attempt, TaskStaled(note=note, via=why.via), why.via)


def _is_edit(task: PlannedTask, known: TaskState, event: Event) -> bool:
    """Whether other work is asked for than what was built, approved at once or not."""
    if isinstance(event, TaskReopened) and known.spec is not None:
        return event.by == "person" and known.spec.what != task.spec.what
    return isinstance(event, TaskStaled) and bool(event.fields)


def own_readings(
    tasks: Iterable[PlannedTask], state: RunState, facts: Facts
) -> Iterator[tuple[str, int, Event]]:
    """What each task by itself says."""
    for task in tasks:
        known, landed = state.task(task.id), facts.landed.get(task.id)
        # Nothing was done yet, as of most tasks of a long plan.
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
    # No run is alive where this is asked, so whoever began it is gone; yielded first, so that all
    # rules below read a task at rest.
    if known.open_attempt is not None or known.status is Status.IN_PROGRESS:
        note = "the run that began it has ended"
        yield AttemptFinished(ending=Ending.INTERRUPTED, tree="", seconds=0.0, summary=note)
        known = known._replace(open_attempt=None, status=Status.PENDING)
    if not facts.descends or task.id in facts.landed:
        yield from _on_another_branch(task, known, facts)
    # Three texts are compared: the file, the journal, and what was last published into the file.
    # The file alone says nothing: DONE can be a person's word as well as what a run wrote before
    # `git checkout` brought it back.
    elif task.status in (known.status, known.published or Status.PENDING) or (
        known.published is not None and facts.is_older(task, "")
    ):
        yield from _by_the_journal(task, known, facts)
    else:
        yield from _by_a_persons_hand(task, known, facts)


def _by_the_journal(task: PlannedTask, known: TaskState, facts: Facts) -> Iterator[Event]:
    """The person left the status alone; only what the task asks for may have changed."""
    if known.status is Status.DONE and known.spec is not None:
        yield from _against_spec(task, known.spec, facts)
    elif known.status is Status.STALE and _is_taken_back(task, known):
        yield from _settle_done(task, known, facts)
    elif known.status is Status.BLOCKED and was_tried_otherwise(known, task.spec):
        yield TaskReopened(note="the task was edited since it was blocked", by="person")


def _is_taken_back(task: PlannedTask, known: TaskState) -> bool:
    """Whether a task is STALE by an edit of its own text alone, and asks again for what is there.

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
            yield TaskBlocked(reason=Reason.REVIEW, note=task.note or "by a person")
        case Status.STALE:
            yield TaskStaled(note=task.note or "by a person", fields=())


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
    """No run is alive, so nobody works on it: an old text that was saved again.

    It undoes no work, and answers nothing that waits for a person.
    """
    if known.status is Status.DONE and known.spec is not None:
        yield from _against_spec(task, known.spec, facts)
    elif known.status is Status.DONE:
        yield TaskReopened(note="IN-PROGRESS, but no run is working on it", by="person")
    else:
        yield from _by_the_journal(task, known, facts)


def _on_another_branch(task: PlannedTask, known: TaskState, facts: Facts) -> Iterator[Event]:
    """The journal is about other commits: the file and the trailers within reach count."""
    landed = facts.landed.get(task.id)
    match task.status:
        case Status.DONE | Status.IN_PROGRESS if landed is not None and landed.spec is not None:
            yield from _by_its_trailers(task, known, landed, landed.spec, facts)
        case Status.DONE | Status.IN_PROGRESS if task.id in facts.gone:
            yield TaskReopened(note="what it built was reverted", by="branch")
        case Status.DONE | Status.IN_PROGRESS if known.status is Status.DONE and known.commit:
            yield from _out_of_reach(task, known, facts)
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
    """Its commit is within reach: it is DONE, as far as it asks for the same."""
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
    """The file of another branch says something else than the journal: by a hand, or as ever.

    A rebase or a clone of what a killed run left has the landings, and the plan from before them.
    """
    landed = facts.landed.get(task.id)
    spec = landed.spec if landed is not None else None
    if landed is not None and spec is not None and known.status in _ITS_WORK_MAY_COUNT:
        # A rebase gives commits new names and leaves trailers alone: what they say of the same
        # text counts, whichever journal it came from.
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
        yield from _out_of_reach(task, known, facts)
    elif landed is not None and spec is not None:  # a check of it, which had nothing to land
        yield from _by_its_trailers(task, known, landed, spec, facts)
    else:  # a check that was made elsewhere
        yield TaskReopened(note="it was proven on another branch", by="branch")


_ITS_WORK_MAY_COUNT = (Status.DONE, Status.PENDING)
"""What the journal may say of a task whose landing a branch has: else a person is waited for."""


def _out_of_reach(task: PlannedTask, known: TaskState, facts: Facts) -> Iterator[Event]:
    """Another branch, or a history that was rewritten: then the work is there all the same."""
    match facts.presence(known.commit, task.outputs):
        case Presence.STANDS:
            # Once: else each run would adopt it anew, and the journal grow by a record a task and
            # run.
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
