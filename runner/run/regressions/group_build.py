"""Build a held change and the tasks that it breaks, and land all or none in one step.

Approved by a person: the culprit's recorded bytes come first, then each victim is implemented
anew on them, in scratch. A chain of commits beside the branch reaches it by one swap, after the
last proof has passed, so the tree is never red.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.model import Ending, Finding, Reason, Status, digest_of
from runner.run.landing.lander import Landed, Moved, changes_between
from runner.run.landing.moved_branch import put_back
from runner.run.limits.retries import CANCELLED
from runner.run.regressions import regression
from runner.run.review import HELD, Answer
from runner.writes.log import Fate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runner.model import Change, Outcome, Task
    from runner.run.landing.lander import Lander, Link
    from runner.run.limits.timers import Timers
    from runner.run.outcomes import OutcomeHandler
    from runner.run.preparation import Preparation
    from runner.run.worker_assignment import Assignment


class Pace(Struct, frozen=True):
    """The coordinator's clock, and its ear while nobody works."""

    hours: Timers
    hear: Callable[[], object]
    """Waits for the next message or timer, and handles it."""

    def rest(self, id_: str, seconds: float) -> str:
        """Wait for a pause, and return why the task must stop then; empty if it continues."""
        backoff = self.hours.backoff
        if seconds > 0:
            backoff.put(id_, effects.monotonic() + seconds)
        while id_ in backoff and not self.hours.used_up:
            if id_ in self.hours.take_due():
                break
            self.hear()
            if id_ not in backoff:
                return CANCELLED
        backoff.drop(id_)
        return self.hours.used_up


_ROUNDS = 3
"""How often a group starts again because the branch moved."""
_AGAIN = "fix the task, then approve it again"


class AssignmentWork(Protocol):
    """Has one assignment worked on to its end; the engine's part."""

    def __call__(self, assignment: Assignment) -> Outcome:
        """Return the outcome of the assignment."""


