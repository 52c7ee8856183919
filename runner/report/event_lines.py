"""Format an event as lines for a person, each with its task in front."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.journal.events import (
    AttemptFinished,
    AttemptStarted,
    GateCompleted,
    StageCompleted,
    TaskAdopted,
    TaskApproved,
    TaskBlocked,
    TaskDone,
    TaskReopened,
    TaskStaled,
)
from runner.journal.session_events import (
    EDIT,
    AuthorFinished,
    PermissionAnswered,
    PermissionAsked,
    PlanProposed,
    PlanReviewed,
    TaskWaived,
)
from runner.lazy_module import lazy_module
from runner.model import Ending, Severity, Verdict
from runner.model.grades import find_gaps
from runner.model.words import WHAT_CHANGED
from runner.model.work import UNREAD, WAITS_FOR_BATCH
from runner.text.display import display
from runner.text.wording import name_attempt, plural, refusal_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    from runner.journal.events import Record
    from runner.journal.state import RunState
    from runner.model import Finding, Proof

    Paint: TypeAlias = Callable[[str, str], str]
    """Colours a text: (colour, text)."""
    from runner.report import task_report
else:
    task_report = lazy_module("runner.report.task_report")

COLOURS = {"green": "32", "red": "31", "yellow": "33", "cyan": "36", "dim": "2", "bold": "1"}
_MARKS = {
    Verdict.PASS: ("✓", "green"),
    Verdict.FAIL: ("✗", "red"),
    Verdict.FLAKY: ("⚠", "yellow"),
} | {Verdict.KNOWN: ("⚠", "yellow")}
_FINDINGS_SHOWN = 5

IN_PASSING = (AttemptStarted, GateCompleted, StageCompleted)
"""Events that a live view shows by itself."""


def event_lines(record: Record, state: RunState, paint: Paint) -> tuple[str, ...]:
    """Return the output lines of an event; empty for events that are not shown."""
    name = paint("bold", display(record.task))
    lines = (*_work_lines(record, paint), *_lines(record, state, paint), *_plan_lines(record))
    return tuple(f"{name} {line}" for line in lines)


def format_attempt(mode: str, implementer: str) -> str:
    """Describe an attempt by its mode and implementer."""
    kinds = {"plan": f"{implementer}, plan only", "phase": f"{implementer}, one phase of the plan"}
    return implementer if mode == "build" else kinds.get(mode, "test only")


def output_line(task: str, line: str, paint: Paint) -> str:
    """Format an output line of a task's command."""
    return paint("dim", f"{display(task)} | {display(line)}")


def _format_start(mode: str, how: str, attempt: int) -> str:
    number = name_attempt(attempt) if attempt > 0 else ""
    if mode == "prove":  # it may come several times an attempt: the branch moves meanwhile
        return "re-testing on the updated branch" + (f" ({number})" if number else "")
    return f"started ({', '.join(filter(None, (number, how)))})"


def _completed(proof: Proof, paint: Paint) -> str:
    if proof.note == WAITS_FOR_BATCH:
        return f"{paint('dim', '·')} {display(proof.id)} waits: {proof.note.removeprefix(UNREAD)}"
    mark, colour = _MARKS.get(proof.verdict, ("-", "dim"))
    if proof.was_cut_off:
        mark, colour = "-", "yellow"
    ended = f"{proof.note} after " if proof.was_cut_off else ""
    return f"{paint(colour, mark)} {display(proof.id)} {ended}{proof.seconds:.2f} s"


def _work_lines(record: Record, paint: Paint) -> Iterator[str]:
    """Yield a line for each part of an attempt that took its time."""
    match record.event:
        case GateCompleted(proof=proof):
            yield _completed(proof, paint)
        case StageCompleted(stage=stage, seconds=seconds):
            yield f"{paint('dim', '·')} {display(stage)} {seconds:.2f} s"


def _lines(record: Record, state: RunState, paint: Paint) -> Iterator[str]:
    match record.event:
        case AttemptStarted(implementer=implementer, mode=mode, model=model):
            how = format_attempt(mode, implementer) + (f", {model}" if model else "")
            yield _format_start(mode, display(how), record.attempt)
        case AttemptFinished(ending=Ending.FAILED, findings=findings):
            yield paint("red", "attempt failed")
            yield from (f"  {line}" for line in refusal_lines(findings, _FINDINGS_SHOWN))
        case AttemptFinished(ending=Ending.PASSED, findings=findings):
            yield from _notes(findings, paint)
        case TaskDone(commit=commit, note=note, unproven=unproven, proofs=proofs):
            landed = f"as {commit[:12]} " if commit else ""
            seconds = state.task(record.task).seconds
            worth = f"unproven: {unproven}" if unproven else ", ".join(find_gaps(proofs))
            done = paint("yellow" if unproven else "green", "DONE")
            yield f"{done} {landed}in {seconds:.2f} s{_note(worth)}{_note(note)}"
        case TaskBlocked(note=note):
            yield paint("red", "BLOCKED") + _note(note)
            yield f"  next: {task_report.next_step(state.task(record.task), state)}"
        case TaskStaled(note=note):
            yield paint("yellow", "STALE") + _note(note)
        case TaskAdopted(note=note, verified=verified):
            yield f"counts as DONE{'' if verified else ' (unproven)'}{_note(note)}"
        case TaskApproved(by=by, note=note) | TaskReopened(by=by, note=note):
            words = {"plan": "is no longer DONE", EDIT: "did not land"}
            yield words.get(by, "runs again") + _note(note)


def _plan_lines(record: Record) -> Iterator[str]:
    """Yield the lines on a task's own plan, and on a person's answers."""
    match record.event:
        case AuthorFinished(by=by, files=0):
            yield f"{display(by)} wrote no tests"
        case AuthorFinished(by=by, tests=tests):
            yield f"{display(by)} wrote {plural(tests, 'test')}"
        case TaskWaived(reason=reason):
            yield f"needs no proof{_note(reason)}"
        case PlanProposed(plan=plan, path=path):
            yield f"has a plan of {plural(len(plan.steps), 'step')}: {display(path)}"
        case PlanReviewed(approved=False, reason=reason):
            yield f"plan rejected: {display(reason)}"
        case PermissionAsked(tool=tool, subject=subject):
            yield f"asks to call {display(f'{tool} {subject}')}"
        case PermissionAnswered(tool=tool, subject=subject, allowed=allowed):
            yield f"{'may' if allowed else 'may not'} call {display(f'{tool} {subject}')}"


def _notes(findings: Sequence[Finding], paint: Paint) -> Iterator[str]:
    """Yield notes on work that passed."""
    findings = [
        one for one in findings if one.check != WHAT_CHANGED or one.severity is not Severity.NOTE
    ]
    for finding in findings[:_FINDINGS_SHOWN]:
        text = display(f"{finding.check}: {_place(finding)}{finding.message}")
        yield f"{paint('yellow', '⚠')} {text}"
    if len(findings) > _FINDINGS_SHOWN:
        yield f"⚠ … and {len(findings) - _FINDINGS_SHOWN} more"


def _place(finding: Finding) -> str:
    if finding.line:
        return f"{finding.path}:{finding.line}: "
    return f"{finding.path}: " if finding.path else ""


def _note(note: str) -> str:
    return f" — {display(note)}" if note else ""
