"""Write `artifacts/build/reports/TASK-003.md` for the person who finishes a failed task.

Written when an attempt leaves a task BLOCKED; each time whole, from what the journal says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner import effects
from runner.journal.display_status import format_status
from runner.journal.events import AttemptFinished, TaskBlocked
from runner.journal.records import read_journal
from runner.model import Ending, Reason, Status, Verdict
from runner.report.cost import cost
from runner.report.decisions_file import BUILD
from runner.report.next_step import next_step
from runner.report.summary import duration
from runner.run.limits.failure_policy import loops
from runner.secrets.redact import redact
from runner.text.display import display, display_markdown
from runner.text.wording import list_failures

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from runner.journal.events import Record
    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.model import Finding, Proof, Task

FOLDER = f"{BUILD}/reports"
_TOLD = (Reason.CHECKS, Reason.STUCK, Reason.BUDGET, Reason.TOOL, Reason.POLICY)
"""Reasons for which an attempt has more details than the note."""
_SIGN = {Verdict.PASS: "passes", Verdict.FLAKY: "passes, but is flaky", Verdict.FAIL: "**fails**"}
_DETAIL_LINES = 40


def report_path(task: str) -> str:
    """Return the path of a task's report, relative to the project."""
    return f"{FOLDER}/{task}.md"


def find_report(root: Path, known: TaskState) -> str:
    """Return the path of a task's report relative to the project; empty if there is none."""
    path = report_path(known.id)
    return path if _has_report(known) and (root / path).is_file() else ""


def _has_report(known: TaskState) -> bool:
    """Return whether an attempt left the task BLOCKED, with more than the note to report."""
    return known.status is Status.BLOCKED and known.reason in _TOLD and bool(known.tries)


class ReportsDocument(Struct):
    """Hears the journal; writes a report where an attempt has left its task BLOCKED."""

    root: Path
    written: dict[str, str] = field(default_factory=dict)
    """Text of each report of this run, by task."""
    _tasks: Mapping[str, Task] = field(default_factory=dict)
    _tried: dict[str, AttemptFinished] = field(default_factory=dict)
    """Last attempt at each task in this run."""
    _proven: dict[str, tuple[int, AttemptFinished]] = field(default_factory=dict)
    """Last attempt that reached a proof, with its number."""
    _heard: set[tuple[str, int]] = field(default_factory=set)

    def know(self, tasks: Mapping[str, Task], state: RunState) -> None:
        """Set the plan's tasks, for their titles, and write reports that a crash prevented."""
        self._tasks = tasks
        for id_ in self._tasks:
            known = state.task(id_)
            if _has_report(known) and not (self.root / report_path(id_)).exists():
                self._write(known, state)

    def hear(self, record: Record, state: RunState) -> None:
        """Record the last attempt, and write the report when its task is BLOCKED."""
        event = record.event
        if isinstance(event, AttemptFinished) and event.ending is not Ending.INTERRUPTED:
            self._tried[record.task] = event
            self._heard.add((record.task, record.attempt))
            if event.proofs:
                self._proven[record.task] = (record.attempt, event)
        elif isinstance(event, TaskBlocked) and event.reason in _TOLD and record.attempt:
            self.written[record.task] = self._write(state.task(record.task), state)

    def _write(self, known: TaskState, state: RunState) -> str:
        last, proven = self._tried.get(known.id), self._proven.get(known.id)
        numbers = {one.attempt for one in known.tries}
        if proven is not None and proven[0] not in numbers:  # before a person let it begin anew
            proven = None
        if proven is None and any((known.id, number) not in self._heard for number in numbers):
            proven = _find_earlier_proof(self.root, known)
        task = self._tasks.get(known.id)
        step = next_step(known, state, task)
        text = redact(task_report(known, task.title if task else "", last, proven, step))
        file = self.root / report_path(known.id)
        effects.make_folder(file.parent)
        effects.write_file(file, text.encode("utf-8", "replace"))
        return text


