"""Compute a build's statistics from its journal in linear time."""

from __future__ import annotations

import json
import math
import re
import time
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from runner import effects
from runner.app.inspect import time_spent
from runner.app.inspect.time_spent import TimeSpent
from runner.app.inspect.view import View
from runner.errors import ExitCode
from runner.journal import person_waits
from runner.journal.events import (
    AttemptFinished,
    GateCompleted,
    RunFinished,
    TaskBlocked,
)
from runner.journal.journal_cache import WORTH_SAVING, Cursor
from runner.journal.lock import RunLock
from runner.journal.person_waits import PersonWaits, Wait
from runner.journal.records import Mark, read_places, to_text
from runner.journal.session_events import DraftProposed, PlanProposed, find_usage
from runner.model import Ending, Failure, Usage
from runner.project import BUILD
from runner.report.cost import ProofCosts, cost, cost_data, dollars
from runner.report.documents import document
from runner.report.summary import duration
from runner.text.display import display
from runner.text.wording import moment, plural

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.journal.events import Record
    from runner.project import Project

ENDS = {
    ExitCode.OK: "done",
    ExitCode.FAILED: "failed",
    ExitCode.USAGE: "usage",
    ExitCode.PERSON: "person",
    ExitCode.REGRESSION: "regression",
    ExitCode.STOPPED: "stopped",
    ExitCode.CONFLICT: "conflict",
    ExitCode.BUG: "bug",
    ExitCode.INTERRUPTED: "interrupted",
}
"""How a run of a build ended, by its exit code."""
KILLED, RUNNING, OTHER = "killed", "running", "other"
_TASK_ENDS = frozenset(
    {"task.done", "task.blocked", "task.staled", "task.adopted", "task.waived", "task.reopened"}
)
WANTED = (
    person_waits.WANTED
    | time_spent.WANTED
    | _TASK_ENDS
    | {
        "draft.proposed",
        "run.started",
        "run.finished",
        "attempt.finished",
        "gate.completed",
        "plan.proposed",
    }
)
_TEST = re.compile(r"TC-\d+\Z")
FORMAT = 1
_COUNTERS = ("builds", "attempts", "failures", "checks", "blocked")
_PLAIN = ("first", "last", "records", "recoveries", "open_run")


class Waited(Struct):
    """Waits of one kind that a person ended."""

    count: int = 0
    seconds: float = 0.0
    longest: float = 0.0

    def add(self, wait: Wait) -> None:
        """Count one more wait."""
        self.count += 1
        self.seconds += wait.seconds
        self.longest = max(self.longest, wait.seconds)


