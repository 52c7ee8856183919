"""The lane of plain checks: the coordinator itself starts these commands and waits for their exit.

A check whose command starts no other program ends in a few milliseconds; a thread would cost more.
So the coordinator starts it, goes on, and gets its exit as an event. A check that fails, leaves a
process, shows output or must be ended continues in the slot's thread as any attempt. Both ways
judge by the same code.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from selectors import EVENT_READ, DefaultSelector
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import RunnerError
from runner.gates import commands, contract_tests
from runner.gates.check_run import end_plain
from runner.gates.mtime_changes import TouchedFiles, files, find_touched, since
from runner.gates.registry import prove_all
from runner.implementers.base import Mode
from runner.journal.events import GateCompleted, GateStarted
from runner.lazy_dataclass import dataclass
from runner.model import Ending, Network, Outcome
from runner.plan.proofs import find_examples
from runner.plan.shell.exit_status import bypass_of
from runner.plan.shell.shell_commands import starts_no_program
from runner.process.base import Ran
from runner.process.platform import has_exit_descriptors
from runner.process.supervise import RunningCommand
from runner.repo.git import StoppedError
from runner.run.evaluate import conclude
from runner.run.proof.prove import make_gate_context, weigh_own
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.gates.base import Check, GateContext, Proved
    from runner.gates.mtime_changes import Listing, Seen
    from runner.model import Proof
    from runner.repo.tree_files import StatCache
    from runner.run.assignment import Assignment, WorkerContext

_RINGS = 4096
_MOST_FILES = 2_000
"""Files of a tree that are looked at again and again in the coordinator's thread."""


@dataclass(slots=True)
class PlainCheck:
    """An attempt at a check, as far as it is."""

    assignment: Assignment
    site: WorkerContext
    signed: StatCache
    """What the tree looked like when it began."""
    names: Listing
    context: GateContext
    outcome: Outcome
    checks: list[Check]
    """Those that have not ended; the first of them runs."""
    began: float
    report: Callable[[str, int, GateStarted | GateCompleted], None]
    """Tells the journal, from the thread that is at it."""
    known: dict[str, Proved] = field(default_factory=dict)
    course: RunningCommand | Ran | None = None
    _before: Seen = field(default=({}, 0.0))

    def start_first(self) -> RunningCommand | Ran:
        """Start the first of its commands, after saying so; how it ended where it did not start."""
        check = self.checks[0]
        self._tell_started(check)
        self._before = since(self.names)
        self.course = course = self.context.begin(check)
        return course

    def end_first(self, ran: Ran, *, waits: bool) -> bool:
        """Judge the command that ended; False where that may take long and nobody `waits`."""
        quiet = self.signed.holds
        if not (waits or (ran.passed and quiet)):
            self.course = ran
            return False
        check = self.checks.pop(0)
        done = TouchedFiles() if quiet else find_touched(self._before, self.context)
        ended = end_plain(check, ran, self.context, done)
        proved = contract_tests.prove(check, self.context, ended)
        self.known[check.id] = proved
        if proved.proof is not None:
            self._tell_completed(proved.proof)
        return True

    def conclude(self) -> Outcome:
        """What all of it comes to; what did not run yet runs now."""
        own = prove_all(
            self.context.task,
            self.site.settings,
            self.context,
            started=self._tell_started,
            completed=self._tell_completed,
            known=self.known,
        )
        own = weigh_own(own, self.context, self.site)
        outcome = conclude(self.assignment, self.site, self.outcome, own)
        ending = Ending.INTERRUPTED if self.context.cancelled.is_set() else outcome.ending
        return replace(outcome, ending=ending, seconds=round(effects.monotonic() - self.began, 3))

    def go_on(self, _assignment: Assignment, _site: WorkerContext) -> Outcome:
        """Bring it to its end, in a thread that may wait."""
        self.report = self.site.workers.report
        try:
            course = self.course or self.start_first()
            self.end_first(course if isinstance(course, Ran) else course.wait(), waits=True)
            return self.conclude()
        except StoppedError:
            return replace(self.outcome, ending=Ending.INTERRUPTED, tree="")

    def _tell_started(self, check: Check) -> None:
        self._tell(GateStarted(gate=check.id, command=redact(check.command)))

    def _tell_completed(self, proof: Proof) -> None:
        self._tell(GateCompleted(proof=proof))

    def _tell(self, event: GateStarted | GateCompleted) -> None:
        self.report(self.assignment.task.id, self.assignment.attempt, event)