def _find_earlier_proof(root: Path, known: TaskState) -> tuple[int, AttemptFinished] | None:
    """Return number and event of the task's last attempt with a proof, or None."""
    numbers, found = {one.attempt for one in known.tries}, None
    for record in read_journal(root / BUILD / "journal.jsonl", wanted={"attempt.finished"}):
        event = record.event
        if record.task != known.id or record.attempt not in numbers:
            continue
        if isinstance(event, AttemptFinished) and event.proofs:
            found = (record.attempt, event)
    return found


def task_report(
    known: TaskState,
    title: str,
    last: AttemptFinished | None,
    proven: tuple[int, AttemptFinished] | None = None,
    step: str = "",
) -> str:
    """Return the task's report as Markdown, with the next `step` for a person.

    `proven` is the last attempt that came to a proof, by its number: attempts after that one may
    have ended for a broken connection, and tell nothing of the work.
    """
    return "\n".join(_lines(known, title, last, proven, step)) + "\n"


def _lines(
    known: TaskState,
    title: str,
    last: AttemptFinished | None,
    proven: tuple[int, AttemptFinished] | None,
    step: str,
) -> Iterator[str]:
    name = display(known.id)
    yield f"# {name}: {display_markdown(title)}"
    yield ""
    yield f"{format_status(known)}: {display(known.note)}"
    yield ""
    yield from _facts(known)
    if proven is not None:
        number, attempt = proven
        of = "" if not known.tries or number == known.tries[-1].attempt else f" of attempt {number}"
        yield from _section(f"Checks{of}", (_proof(one) for one in attempt.proofs))
    refusals = [one for one in known.findings if one.refuses]
    yield from _section("Open", _findings(refusals))
    summary = last.summary if last else ""
    yield from _section("Last message of the implementer", _quote(summary))
    yield from _section("Attempts", _attempts(known))
    if step:
        yield from _section("Next step", [f"- {step}"])


def _facts(known: TaskState) -> Iterator[str]:
    if known.draft:
        yield f"- Work kept on `{display(known.draft)}`"
    yield f"- Attempts: {known.attempts_in_row}, {duration(known.seconds_in_row)}"
    if used := cost(known.usage):
        yield f"- Used: {used}"


def _section(heading: str, lines: Iterable[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield from ("", f"## {heading}", "", *found)


def _proof(proof: Proof) -> str:
    counts = ", ".join(f"{display(name)} {number}" for name, number in proof.counts)
    result = _SIGN.get(proof.verdict, str(proof.verdict))
    command = f": `{display(proof.command)}`" if proof.command else ""
    return f"- {display(proof.id)} {result}{f' ({counts})' if counts else ''}{command}"


def _place(one: Finding) -> str:
    """Return the file of a finding, with its line if there is one."""
    return f"{display(one.path)}:{one.line}" if one.line else display(one.path)


def _findings(findings: Iterable[Finding]) -> Iterator[str]:
    for one in findings:
        place = f"{_place(one)}: " if one.path else ""
        yield f"- {display(one.check)}: {place}{display_markdown(one.message)}"
        yield from (f"  - {display_markdown(line)}" for line in list_failures(one.detail))
        if one.hint:
            yield f"  hint: {display_markdown(one.hint)}"
        if one.detail:
            tail = one.detail.splitlines()[-_DETAIL_LINES:]
            yield from ("", *(f"      {display(line)}" for line in tail), "")


def _quote(text: str) -> Iterator[str]:
    yield from (f"> {display_markdown(line)}" for line in text.splitlines())


def _attempts(known: TaskState) -> Iterator[str]:
    for one in known.tries:
        kind = f" ({one.failure})" if one.failure else ""
        failed = ", ".join(display(check) for check in one.checks) or "no check failed"
        yield f"- attempt {one.attempt}{kind}: {failed}; {duration(one.seconds)}"
    yield from (f"- loop: {display(loop)}" for loop in loops(known.tries))