class GroupBuild(Struct):
    """Builds groups, one at a time, while nothing else runs."""

    preparation: Preparation
    settlement: OutcomeHandler
    lander: Lander
    work: AssignmentWork
    pace: Pace

    def build(self, group: Sequence[Task]) -> bool:
        """Build a culprit and its victims and land them; False when they wait again."""
        findings = tuple(self.settlement.journal.state.task(group[0].id).findings)
        try:
            return self._build(group, findings)
        except (KeyboardInterrupt, RunnerError):
            self._break_off(group, findings)
            raise

    def _build(self, group: Sequence[Task], findings: tuple[Finding, ...]) -> bool:
        chain: list[Link] = []
        for _ in range(_ROUNDS):
            chain = self._chain(group, findings)
            if not chain:
                return False
            if edited := self._find_edited(group):  # a person asks for something else by now
                return self._put_back(group[0], chain, findings, edited)
            match self.lander.land_chain(chain):
                case Landed() as landed:
                    self._finish(chain, landed)
                    return True
                case Moved():
                    self._drop_writes(chain)
                case refused:
                    self._wait(group[0], chain, findings, f"{_words(refused)}: {_AGAIN}")
                    self.settlement.codes.add(ExitCode.CONFLICT)
                    return False
        moved = "new commits kept reaching the branch: approve the task again"
        self._wait(group[0], chain, findings, moved)
        return False

    def _chain(self, group: Sequence[Task], findings: tuple[Finding, ...]) -> list[Link]:
        """Build each member on the previous one; return no links if one fails."""
        base = self.preparation.base()
        links: list[Link] = []
        for position, task in enumerate(group):
            outcome, how, why = self._member(group, position, base)
            if outcome.ending is Ending.PASSED:
                links.append(self.lander.link(task, outcome, base, how))
                base = links[-1].commit
                if self._find_edited(group):
                    return links
            elif not position:
                self._culprit_failed(task, outcome, findings)
                return []
            elif outcome.ending is Ending.WAITS:
                asks = f"{task.id} waits for your review: runner review {task.id}"
                self._wait(group[0], links, findings, f"{asks}, and approve it")
                return []
            else:
                failed = f"could not be built on this change{f' ({why})' if why else ''}"
                note = f"{task.id} {failed}: {_AGAIN}"
                self._wait(group[0], links, findings, note)
                return []
        return links

    def _member(self, group: Sequence[Task], position: int, base: str) -> tuple[Outcome, str, str]:
        """Work on one member until it passes or no further attempt is possible.

        Gives the outcome, how it was approved, and what ended it where no check did.
        """
        books, task, held = self.settlement.books, group[position], not position
        first = True
        while True:
            assignment = replace(
                self._assignment(task, base, held=held, first=first),
                unproven=frozenset(one.id for one in group[position + 1 :]),
                beneath=frozenset(one.id for one in group[:position]),
                taken_back=self._take_back(base) if position else (),
            )
            first = False
            outcome, why = self.settlement.in_time(task, self.work(assignment))
            context = self.settlement.context
            asked = context.apply_answers if held else context.settle_questions
            outcome = asked(task, outcome)
            if outcome.ending is Ending.PASSED:
                ruling = context.rule(task, outcome)
                if ruling.answer is Answer.APPROVED:
                    books.record_finished(task, outcome)
                    books.record_approved(task, outcome, ruling.how)
                    return outcome, ruling.how, ""
                if ruling.answer is Answer.WAITS and not held:
                    return self._kept(task, outcome)
                waits = Ending.WAITS if ruling.answer is Answer.WAITS else Ending.FAILED
                outcome = replace(outcome, ending=waits, findings=ruling.findings)
            edited = bool(self.settlement.edited(task))
            if outcome.ending is Ending.WAITS and not (held or edited):
                return self._kept(task, outcome)
            books.record_finished(task, outcome)
            if held or edited or outcome.ending is not Ending.FAILED:
                return outcome, "", why
            pause = self.settlement.retries.pause(task, outcome)
            if pause is None:
                return outcome, "", why
            if why := self.pace.rest(task.id, pause):
                return outcome, "", why

    def _kept(self, task: Task, outcome: Outcome) -> tuple[Outcome, str, str]:
        """Hold work that a person has to review first, for the next build."""
        kept = self.settlement.books.keep_held(task, outcome, HELD)
        return replace(outcome, ending=Ending.WAITS if kept else Ending.FAILED), "", ""

    def _assignment(self, task: Task, base: str, *, held: bool, first: bool) -> Assignment:
        known = self.settlement.journal.state.task(task.id)
        changes = self.preparation.held.get(task.id, ()) if first else ()
        if held or (changes and self._fits(changes, base)):
            changes = self.preparation.regressive[task.id] if held else changes
            return self.preparation.make_carried(task, changes, base, known.last_attempt + 1)
        self.preparation.held.pop(task.id, None)
        return replace(self.preparation.assignment(task), base=base)

    def _take_back(self, base: str) -> tuple[Change, ...]:
        """Return the changes from the tree with the earlier members back to the branch."""
        return changes_between(self.lander.repository, base, self.preparation.base())

    def _fits(self, changes: Sequence[Change], base: str) -> bool:
        """Return whether the files that the changes are based on are unmodified."""
        blob = self.lander.repository.blob
        found = ((one.before, blob(base, one.path)) for one in changes)
        return all(was == (None if now is None else digest_of(now)) for was, now in found)

    def _culprit_failed(self, task: Task, outcome: Outcome, findings: tuple[Finding, ...]) -> None:
        """Handle a held change that breaks more than was approved, or does not pass itself."""
        books = self.settlement.books
        if outcome.ending is Ending.INTERRUPTED:  # a person cancelled it: it waits as it did
            regression.hold_again(task.id, findings, books.journal)
            self.settlement.codes.add(ExitCode.REGRESSION)
            return
        if regression.victims(outcome.findings):
            known = books.journal.state.task(task.id)
            every = (*findings, *(one for one in outcome.findings if one.refuses))
            regression.hold_back(task, replace(outcome, findings=every), books, known.draft)
            self.settlement.codes.add(ExitCode.REGRESSION)
            return
        books.block(task, outcome, Reason.CHECKS, "the held change no longer passes its proof")
        regression.give_back(task.id, books.journal, books.let_go)

    def _find_edited(self, group: Sequence[Task]) -> tuple[Task, str] | None:
        """Return the first member whose section was edited during the run, and how, or None."""
        words = ((task, self.settlement.edited(task)) for task in group)
        return next((one for one in words if one[1]), None)

    def _put_back(
        self,
        culprit: Task,
        chain: Sequence[Link],
        findings: tuple[Finding, ...],
        edited: tuple[Task, str],
    ) -> bool:
        """Discard work on an edited task: it becomes a draft, and approvals are void.

        An edited change is given up, and what it broke is DONE again: the run goes on. With an
        edited victim the change waits, as it did before.
        """
        books, (task, how) = self.settlement.books, edited
        for one in chain:
            if one.task is task:
                put_back(task, one.outcome, how, books)
        if task is not culprit:
            self._wait(culprit, chain, findings, f"{task.id}: {how}: {_AGAIN}")
            return False
        self._drop_writes(chain)
        self._interrupt([one.task for one in chain])
        regression.give_back(task.id, books.journal, books.let_go)
        return True

    def _wait(
        self, task: Task, chain: Sequence[Link], findings: tuple[Finding, ...], note: str
    ) -> None:
        """Restore the state before the approval: the change held, its victims STALE."""
        self._drop_writes(chain)
        again = tuple(replace(finding, hint=note) for finding in findings)
        books = self.settlement.books
        kept = books.journal.state.task(task.id).draft
        regression.hold_back(task, replace(chain[0].outcome, findings=again), books, kept)
        self.settlement.codes.add(ExitCode.REGRESSION)

    def _drop_writes(self, chain: Sequence[Link]) -> None:
        for one in chain:
            self.settlement.books.close_writes(one.outcome, Fate.DROPPED)

    def _break_off(self, group: Sequence[Task], findings: tuple[Finding, ...]) -> None:
        """Restore the previous state, including approvals, if the run ends during the build."""
        books = self.settlement.books
        if books.journal.state.landing is not None:
            return  # it may have reached the branch: the next run looks that up
        self._interrupt(group)
        regression.hold_again(group[0].id, findings, books.journal)

    def _interrupt(self, group: Sequence[Task]) -> None:
        """Record the started tasks of a group as interrupted."""
        books = self.settlement.books
        for task in group:
            if books.journal.state.task(task.id).status is Status.IN_PROGRESS:
                books.record_interrupted(task)

    def _finish(self, chain: Sequence[Link], landed: Landed) -> None:
        for one in chain:
            waited = one.task.id in self.preparation.held or one is chain[0]
            own = Landed(one.own_commit, one.tree, landed.late)
            self.settlement.record_landed(one.task, one.outcome, own)
            if waited:
                self.settlement.books.let_go(one.task.id)


def _words(refused: object) -> str:
    paths = getattr(refused, "paths", ())
    shown = ", ".join(paths)
    return f"{shown} is in the way" if paths else getattr(refused, "message", "it cannot land")
