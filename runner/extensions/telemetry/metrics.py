"""`GET /metrics`: the figures of `runner stats` in Prometheus' text format.

Who knows the token in a file of the user's state folder may read them: neither the page's cookie
nor its second secret is one, and Host and Origin are looked at as everywhere (`guard`). A scrape
reads of each journal only what came since the last one, for some seconds; how much is left is a
figure, too. A journal or a store that cannot be read takes away its own figures and no others.

Counters go down where a folder gets another journal, and after a start of the server they are
there again: they are the journal's, not this process's.
"""

from __future__ import annotations

import asyncio
import hmac
import importlib.util
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from starlette.responses import PlainTextResponse, Response

from runner.app.inspect.statistics import RUNNING, RunningTally, count_tasks, is_live
from runner.errors import RunnerError
from runner.lazy_module import lazy_module
from runner.serve.listener import token_file
from runner.text.display import display
from runner.text.wording import refusal_of_import

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    import prometheus_client
    from prometheus_client import core
    from prometheus_client.core import Metric
    from starlette.requests import Request

    from runner.config import loading, paths
    from runner.extensions.team import store_engine, team_budget
    from runner.project import Project
    from runner.serve.application import PageContext
    from runner.serve.builds import Build, Builds
else:
    prometheus_client = lazy_module("prometheus_client")
    core = lazy_module("prometheus_client.core")
    paths = lazy_module("runner.config.paths")
    loading = lazy_module("runner.config.loading")
    store_engine = lazy_module("runner.extensions.team.store_engine")
    team_budget = lazy_module("runner.extensions.team.team_budget")

_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS_TO_READ = 4.0
"""Seconds for all journals of one scrape; Prometheus waits ten seconds by default."""
_SECONDS_TO_COUNT = 3.0
"""Seconds for the store; an unreachable one does not delay the journals' figures."""
_TASKS_STAND = 60.0
"""Seconds after which tasks are counted again even if journal and plan are unchanged."""
_CHEAP, _REST = 0.5, 50
"""Seconds of processor time that counting them may take each time, since it folds the journal from
the last run's end; what takes more is done for one fiftieth of the time."""
_MOST_VALUES = 50
"""Distinct label values chosen by a plan, a journal or a person; further ones become `other`."""
_LONGEST_VALUE = 100
_OTHER = "other"
_SHORTEST_TOKEN = 20


class TeamFigures(Struct, frozen=True):
    """The figures of a team's store; all empty where there is none."""

    states: Mapping[str, int] = field(default_factory=dict)
    """Unfinished builds, by state."""
    dollars: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Figures of each budget, by repository: `bound`, `spent`, `given`, `left`."""


class Folder(Struct):
    """The facts about one build between two scrapes."""

    build: Build
    running: RunningTally | None = None
    tasks: Counter[str] = field(default_factory=Counter)
    tasks_of: tuple[object, ...] = ()
    """State of journal and plan at the last count of tasks."""
    tasks_until: float = 0.0
    """When to count again even if neither changed; the only trigger if counting is slow."""
    tasks_cost: float = 0.0
    builds: Counter[str] = field(default_factory=Counter)
    is_readable: bool = False

    def look(self, until: float) -> None:
        """Read on, until a time of the monotonic clock."""
        self.is_readable = False
        try:
            project = self.build.open(plan_needed=False)
            if self.running is None or self.running.journal != project.journal_path:
                self.running = RunningTally(project.journal_path)
            live = is_live(project)  # before the journal: a run tells its end, then lets go
            tally = self.running.read(until)
            self.builds = tally.builds_by_end(live=live)
            if not self.running.unread and time.monotonic() < until - _SECONDS_TO_READ / 2:
                self._count_tasks(project)
        except (RunnerError, OSError):
            return
        self.is_readable = True

    def _count_tasks(self, project: Project) -> None:
        stand = (_stamp(project.journal_path), _stamp_plan(project))
        now = time.monotonic()
        if now < self.tasks_until and (stand == self.tasks_of or self.tasks_cost > _CHEAP):
            return
        began = time.thread_time()
        self.tasks, _ = count_tasks(project)
        self.tasks_of, self.tasks_cost = stand, time.thread_time() - began
        self.tasks_until = now + max(_TASKS_STAND, _REST * self.tasks_cost)

    @property
    def labels(self) -> tuple[str, str]:
        """Its id, and the name of its folder for people."""
        return self.build.id, _shorten(self.build.name)

    def count(self) -> Iterator[tuple[str, Mapping[str, float]]]:
        """Yield each metric's name with its values by label."""
        assert self.running is not None  # it is readable
        tally, usage = self.running.tally, self.running.tally.usage
        yield "builds", {end: n for end, n in self.builds.items() if end != RUNNING}
        yield "attempts", tally.attempts
        yield "attempt_failures", tally.failures
        yield "attempt_refusals", tally.checks
        yield "tasks_blocked", tally.blocked
        yield "recoveries", {"": tally.recoveries}
        yield "person_waits", {kind: one.count for kind, one in tally.waited.items()}
        yield "person_wait_seconds", {kind: one.seconds for kind, one in tally.waited.items()}
        yield "tokens", {"input": usage.input_tokens, "output": usage.output_tokens}
        yield "dollars", {"": usage.dollars}
        yield "tool_calls", {"": usage.tool_calls}
        yield "builds_running", {"": self.builds[RUNNING]}
        yield "tasks", self.tasks
        yield "person_waiting", Counter(one.kind for one in tally.waits.open.values())
        yield "journal_unread_bytes", {"": self.running.unread}