class Tally:
    """Hears every record of a journal in its order and counts those from a time on."""

    def __init__(self, since: str = "") -> None:
        self.since = since
        self.first = self.last = ""
        self.records = 0
        self.builds: Counter[str] = Counter()
        self.attempts: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.checks: Counter[str] = Counter()
        self.blocked: Counter[str] = Counter()
        self.recoveries = 0
        self.waited: dict[str, Waited] = {}
        self.waits = PersonWaits()
        self.used: dict[str, Usage] = {}
        """By task; usage of plan drafts is under the empty ID."""
        self.proofs = ProofCosts()
        self.spent = TimeSpent()
        self.ended: set[str] = set()
        """Tasks that ended in this period."""
        self.open_run = ""
        """Start of the open run; empty if none is open."""

    def hear(self, record: Record) -> None:
        """Count one record."""
        # UTC times in one format sort as text (RFC 3339, 5.1).
        counts = record.time >= self.since
        # Include older records: a wait that ended in this period may have begun before it.
        wait = self.waits.hear(record)
        if counts:
            self.records += 1
            self.first, self.last = self.first or record.time, record.time
            if wait is not None:
                self.waited.setdefault(wait.kind, Waited()).add(wait)
            if record.type in _TASK_ENDS:
                self.ended.add(record.task)
            self._count(record)
            self.spent.hear(record)
        if record.type == "run.started":
            self._take_up(record, counts=counts)
        elif record.type == "run.finished":
            self.open_run = ""

    def builds_by_end(self, *, live: bool) -> Counter[str]:
        """Count builds by their end, with the open run: it goes on, or was killed."""
        builds = self.builds.copy()
        if self.open_run and self.open_run >= self.since:
            builds[RUNNING if live else KILLED] += 1
        return builds

    def _take_up(self, record: Record, *, counts: bool) -> None:
        if self.open_run and counts:
            self.builds[KILLED] += 1
            self.recoveries += 1
        self.open_run = record.time

    def _count(self, record: Record) -> None:
        match record.event:
            case RunFinished(exit=code):
                self.builds[end_of(code)] += 1
            case AttemptFinished() as finished:
                self._count_attempt(record, finished)
            case TaskBlocked(reason=reason):
                self.blocked[str(reason)] += 1
            case PlanProposed(usage=usage) if usage is not None:
                self._use(record.task, usage)
            case DraftProposed() as drafted:
                self._use("", find_usage(drafted))
            case GateCompleted(proof=proof):
                self.proofs.add(proof)

    def _count_attempt(self, record: Record, finished: AttemptFinished) -> None:
        if finished.usage is not None:
            self._use(record.task, finished.usage)
        if record.attempt > 0:  # else it only planned
            self.attempts[str(finished.ending)] += 1
        if finished.ending is Ending.FAILED or finished.failure is not None:
            self.failures[str(finished.failure or Failure.SEMANTIC)] += 1
        refused = next((one.check for one in finished.findings if one.refuses), "")
        if refused:
            self.checks["test" if _TEST.match(refused) else refused.partition(":")[0]] += 1

    def _use(self, task: str, usage: Usage) -> None:
        self.used[task] = self.used.get(task, Usage()) + usage

    @property
    def usage(self) -> Usage:
        """Total usage of all tasks and drafts."""
        return sum(self.used.values(), Usage())


def end_of(code: int) -> str:
    """Return the name of a run's exit code."""
    return ENDS.get(ExitCode(code), OTHER) if code in set(ExitCode) else OTHER


class Statistics(Struct, frozen=True):
    """The counts of a build, and the status of tasks that ended in that period."""

    tally: Tally
    bytes: int
    """Bytes of the whole journal."""
    tasks: Counter[str]
    """Tasks by status, DONE with its grade: `done proven`, `blocked`."""
    proven: frozenset[str]
    """Tasks that are DONE and proven."""

    @property
    def dollars_per_proven(self) -> float | None:
        """All that was paid, also for what failed, over the paid tasks that are proven."""
        paid = {task for task, usage in self.tally.used.items() if usage.dollars}
        proven = len(paid & self.proven)
        return self.tally.usage.dollars / proven if proven else None


def is_live(project: Project) -> bool:
    """Return whether a run is active in this project."""
    return RunLock(project.root / BUILD).holder() is not None


def count_tasks(
    project: Project, ended: set[str] | None = None
) -> tuple[Counter[str], frozenset[str]]:
    """Return the number of tasks by status and grade, and the proven tasks."""
    if not project.has_plan:
        return Counter(), frozenset()
    view = View.of(project)
    counts: Counter[str] = Counter()
    proven = set()
    for id_, known in view.states.items():
        graded = view.grades.get(id_)
        if graded is not None and graded.is_proven:
            proven.add(id_)
        if ended is None or id_ in ended:
            word = str(known.status).lower()
            counts[f"{word} {graded.grade}" if graded else word] += 1
    return counts, frozenset(proven)


