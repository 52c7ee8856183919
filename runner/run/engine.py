"""The coordinator: start ready tasks, receive messages, settle every outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.journal.events import GateCompleted, RunStuck, TaskBlocked
from runner.lazy_module import lazy_module
from runner.model import Reason, Status
from runner.run.frontier import Frontier
from runner.run.landing.status_writer import note_in
from runner.run.limits.timers import Timers
from runner.run.regressions.regression import find_approved_groups, victims_of
from runner.run.review_queue import Question, ReviewOutcome, release
from runner.run.selection import codes_of
from runner.run.worker_assignment import start_of
from runner.run.workers import Asking, Cancelling, Finished, Happened, Permitting, Scanning, Tracing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from runner.model import Outcome, Task
    from runner.plan.graph import TaskGraph
    from runner.run.journal_writer import JournalWriter
    from runner.run.landing.status_writer import StatusWriter
    from runner.run.limits.budget import Deadline
    from runner.run.outcome_recorder import Scans
    from runner.run.outcomes import OutcomeHandler
    from runner.run.preparation import Preparation
    from runner.run.regressions import group_build
    from runner.run.regressions.early_cutoff import EarlyCutoff
    from runner.run.resource_locks import ResourceLocks
    from runner.run.worker_assignment import Assignment
    from runner.run.workers import Message, WorkerPool
else:
    group_build = lazy_module("runner.run.regressions.group_build")


_TURN = 0.25
"""Seconds for settling tasks with a valid proof, before worker messages are read again."""


class Engine(Struct, dict=True):
    """One run over one reading of the plan. Only this object's thread writes anything."""

    tasks: Mapping[str, Task]
    selected: frozenset[str]
    weight: Mapping[str, float]
    journal: JournalWriter
    board: StatusWriter
    workers: WorkerPool
    claims: ResourceLocks
    preparation: Preparation
    settlement: OutcomeHandler
    scans: Scans
    head: Callable[[], str]
    at_home: Callable[[], bool] = lambda: True
    """Whether the run's start branch is checked out: else its plan is another one."""
    graph: TaskGraph | None = None
    cutting_off: EarlyCutoff | None = None
    """Releases tasks that are STALE only because of others."""
    edited: Callable[[Task], str] = lambda _task: ""
    """What a person changed in a task's plan section since the run began, as text."""
    fail_fast: bool = False
    run_until: Deadline | None = None
    """Deadline of the run's own minutes."""
    upkeep: Sequence[Callable[[], None]] = ()
    """Called after every settled outcome, for work such as deferred documents."""
    _halted: bool = False
    _outdated: set[str] = field(default_factory=set)

    def run(self) -> frozenset[ExitCode]:
        """Build until every selected task is DONE or needs your input; what stood in the way.

        KeyboardInterrupt ends what runs, keeps the books, and is raised again.
        """
        self.workers.permitter = self.settlement.questions.ask
        self.workers.batch_is_open = self.settlement.batch.is_open
        self._hours = Timers(self.workers, self.settlement)
        self._hours.begin(self.run_until)
        with self.journal.gather():
            try:
                self._build_groups()
                self._frontier = Frontier(
                    self.tasks,
                    {id_: self.journal.state.task(id_).status for id_ in self.tasks},
                    selected=self.selected,
                    weight=self.weight,
                    graph=self.graph,
                )
                self._loop()
            except (KeyboardInterrupt, RunnerError):
                self._interrupt()
                raise
            finally:
                self._publish(now=True)
        return self._codes()

    def _build_groups(self) -> None:
        """Build the groups that a person approved: a held change and the tasks that it breaks."""
        held = self.preparation.regressive
        for group in find_approved_groups(self.tasks, held, self.journal.state):
            pace = group_build.Pace(self._hours, lambda: self._hear(self._word()))
            lander = self.settlement.lander
            joint = group_build.GroupBuild(
                self.preparation, self.settlement, lander, self._work, pace
            )
            self._halted = not joint.build(group) or self._halted
            for task in group:
                self._say(task.id)
            self._keep_up()

    def _keep_up(self) -> None:
        for keep_up in self.upkeep:
            with self.journal.tolerate("could not update the documents of finished tasks"):
                keep_up()

    def _work(self, assignment: Assignment) -> Outcome:
        """Run one assignment to its end, while nothing else runs."""
        slot = self._note_started(assignment)
        self.journal.sync()
        self.workers.start(assignment, slot)
        while not isinstance(message := self._word(), Finished):
            self._hear(message)
        return message.result()

    def _word(self) -> Message | None:
        """Return the next message during a group build. Raises KeyboardInterrupt if interrupted."""
        self._publish()
        self.journal.sync()
        message = self._hours.wait(self.board.due_at)
        if self.workers.interrupted:
            raise KeyboardInterrupt
        return message

    def _loop(self) -> None:
        self._start_ready()
        context = self.settlement.context
        while (
            self.workers.working
            or context.is_open
            or (self._hours.backoff and not self._is_stopping())
        ):
            self._publish()
            self.journal.sync()
            if context.waiting:
                self._ask_first()
            else:
                self._wait_and_drain()
            if self.workers.interrupted:
                break
            self._start_ready()
        self._put_aside()
        if self.workers.interrupted:
            raise KeyboardInterrupt

    def _ask_first(self) -> None:
        """Ask a person about what waited longest; the run goes on until they answer."""
        task, came = self.settlement.ask_first(None if self.workers.inline else self._go_on)
        if came is ReviewOutcome.ENDED:
            self._finish(task)
        elif came is ReviewOutcome.PLANNED and self._is_pending(task.id):
            self._frontier.put(task.id)
        self._say(task.id)

    def _go_on(self) -> None:
        """Continue the run while a person decides; further questions wait."""
        self._drain_messages_without_prompt()
        self._start_ready()
        self._publish()
        self.journal.sync()

    def _drain_messages_without_prompt(self) -> None:
        while self.workers.has_news and not self.workers.interrupted:
            message = self._hours.wait()
            if not self.settlement.context.puts_off(message):
                self._hear(message)

    def _start_ready(self) -> None:
        """Fill the free slots, however many tasks need none since their proof stands."""
        for id_ in self._hours.take_due():
            if self._is_pending(id_):
                self._frontier.put(id_)
        if self.workers.has_free_slot and self.settlement.batch.is_due:
            self._run_batch()
        self._start_all()
        # Nobody else will land soon: what waits goes on at once.
        while not self.workers.working and self.settlement.batch.may_run and not self._is_ending():
            self._run_batch()
            self._start_all()

    def _start_all(self) -> None:
        while self._start_some():
            self._publish()
            self.journal.sync()
            self._drain_messages_without_prompt()

    def _run_batch(self) -> None:
        self.settlement.run_batch()
        self._end_others()

    def _start_some(self) -> bool:
        """Start attempts, each journaled before it begins; return whether others may wait."""
        started = []
        until = effects.monotonic() + _TURN
        while self.workers.has_free_slot and not self._is_ending() and effects.monotonic() < until:
            assignment = self._next()
            if assignment is None:
                break
            outcome = self.workers.stand(assignment)
            slot = self._note_started(assignment)
            if outcome is None:
                started.append((assignment, slot))
                continue
            self.workers.give_back(slot)  # no command starts, so nothing has to be durable yet
            self._hours.over(assignment.task)
            for proof in outcome.proofs:
                self.journal.note(GateCompleted(proof), task=outcome.task, attempt=outcome.attempt)
            self._settle(assignment.task, outcome)
        if started:
            self.journal.sync()
        for assignment, slot in started:
            self.workers.start(assignment, slot)
        return effects.monotonic() >= until

    def _next(self) -> Assignment | None:
        """Return the next assignment: a task to prove again, else the most urgent ready task."""
        again = self.settlement.next_again()
        while again is None:
            task = None if self._is_stopping() else self._frontier.take(self.claims.free_for)
            if task is None:
                return None
            again = self._begin(task)
        return again

    def _is_stopping(self) -> bool:
        """Return whether no new task may start."""
        return self._halted or bool(self._hours.used_up) or self._is_ending()

    def _is_ending(self) -> bool:
        """Return whether running work must stop, too."""
        return self.settlement.halted or self.workers.interrupted

    def _begin(self, task: Task) -> Assignment | None:
        """Prepare a task's next attempt; return None if it is outdated, blocked or has to wait."""
        if self._is_outdated(task):
            return None
        plans = self.preparation.plans
        if plans and task.id not in self.preparation.adopted and plans.would_ask(task):
            self.settlement.context.put(Question(task))
            return None
        missing = self.preparation.find_missing(task)
        if missing is not None:
            reason, note = missing
            self.journal.note(TaskBlocked(reason=reason, note=note), task=task.id, durable=True)
            self._say(task.id)
            self._halted = self._halted or self.fail_fast
            return None
        if not self._may_begin(task):
            self._say(task.id)
            return None
        self.claims.hold(task)
        return self.preparation.assignment(task)

    def _note_started(self, assignment: Assignment) -> int:
        """Record the start of an attempt, and return its slot."""
        task = assignment.task
        slot = self.workers.take_slot()
        if (switched := self.preparation.find_mode_switch(assignment)) is not None:
            self.journal.note(switched, task=task.id, attempt=assignment.attempt)
        event = start_of(assignment, slot)
        self.journal.note(event, task=task.id, attempt=assignment.attempt, durable=True)
        self._say(task.id)
        if assignment.implementer is not None:
            self._hours.start_attempt(task)
        return slot

    def _wait_and_drain(self) -> None:
        """Wait for news and hear all there is; after a landing, free slots are filled first."""
        later = self.settlement.context.later
        message = later.popleft() if later else self._hours.wait(self.board.due_at)
        while not self._hear(message) and self.workers.has_news:
            message = self._hours.wait()
            if self.workers.interrupted:
                return

    def _hear(self, message: Message | None) -> bool:
        """Handle a message; True if that may have taken long."""
        match message:
            case Happened(task, attempt, event):
                self.journal.note(event, task=task, attempt=attempt)
            case Scanning(task, attempt, scan):
                self.scans.add(task, attempt, scan)
            case Asking(outcome, answer):
                self.settlement.context.put(Question(self.tasks[outcome.task], outcome, answer))
            case Permitting(id_, attempt, question, permit):
                permit(self.workers.permitter(id_, attempt, question))
            case Tracing(assignment, outcome, answer_with):
                answer_with(self.workers.tracer(assignment, outcome))
            case Cancelling(id_) if id_ in self.tasks:
                self._cancel(self.tasks[id_])
            case Finished(id_, result):
                if self._is_awaited(outcome := result()):
                    self._settle(self.tasks[id_], outcome)
                    return bool(outcome.changes)
        return False

    def _cancel(self, task: Task) -> None:
        if self._hours.cancel(task):
            self._say(task.id)
        elif self.settlement.withdraw(task):
            self._finish(task)

    def _is_awaited(self, outcome: Outcome) -> bool:
        """Return whether an outcome belongs to the open attempt of its task."""
        there = self.journal.state.task(outcome.task).open_attempt
        return there is not None and (there.attempt, there.base) == (outcome.attempt, outcome.base)

    def _settle(self, task: Task, outcome: Outcome) -> None:
        self.claims.rest(task)
        if self.settlement.settle(task, outcome):
            self._end_others()
        else:
            self._finish(task)

    def _finish(self, task: Task) -> None:
        self._end(task)
        self._end_others()

    def _end_others(self) -> None:
        """End the tasks that landed, or failed, with another one."""
        for other in self.settlement.land_parked():
            self._end(other)

    def _end(self, task: Task) -> None:
        """Handle the end of a task's work, after which others may start."""
        self.claims.release(task)
        self._say(task.id)
        self._hours.check_budget()
        match self.journal.state.task(task.id).status:
            case Status.DONE:
                self._frontier.mark_done(task.id, self._is_pending)
                for id_ in self.cutting_off.after(task.id) if self.cutting_off else ():
                    self._say(id_)
                    if self._is_pending(id_):
                        self._frontier.put(id_)
            case Status.PENDING if not (self._is_outdated(task) or self._is_stopping()):
                if task.id not in self._hours.backoff:
                    self._frontier.put(task.id)
            case Status.BLOCKED:
                broke = self.journal.state.task(task.id).reason is Reason.REGRESSION
                self._halted = self._halted or self.fail_fast or broke
                for id_ in victims_of(task.id, self.journal.state) if broke else ():
                    self._say(id_)
                self._publish(now=True)  # a person is waited for: the plan says so at once
        self._keep_up()

    def _is_outdated(self, task: Task) -> bool:
        """Return whether the plan's text of a task changed; the next run then takes it."""
        if self.edited(task):
            self._outdated.add(task.id)
        return task.id in self._outdated

    def _may_begin(self, task: Task) -> bool:
        """Return whether a task may start by its task plan; adopted branches need none."""
        plans = self.preparation.plans
        return plans is None or task.id in self.preparation.adopted or plans.may_begin(task)

    def _is_pending(self, id_: str) -> bool:
        return self.journal.state.task(id_).status is Status.PENDING

    # --- the books --------------------------------------------------------------------

    def _say(self, id_: str) -> None:
        state = self.journal.state
        self.board.say(id_, state.task(id_).status, note_in(self.tasks, id_, state))

    def _publish(self, *, now: bool = False) -> None:
        if self.board.due(now=now) and self.at_home():
            self.journal.sync()
            self.board.publish(self.journal.note, head=self.head())

    def _put_aside(self) -> None:
        """Put aside the tasks that were to be proven again."""
        for id_ in self.settlement.put_aside():
            self._say(id_)

    def _interrupt(self) -> None:
        """Stop the workers, save their results and return their tasks."""
        self.workers.cancel()
        self._put_aside()
        # A worker waiting for an answer is released without one (`release`): else this never ends.
        later = self.settlement.context.later
        while later or self.workers.working:
            message = later.popleft() if later else self.workers.wait()
            if isinstance(message, Finished):
                self.settlement.settle_interrupted(self.tasks[message.task])
                self._say(message.task)
            elif not release(message):
                self._hear(message)
        for task in self.tasks.values():  # whose worker came back with what ends the run
            if self.journal.state.task(task.id).open_attempt:
                self.settlement.settle_interrupted(task)
                self._say(task.id)

    def _codes(self) -> frozenset[ExitCode]:
        """Return the exit codes for the states of the selected tasks."""
        plans, state = self.preparation.plans, self.journal.state
        only = plans is not None and plans.only
        codes, waiting = codes_of(self.selected, state, self._outdated, only_planned=only)
        codes |= self.settlement.codes
        if waiting:
            self.journal.note(RunStuck(waiting=tuple(waiting)))
            if self._hours.used_up:
                self.settlement.say(f"{self._hours.used_up}; the next run starts with a new budget")
                codes.add(ExitCode.STOPPED)
            codes = codes or {ExitCode.PERSON}
        return frozenset(codes)