def _stamp(file: Path) -> tuple[int, ...]:
    try:
        found = file.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _stamp_plan(project: Project) -> tuple[int, ...]:
    try:
        return _stamp(project.root / project.plan_path)
    except RunnerError:
        return ()  # there is none yet


_FIGURES = {
    "builds": ("counter", "end", "Finished runs of a build, by result."),
    "attempts": ("counter", "ending", "Attempts at tasks."),
    "attempt_failures": ("counter", "class", "Attempts that failed, by class."),
    "attempt_refusals": ("counter", "check", "Rejected attempts, by the first failed check."),
    "tasks_blocked": ("counter", "reason", "Times a task was BLOCKED."),
    "recoveries": ("counter", "", "Runs that resumed the work of a killed run."),
    "person_waits": ("counter", "kind", "Waits for a person that ended."),
    "person_wait_seconds": ("counter", "kind", "Duration of waits for a person."),
    "tokens": ("counter", "direction", "Tokens that implementers reported."),
    "dollars": ("counter", "", "Dollars that implementers reported."),
    "tool_calls": ("counter", "", "Tool calls that implementers reported."),
    "builds_running": ("gauge", "", "Whether a run is active."),
    "tasks": ("gauge", "state", "Tasks of the plan by status, DONE by grade."),
    "person_waiting": ("gauge", "kind", "Items that wait for a person."),
    "journal_unread_bytes": ("gauge", "", "Position where the next scrape continues."),
}
"""Metric type, label besides `build` and `folder`, and description."""


def open_page(context: PageContext) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers `/metrics` for the builds that one person's page shows."""
    file = token_file(context.places)
    return Metrics(context.builds, file, lambda: count_queue(context.environ)).answer


def count_queue(environ: Mapping[str, str]) -> TeamFigures:
    """Return the team's figures; none where there is no store. Raises RunnerError: it is away."""
    state = paths.Places.of(environ).state
    address = loading.load_settings(Path.cwd(), environ, {}).settings.team.store
    if not address and not (state / "team" / "store.sqlite").exists():
        return TeamFigures()
    try:
        with store_engine.open_store(store_engine.find_address(state, address)) as store:
            return TeamFigures(*team_budget.measure_team(store))
    except ImportError as error:
        raise refusal_of_import(error) or error from error


