"""The pages: each is drawn from what a use case says, and holds nothing of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from runner import __version__
from runner.app.inspect.event_log import read_latest, read_log
from runner.app.inspect.kept_tally import load_tally
from runner.app.inspect.time_spent import HEADS, largest_line, time_rows
from runner.app.inspect.validation import validate
from runner.app.inspect.view import View
from runner.app.write.plan_save import EditableText
from runner.errors import ExitCode, RunnerError
from runner.serve.access import FormInput
from runner.serve.board import count_waiting, describe_board, describe_event, format_seconds
from runner.serve.builds import Build, NoBuildError
from runner.serve.inspection import (
    inspect_item,
    inspect_task,
    list_failed_tests,
    list_queue,
)
from runner.text.display import display
from runner.text.wording import moment, short

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.requests import Request

    from runner.serve.access import Notice
    from runner.serve.board import Board
    from runner.serve.builds import Builds

HERE = Path(__file__).parent
_LOG_PAGE = 200
_MOST_FIELDS = 500


@dataclass(frozen=True, slots=True)
class PlanLine:
    """A line of the plan with what is wrong with it."""

    number: int
    text: str
    problems: tuple[object, ...]


def make_templates() -> Environment:
    """Every text is escaped, and what cannot be seen in it is spelled out, wherever it is put."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_make_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["raw_text"] = lambda text: Markup(escape(text))  # noqa: S704 - it is escaped
    made.filters["moment"] = moment
    made.filters["short"] = short
    made.filters["seconds"] = format_seconds
    # Of `quote`'s default a slash stays, and would be another route.
    made.filters["part"] = lambda text: quote(text, safe="")
    made.globals["version"] = __version__
    return made


def _make_visible(value: object) -> object:
    if isinstance(value, str) and not isinstance(value, Markup):
        return display(value, lines=True)
    return "" if value is None else value


