"""The served builds: each is a folder, opened for every request, with an overview page.

The overview shows progress, cost, running tasks and next tasks.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.app.answer.waiting import list_waiting
from runner.app.inspect.event_log import gist, read_latest
from runner.app.inspect.status_document import sum_usage
from runner.app.inspect.view import View
from runner.config.paths import repository_key
from runner.errors import RunnerError
from runner.journal.display_status import format_status
from runner.journal.events import RunFinished
from runner.model import Status
from runner.project import Project
from runner.repo.read import Repository
from runner.report.cost import dollars
from runner.report.status_line import StatusWork, seconds_left
from runner.serve.drawings import SIGNS, TONES, draw_graph, find_critical_path
from runner.text.wording import join_few, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from markupsafe import Markup

    from runner.journal.events import Record


class Build(Struct, frozen=True):
    """One folder with its plan."""

    id: str
    root: Path
    environ: Mapping[str, str]
    plan: str = ""
    """Plan other than TASK-GRAPH.md, relative to the root."""

    def open(self, *, plan_needed: bool = True) -> Project:
        """Open the project in its current state. Raises RunnerError if it no longer exists."""
        flags = {"task_graph": self.plan or None}
        return Project.open(self.root, self.environ, flags, plan_needed=plan_needed)

    @property
    def name(self) -> str:
        """Folder name as display name."""
        return self.root.name


class NoBuildError(RunnerError):
    """There is no such build here."""


class Builds:
    """The served builds, in the order in which they were named."""

    def __init__(self, builds: Iterable[Build]) -> None:
        self._builds = {one.id: one for one in builds}

    @classmethod
    def of(cls, folders: Iterable[Path], environ: Mapping[str, str], plan: str = "") -> Builds:
        """Return the builds in these folders. Raises RunnerError without a git repository."""
        found = []
        for place, folder in enumerate(folders):
            named = plan if place == 0 else ""
            flags = {"task_graph": named or None}
            project = Project.open(folder, environ, flags, plan_needed=bool(named))
            inside = project.plan_path if named else ""
            found.append(Build(repository_key(project.root), project.root, environ, inside))
        return cls(found)

    def __iter__(self) -> Iterator[Build]:
        return iter(self._builds.values())

    def find(self, id_: str) -> Build:
        """Return the build of this ID. Raises NoBuildError."""
        try:
            return self._builds[id_]
        except KeyError:
            raise NoBuildError(
                "unknown build", hint="to list the builds: GET /api/v1/builds"
            ) from None


_LATEST = 12
_LATEST_READ = 200
_MOST_DRAWN = 400
"""Maximum tasks drawn at once; a larger graph is drawn on request."""
_MINUTE, _HOUR = 60, 3600


class TaskRow(Struct, frozen=True):
    """One task in the table."""

    id: str
    title: str
    word: str
    tone: str
    sign: str
    note: str
    took: str
    is_alive: bool
    since: str = ""
    """Start of its open attempt."""


class EventRow(Struct, frozen=True):
    """One record in a few words."""

    seq: int
    time: str
    task: str
    type: str
    gist: str


class Board(Struct, frozen=True):
    """All that the page of a build shows."""

    title: str
    branch: str
    tasks: int
    parts: tuple[tuple[str, float, float], ...]
    """Parts of the progress bar: tone, start and width in percent."""
    done: int
    unproven: int
    alive: tuple[str, ...]
    waiting: int
    started: str
    """Start of the active run; empty without one."""
    lasted: str
    left: str
    money: str
    used: str
    path: tuple[str, ...]
    path_takes: str
    graph: Markup | None
    rows: tuple[TaskRow, ...]
    events: tuple[EventRow, ...]
    mistakes: int
    next: str
    may_start: bool
    is_ready: bool
    """Whether a run would start work; otherwise it only processes answers."""


def describe_board(build: Build, *, whole: bool = False, drawn: bool = True) -> Board:
    """Read the build; `whole` draws even a large graph, without `drawn` none is drawn.

    Raises RunnerError without a plan.
    """
    project = build.open()
    view = View.of(project)
    path = find_critical_path(view)
    is_drawn = drawn and (whole or len(view.tasks) <= _MOST_DRAWN)
    counts = view.counts()
    usage = sum_usage(view)
    records = read_latest(project, _LATEST_READ)
    return Board(
        title=view.title or build.name,
        branch=project.head().branch or "",
        tasks=len(view.tasks),
        parts=tuple(_bar(counts, len(view.tasks))),
        done=counts.get(Status.DONE, 0),
        unproven=len(view.find_unproven()),
        alive=_alive(view),
        waiting=count_waiting(project, view),
        started=view.live.started if view.live else "",
        lasted=_last_run(records),
        left=_left(project, view),
        money=dollars(usage.dollars),
        used=f"{usage.tokens:,} tokens" if usage.tokens else "",
        path=path,
        path_takes=format_seconds(sum(view.states[id_].typical_seconds or 0.0 for id_ in path)),
        graph=draw_graph(view, f"/b/{build.id}/tasks/", path) if is_drawn else None,
        rows=tuple(_rows(view)),
        events=tuple(describe_event(one) for one in _newest(records)),
        mistakes=view.mistakes,
        next=_next(view),
        may_start=not view.live and counts.get(Status.DONE, 0) < len(view.tasks),
        is_ready=bool(view.ready() or view.landing) and not view.mistakes,
    )


def count_waiting(project: Project, view: View) -> int:
    """Return the number of items that wait for the person."""
    with Repository.open(project.root) as repository:
        return sum(not one.answered for one in list_waiting(project, repository, view.state))


def describe_event(record: Record) -> EventRow:
    """Return one journal record as a row."""
    return EventRow(record.seq, record.time, record.task, record.type, gist(record))


def format_seconds(seconds: float) -> str:
    """Format seconds as `40 s`, `3 min 20 s` or `2 h 5 min`; empty for none."""
    if seconds <= 0:
        return ""
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE:.0f} min {seconds % _MINUTE:.0f} s"
    return f"{seconds // _HOUR:.0f} h {seconds % _HOUR // _MINUTE:.0f} min"


def _bar(counts: dict[Status, int], tasks: int) -> Iterator[tuple[str, float, float]]:
    at = 0.0
    order = (Status.DONE, Status.IN_PROGRESS, Status.STALE, Status.BLOCKED, Status.PENDING)
    for status in order:
        wide = 100 * counts.get(status, 0) / max(1, tasks)
        if wide:
            yield TONES[status], round(at, 2), round(wide, 2)
        at += wide


def _rows(view: View) -> Iterator[TaskRow]:
    for task in view.tasks:
        known = view.states[task.id]
        worth = view.worth(task.id)
        word = format_status(known).replace(str(known.status), str(known.status).lower())
        word = word.replace("in-progress", "in progress")
        note = view.note(task) or (view.grades[task.id].why if worth else "")
        waits = view.waits_for(task)
        if known.status is Status.PENDING:
            derived = f"waits for {join_few(waits)}" if waits else "ready"
            note = f"{derived}: {note}" if note else derived
        yield TaskRow(
            *(task.id, task.title, f"{word}, {worth}" if worth else word),
            tone="ask" if worth == "unproven" else TONES[known.status],
            sign=SIGNS[known.status],
            note=note,
            took=format_seconds(known.seconds) if known.status is Status.DONE else "",
            is_alive=bool(view.live and known.open_attempt),
            since=known.open_attempt.time if view.live and known.open_attempt else "",
        )


def _alive(view: View) -> tuple[str, ...]:
    if not view.live:
        return ()
    return tuple(id_ for id_, one in view.states.items() if one.open_attempt)


def _left(project: Project, view: View) -> str:
    """Return the least time that the open tasks take."""
    statuses = {id_: one.status for id_, one in view.states.items()}
    needs = {task.id: task.depends_on for task in view.tasks}
    seconds = {id_: one.typical_seconds for id_, one in view.states.items() if one.typical_seconds}
    work = StatusWork(needs, seconds, project.settings.build.jobs)
    left = seconds_left(work, statuses, {}, {})
    return format_seconds(left or 0.0)


def _last_run(records: tuple[Record, ...]) -> str:
    ended = (one.event for one in reversed(records) if isinstance(one.event, RunFinished))
    last = next(ended, None)
    return format_seconds(last.seconds) if last else ""


ROUTINE = (
    "checkpoint.written",
    "write.staged",
    "write.reviewed",
    "statuses.published",
    "task.landing",
)
"""Events for the log only, not for an overview."""


def _newest(records: tuple[Record, ...]) -> list[Record]:
    shown = (one for one in reversed(records) if one.type not in ROUTINE)
    return list(islice(shown, _LATEST))


def _next(view: View) -> str:
    """Return what to do next."""
    if view.live:
        return "The build is running."
    if view.mistakes:
        return f"The plan has {plural(view.mistakes, 'mistake')}: fix it first."
    ready = [task.id for task in view.ready()]
    if ready:
        return f"Ready to start: {join_few(ready)}."
    if view.tasks and view.counts().get(Status.DONE, 0) == len(view.tasks):
        return "Everything is done."
    return "Nothing can start until you answer." if view.tasks else ""
