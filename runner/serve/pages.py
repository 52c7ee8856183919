"""Render the pages from the results of use cases."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from runner import __version__
from runner.app.answer.waiting import (
    DRAFT,
    PLAN,
    assess,
    find_contract_documents,
    find_plan,
    find_stale_work,
    find_task,
    in_order,
    list_built_changes,
    list_waiting,
)
from runner.app.answer.waiting_document import (
    asks_about_tests,
    describe_acceptance,
    digest_shown,
    format_failures,
    list_words,
)
from runner.app.inspect.event_log import read_latest, read_log
from runner.app.inspect.statistics import load_tally
from runner.app.inspect.task_inquiry import explain, find_one_task, format_cause, load_story
from runner.app.inspect.task_view import portrait
from runner.app.inspect.time_spent import HEADS, largest_line, time_rows
from runner.app.inspect.validation import validate
from runner.app.inspect.view import View
from runner.app.write.workplace import EditableText
from runner.context.task_plan import plan_text
from runner.errors import ExitCode, RunnerError
from runner.impact.python_blocks import spans_in
from runner.impact.store import ImpactStore
from runner.impact.traces import Observations
from runner.journal.evidence import evidence_of
from runner.lazy_module import lazy_module
from runner.model import digest_of
from runner.model.work import items_of
from runner.repo.read import Repository
from runner.report.task_report import describe_table
from runner.run.review import open_questions
from runner.secrets.redact import redact
from runner.serve.builds import (
    Build,
    NoBuildError,
    count_waiting,
    describe_board,
    describe_event,
    format_seconds,
)
from runner.serve.drawings import SIGNS, TONES, diff_file
from runner.serve.sessions import FormInput
from runner.text.display import display
from runner.text.wording import moment, short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from starlette.requests import Request

    from runner.app.answer.waiting import Risk, Waiting
    from runner.app.draft import draft_answers
    from runner.app.inspect.task_inquiry import Attempt
    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.model import Change, Finding, Proof
    from runner.project import Project
    from runner.serve.builds import Board, Builds
    from runner.serve.drawings import FileDiff
    from runner.serve.sessions import Notice

    Rows = list[dict[str, object]]
    """The acceptance table, one entry for each verdict."""
else:
    draft_answers = lazy_module("runner.app.draft.draft_answers")


HERE = Path(__file__).parent
_LOG_PAGE = 200
_MOST_FIELDS = 500


_MOST_RAN = 3
"""Proofs that are named next to one line."""


class PlanLine(Struct, frozen=True):
    """A line of the plan with what is wrong with it."""

    number: int
    text: str
    problems: tuple[object, ...]


def make_templates() -> Environment:
    """Create the template environment, which escapes all text and shows invisible characters."""
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
    # `quote` by default keeps a slash, which would be another route.
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
        """Return all routes."""
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
        # A POST carries the session's second secret. The API has no such route.
        path = "/b/{build}/held-out/{item}"
        return [*found, Route(path, self._failed_tests, methods=["POST"])]

    def render(self, template: str, status_: int = 200, /, **values: object) -> HTMLResponse:
        """Render a page that may be outside of a build."""
        known = {"build": None, "tab": "", "waiting": 0, "me": None, "team": self._team}
        values = {**known, "stream": "/api/v1/events" if values.get("me") else "", **values}
        if isinstance(build := values["build"], Build):
            values["stream"] = f"/api/v1/builds/{build.id}/events"
        return HTMLResponse(self._templates.get_template(template).render(values), status_)

    def failure(self, error: RunnerError, status: int) -> HTMLResponse:
        """Return the page that shows an error."""
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
        """Render a page of a build, with the number of waiting items in its header."""
        if waiting is None:
            project = build.open()
            waiting = count_waiting(project, View.of(project))
        return self.render(template, build=build, tab=tab, waiting=waiting, **values)

    # --- forms ------------------------------------------------------------------------

    async def _act(self, name: str, request: Request) -> Response:
        build = self._build(request)
        body = (await request.body()).decode("utf-8", "replace")
        try:
            # Without a limit a small body makes millions of fields (CPython issue 34866).
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
    """Return the HTTP status for an error."""
    if isinstance(error, NoBuildError):
        return 404
    return _MOVED if error.code is ExitCode.CONFLICT else 400


class QueueRow(Struct, frozen=True):
    """One thing in the queue."""

    item: str
    title: str
    note: str
    risk: Risk


class Editable(Struct, frozen=True):
    """A file that may be edited in the page."""

    path: str
    text: str


class InspectedItem(Struct, frozen=True):
    """One thing that waits, whole."""

    item: str
    title: str
    kind: str
    note: str
    answered: bool
    risk: Risk
    seen: str
    words: tuple[str, ...]
    questions: tuple[Finding, ...]
    files: tuple[FileDiff, ...]
    proofs: tuple[Proof, ...]
    acceptance: Rows
    editable: tuple[Editable, ...]
    before: str
    """Previous item in the queue, for `k`; empty for the first."""
    after: str
    has_items: bool
    """Whether a person may mark each acceptance item as met."""
    asks_about_tests: bool
    """Whether held-out tests failed; their output needs a separate request."""


class TaskPage(Struct, frozen=True):
    """One task, whole."""

    id: str
    title: str
    status: str
    tone: str
    sign: str
    known: TaskState
    worth: str
    words: tuple[str, ...]
    why: tuple[str, ...]
    attempts: tuple[Attempt, ...]
    findings: tuple[Finding, ...]
    proofs: tuple[Proof, ...]
    acceptance: Rows
    files: tuple[FileDiff, ...]
    commit: str
    is_alive: bool
    waits: bool


# --- what waits -----------------------------------------------------------------------


def list_queue(build: Build) -> tuple[QueueRow, ...]:
    """Return all waiting items, the riskiest first."""
    project = build.open()
    with Repository.open(project.root) as repository:
        state = View.of(project).state
        waiting = [one for one in list_waiting(project, repository, state) if not one.answered]
        ranked = in_order(state, waiting, find_contract_documents(project)) if waiting else ()
        return tuple(QueueRow(one.task, one.title, one.note, risk) for one, risk in ranked)


def inspect_item(build: Build, id_: str) -> InspectedItem:
    """Return one waiting item. Raises RunnerError if it does not wait."""
    project = build.open()
    with Repository.open(project.root) as repository:
        state = View.of(project).state
        known = list_waiting(project, repository, state)
        one = next((one for one in known if one.task == id_), None)
        if one is None:
            raise RunnerError(
                f"{id_} has nothing to approve",
                hint="somebody already answered it; open Review for what still waits",
                code=ExitCode.CONFLICT,
            )
        contracts = find_contract_documents(project)
        left = [one for one in known if not one.answered]
        order = [row.task for row, _ in in_order(state, left, contracts)]
        at = order.index(id_) if id_ in order else -1
        return InspectedItem(
            item=one.task,
            title=one.title,
            kind=one.kind,
            note=one.note,
            answered=one.answered,
            risk=assess(state, one, contracts),
            seen=digest_shown(project, state, one),
            words=tuple(redact(line) for line in list_words(project, state, one)),
            questions=open_questions(state.task(one.task)) if one.kind == "writes" else (),
            files=_files(project, repository, state, one),
            proofs=_proofs(state.task(one.task)),
            acceptance=describe_acceptance(project, state.task(one.task)),
            editable=_editable(project, state, one),
            before=order[at - 1] if at > 0 else "",
            after=order[at + 1] if 0 <= at < len(order) - 1 else "",
            has_items=_has_items(project, one),
            asks_about_tests=asks_about_tests(state.task(one.task)),
        )


def _has_items(project: Project, one: Waiting) -> bool:
    task = find_task(project, one.task)
    return bool(one.changes and not one.culprit and task and items_of(task))


def list_failed_tests(build: Build, id_: str) -> tuple[str, ...]:
    """Return the output of the held-out tests that failed, for a session that may approve."""
    project = build.open()
    if not asks_about_tests(View.of(project).state.task(id_)):
        raise RunnerError(f"{id_} has no held-out tests to approve", code=ExitCode.CONFLICT)
    return tuple(redact(line) for line in format_failures(project, id_))


def _files(
    project: Project, repository: Repository, state: RunState, one: Waiting
) -> tuple[FileDiff, ...]:
    held = state.task(one.task).held
    if one.changes and held is not None:
        base = held.base
        pairs = [
            (change, repository.blob(base, change.path) if base else None) for change in one.changes
        ]
        return diff_files(project, pairs)
    if one.kind == "stale" and (commit := find_stale_work(project, one.task).commit):
        return diff_files(project, list_built_changes(project, repository, commit) or [])
    return ()


def diff_files(
    project: Project, pairs: Iterable[tuple[Change, bytes | None]]
) -> tuple[FileDiff, ...]:
    """Return the diffs of a change with the proofs that executed each line."""
    store = ImpactStore(project.cache)
    try:
        seen = Observations(store)
        return tuple(diff_file(before, change, _ran(seen, change)) for change, before in pairs)
    finally:
        store.close()


def _ran(seen: Observations, change: Change) -> Mapping[int, str]:
    """Return by line the proofs that ran exactly these bytes."""
    if change.content is None:
        return {}
    digest = digest_of(change.content)
    found: dict[int, dict[str, None]] = {}
    for task, row in seen.at(change.path):
        if row.digest != digest:
            continue
        for first, last in spans_in(row.lines):
            for number in range(first, last + 1):
                found.setdefault(number, {})[f"{task} {row.test or row.contract}"] = None
    return {number: _join(tuple(names)) for number, names in found.items()}


def _join(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _MOST_RAN} more" if len(names) > _MOST_RAN else ""
    return ", ".join(names[:_MOST_RAN]) + more


def _proofs(known: TaskState) -> tuple[Proof, ...]:
    found = known.passed.proofs if known.passed is not None else known.proofs
    return tuple(one for one in found if one.row is None)


def _editable(project: Project, state: RunState, one: Waiting) -> tuple[Editable, ...]:
    """Return the editable texts, except those that a text field would alter."""
    if one.kind == "writes":
        found = []
        for change in one.changes:
            known = EditableText.of(change.content) if change.content is not None else None
            if known is not None:
                found.append(Editable(change.path, known.text))
        return tuple(found)
    if one.kind == PLAN:
        planned = find_plan(state, one.task)
        return (Editable(planned.path, plan_text(planned.plan, one.task, one.title)),)
    if one.kind == DRAFT:
        return (Editable(one.task, draft_answers.find_draft(project, one.task).text),)
    return ()


# --- a task ---------------------------------------------------------------------------


def inspect_task(build: Build, id_: str) -> TaskPage:
    """Return the page of one task. Raises RunnerError for an unknown ID."""
    project = build.open()
    asked = find_one_task(project, id_)
    view, known = asked.view, asked.view.states[asked.id]
    story, evidence = load_story(asked), evidence_of(known)
    with Repository.open(project.root) as repository:
        waiting = list_waiting(project, repository, view.state)
        mine = next((one for one in waiting if one.task == asked.id), None)
        if mine is not None and mine.changes:
            files = _files(project, repository, view.state, mine)
        elif known.commit:
            files = diff_files(project, list_built_changes(project, repository, known.commit) or [])
        else:
            files = ()
    return TaskPage(
        id=asked.id,
        title=asked.task.title,
        status=str(known.status),
        tone=TONES[known.status],
        sign=SIGNS[known.status],
        known=known,
        worth=view.worth(asked.id),
        words=tuple(redact(line) for line in portrait(asked.task, view, story.past)),
        why=tuple(redact(line) for line in format_cause(explain(asked))),
        attempts=story.past.attempts,
        findings=tuple(known.findings),
        proofs=_proofs(known),
        acceptance=describe_table(asked.task, evidence.proofs if evidence else ()),
        files=files,
        commit=known.commit,
        is_alive=bool(view.live and known.open_attempt),
        waits=mine is not None and not mine.answered,
    )
