"""Change a task's specification: mark tasks STALE, and record the change in the plan.

CHANGES.md and the quotes in the plan: where a `!change` is written down for people.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.journal.events import ChangeRecorded, TaskStaled
from runner.lazy_pattern import regex
from runner.model import Status
from runner.plan.document import read_plan
from runner.plan.edit import add_quote, set_statuses, spans_of
from runner.repo.trailers import shorten
from runner.run.dependents import find_reached
from runner.secrets.redact import redact
from runner.text.wording import read_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.journal.events import Record
    from runner.journal.task_state import TaskState
    from runner.model import Task
    from runner.plan.document import Plan
    from runner.plan.sections import PlanCommand
    from runner.run.journal_writer import JournalWriter
    from runner.run.landing.status_writer import PlanDocument

# --- what it makes STALE --------------------------------------------------------------


_NOTE = 100
"""Characters of a change shown after a status."""


class StaledTask(Struct, frozen=True):
    """One task that a change would make STALE."""

    id: str
    title: str
    reason: str
    tests: tuple[str, ...]
    """IDs of the test contracts that would run again."""
    seconds: float
    """Median seconds of its past attempts; 0 if unknown."""
    via: str = ""
    """Next task on the path from the change; empty for one that is named directly."""


class Noted(Struct, frozen=True):
    """A named task that just gets the note."""

    id: str
    title: str
    status: Status
    note: str


class ChangePreview(Struct, frozen=True):
    """A `!change`, simulated without effect."""

    text: str
    tasks: tuple[str, ...]
    stale: tuple[StaledTask, ...]
    noted: tuple[Noted, ...]

    @property
    def seconds(self) -> float:
        """Estimated seconds to rebuild the STALE tasks, from past attempts."""
        return sum(one.seconds for one in self.stale)


def plan_change(
    tasks: Sequence[Task], state: Callable[[str], TaskState], ids: Sequence[str], text: str
) -> ChangePreview:
    """Return the tasks that become STALE: the named DONE tasks, and dependents of any named one.

    Only what is DONE rests on the old words; a task that is PENDING, BLOCKED or STALE has the note
    in its next brief.
    """
    by_id = {task.id: task for task in reversed(tasks)}
    stale, noted = [], []
    for id_ in dict.fromkeys(ids):
        known = state(id_)
        if known.status is Status.DONE:
            stale.append(_reach(by_id[id_], known, "the change is for this task"))
        else:
            noted.append(Noted(id_, by_id[id_].title, known.status, known.note))
    rests_on_old = [one.id for one in stale] + [
        one.id for one in noted if one.status is Status.STALE
    ]
    for id_, why in find_reached(tasks, rests_on_old).items():
        known = state(id_)
        if known.status is Status.DONE:
            stale.append(_reach(by_id[id_], known, why.reason, why.via))
    return ChangePreview(text, tuple(dict.fromkeys(ids)), tuple(stale), tuple(noted))


def _reach(task: Task, known: TaskState, reason: str, via: str = "") -> StaledTask:
    tests = tuple(contract.id for contract in task.test_contracts)
    return StaledTask(task.id, task.title, reason, tests, known.typical_seconds, via)


class ChangeContext(Struct, frozen=True):
    """The places where a change is recorded: journal, CHANGES.md, the plan."""

    journal: JournalWriter
    document: ChangesDocument
    quotes: Quotes
    plan: Path


def record_change(context: ChangeContext, change: ChangePreview) -> int:
    """Write a change down and make its tasks STALE; gives its number.

    The journal first: whatever a crash cuts off behind it, `complete` writes at the next start.
    """
    number = context.document.next_number(context.journal.state.changes)
    event = ChangeRecorded(
        number=number,
        text=change.text,
        tasks=change.tasks,
        stale=tuple(one.id for one in change.stale),
        reasons=tuple(one.reason for one in change.stale),
        via=tuple(one.via for one in change.stale),
    )
    record = context.journal.note(event, task=change.tasks[0], durable=True)
    complete(context, record)
    return number


def complete(context: ChangeContext, record: Record) -> None:
    """Write CHANGES.md, the quotes and the statuses of a change; may be repeated."""
    event = record.event
    assert isinstance(event, ChangeRecorded)
    context.document.write(record)
    context.quotes.put(context.plan, record)
    for id_, note, via in _notes(event):
        known = context.journal.state.task(id_)
        if known.status is Status.DONE:
            stale = TaskStaled(note=note, fields=() if via else ("change",), via=via)
            context.journal.note(stale, task=id_, attempt=known.last_attempt, cause=record.id)
    context.journal.sync()


def _notes(event: ChangeRecorded) -> Iterator[tuple[str, str, str]]:
    """Yield per task its STALE note and the task through which it is affected."""
    name = f"CHANGE-{event.number:03d}"
    roads = event.via or ("",) * len(event.stale)
    for id_, reason, via in zip(event.stale, event.reasons, roads, strict=True):
        if id_ in event.tasks:
            yield id_, f"{name}: {shorten(event.text, _NOTE)}", ""
        else:
            yield id_, f"{name}: {reason}", via


# --- where it is written --------------------------------------------------------------


HEAD = "# Changes\n\nChanges that were requested for tasks. The runner appends to this file.\n"
REPLAYED = "went back to this task's checkpoint (!replay)"
"""Text that records a `!replay` line of the plan."""
_ENTRY = regex(r"^## CHANGE-(\d+):", re.MULTILINE)
_TRIES = 20


class ChangesDocument(Struct):
    """CHANGES.md: of it the entries of this session are ours to commit."""

    root: Path
    path: str = "artifacts/build/CHANGES.md"
    ours: bool = True
    _numbers: set[int] = field(default_factory=set)

    def next_number(self, last: int) -> int:
        """Return the next change number, after those in the journal and in the file."""
        return (
            max([last, *map(read_number, _ENTRY.findall(self._read().decode("utf-8", "replace")))])
            + 1
        )

    def write(self, record: Record) -> None:
        """Append a change, once however often this is repeated. Raises RunnerError, OSError."""
        event = record.event
        assert isinstance(event, ChangeRecorded)
        self._numbers.add(event.number)
        effects.make_folder((self.root / self.path).parent)
        for _ in range(_TRIES):
            old = self._read()
            text = old.decode("utf-8", "surrogateescape")
            if str(event.number) in {number.lstrip("0") for number in _ENTRY.findall(text)}:
                return
            new = (text or HEAD).rstrip("\n") + "\n\n" + entry(event, record.time[:10])
            file = self.root / self.path
            data = new.encode("utf-8", "surrogateescape")
            if effects.write_file(file, data, mode=effects.mode_of(file), expected=old):
                return
        raise _make_conflict_error(self.path)

    def content_to_commit(self, committed: bytes, working: Callable[[], bytes]) -> bytes:
        """Return the committed file with the runner's new entries; exclude a person's edits."""
        text = committed.decode("utf-8", "surrogateescape")
        known = {read_number(number) for number in _ENTRY.findall(text)}
        for number, entry in _entries(working().decode("utf-8", "surrogateescape")):
            if number in self._numbers and number not in known:
                text = (text or HEAD).rstrip("\n") + "\n\n" + entry.rstrip("\n") + "\n"
        return text.encode("utf-8", "surrogateescape")

    def _read(self) -> bytes:
        try:
            return (self.root / self.path).read_bytes()
        except FileNotFoundError:
            return b""


def entry(event: ChangeRecorded, date: str) -> str:
    """Format one change for CHANGES.md."""
    because = [f"- {id_}: {reason}" for id_, reason in zip(event.stale, event.reasons, strict=True)]
    lines = [
        f"## CHANGE-{event.number:03d}: {', '.join(event.tasks)}",
        f"Date: {date}",
        f"Change: {event.text}",
        *(["Stale:", *because] if because else ["Stale: none"]),
    ]
    return "\n".join(lines) + "\n"


def _entries(text: str) -> list[tuple[int, str]]:
    starts = [*_ENTRY.finditer(text)]
    ends = [match.start() for match in starts[1:]] + [len(text)]
    return [
        (read_number(match[1]), text[match.start() : end])
        for match, end in zip(starts, ends, strict=True)
    ]


# --- the plan -------------------------------------------------------------------------


class Quotes(Struct):
    """The quotes that this session put into the plan, for its record commit."""

    prefixes: tuple[str, ...] = ()
    _put: list[tuple[str, int, str]] = field(default_factory=list)

    def put(self, file: Path, record: Record) -> None:
        """Quote a change in each of its tasks, once however often this is repeated.

        A command line that says the same is replaced. Where a person saves the plan at the same
        moment, theirs is edited. Raises RunnerError, OSError.
        """
        event = record.event
        assert isinstance(event, ChangeRecorded)
        for id_ in event.tasks:
            text = f"CHANGE-{event.number:03d} ({record.time[:10]}): {event.text}"
            self._put.append((id_, event.number, text))
        mine = self._put[-len(event.tasks) :] if event.tasks else []
        for _ in range(_TRIES):
            old = file.read_bytes()
            new = self._quote(old, mine, event.text)
            mode = file.stat().st_mode & 0o777
            if new == old or effects.write_file(file, new, mode=mode, expected=old):
                return
        raise _make_conflict_error(file.name)

    def _quote(self, data: bytes, quotes: list[tuple[str, int, str]], quoted: str = "") -> bytes:
        """Return the plan with missing quotes added; skip tasks that it does not contain."""
        for id_, number, text in quotes:
            plan = read_plan(data, "TASK-GRAPH.md", prefixes=self.prefixes)
            task = next((task for task in plan.tasks if task.id == id_), None)
            if task is None or any(_is(note, number) for note in task.changes):
                continue
            line = _find_command_line(plan, id_, quoted) if quoted else None
            data = add_quote(data, id_, text, prefixes=self.prefixes, replacing=line)
        return data

    def content_to_commit(self, committed: bytes) -> bytes:
        """Return the committed plan with the quotes added in place of command lines."""
        for one in self._put:
            data = self._quote(committed, [one], one[2].partition("): ")[2])
            committed = data
        return committed


class QuotedPlan(Struct, frozen=True):
    """The plan as a record commit has it: its statuses with their notes, and our quotes."""

    plan: PlanDocument
    quotes: Quotes
    waiting: Callable[[], Mapping[str, str]]
    """Returns PENDING tasks with their reason, such as `undone`, shown after the status."""
    read: Callable[[bytes], Plan]
    """Reads a plan; plans already read come from the cache."""

    @property
    def path(self) -> str:
        """Relative to the project."""
        return self.plan.path

    @property
    def ours(self) -> bool:
        """The plan is a person's."""
        return self.plan.ours

    def content_to_commit(self, committed: bytes, working: Callable[[], bytes]) -> bytes:
        """Return the committed plan with current statuses and this session's quotes."""
        text = self.plan.content_to_commit(self.quotes.content_to_commit(committed), working)
        waiting = self.waiting()
        return (
            _with_notes(text, self.read(text), self.read(working()), waiting) if waiting else text
        )


