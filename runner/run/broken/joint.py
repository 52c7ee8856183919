"""A held change and the tasks it breaks, built one on the other and landed in one step, or none.

Approved by a person: the culprit's recorded bytes come first, then each victim is implemented
anew on them, in scratch. Nothing reaches the branch before the last proof has passed, so the tree
is never red.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from runner.errors import ExitCode, RunnerError
from runner.model import Ending, Finding, Reason, Status
from runner.run.broken import (
    regression,
)
from runner.run.broken.chain import land_chain, link
from runner.run.landing.lander import Landed, Moved
from runner.run.landing.saved_meanwhile import put_back
from runner.run.review import Answer
from runner.writes.log import Fate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.model import Outcome, Task
    from runner.run.broken.chain import Link
    from runner.run.broken.pacing import Pace
    from runner.run.landing.lander import Lander
    from runner.run.preparation import Preparation
    from runner.run.settlement import Settlement
    from runner.run.site import Assignment

_ROUNDS = 3
"""How often a group begins again because the branch moved meanwhile."""


class Work(Protocol):
    """Has one assignment worked on to its end; the engine's part."""

    def __call__(self, assignment: Assignment) -> Outcome:
        """What came back."""


@dataclass(slots=True)
class Joint:
    """Builds groups, one at a time, while nothing else runs."""

    preparation: Preparation
    settlement: Settlement
    lander: Lander
    work: Work
    pace: Pace

    def build(self, group: Sequence[Task]) -> bool:
        """Build a culprit and its victims and land them; False when they wait again."""
        findings = tuple(self.settlement.ledger.state.task(group[0].id).findings)
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
            if edited := self._edited(group):  # a person asks for something else by now
                return self._put_back(group[0], chain, findings, edited)
            match land_chain(self.lander, chain):
                case Landed() as landed:
                    self._done(chain, landed)
                    return True
                case Moved():
                    self._drop_writes(chain)
                case refused:
                    self._wait(group[0], chain, findings, _words(refused))
                    self.settlement.codes.add(ExitCode.CONFLICT)
                    return False
        self._wait(group[0], chain, findings, "the branch moved again and again")
        return False

    def _chain(self, group: Sequence[Task], findings: tuple[Finding, ...]) -> list[Link]:
        """Every member proven on the one before; none when one of them did not come through."""
        base = self.preparation.base()
        links: list[Link] = []
        for position, task in enumerate(group):
            outcome, how, why = self._member(group, position, base)
            if outcome.ending is Ending.PASSED:
                links.append(link(self.lander, task, outcome, base, how))
                base = links[-1].commit
                if self._edited(group):
                    return links
            elif not position:
                self._culprit_failed(task, outcome, findings)
                return []
            else:
                waits = "waits for a review, which is asked at a terminal"
                failed = f"could not be built on it{f' ({why})' if why else ''}"
                note = waits if outcome.ending is Ending.WAITS else failed
                self._wait(group[0], links, findings, f"{task.id} {note}")
                return []
        return links

    def _member(self, group: Sequence[Task], position: int, base: str) -> tuple[Outcome, str, str]:
        """Work on one member until it passes or nothing more can be tried.

        Gives the outcome, how it was approved, and what ended it where no check did.
        """
        books, task, held = self.settlement.books, group[position], not position
        while True:
            assignment = replace(
                self._assignment(task, base, held=held),
                unproven=frozenset(one.id for one in group[position + 1 :]),
                beneath=frozenset(one.id for one in group[:position]),
            )
            outcome, why = self.settlement.in_time(task, self.work(assignment))
            outcome = self.settlement.answered(task, outcome)
            if outcome.ending is Ending.PASSED:
                ruling = self.settlement.ruling(task, outcome)
                if ruling.answer is Answer.APPROVED:
                    books.finished(task, outcome)
                    books.approved(task, outcome, ruling.how)
                    return outcome, ruling.how, ""
                waits = Ending.WAITS if ruling.answer is Answer.WAITS else Ending.FAILED
                outcome = replace(outcome, ending=waits, findings=ruling.findings)
            edited = bool(self.settlement.edited(task))
            books.finished(task, outcome)
            if held or edited or outcome.ending is not Ending.FAILED:
                return outcome, "", why
            pause = self.settlement.retries.pause(task, outcome)
            if pause is None:
                return outcome, "", why
            if why := self.pace.rest(task.id, pause):
                return outcome, "", why

    def _assignment(self, task: Task, base: str, *, held: bool) -> Assignment:
        known = self.settlement.ledger.state.task(task.id)
        if held:
            changes = self.preparation.regressive[task.id]
            return self.preparation.carried(task, changes, base, known.last_attempt + 1)
        return replace(self.preparation.assignment(task), base=base)

    def _culprit_failed(self, task: Task, outcome: Outcome, findings: tuple[Finding, ...]) -> None:
        """The held change breaks more than was approved, or does not even pass by itself."""
        books = self.settlement.books
        if outcome.ending is Ending.INTERRUPTED:  # a person cancelled it: it waits as it did
            regression.hold_again(task.id, findings, books.ledger)
            self.settlement.codes.add(ExitCode.REGRESSION)
            return
        if regression.victims(outcome.findings):
            known = books.ledger.state.task(task.id)
            every = (*findings, *(one for one in outcome.findings if one.refuses))
            regression.hold_back(task, replace(outcome, findings=every), books, known.draft)
            self.settlement.codes.add(ExitCode.REGRESSION)
            return
        books.block(task, outcome, Reason.CHECKS, "the held change no longer passes its proof")
        regression.give_back(task.id, books.ledger, books.let_go)

    def _edited(self, group: Sequence[Task]) -> tuple[Task, str] | None:
        """The first member whose section of the plan a person edited meanwhile, and how."""
        words = ((task, self.settlement.edited(task)) for task in group)
        return next((one for one in words if one[1]), None)

    def _put_back(
        self,
        culprit: Task,
        chain: Sequence[Link],
        findings: tuple[Finding, ...],
        edited: tuple[Task, str],
    ) -> bool:
        """Nothing of the old words lands: the work on them is a draft, and no approval holds.

        An edited change is given up, and what it broke is DONE again: the run goes on. With an
        edited victim the change waits, as it did before.
        """
        books, (task, how) = self.settlement.books, edited
        for one in chain:
            if one.task is task:
                put_back(task, one.outcome, how, books)
        if task is not culprit:
            self._wait(culprit, chain, findings, f"{task.id}: {how}")
            return False
        self._drop_writes(chain)
        self._interrupt([one.task for one in chain])
        regression.give_back(task.id, books.ledger, books.let_go)
        return True

    def _wait(
        self, task: Task, chain: Sequence[Link], findings: tuple[Finding, ...], note: str
    ) -> None:
        """Put all back as it was before the approval: the change held, its victims STALE."""
        self._drop_writes(chain)
        again = tuple(
            replace(finding, hint=f"{note}: mend the task, then approve it again")
            for finding in findings
        )
        books = self.settlement.books
        kept = books.ledger.state.task(task.id).draft
        regression.hold_back(task, replace(chain[0].outcome, findings=again), books, kept)
        self.settlement.codes.add(ExitCode.REGRESSION)

    def _drop_writes(self, chain: Sequence[Link]) -> None:
        for one in chain:
            self.settlement.books.close_writes(one.outcome, Fate.DROPPED)

    def _break_off(self, group: Sequence[Task], findings: tuple[Finding, ...]) -> None:
        """A run that ends in the midst leaves all as it was, the approvals too."""
        books = self.settlement.books
        if books.ledger.state.landing is not None:
            return  # it may have reached the branch: the next run looks that up
        self._interrupt(group)
        regression.hold_again(group[0].id, findings, books.ledger)

    def _interrupt(self, group: Sequence[Task]) -> None:
        """What was worked on is as it was before."""
        books = self.settlement.books
        for task in group:
            if books.ledger.state.task(task.id).status is Status.IN_PROGRESS:
                books.interrupted(task)

    def _done(self, chain: Sequence[Link], landed: Landed) -> None:
        books = self.settlement.books
        for one in chain:
            note = f"kept your own {', '.join(landed.late)}" if landed.late else ""
            commit = one.own_commit
            if commit:
                books.close_writes(one.outcome, Fate.LANDED, commit)
            books.done(one.task, one.outcome, commit=commit, tree=one.tree, note=note)
        books.let_go(chain[0].task.id)


def _words(refused: object) -> str:
    paths = getattr(refused, "paths", ())
    shown = ", ".join(paths)
    return f"{shown} stands in the way" if paths else getattr(refused, "message", "it cannot land")
