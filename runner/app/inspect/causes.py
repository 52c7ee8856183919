"""Explain why a task has its status: a tree of causes down to the roots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner.implementers.registry import NOBODY
from runner.journal.evidence import EvidenceState, evaluate_standing
from runner.model import Reason, Status, Verdict
from runner.report.event_lines import format_attempt
from runner.report.next_step import LACKING, next_step
from runner.report.summary import stale_step
from runner.run.review import CHECK
from runner.text.display import display
from runner.text.wording import join_few, moment, name_attempt, plural, refusal_lines, short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from runner.app.inspect.view import View
    from runner.journal.task_state import TaskState
    from runner.model import Task
    from runner.plan.outline import OutlineTask

_FINDINGS = 5
_DEEPEST = 12
"""Links of a chain that are shown; beyond that only its last one."""
_CHANGED = {"what": "what to build", "proof": "how to prove it"}
"""Readable names of a task's digests."""


class Cause(Struct, frozen=True):
    """One sentence, about one task, and what lies behind it."""

    task: str
    text: str
    behind: tuple[Cause, ...] = ()
    details: tuple[str, ...] = ()
    """Additional lines: findings, proofs."""
    next: str = ""
    """What a person could do next."""

    @property
    def roots(self) -> Iterator[Cause]:
        """The causes that have none behind them."""
        if not self.behind:
            yield self
        for cause in self.behind:
            yield from cause.roots


class _Asked(Struct, frozen=True):
    """A task that is asked about, and how the question came to it."""

    id: str
    tasks: Mapping[str, OutlineTask]
    path: tuple[str, ...] = ()
    explained: set[str] = field(default_factory=set)
    """Tasks whose causes were already shown."""

    @property
    def task(self) -> OutlineTask:
        """The task as the plan has it."""
        return self.tasks[self.id]

    def deeper(self, id_: str) -> _Asked:
        """Return the question for a dependency of this task."""
        return _Asked(id_, self.tasks, (*self.path, self.id), self.explained)


def _unread(_id: str) -> None:
    """Return no task; used for a plan that is not parsed."""