class Metrics:
    """The route. One scrape at a time counts; another one waits for it."""

    def __init__(
        self, builds: Builds, token_file: Path, count_queue: Callable[[], TeamFigures]
    ) -> None:
        self._folders = [Folder(build) for build in builds]
        self._token_file = token_file
        self._count_queue = count_queue
        self._counting: asyncio.Task[TeamFigures | None] | None = None
        self._one_at_a_time = asyncio.Lock()

    async def answer(self, request: Request) -> Response:
        """Return the metrics if the request has the token."""
        if not self._is_valid_token(request.headers.getlist("authorization")):
            refusal = "this needs the token that `runner serve --metrics-token` prints\n"
            return PlainTextResponse(refusal, 401, {"www-authenticate": "Bearer"})
        if importlib.util.find_spec("prometheus_client") is None:
            refusal = "prometheus-client is not installed\n"
            return PlainTextResponse(f"{refusal}pip install 'task-graph-runner[telemetry]'\n", 501)
        async with self._one_at_a_time:
            queue = await self._ask_queue()
            text = await asyncio.to_thread(self._write, queue)
        return Response(text, headers={"content-type": _TYPE})

    def _is_valid_token(self, headers: list[str]) -> bool:
        """Return whether the token is valid; its file is read on every request."""
        try:
            token = self._token_file.read_bytes().strip()
        except OSError:
            return False
        scheme, _, given = headers[0].partition(" ") if len(headers) == 1 else ("", "", "")
        same = hmac.compare_digest(given.strip().encode("utf-8", "replace"), token)
        return same and scheme.lower() == "bearer" and len(token) >= _SHORTEST_TOKEN

    async def _ask_queue(self) -> TeamFigures | None:
        """Return the queue by state, empty without a store; None on a timeout.

        It is asked in a thread that nobody can end: the next scrape waits for the same one.
        """
        if self._counting is None:
            self._counting = asyncio.create_task(asyncio.to_thread(self._count_or_none))
        done, _ = await asyncio.wait({self._counting}, timeout=_SECONDS_TO_COUNT)
        if not done:
            return None
        found, self._counting = self._counting.result(), None
        return found

    def _count_or_none(self) -> TeamFigures | None:
        try:
            return self._count_queue()
        except RunnerError:
            return None

    def _write(self, queue: TeamFigures | None) -> bytes:
        until = time.monotonic() + _SECONDS_TO_READ
        for folder in self._folders:
            folder.look(until)
        registry = prometheus_client.CollectorRegistry(auto_describe=False)
        registry.register(_Collected([*_families(self._folders), *_queue_families(queue)]))
        return prometheus_client.generate_latest(registry)


class _Collected:
    """Metrics that were made before, as the library asks for them."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


def _families(folders: list[Folder]) -> Iterator[Metric]:
    names = ("build", "folder")
    readable = core.GaugeMetricFamily(
        "runner_journal_readable", "Whether the metrics of a build are available.", labels=names
    )
    families = {}
    for name, (kind, label, what) in _FIGURES.items():
        labels = (*names, label) if label else names
        make = core.CounterMetricFamily if kind == "counter" else core.GaugeMetricFamily
        families[name] = make(f"runner_{name}", what, labels=labels)
    for folder in folders:
        readable.add_metric(folder.labels, int(folder.is_readable))
        for name, values in folder.count() if folder.is_readable else ():
            is_labelled = bool(_FIGURES[name][1])
            for value, number in _bound(values).items():
                labels = (*folder.labels, value) if is_labelled else folder.labels
                families[name].add_metric(labels, number)
    yield readable
    yield from families.values()


def _bound(values: Mapping[str, float]) -> dict[str, float]:
    """Limit the number of label values; further ones are counted as one."""
    bounded: dict[str, float] = {}
    for value, number in values.items():
        shown = _shorten(value)
        if shown not in bounded and len(bounded) >= _MOST_VALUES:
            shown = _OTHER
        bounded[shown] = bounded.get(shown, 0) + number
    return bounded


def _shorten(text: str) -> str:
    shown = display(text)
    return shown if len(shown) <= _LONGEST_VALUE else f"{shown[: _LONGEST_VALUE - 1]}…"


def _queue_families(queue: TeamFigures | None) -> Iterator[Metric]:
    if queue is not None and not queue.states:
        return
    what = "Whether the team's store answers."
    yield core.GaugeMetricFamily("runner_store_up", what, value=int(queue is not None))
    family = core.GaugeMetricFamily(
        "runner_queue_builds", "Unfinished builds of the team, by state.", labels=("state",)
    )
    what = "Budgets of the team in this period; without a repository, of the whole team."
    budgets = core.GaugeMetricFamily("runner_budget_dollars", what, labels=("repository", "part"))
    if queue is not None:
        for state, number in queue.states.items():
            family.add_metric((state,), number)
        for scope, parts in queue.dollars.items():
            for part, value in parts.items():
                budgets.add_metric((_shorten(scope), part), value)
    yield from (family, budgets)