class Pages:
    """The routes for a browser, over the builds that are served."""

    def __init__(
        self,
        builds: Builds,
        actions: Mapping[str, Callable[[Build, FormInput], Notice]],
        *,
        team: bool = False,
    ) -> None:
        self._builds, self._actions, self._team = builds, actions, team
        self._templates = make_templates()

    def routes(self) -> list[Route]:
        """What is answered, by path."""
        reads = {
            "/": self._home,
            "/b/{build}": self._board,
            "/b/{build}/review": self._queue,
            "/b/{build}/review/{item}": self._item,
            "/b/{build}/tasks/{task}": self._task,
            "/b/{build}/plan": self._plan,
            "/b/{build}/log": self._log,
            "/b/{build}/time": self._time,
            "/b/{build}/new": self._new,
        }
        found = [Route(path, answer, methods=["GET"]) for path, answer in reads.items()]
        found += [
            Route(f"/b/{{build}}/do/{name}", partial(self._act, name), methods=["POST"])
            for name in self._actions
        ]
        # A POST carries the second secret of the session. The API has no such route.
        path = "/b/{build}/held-out/{item}"
        return [*found, Route(path, self._failed_tests, methods=["POST"])]

    def render(self, template: str, status_: int = 200, /, **values: object) -> HTMLResponse:
        """A page of its own."""
        known = {"build": None, "tab": "", "waiting": 0, "me": None, "team": self._team}
        values = {**known, "stream": "/api/v1/events" if values.get("me") else "", **values}
        if isinstance(build := values["build"], Build):
            values["stream"] = f"/api/v1/builds/{build.id}/events"
        return HTMLResponse(self._templates.get_template(template).render(values), status_)

    def failure(self, error: RunnerError, status: int) -> HTMLResponse:
        """Why there is no page."""
        return self.render("failure.html", status, error=error)

    # --- pages ------------------------------------------------------------------------

    def _home(self, _: Request) -> Response:
        builds = list(self._builds)
        if len(builds) == 1:
            return RedirectResponse(f"/b/{builds[0].id}", 303)
        rows: list[tuple[Build, Board | None, str]] = []
        for one in builds:
            try:
                rows.append((one, describe_board(one, drawn=False), ""))
            except RunnerError as error:
                rows.append((one, None, error.message))
        return self.render("builds.html", rows=rows, stream="/api/v1/events")

    def _board(self, request: Request) -> Response:
        build, whole = self._build(request), "graph" in request.query_params
        try:
            board = describe_board(build, whole=whole)
        except RunnerError as error:
            if error.hint != "runner init":
                raise
            return self.render("no_plan.html", build=build, tab="build")
        return self._of(build, "build.html", "build", board.waiting, board=board, whole=whole)

    def _queue(self, request: Request) -> Response:
        build = self._build(request)
        rows = list_queue(build)
        return self._of(build, "review.html", "review", len(rows), rows=rows)

    def _item(self, request: Request) -> Response:
        build = self._build(request)
        try:
            item = inspect_item(build, request.path_params["item"])
        except RunnerError as error:
            if error.code is not ExitCode.CONFLICT:
                raise
            return self._of(build, "gone.html", "review", None, error=error)
        return self._of(build, "item.html", "review", None, item=item)

    def _failed_tests(self, request: Request) -> Response:
        lines = list_failed_tests(self._build(request), request.path_params["item"])
        return self.render("failed_tests.html", lines=lines)

    def _task(self, request: Request) -> Response:
        build = self._build(request)
        task = inspect_task(build, request.path_params["task"])
        return self._of(build, "task.html", "build", None, task=task)

    def _plan(self, request: Request) -> Response:
        build = self._build(request)
        project = build.open()
        data = project.plan_bytes
        known = EditableText.of(data)
        found = validate(project)
        lines = data.decode("utf-8", "replace").splitlines()
        by_line: dict[int, list[object]] = {}
        for problem in found.problems:
            if problem.path == found.plan:
                by_line.setdefault(min(max(problem.line, 1), max(len(lines), 1)), []).append(
                    problem
                )
        shown = [
            PlanLine(number, line, tuple(by_line.get(number, ())))
            for number, line in enumerate(lines or [""], start=1)
        ]
        others = [one for one in found.problems if one.path != found.plan]
        return self._of(
            *(build, "plan.html", "plan", None),
            plan=found,
            lines=shown,
            others=others,
            editable=known,
            is_editing="edit" in request.query_params,
        )

    def _log(self, request: Request) -> Response:
        build = self._build(request)
        project = build.open()
        task = request.query_params.get("task", "")
        if task:
            records = tuple(read_log(project, task))[-_LOG_PAGE:]
        else:
            records = read_latest(project, _LOG_PAGE)
        events = [describe_event(one) for one in reversed(records)]
        return self._of(build, "log.html", "log", None, events=events, task=task)

    def _time(self, request: Request) -> Response:
        build = self._build(request)
        project = build.open()
        spent = load_tally(project.journal_path, project.cache)[0].spent
        runs, tasks = time_rows(spent)
        return self._of(
            *(build, "time.html", "log", None),
            heads=HEADS,
            runs=runs[:_LOG_PAGE],
            tasks=tasks[:_LOG_PAGE],
            largest=largest_line(spent),
        )

    def _new(self, request: Request) -> Response:
        build = self._build(request)
        tasks = View.of(build.open()).tasks
        return self._of(build, "new.html", "new", None, tasks=tasks)

    def _of(
        self, build: Build, template: str, tab: str, waiting: int | None, **values: object
    ) -> Response:
        """A page of one build; how much waits stands in its head."""
        if waiting is None:
            project = build.open()
            waiting = count_waiting(project, View.of(project))
        return self.render(template, build=build, tab=tab, waiting=waiting, **values)

    # --- forms ------------------------------------------------------------------------

    async def _act(self, name: str, request: Request) -> Response:
        build = self._build(request)
        body = (await request.body()).decode("utf-8", "replace")
        try:
            # Without a bound a small body makes millions of fields (CPython issue 34866).
            fields = dict(parse_qsl(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
        except ValueError as error:
            raise RunnerError("the form has too many fields") from error
        try:
            reply = await run_in_threadpool(self._actions[name], build, FormInput(fields))
        except RunnerError as error:
            status = status_of(error)
            return self.render(
                "reply.html", status, error=error, reply=None, again=status == _MOVED
            )
        return self.render("reply.html", reply=reply, error=None, again=False)

    def _build(self, request: Request) -> Build:
        return self._builds.find(request.path_params["build"])


_MOVED = 409


def status_of(error: RunnerError) -> int:
    """The status of an answer that says this error."""
    if isinstance(error, NoBuildError):
        return 404
    return _MOVED if error.code is ExitCode.CONFLICT else 400