class Inquiry(Struct, frozen=True):
    """Asks a view.

    `when` gives the time of a record of the journal, `lacks` what keeps a task from starting,
    `task` its section, `in_vain` why no approval lets its held change land.
    """

    view: View
    when: Callable[[str], str]
    lacks: Callable[[str], tuple[Reason, str] | None]
    task: Callable[[str], Task | None] = _unread
    in_vain: Callable[[str], str] = lambda _id: ""

    def about(self, id_: str) -> Cause:
        """Return the full chain of causes for a task."""
        return self._cause(_Asked(id_, {task.id: task for task in self.view.tasks}))

    def _cause(self, asked: _Asked) -> Cause:
        task = asked.task
        asked.explained.add(task.id)
        match self.view.status(task.id):
            case Status.PENDING if self.view.waits_for(task):
                return self._explain_waiting(asked)
            case Status.PENDING:
                return self._ready(task)
            case Status.IN_PROGRESS:
                return self._in_progress(task)
            case Status.DONE:
                return self._explain_done(task)
            case Status.BLOCKED:
                return self._explain_blocked(task)
            case Status.STALE:
                return self._stale(asked)

    # --- a task that waits ------------------------------------------------------------

    def _explain_waiting(self, asked: _Asked) -> Cause:
        task = asked.task
        waits = self.view.waits_for(task)
        text = f"waits for {join_few([display(id_) for id_ in waits])}"
        if len(asked.path) >= _DEEPEST:
            waits, between = self._ends(asked)
            if between:
                text += f", and indirectly, through {plural(between, 'task')}, for"
        behind = tuple(self._behind(asked, id_) for id_ in waits)
        return Cause(task.id, text + self._read(task), behind)

    def _behind(self, asked: _Asked, id_: str) -> Cause:
        if id_ not in asked.tasks:
            return Cause(id_, "is not in the plan", next="runner validate")
        if id_ == asked.id or id_ in asked.path:
            return Cause(id_, "waits for itself: dependency cycle", next="runner validate")
        # Explain each once: a plan with many layers has too many paths to one task.
        if id_ in asked.explained:
            return Cause(id_, "(see above)")
        return self._cause(asked.deeper(id_))

    def _ends(self, asked: _Asked) -> tuple[tuple[str, ...], int]:
        """Return the last tasks of a dependency chain and the number of waiting tasks between."""
        seen = {asked.id}
        front = [asked.id]
        ends: list[str] = []
        while front:
            for id_ in self.view.waits_for(asked.tasks[front.pop()]):
                if id_ in seen:
                    continue
                seen.add(id_)
                waiting = id_ in asked.tasks and self.view.waits_for(asked.tasks[id_])
                (front if waiting else ends).append(id_)
        return tuple(ends), len(seen) - len(ends) - 1

    # --- one status each --------------------------------------------------------------

    def _ready(self, task: OutlineTask) -> Cause:
        missing = self.lacks(task.id)
        if missing is not None:
            text = f"would be BLOCKED at once: {display(missing[1])}"
            plan = missing[0] in (Reason.PROOF, Reason.WISH)  # the plan lacks it, no machine
            return Cause(task.id, text, next=LACKING[missing[0]] if plan else "`runner doctor`")
        reason = (
            f"PENDING, and its dependencies are DONE ({', '.join(map(display, task.depends_on))})"
            if task.depends_on
            else "PENDING, and it has no dependencies"
        )
        known = self.view.states[task.id]
        details = []
        if known.tries:
            details.append(f"{plural(known.attempts_in_row, 'attempt')} in a row failed before:")
            details += refusal_lines(known.findings, _FINDINGS)
        elif any(finding.check == CHECK for finding in known.findings):
            details.append("the next attempt reads:")
            details += refusal_lines(known.findings, _FINDINGS)
        return Cause(
            task.id,
            f"would run now: {reason}{self._read(task)}",
            details=tuple(details),
            next="runner",
        )

    def _in_progress(self, task: OutlineTask) -> Cause:
        if task.id == self.view.landing:
            text = "was landing when the last run ended: the next run finishes this landing first"
            return Cause(task.id, text, next="runner")
        attempt = self.view.states[task.id].open_attempt
        text = "is IN-PROGRESS"
        if attempt is not None:
            how = format_attempt(attempt.mode, attempt.implementer)
            text += (
                f": {name_attempt(attempt.attempt)} ({display(how)}) since {moment(attempt.time)}"
            )
        return Cause(task.id, text, next="runner log --follow")

    def _explain_done(self, task: OutlineTask) -> Cause:
        known = self.view.states[task.id]
        graded = self.view.grades[task.id]
        if not known.verified:
            why = self.view.remark(task)
            text = (
                f"is DONE{self._since(known)}, {graded.grade}{f': {display(why)}' if why else ''}"
            )
            return Cause(task.id, text + self._read(task))
        own = [proof for proof in known.proofs if not proof.is_of_another_task]
        ran = [proof for proof in own if proof.row is None and proof.verdict is not Verdict.SKIPPED]
        details = tuple(
            f"{display(one.id)}: {one.verdict}, exit {one.exit}, {one.seconds:.2f} s" for one in ran
        )
        landed = f" as {short(known.commit)}" if known.commit else ", with no changes"
        proven = f", {display(graded.words)}"
        text = f"is DONE{self._since(known)}{landed}{proven}{_note(self.view, task)}"
        return Cause(task.id, text + self._read(task), details=details)

    def _explain_blocked(self, task: OutlineTask) -> Cause:
        known = self.view.states[task.id]
        reason = f" ({known.reason})" if known.reason else ""
        details = refusal_lines(known.findings, _FINDINGS)
        in_vain = self.in_vain(task.id) if known.held is not None else ""
        step = next_step(known, self.view.state, self.task(task.id), in_vain=in_vain)
        if known.draft and known.draft not in f"{known.note}{step}":
            details.append(f"its work is saved on {display(known.draft)}")
        text = f"is BLOCKED{reason}{self._since(known)}{_note(self.view, task)}{self._read(task)}"
        return Cause(task.id, text, details=tuple(details), next=step)

    def _stale(self, asked: _Asked) -> Cause:
        task = asked.task
        known = self.view.states[task.id]
        details = []
        if known.changed:
            changed = (_CHANGED.get(one, one) for one in known.changed)
            details.append(f"changed: {', '.join(map(display, changed))}")
        if known.commit and evaluate_standing(known, task.spec) is not EvidenceState.NONE:
            details.append(f"it was DONE as {short(known.commit)}")
        text = f"is STALE{self._since(known)}{_note(self.view, task)}{self._read(task)}"
        if self._waits_through(known):
            via = display(known.via)
            details.append(
                f"once {via} is DONE with the same interface, {display(task.id)} is only re-tested"
            )
            behind = (self._behind(asked, known.via),)
            return Cause(task.id, text, behind, tuple(details))
        if not known.culprit:
            lacks = self.lacks(task.id)
            step = stale_step(task.id, nobody=lacks is not None and lacks[1].startswith(NOBODY))
            return Cause(task.id, text, details=tuple(details), next=step)
        if known.approved:
            details.append(f"approved: it is rebuilt on the change of {display(known.culprit)}")
        behind = (self._behind(asked, known.culprit),)
        return Cause(task.id, text, behind, details=tuple(details))

    def _waits_through(self, known: TaskState) -> bool:
        """Return whether a task is STALE only because of another task that is not DONE."""
        via = self.view.states.get(known.via)
        return via is not None and via.status is not Status.DONE

    # --- parts of a sentence ----------------------------------------------------------

    def _since(self, known: TaskState) -> str:
        time = self.when(known.cause) if known.cause else ""
        return f" since {moment(time)}" if time else ""

    def _read(self, task: OutlineTask) -> str:
        """Return a note if the journal does not have the task's state yet; else empty."""
        event = self.view.read_now.get(task.id)
        if event is None:
            return ""
        note = getattr(event, "note", "") or getattr(event, "summary", "")
        if not note or note == self.view.note(task):
            return " (not in the journal yet)"
        return f" (not in the journal yet: {display(note)})"


def _note(view: View, task: OutlineTask) -> str:
    note = view.note(task)
    return f": {display(note)}" if note else ""


def format_cause(cause: Cause, depth: int = 0) -> Iterator[str]:
    """Yield the chain as lines, each cause indented two columns below its effect."""
    before = "  " * depth
    yield f"{before}{display(cause.task)} {cause.text}"
    yield from (f"{before}    {line}" for line in cause.details)
    for behind in cause.behind:
        yield from format_cause(behind, depth + 1)


def explain_cause(cause: Cause) -> Iterator[str]:
    """Yield the causes for a person, then each action once with the tasks that it helps."""
    yield from format_cause(cause)
    by_advice: dict[str, list[str]] = {}
    for root in cause.roots:
        if root.next:
            by_advice.setdefault(root.next, []).append(root.task)
    if by_advice:
        yield ""
    for advice, tasks in by_advice.items():
        about = f"  ({', '.join(tasks)})" if tasks != [cause.task] else ""
        yield f"next: {advice}{about}"
