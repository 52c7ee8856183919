"""Why a task stands as it does: causes, each with the causes behind it, down to the roots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.commands.wording import counted, finding_lines, moment, short
from runner.journal.evidence import Standing, standing
from runner.model import Status, Verdict
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from runner.commands.view import View
    from runner.journal.task_state import TaskState
    from runner.plan.outline import OutlineTask

_FINDINGS = 5
_AGAIN = "set its Status to PENDING in the plan, then: runner"


@dataclass(frozen=True, slots=True)
class Cause:
    """One sentence, about one task, and what lies behind it."""

    task: str
    text: str
    behind: tuple[Cause, ...] = ()
    details: tuple[str, ...] = ()
    """Lines that say more: findings, proofs."""
    next: str = ""
    """What a person could do about it."""

    @property
    def roots(self) -> Iterator[Cause]:
        """The causes that have none behind them."""
        if not self.behind:
            yield self
        for cause in self.behind:
            yield from cause.roots


@dataclass(frozen=True, slots=True)
class Inquiry:
    """Asks a view; `when` gives the time of a journal's record, `lacks` what a task could not start without."""

    view: View
    when: Callable[[str], str]
    lacks: Callable[[str], tuple[str, ...]]

    def about(self, id_: str) -> Cause:
        """The whole chain for a task of the plan."""
        tasks = {task.id: task for task in self.view.tasks}
        return self._cause(tasks[id_], tasks, set())

    def _cause(
        self, task: OutlineTask, tasks: Mapping[str, OutlineTask], told: set[str]
    ) -> Cause:
        told.add(task.id)
        match self.view.status(task.id):
            case Status.PENDING if self.view.waits_for(task):
                return self._waiting(task, tasks, told)
            case Status.PENDING:
                return self._ready(task)
            case Status.IN_PROGRESS:
                return self._in_progress(task)
            case Status.DONE:
                return self._done(task)
            case Status.BLOCKED:
                return self._blocked(task)
            case Status.STALE:
                return self._stale(task)

    # --- one status each --------------------------------------------------------------

    def _waiting(
        self, task: OutlineTask, tasks: Mapping[str, OutlineTask], told: set[str]
    ) -> Cause:
        waits = self.view.waits_for(task)
        behind: list[Cause] = []
        for id_ in waits:
            if id_ not in tasks:
                text = "is no task of the plan"
                behind.append(Cause(id_, text, next="runner validate"))
            elif id_ in told:
                circle = tasks[id_] is not task and self.view.status(id_) is Status.PENDING
                text = "is PENDING, see above" if circle else "see above"
                behind.append(Cause(id_, text))
            else:
                behind.append(self._cause(tasks[id_], tasks, told))
        text = f"waits for {', '.join(map(display, waits))}"
        return Cause(task.id, text + self._read(task), tuple(behind))

    def _ready(self, task: OutlineTask) -> Cause:
        missing = self.lacks(task.id)
        if missing:
            text = f"would be BLOCKED at once: {'; '.join(map(display, missing))}"
            return Cause(task.id, text, next="runner doctor")
        reason = (
            f"it is PENDING and all it needs is DONE ({', '.join(map(display, task.depends_on))})"
            if task.depends_on
            else "it is PENDING and needs no other task"
        )
        known = self.view.states[task.id]
        details = []
        if known.tries:
            details.append(f"{counted(known.attempts_in_row, 'attempt')} in a row failed before:")
            details += self._findings(known)
        return Cause(
            task.id, f"would run now: {reason}{self._read(task)}", details=tuple(details), next="runner"
        )

    def _in_progress(self, task: OutlineTask) -> Cause:
        if task.id == self.view.landing:
            text = "was being landed when the last run ended: the next run finishes that first"
            return Cause(task.id, text, next="runner")
        attempt = self.view.states[task.id].open_attempt
        text = "is IN-PROGRESS"
        if attempt is not None:
            how = attempt.implementer if attempt.mode == "build" else "proof alone"
            text += f": attempt {attempt.attempt} ({display(how)}) since {moment(attempt.time)}"
        return Cause(task.id, text, next="runner log --follow")

    def _done(self, task: OutlineTask) -> Cause:
        known = self.view.states[task.id]
        if not known.verified:
            text = f"is DONE{self._since(known)}, unverified{_note(self.view, task)}"
            return Cause(task.id, text + self._read(task))
        passed = [proof for proof in known.proofs if proof.verdict is not Verdict.SKIPPED]
        details = tuple(
            f"{display(one.id)}: {one.verdict}, exit {one.exit}, {one.seconds:.2f} s"
            for one in passed
        )
        landed = f" as {short(known.commit)}" if known.commit else ", having changed nothing"
        proven = f", proven by {counted(len(passed), 'command')}" if passed else ""
        text = f"is DONE{self._since(known)}{landed}{proven}{_note(self.view, task)}"
        return Cause(task.id, text + self._read(task), details=details)

    def _blocked(self, task: OutlineTask) -> Cause:
        known = self.view.states[task.id]
        reason = f" ({known.reason})" if known.reason else ""
        details = self._findings(known)
        if known.draft:
            details.append(f"its work is kept on {display(known.draft)}")
        text = f"is BLOCKED{reason}{self._since(known)}{_note(self.view, task)}{self._read(task)}"
        return Cause(task.id, text, details=tuple(details), next=_AGAIN)

    def _stale(self, task: OutlineTask) -> Cause:
        known = self.view.states[task.id]
        details = []
        if known.changed:
            details.append(f"changed: {', '.join(map(display, known.changed))}")
        if known.commit and standing(known, task.spec) is not Standing.NONE:
            details.append(f"it was DONE as {short(known.commit)}")
        text = f"is STALE{self._since(known)}{_note(self.view, task)}{self._read(task)}"
        return Cause(task.id, text, details=tuple(details), next=_AGAIN)

    # --- parts of a sentence ----------------------------------------------------------

    def _since(self, known: TaskState) -> str:
        time = self.when(known.cause) if known.cause else ""
        return f" since {moment(time)}" if time else ""

    def _read(self, task: OutlineTask) -> str:
        """That the journal does not know this yet."""
        event = self.view.read_now.get(task.id)
        if event is None:
            return ""
        note = getattr(event, "note", "") or getattr(event, "summary", "")
        if not note or note == self.view.note(task):
            return " (read just now)"
        return f" (read just now: {display(note)})"

    def _findings(self, known: TaskState) -> list[str]:
        refusals = [finding for finding in known.findings if finding.refuses]
        lines = [line for finding in refusals[:_FINDINGS] for line in finding_lines(finding)]
        more = len(refusals) - _FINDINGS
        return [*lines, f"and {counted(more, 'more finding')}"] if more > 0 else lines


def _note(view: View, task: OutlineTask) -> str:
    note = view.note(task)
    return f": {display(note)}" if note else ""


def told(cause: Cause, depth: int = 0) -> Iterator[str]:
    """The chain as lines, each cause below what it causes and two columns further in."""
    before = "  " * depth
    yield f"{before}{display(cause.task)} {cause.text}"
    yield from (f"{before}    {line}" for line in cause.details)
    for behind in cause.behind:
        yield from told(behind, depth + 1)
