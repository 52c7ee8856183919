"""Who is right, file or journal: statuses of the plan, journal and commits read together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from runner.journal.events import (
    AttemptFinished,
    TaskAdopted,
    TaskApproved,
    TaskBlocked,
    TaskReopened,
    TaskStaled,
)
from runner.journal.task_state import TaskState
from runner.model import Ending, Reason, Spec, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from runner.journal.events import Event
    from runner.journal.state import RunState
    from runner.model import Proof


class Planned(Protocol):
    """What reconciling needs of a task: the plan's own tasks and its outline have it."""

    @property
    def id(self) -> str:
        """The task's id."""

    @property
    def status(self) -> Status:
        """The status in the file."""

    @property
    def note(self) -> str:
        """The note behind it."""

    @property
    def spec(self) -> Spec:
        """Both digests."""


@dataclass(frozen=True, slots=True)
class Landed:
    """What a commit's trailers say of the task it landed."""

    commit: str
    attempt: int
    spec: Spec | None
    proofs: tuple[Proof, ...] = ()
    """As far as the trailers carry them: the commands themselves they do not."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What git says, so far as it matters here."""

    descends: bool
    """Whether this head comes after the last landing: then what the journal published counts."""
    landed: Mapping[str, Landed]
    """The newest landing of each task that this head reaches; asked only where it matters."""
    gone: frozenset[str] = frozenset()
    """Tasks whose landing a later commit of this head took back (undo, replay)."""


def readings(
    tasks: Iterable[Planned], state: RunState, facts: Facts
) -> Iterator[tuple[str, int, Event]]:
    """The events that bring the journal's picture in line with the file: (task, attempt, event).

    Pure. Each reading says in words whose hand it saw. Nothing comes out where both agree.
    """
    for task in tasks:
        known = state.task(task.id)
        landed = facts.landed.get(task.id)
        for event in _read_one(task, known, facts):
            adopted = landed if isinstance(event, TaskAdopted) else None
            yield task.id, adopted.attempt if adopted else known.last_attempt, event


def _read_one(task: Planned, known: TaskState, facts: Facts) -> Iterator[Event]:
    if known.open_attempt is not None or known.status is Status.IN_PROGRESS:
        yield _interrupted("the run that began it has ended")
        known = _as_pending(known)
    if not facts.descends:
        yield from _on_another_branch(task, known, facts)
    elif task.status in (known.status, known.published or Status.PENDING):
        yield from _by_the_journal(task, known)
    else:
        yield from _by_a_persons_hand(task, known)


def _by_the_journal(task: Planned, known: TaskState) -> Iterator[Event]:
    """The person left the status alone; only what the task asks for may have changed."""
    if known.status is Status.DONE and known.spec is not None:
        yield from _against_spec(task, known.spec)
    elif known.status is Status.BLOCKED and known.tried not in (None, task.spec):
        yield TaskReopened(note="the task was edited since it was blocked", by="person")


def _against_spec(task: Planned, proven: Spec) -> Iterator[Event]:
    if proven.what != task.spec.what:
        yield TaskStaled(note="the task was edited since it was built", fields=("what",))
    elif proven.proof != task.spec.proof:
        yield TaskReopened(note="how it is proven was edited: proven again", by="proof")


def _by_a_persons_hand(task: Planned, known: TaskState) -> Iterator[Event]:
    match task.status:
        case Status.DONE:
            yield from _said_done(task, known)
        case Status.PENDING if known.status in (Status.STALE, Status.BLOCKED):
            yield TaskApproved(by="person", note=f"{known.status} was made PENDING in the plan")
        case Status.PENDING:
            yield TaskReopened(note="DONE was made PENDING in the plan", by="person")
        case Status.IN_PROGRESS:
            yield from _said_in_progress(task, known)
        case Status.BLOCKED:
            yield TaskBlocked(reason=Reason.REVIEW, note=task.note or "by a person")
        case Status.STALE:
            yield TaskStaled(note=task.note or "by a person", fields=())


def _said_done(task: Planned, known: TaskState) -> Iterator[Event]:
    if known.spec is None:
        yield TaskAdopted(
            spec=None,
            commit="",
            verified=False,
            source="person",
            note="DONE by a person's word, without evidence",
        )
    elif known.spec.what == task.spec.what:
        yield TaskAdopted(
            spec=known.spec,
            commit=known.commit,
            verified=known.verified,
            source="person",
            note="DONE again by a person's word; its evidence still fits",
        )
        yield from _against_spec(task, known.spec)
    else:
        yield TaskStaled(note="the task was edited since it was built", fields=("what",))


def _said_in_progress(task: Planned, known: TaskState) -> Iterator[Event]:
    """No run is alive, so nobody works on it; an old text that was saved again undoes no work."""
    if known.status is Status.DONE and known.spec is not None:
        yield from _against_spec(task, known.spec)
    elif known.status is not Status.PENDING:
        yield TaskReopened(note="IN-PROGRESS without a run that works on it", by="person")


def _on_another_branch(task: Planned, known: TaskState, facts: Facts) -> Iterator[Event]:
    """The journal is about other commits: the file and the trailers within reach count."""
    landed = facts.landed.get(task.id)
    match task.status:
        case Status.DONE | Status.IN_PROGRESS if landed is not None and landed.spec is not None:
            if known.status is not Status.DONE or known.commit != landed.commit:
                yield TaskAdopted(
                    spec=landed.spec,
                    commit=landed.commit,
                    verified=True,
                    source="trailers",
                    note="its commit is in this branch",
                    proofs=landed.proofs,
                )
            yield from _against_spec(task, landed.spec)
        case Status.DONE | Status.IN_PROGRESS if task.id in facts.gone:
            yield TaskReopened(note="what it built was taken back", by="branch")
        case Status.DONE | Status.IN_PROGRESS if known.status is Status.DONE and known.commit:
            yield TaskReopened(note="its commit is not in this branch", by="branch")
        case Status.DONE | Status.IN_PROGRESS if known.status is Status.DONE:
            yield from _by_the_journal(task, known)
        case Status.DONE:
            yield from _said_done(task, TaskState(id=task.id))
        case status if status is not known.status:
            yield from _by_a_persons_hand(task, known)


def _interrupted(note: str) -> AttemptFinished:
    return AttemptFinished(ending=Ending.INTERRUPTED, tree="", seconds=0.0, summary=note)


def _as_pending(known: TaskState) -> TaskState:
    return known._replace(open_attempt=None, status=Status.PENDING)