class CheckLane:
    """The checks that run beside the workers; all but `ring` is for the coordinator's thread.

    `report` hears events, `finish` of a task that it is over, and how; `hand_over` gives a check
    to a thread.
    """

    def __init__(
        self,
        report: Callable[[str, int, GateStarted | GateCompleted], None],
        finish: Callable[[str, Callable[[], Outcome]], None],
        hand_over: Callable[[PlainCheck], None],
    ) -> None:
        self._report = report
        self._finish = finish
        self._hand_over = hand_over
        self._running: dict[int, PlainCheck] = {}
        """By the number of what is listened to."""
        self._files: dict[int, tuple[StatCache, Listing]] = {}
        self._selector = DefaultSelector()
        # A pipe among what is selected: since PEP 475 a signal does not end a select, so whoever
        # wants to be heard, a handler or a thread, writes a byte.
        self._bell, self._rope = os.pipe()
        os.set_blocking(self._bell, False)
        # Full means that it rings already; a handler that waited for room would wait for the very
        # thread that it interrupts.
        os.set_blocking(self._rope, False)
        self._selector.register(self._bell, EVENT_READ)

    @property
    def is_busy(self) -> bool:
        """Whether anything runs here."""
        return bool(self._running)

    def ring(self) -> None:
        """Called from any thread and by a signal's handler: there is something else to hear."""
        if self._running:
            with suppress(BlockingIOError):  # it has rung so often that it will be heard
                os.write(self._rope, b"!")

    def take(self, assignment: Assignment, site: WorkerContext) -> bool:
        """Start an assignment here; False where it is none of those that are quick."""
        if not is_plain(assignment, site):
            return False
        began, signed = effects.monotonic(), site.scratch.find_untouched(assignment.base)
        if signed is None or len(signed.rows) > _MOST_FILES:
            return False
        check = self._open(assignment, site, signed, began)
        if check is None:
            return False
        self._start(check)
        return True

    def hear(self, seconds: float | None) -> None:
        """Hear what is there, and wait at most so long for something."""
        due = [self._due_in(check) for check in self._running.values()]
        first = min((*due, *(() if seconds is None else (seconds,))), default=0.0)
        limit = max(0.0, first) if due or seconds is not None else None
        for key, _ in self._selector.select(limit):
            if key.fd == self._bell:
                os.read(self._bell, _RINGS)
            else:
                self._look(key.fd)
        for number, check in tuple(self._running.items()):
            if self._due_in(check) <= 0:
                self._let_go(number)
                self._hand_over(check)

    def hand_all_over(self) -> None:
        """Hand all that runs to threads, which end it on request."""
        for number, check in tuple(self._running.items()):
            self._let_go(number)
            self._hand_over(check)

    def close(self) -> None:
        """Let go of what was opened, once nobody is left who might ring; twice is fine."""
        if self._bell >= 0:
            self._selector.close()
            os.close(self._bell)
            os.close(self._rope)
            self._bell = -1

    # --- one of them ------------------------------------------------------------------

    def _open(
        self, assignment: Assignment, site: WorkerContext, signed: StatCache, began: float
    ) -> PlainCheck | None:
        """It with all it needs; None where a part of it passed before and need not run."""
        task, base, tree = assignment.task, assignment.base, site.scratch.base_tree()
        outcome = Outcome(task.id, assignment.attempt, Ending.FAILED, base, tree)
        context = make_gate_context(assignment, site, outcome)
        checks = list(contract_tests.checks(task, site.settings))
        if (memory := context.memory) is not None:
            memory.trees[base] = tree
            lines = (check.command for check in checks)
            if any(memory.has_passed(tree, line) for line in lines):
                return None
        names = self._names_in(site, signed, context)
        report = self._report
        return PlainCheck(assignment, site, signed, names, context, outcome, checks, began, report)

    def _names_in(self, site: WorkerContext, signed: StatCache, context: GateContext) -> Listing:
        """The files of a slot, listed once as long as nobody touches it."""
        known, names = self._files.get(site.number, (None, {}))
        if known is not signed:
            names = files(context)[0]
            self._files[site.number] = (signed, names)
        return names

    def _start(self, check: PlainCheck) -> None:
        task = check.assignment.task.id
        try:
            course = check.start_first()
        except RunnerError as error:
            self._finish(task, partial(_raise, error))
            return
        if isinstance(course, Ran):
            self._hand_over(check)
            return
        self._running[course.fileno()] = check
        self._selector.register(course.fileno(), EVENT_READ)

    def _let_go(self, number: int) -> None:
        self._selector.unregister(number)
        del self._running[number]

    def _due_in(self, check: PlainCheck) -> float:
        if check.context.cancelled.is_set() or not isinstance(check.course, RunningCommand):
            return 0.0
        return check.course.due_in()

    def _look(self, number: int) -> None:
        """Hear one of them, and settle it where that is quick."""
        check = self._running[number]
        task, course = check.assignment.task.id, check.course
        if not (isinstance(course, RunningCommand) and course.is_over):
            return
        self._let_go(number)  # while the descriptor is its own
        try:
            ran = course.end()
        except RunnerError as error:
            self._finish(task, partial(_raise, error))
            return
        if not check.end_first(ran, waits=False):
            self._hand_over(check)
        elif check.checks:
            self._start(check)
        else:
            outcome = check.conclude()
            self._finish(task, lambda: outcome)


def is_plain(assignment: Assignment, site: WorkerContext) -> bool:
    """Whether an attempt is a check of commands that start no program, and of nothing else."""
    task, settings = assignment.task, site.settings
    if not (assignment.is_check and assignment.base) or assignment.mode is Mode.PLAN:
        return False
    if assignment.held_out or assignment.is_partial or assignment.red_first or assignment.stands:
        return False
    if task.contracts or task.writes_anything or not task.test_contracts or find_examples(task):
        return False
    if settings.network_for(task.network) is Network.REGISTRIES or commands.checks(task, settings):
        return False
    if site.leases is not None and any(need.kind == "secret" for need in task.requires):
        return False  # who says it is asked first, and may take long
    lines = [contract_tests.as_command(one.command) for one in task.test_contracts]
    read = partial(site.before, assignment.base)
    return all(starts_no_program(line, read) and not bypass_of(line) for line in lines)


def opens_here() -> bool:
    """Whether this system tells of an exit by what can be waited for with all else."""
    return has_exit_descriptors()


def _raise(error: RunnerError) -> Outcome:
    raise error
