"""A team's builds for its page: the queue, one build, one pending item."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner.app.inspect.event_log import gist
from runner.errors import ExitCode, RunnerError
from runner.extensions.team.build_queue import find_build, has_asked, list_builds, read_build
from runner.extensions.team.event_rows import ENDS, PENDING, count_events, read_last, read_lines
from runner.extensions.team.pending_work import ShownWork, list_shown, read_files
from runner.extensions.team.repository_list import list_repositories
from runner.extensions.team.store_engine import BUILDS, NEWS, Doorbell
from runner.extensions.team.team_budget import describe_bounds, explain_wait, read_standings
from runner.journal.records import BadRecordError, NewerRecordError, UnfitRecordError, decode
from runner.model import Status
from runner.secrets.redact import redact
from runner.serve.builds import ROUTINE, EventRow, format_seconds
from runner.serve.drawings import SIGNS, TONES, FileDiff, diff_file
from runner.text.wording import join_few

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from runner.extensions.team.build_queue import QueuedBuild
    from runner.extensions.team.people import Person
    from runner.extensions.team.store_engine import Store

_EVENTS, _EVENTS_READ = 30, 120
_LOOK = 2.0
"""Seconds between two checks if no notification arrives."""
_LEAST = 0.3
"""Minimum seconds between two checks, however much is new."""


class TeamContext(Struct, frozen=True):
    """The context of a team's pages and actions."""

    store: Store
    four_eyes: bool = False
    default_branch_too: bool = False
    """Whether builds may land on the branch from which they start."""


# --- the queue ------------------------------------------------------------------------


class BuildRow(Struct, frozen=True):
    """One build at a glance."""

    build: QueuedBuild
    title: str
    word: str
    tone: str
    sign: str
    note: str
    is_alive: bool


class QueueBoard(Struct, frozen=True):
    """All that the list of builds shows."""

    rows: tuple[BuildRow, ...]
    waiting: int
    running: int
    repositories: tuple[str, ...]
    every: bool
    bounds: tuple[str, ...]
    """Limits on cost and number of running builds, one per line."""


def describe_queue(context: TeamContext, *, every: bool = False) -> QueueBoard:
    """Return the builds: waiting for a person first, then running, then the others."""
    bounds = read_standings(context.store)
    known = list_builds(context.store, every=every)
    rows = [describe_row(one, explain_wait(bounds, one)) for one in known]
    return QueueBoard(
        tuple(sorted(rows, key=_rank)),  # which keeps the newest first among equals
        sum(bool(row.build.waits) for row in rows),
        sum(row.is_alive for row in rows),
        tuple(one.name for one in list_repositories(context.store)),
        every,
        tuple(describe_bounds(bounds)),
    )


def _rank(row: BuildRow) -> int:
    return 0 if row.build.waits else 1 if row.is_alive else 3 if row.build.is_over else 2


def describe_row(one: QueuedBuild, held: str = "") -> BuildRow:
    """Return a build's row on the board; `held` is the reason that it cannot start."""
    wish = next((line for line in one.wish.splitlines() if line.strip()), "")
    title = wish.strip("# ") or join_few(one.tasks) or "the whole plan"
    word, tone, sign = one.state.lower(), "run", "●"
    if one.waits:
        word, tone, sign = "waits for an answer", "ask", "?"
    elif one.state == PENDING:
        tone, sign = "wait", "○"
    elif one.state in ENDS:
        tone, sign = {"COMPLETED": ("done", "✓"), "FAILED": ("bad", "✗")}.get(
            one.state, ("wait", "✗")
        )
    return BuildRow(one, title, word, tone, sign, redact(held or _note(one)), tone == "run")


def _note(one: QueuedBuild) -> str:
    if one.waits:
        return one.waits
    if one.note:
        return one.note
    if one.state == PENDING:
        return "waits for a worker; to start one: runner team worker --trust"
    return f"on {one.worker}" if one.worker and not one.is_over else ""


# --- one build ------------------------------------------------------------------------


class WaitingRow(Struct, frozen=True):
    """One thing that waits in a build."""

    item: str
    title: str
    note: str
    signs: tuple[str, ...]
    tone: str
    answered: str


class TeamTask(Struct, frozen=True):
    """One task of a build, as its journal has it."""

    id: str
    word: str
    tone: str
    sign: str
    note: str
    attempts: int
    commit: str


class BuildBoard(Struct, frozen=True):
    """All that the page of a build shows."""

    row: BuildRow
    tasks: tuple[TeamTask, ...]
    total: int
    """Number of its tasks, including those not started."""
    parts: tuple[tuple[str, float, float], ...]
    """Parts of the progress bar: tone, start and width in percent."""
    done: int
    waiting: tuple[WaitingRow, ...]
    events: tuple[EventRow, ...]
    answers: tuple[Mapping[str, object], ...]
    spent: str
    is_asker: bool
    """Whether the four-eyes rule keeps this person from approving."""


def describe_build(context: TeamContext, typed: str, person: Person) -> BuildBoard:
    """Return all details of a build. Raises RunnerError if it is unknown."""
    seen = read_build(context.store, find_build(context.store, typed))
    build = seen.build
    waiting = list_waiting_rows(context, build)
    open_ones = {row.item for row in waiting if not row.answered}
    tasks = tuple(_describe_task(one, open_ones) for one in seen.tasks)
    with context.store.read() as connection:
        own = [json.loads(line) for line in read_lines(connection, build.id)]
        last = read_last(connection, build.id, _EVENTS_READ)
    counted = (one["tasks"] for one in reversed(own) if one["type"] == "analysis.completed")
    total = max(len(tasks), next(counted, 0))
    return BuildBoard(
        describe_row(build, explain_wait(read_standings(context.store), build)),
        tasks,
        total,
        tuple(_bar([one.tone for one in tasks], total)),
        sum(one.word == "done" for one in tasks),
        waiting,
        tuple(_list_events(build, last))[:_EVENTS],
        tuple(reversed(seen.answers)),
        format_seconds(build.spent),
        context.four_eyes and has_asked(context.store, build, person.name),
    )


