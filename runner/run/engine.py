"""The coordinator: starts what is ready, hears what happened, settles every outcome."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.journal.events import AttemptStarted, RunFinished, RunStarted, RunStuck, TaskBlocked
from runner.model import Reason, Status
from runner.run.crew import Asking, Finished, Happened, Scanning
from runner.run.frontier import Frontier
from runner.run.review import Answer, Ruling

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from runner.journal.events import StatusesPublished
    from runner.model import Outcome, Task
    from runner.run.board import Board
    from runner.run.claims import Claims
    from runner.run.crew import Crew, Message
    from runner.run.ledger import Ledger
    from runner.run.preparation import Preparation
    from runner.run.scans import Scans
    from runner.run.settlement import Settlement
    from runner.run.site import Assignment


@dataclass(slots=True)
class Engine:
    """One run over one reading of the plan. Only this object's thread writes anything."""

    tasks: Mapping[str, Task]
    selected: frozenset[str]
    weight: Mapping[str, float]
    ledger: Ledger
    board: Board
    crew: Crew
    claims: Claims
    preparation: Preparation
    settlement: Settlement
    scans: Scans
    head: Callable[[], str]
    at_home: Callable[[], bool] = lambda: True
    """Whether the branch that the run began on is checked out: else the plan there is not ours."""
    fail_fast: bool = False
    upkeep: Sequence[Callable[[], None]] = ()
    """Called after every settled outcome, such as writing documents that may wait."""
    _frontier: Frontier = field(init=False)
    _halted: bool = field(default=False, init=False)

    def run(self) -> frozenset[ExitCode]:
        """Build until every selected task is DONE or a person is needed; what stood in the way.

        KeyboardInterrupt ends what runs, keeps the books, and is raised again.
        """
        self._frontier = Frontier(
            self.tasks.values(),
            {id_: self.ledger.state.task(id_).status for id_ in self.tasks},
            selected=self.selected,
            weight=self.weight,
        )
        try:
            self._loop()
        except (KeyboardInterrupt, RunnerError):
            self._interrupt()
            raise
        finally:
            self._publish(now=True)
        return self._codes()

    def _loop(self) -> None:
        self._start_ready()
        while self.crew.working:
            self._publish()
            self._hear(self.crew.wait())
            if self.crew.interrupted:
                break
            self._start_ready()
        self._put_aside()
        if self.crew.interrupted:
            raise KeyboardInterrupt

    def _start_ready(self) -> None:
        """Fill the free slots: what is to be proven again, then longest remaining path first."""
        while self.crew.has_free_slot and not self._ending():
            again = self.settlement.next_again()
            if again is not None:
                self._start(again)
                continue
            task = None if self._halted else self._frontier.take(self.claims.free_for)
            if task is None:
                return
            self._begin(task)

    def _stopping(self) -> bool:
        """Whether nothing new may start."""
        return self._halted or self._ending()

    def _ending(self) -> bool:
        """Whether not even what is under way may go on."""
        return self.settlement.halted or self.crew.interrupted

    def _begin(self, task: Task) -> None:
        """Start a task, or block it at once where something it needs is missing."""
        missing = self.preparation.missing(task)
        if missing is not None:
            reason, note = missing
            self.ledger.note(TaskBlocked(reason=reason, note=note), task=task.id, durable=True)
            self._say(task.id)
            self._halted = self.fail_fast
            return
        self.claims.hold(task)
        self._start(self.preparation.assignment(task))

    def _start(self, assignment: Assignment) -> None:
        task = assignment.task
        self.ledger.note(
            AttemptStarted(
                base=assignment.base,
                implementer=assignment.implementer.name if assignment.implementer else "",
                spec=task.spec,
                patterns=tuple(pattern.id for pattern in assignment.brief.patterns),
                slot=self.crew.next_slot(),
                mode="build" if assignment.implementer else "prove",
            ),
            task=task.id,
            attempt=assignment.attempt,
            durable=True,
        )
        self._say(task.id)
        self.crew.start(assignment)

    def _hear(self, message: Message | None) -> None:
        match message:
            case Happened(task, attempt, event):
                self.ledger.note(event, task=task, attempt=attempt)
            case Scanning(task, attempt, scan):
                self.scans.add(task, attempt, scan)
            case Asking(outcome, answer):
                answer(self.settlement.ruling(self.tasks[outcome.task], outcome))
            case Finished(id_, result):
                self._settle(self.tasks[id_], result)

    def _settle(self, task: Task, result: Callable[[], Outcome]) -> None:
        again = self.settlement.settle(task, result())
        if again:
            return
        self.claims.release(task)
        self._say(task.id)
        match self.ledger.state.task(task.id).status:
            case Status.DONE:
                self._frontier.done(task.id, self._is_pending)
            case Status.PENDING if not self._stopping():
                self._frontier.put(task.id)
            case Status.BLOCKED:
                self._halted = self._halted or self.fail_fast
        for keep_up in self.upkeep:
            keep_up()

    def _is_pending(self, id_: str) -> bool:
        return self.ledger.state.task(id_).status is Status.PENDING

    # --- the books --------------------------------------------------------------------

    def _say(self, id_: str) -> None:
        known = self.ledger.state.task(id_)
        self.board.say(id_, known.status, known.note if known.status in NOTED else "")

    def _publish(self, *, now: bool = False) -> None:
        if self.board.due(now=now) and self.at_home():
            self.board.publish(self._note_published, head=self.head())

    def _note_published(self, event: StatusesPublished) -> None:
        self.ledger.note(event)

    def _put_aside(self) -> None:
        """Keep what would have been proven again, had the run gone on."""
        for id_ in self.settlement.put_aside():
            self._say(id_)

    def _interrupt(self) -> None:
        """End the workers, keep what they say, and put their tasks back."""
        self.crew.cancel()
        self._put_aside()
        while self.crew.working:
            message = self.crew.wait()
            if isinstance(message, Finished):
                self.settlement.interrupted(self.tasks[message.task])
                self._say(message.task)
            elif isinstance(message, Asking):
                message.answer(Ruling(Answer.WAITS))
            elif message is not None:
                self._hear(message)

    def _codes(self) -> frozenset[ExitCode]:
        """The exit codes that hold, from what every selected task came to."""
        codes = set(self.settlement.codes)
        waiting = []
        for id_ in self.selected:
            known = self.ledger.state.task(id_)
            match known.status:
                case Status.BLOCKED if known.reason in (Reason.CHECKS, Reason.STUCK):
                    codes.add(ExitCode.FAILED)
                case Status.BLOCKED | Status.STALE:
                    codes.add(ExitCode.PERSON)
                case Status.PENDING:
                    waiting.append(id_)
        if waiting:
            self.ledger.note(RunStuck(waiting=tuple(sorted(waiting))))
            codes = codes or {ExitCode.PERSON}
        return frozenset(codes)


NOTED = (Status.BLOCKED, Status.STALE)
"""Statuses whose note stands behind them in the plan."""


def begin(
    ledger: Ledger, *, head: str, branch: str, plan: str, settings: Mapping[str, str]
) -> None:
    """Say in the journal that a run begins."""
    import os

    ledger.note(
        RunStarted(head=head, branch=branch, plan=plan, pid=os.getpid(), settings=dict(settings)),
        durable=True,
    )


def finish(ledger: Ledger, *, exit_code: int, head: str, began: float, ids: Sequence[str]) -> None:
    """Say in the journal that the run ended, with how many tasks stand where."""
    counts: dict[str, int] = {}
    for id_ in ids:
        status = str(ledger.state.task(id_).status)
        counts[status] = counts.get(status, 0) + 1
    ledger.note(
        RunFinished(
            exit=exit_code,
            head=head,
            seconds=round(effects.monotonic() - began, 3),
            counts=counts,
        ),
        durable=True,
    )