class RunningTally:
    """A tally that goes on where it was: each `read` hears only what came since."""

    def __init__(self, journal: Path) -> None:
        self.journal = journal
        self._begin()

    def _begin(self) -> None:
        self.tally, self._place, self._file = Tally(), Mark(), 0

    def read(self, until: float = math.inf) -> Tally:
        """Return the present tally, or the last one if read after `until` (`time.monotonic`).

        Raises RunnerError where the journal is damaged.
        """
        file, size = self._find()
        if file != self._file or size < self._place.offset:
            self._begin()  # somebody began a new journal, or put another one there
        self._file = file
        for record, place in read_places(self.journal, self._place, wanted=WANTED):
            self.tally.hear(record)
            self._place = place
            if time.monotonic() > until:
                break
        return self.tally

    @property
    def unread(self) -> int:
        """Bytes that the next `read` goes on with."""
        return max(0, self._find()[1] - self._place.offset)

    def _find(self) -> tuple[int, int]:
        try:
            found = self.journal.stat()
        except OSError:
            return 0, 0
        return found.st_ino, found.st_size


# --- for programs ---------------------------------------------------------------------


def describe_statistics(found: Statistics) -> dict[str, object]:
    """Return the statistics as JSON data."""
    tally = found.tally
    dollars = found.dollars_per_proven
    return {
        "covers": {
            "since": tally.since or None,
            "first": tally.first or None,
            "last": tally.last or None,
            "records": tally.records,
            "bytes": found.bytes,
        },
        "builds": _sorted(tally.builds),
        "tasks": _sorted(found.tasks),
        "attempts": _sorted(tally.attempts),
        "failures": {
            "byClass": _sorted(tally.failures),
            "byCheck": _sorted(tally.checks),
            "blockedBy": _sorted(tally.blocked),
        },
        "recoveries": tally.recoveries,
        "waits": {
            kind: {
                "count": one.count,
                "seconds": round(one.seconds, 3),
                "longest": round(one.longest, 3),
            }
            for kind, one in sorted(tally.waited.items())
        },
        "waiting": _sorted(Counter(one.kind for one in tally.waits.open.values())),
        "usage": cost_data(tally.usage),
        "dollarsPerProvenTask": round(dollars, 6) if dollars is not None else None,
        **tally.proofs.data(),
    }


def _sorted(counted: Counter[str]) -> dict[str, int]:
    return dict(sorted(counted.items()))


def statistics_document(found: Statistics) -> str:
    """Return the `stats` JSON document."""
    return document("stats", **describe_statistics(found))


def statistics_lines(found: Statistics) -> Iterator[str]:
    """Yield the statistics as lines, one figure or kind a line."""
    tally = found.tally
    yield _covers(found)
    if not tally.records:
        return
    word = "recovery" if tally.recoveries == 1 else "recoveries"
    recovered = f"; {tally.recoveries} {word}" if tally.recoveries else ""
    yield f"builds:     {_format_counter(tally.builds)}{recovered}"
    yield f"tasks:      {_format_counter(found.tasks)}"
    yield f"attempts:   {_format_counter(tally.attempts)}"
    if tally.failures:
        yield f"failures:   {_format_counter(tally.failures)}"
    if tally.checks:
        yield f"refused by: {_format_counter(tally.checks)}"
    if tally.blocked:
        yield f"blocked by: {_format_counter(tally.blocked)}"
    for kind, one in sorted(tally.waited.items(), key=lambda item: -item[1].seconds):
        longest = f", the longest {duration(one.longest)}" if one.count > 1 else ""
        yield f"waited:     {display(kind)} {one.count}, {duration(one.seconds)}{longest}"
    if waiting := sorted(one.task for one in tally.waits.open.values()):
        yield f"waiting:    {len(waiting)} ({', '.join(map(display, waiting[:5]))})"
    if used := cost(tally.usage):
        per = found.dollars_per_proven
        yield f"used:       {used}{f', {dollars(per)} a proven task' if per else ''}"
    for kind, ran, spent, stood in tally.proofs.rows():
        more = f", {stood} cached" if stood != "0" else ""
        yield f"proofs:     {display(kind)} {ran}, {spent}{more}"