def _describe_task(row: Mapping[str, object], waiting: Collection[str]) -> TeamTask:
    id_, status, reason = str(row["task"]), str(row["status"]), redact(str(row["reason"]))
    tone, sign = ("ask", "?") if id_ in waiting else _tone(status)
    word = "waits" if id_ in waiting else status.lower().replace("-", " ")
    attempts = int(str(row["attempts"]))
    return TeamTask(id_, word, tone, sign, reason, attempts, str(row["commit"]))


def _bar(tones: list[str], total: int) -> Iterator[tuple[str, float, float]]:
    order = ("done", "run", "ask", "bad", "wait")
    wide = 100 / max(1, total)
    for place, tone in enumerate(sorted(tones, key=order.index)):
        yield tone, round(place * wide, 2), round(wide, 2)


def _tone(status: str) -> tuple[str, str]:
    try:
        known = Status(status)
    except ValueError:
        return "wait", ""
    return TONES[known], SIGNS[known]


def list_waiting_rows(context: TeamContext, build: QueuedBuild) -> tuple[WaitingRow, ...]:
    """Return the waiting work of a build, riskiest first."""
    return tuple(map(_waiting_row, list_shown(context.store, build.id)))


def _waiting_row(one: ShownWork) -> WaitingRow:
    document = one.document
    # For writes it names the command to type in the clone.
    note = "" if document["kind"] == "writes" else str(document["note"])
    return WaitingRow(
        *(one.item, str(document["title"]), note, _texts(document["signs"])),
        *(str(document["tone"]), one.answered),
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _list_events(build: QueuedBuild, last: Iterable[tuple[str, str]]) -> Iterator[EventRow]:
    for journal, line in last:
        one = _own_event(line) if journal == build.id else _clone_event(line)
        if one.type not in ROUTINE:
            yield one


def _own_event(line: str) -> EventRow:
    one = json.loads(line)
    words = [str(one[name]) for name in ("word", "task", "worker", "why", "note") if one.get(name)]
    if by := one.get("by"):
        words.append(f"by {by}" + (f", at the {one['via']}" if one.get("via") else ""))
    return EventRow(one["seq"], one["time"], "", one["type"], redact(" · ".join(words)))


def _clone_event(line: str) -> EventRow:
    try:
        one = decode(line.encode())
    except (BadRecordError, NewerRecordError, UnfitRecordError):
        return EventRow(0, "", "", "an event that this version cannot read", "")
    return EventRow(one.seq, one.time, one.task, one.type, redact(gist(one)))


# --- one thing that waits -------------------------------------------------------------


class WaitingItem(Struct, frozen=True):
    """One thing that waits in a build, whole."""

    row: WaitingRow
    build: QueuedBuild
    kind: str
    seen: str
    words: tuple[str, ...]
    questions: tuple[Mapping[str, object], ...]
    files: tuple[FileDiff, ...]
    missing: tuple[str, ...]
    """Files that were too large to store."""
    proofs: tuple[Mapping[str, object], ...]
    is_asker: bool
    before: str
    after: str


def describe_item(context: TeamContext, typed: str, item: str, person: Person) -> WaitingItem:
    """Return one waiting item. Raises RunnerError (exit 6) if it does not wait."""
    build = find_build(context.store, typed)
    known = list_shown(context.store, build.id)
    at = next((place for place, one in enumerate(known) if one.item == item), -1)
    if at < 0:
        raise RunnerError(f"{item} has nothing to approve", code=ExitCode.CONFLICT)
    one = known[at]
    files = read_files(one.document)
    return WaitingItem(
        _waiting_row(one),
        build,
        str(one.document["kind"]),
        one.seen,
        _texts(one.document["words"]),
        _rows(one.document["questions"]),
        tuple(diff_file(before, change, {}) for change, before, whole in files if whole),
        tuple(change.path for change, _, whole in files if not whole),
        _rows(one.document["proofs"]),
        context.four_eyes and has_asked(context.store, build, person.name),
        known[at - 1].item if at > 0 else "",
        known[at + 1].item if at + 1 < len(known) else "",
    )


def _rows(value: object) -> tuple[Mapping[str, object], ...]:
    return tuple(value) if isinstance(value, list) else ()


# --- news -----------------------------------------------------------------------------


class News(Struct):
    """Counts what is new in the store, for everybody who follows; begun by the first of them."""

    store: Store
    number: int = 1
    _thread: threading.Thread | None = None
    _beginning: threading.Lock = field(default_factory=threading.Lock)

    def begin(self) -> None:
        """Start the thread that watches the store until the process ends."""
        with self._beginning:
            if self._thread is None:
                self._thread = threading.Thread(target=self._look, name="news", daemon=True)
                self._thread.start()

    def _look(self) -> None:
        rung, seen = threading.Event(), ""
        with Doorbell(self.store, rung, BUILDS, NEWS):
            while True:
                rung.wait(_LOOK)
                rung.clear()
                with suppress(RunnerError):  # it is away: who follows waits, too
                    now = _fingerprint(self.store)
                    if now != seen:
                        seen = now
                        self.number += 1
                time.sleep(_LEAST)


def _fingerprint(store: Store) -> str:
    builds = list_builds(store, every=False)
    with store.read() as connection:
        counts = count_events(connection, [one.id for one in builds])
    return repr([(one.id, one.state, one.waits, one.cancelled_by) for one in builds]) + repr(counts)