def _with_notes(text: bytes, plan: Plan, working: Plan, waiting: Mapping[str, str]) -> bytes:
    """Return the plan with notes of PENDING tasks that the working file also has."""
    there = {task.id: task for task in working.tasks}
    known = {task.id: task for task in plan.tasks}
    notes = {
        id_: (Status.PENDING, note)
        for id_, note in waiting.items()
        if id_ in there
        and id_ in known
        and (there[id_].status, there[id_].note) == (Status.PENDING, note)
        and (known[id_].status, known[id_].note) == (Status.PENDING, "")
    }
    return set_statuses(text, notes, spans=spans_of(plan)) if notes else text


def _is(note: str, number: int) -> bool:
    match = re.match(r"CHANGE-(\d+)", note)
    return match is not None and read_number(match[1]) == number


def _find_command_line(plan: Plan, id_: str, quoted: str) -> PlanCommand | None:
    """Return the plan command of a task with this quote, or None."""
    for line in plan.written_commands:
        if line.task == id_ and quoted == quote_of(line):
            return line
    return None


def quote_of(line: PlanCommand) -> str:
    """Return the text of a command line as its quote has it."""
    return REPLAYED if line.kind == "replay" else " ".join(redact(line.text).split())


def _make_conflict_error(name: str) -> RunnerError:
    return RunnerError(
        f"{name} keeps changing: another program is saving it",
        hint="stop that program, then run again; the journal is intact",
        code=ExitCode.CONFLICT,
    )