def _covers(found: Statistics) -> str:
    tally = found.tally
    if not tally.records:
        since = f" since {moment(tally.since)}" if tally.since else " yet"
        return f"nothing has happened{since}"
    of_all = f" since {moment(tally.since)}" if tally.since else ""
    times = f"{moment(tally.first)} to {moment(tally.last)}"
    return f"{plural(tally.records, 'record')}{of_all}, from {times}"


def _format_counter(counted: Counter[str]) -> str:
    counts = ", ".join(f"{number} {display(word)}" for word, number in counted.most_common())
    return counts or "none"


def count_all(project: Project, seconds: float | None = None) -> Statistics:
    """Count the journal of the last `seconds` or of all time. Raises RunnerError if damaged."""
    tally, place = count_journal(project, seconds)
    tally.builds = tally.builds_by_end(live=is_live(project))
    tasks, proven = count_tasks(project, tally.ended if seconds is not None else None)
    return Statistics(tally, place.offset, tasks, proven)


def count_journal(project: Project, seconds: float | None = None) -> tuple[Tally, Mark]:
    """Return the tally of the last `seconds` or of all time, and the end of the journal."""
    if seconds is None:
        return load_tally(project.journal_path, project.cache)
    tally, place = Tally(_since(seconds)), Mark()
    for record, reached in read_places(project.journal_path, wanted=WANTED):
        tally.hear(record)
        place = reached
    return tally, place


def _since(seconds: float) -> str:
    began = effects.now() - timedelta(seconds=seconds)
    return began.isoformat(timespec="microseconds").replace("+00:00", "Z")


def load_tally(journal: Path, cache: Path) -> tuple[Tally, Mark]:
    """Return the tally of a whole journal and its end, starting from the cached tally.

    Raises RunnerError where the journal is damaged behind what is kept.
    """
    cursor = Cursor(journal, cache, "figures", FORMAT)
    tally, place = _read(cursor) or (Tally(), Mark())
    begun = place.seq
    for record, reached in read_places(journal, place, wanted=WANTED):
        tally.hear(record)
        place = reached
    if place.seq - begun >= WORTH_SAVING:
        cursor.save(to_text(tally_to_data(tally)).encode("utf-8", "backslashreplace"), place)
    return tally, place


def _read(cursor: Cursor) -> tuple[Tally, Mark] | None:
    kept = cursor.read()
    try:
        return kept and (tally_from_data(json.loads(kept[0])), kept[1])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # made by another hand: the journal says it all anyway


def tally_to_data(tally: Tally) -> dict[str, Any]:
    """Return a tally as JSON values."""
    proofs = tally.proofs
    return {
        **{name: getattr(tally, name) for name in (*_COUNTERS, *_PLAIN)},
        "waited": {
            kind: [one.count, one.seconds, one.longest] for kind, one in tally.waited.items()
        },
        "open": {key: list(wait) for key, wait in tally.waits.open.items()},
        "used": {
            task: [one.input_tokens, one.output_tokens, one.dollars, one.tool_calls]
            for task, one in tally.used.items()
        },
        "proofs": [proofs.ran, proofs.stood, proofs.seconds, proofs.saved],
        "ended": sorted(tally.ended),
        "spent": vars(tally.spent),
    }


def tally_from_data(data: dict[str, Any]) -> Tally:
    """Create a tally from JSON values. Raises KeyError, TypeError, AttributeError."""
    tally = Tally()
    for name in _COUNTERS:
        setattr(tally, name, Counter(data[name]))
    for name in _PLAIN:
        setattr(tally, name, data[name])
    tally.waited = {kind: Waited(*row) for kind, row in data["waited"].items()}
    tally.waits.open = {key: Wait(*row) for key, row in data["open"].items()}
    tally.used = {task: Usage(*row) for task, row in data["used"].items()}
    ran, stood, seconds, saved = data["proofs"]
    tally.proofs = ProofCosts(Counter(ran), Counter(stood), seconds, saved)
    tally.ended = set(data["ended"])
    for name in vars(tally.spent):
        setattr(tally.spent, name, data["spent"][name])
    return tally
