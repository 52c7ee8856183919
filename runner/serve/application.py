"""The web application: routes behind the guard, and error responses."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from runner.app.answer import answers, held_edit
from runner.app.answer.answers import Answered, Approve, Became, Reject
from runner.app.answer.cancel_and_retry import cancel, goes_on, retry, stop_run
from runner.app.answer.waiting_document import require_shown, take_turn
from runner.app.change.transaction import ChangeRequest, change
from runner.app.inspect.view import View
from runner.app.write.workplace import EditableText, save_plan_text
from runner.errors import ExitCode, RunnerError
from runner.extensions import registry
from runner.extensions.interface import load
from runner.lazy_module import lazy_module
from runner.mcp_server.server import TOOLS, Call, Caller
from runner.operations.row import InputError
from runner.operations.table import TABLE
from runner.process.own_command import OwnCommand
from runner.run.selection import find_id
from runner.serve.api import V1, BuildApi
from runner.serve.pages import HERE, Pages, status_of
from runner.serve.sessions import FormInput, Notice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.requests import Request

    from runner.app.draft import draft_answers
    from runner.config.paths import Places
    from runner.model import Finding
    from runner.project import Project
    from runner.serve.builds import Build, Builds
    from runner.serve.sessions import Access
else:
    draft_answers = lazy_module("runner.app.draft.draft_answers")

_LONGEST_TOKEN = 200
ACTION_NAMES = tuple(
    api.name for row in TABLE.values() for api in row.api if api.route.startswith("POST ")
)
"""Actions of a person; `actions.ACTIONS` defines each."""
VIA = "page"
_REFUSED = re.compile(r"^runner: (.*)\Z", re.MULTILINE | re.DOTALL)
"""Error of a command that did not start (`display.format_error`), after its other output."""
_HINT = "hint: "
_DRAFT_REFUSES_WITHIN = 3.0
"""Seconds within which an impossible draft fails."""


class PageContext(NamedTuple):
    """The context of an extension's page."""

    builds: Builds
    places: Places
    environ: Mapping[str, str]


def make_application(
    access: Access, context: PageContext, is_over: Callable[[], bool]
) -> Starlette:
    """Create the application with all pages, those of extensions included."""
    builds = context.builds
    known = {name: partial(_act, name) for name in ACTION_NAMES}
    pages = Pages(builds, known)
    routes = [
        *common_routes(pages, access),
        *extension_routes(context),
        *pages.routes(),
        *BuildApi(builds, known, is_over).routes(),
    ]
    return assemble(pages, routes, status_of)


def extension_routes(context: PageContext) -> list[Route]:
    """Create the routes of all extensions' pages. Raises RunnerError."""
    return [
        Route(path, load(reference)(context), methods=["GET"])
        for one in registry.every()
        for path, reference in one.pages.items()
    ]


def common_routes(pages: Pages, access: Access) -> list[Route]:
    """Create the routes for signing in."""
    return [
        Route("/open", lambda _: pages.render("open.html"), methods=["GET"]),
        Route("/session", _Sessions(access).open, methods=["POST"]),
        Route("/favicon.ico", _icon, methods=["GET"]),
    ]


def assemble(
    pages: Pages, routes: Sequence[Route], status: Callable[[RunnerError], int]
) -> Starlette:
    """Create an application from its routes, with static files and error pages."""

    def not_found(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # as registered below
        shown = RunnerError("page not found" if error.status_code == 404 else "method not allowed")  # noqa: PLR2004
        return _answer(pages, request, shown, error.status_code)

    return Starlette(
        routes=[*routes, Mount("/static", StaticFiles(directory=HERE / "static"))],
        exception_handlers={
            RunnerError: lambda request, error: _answer(
                pages, request, _as_runner_error(error), status(_as_runner_error(error))
            ),
            HTTPException: not_found,
        },
    )


def _act(name: str, build: Build, given: FormInput) -> Notice:
    """Run an action, which imports its code only now, since that is slow."""
    return ACTIONS[name](build, given)


def _as_runner_error(error: Exception) -> RunnerError:
    assert isinstance(error, RunnerError)  # as registered
    return error


def _answer(pages: Pages, request: Request, error: RunnerError, status: int) -> Response:
    if request.url.path.startswith(V1):
        document = {"message": error.message, "hint": error.hint or None}
        return JSONResponse({"error": document}, status)
    return pages.failure(error, status)


def _icon(_: Request) -> Response:
    return FileResponse(HERE / "static" / "icon.svg", media_type="image/svg+xml")


class _Sessions:
    """The exchange of links for sessions."""

    def __init__(self, access: Access) -> None:
        self._access = access

    async def open(self, request: Request) -> Response:
        """Return the cookie in a header and the second secret in the body, once per link."""
        try:
            token = json.loads(await request.body()).get("token")
        except (ValueError, AttributeError, RecursionError):
            token = None
        given = None
        if isinstance(token, str) and len(token) <= _LONGEST_TOKEN:
            client = str(request.scope.get("runner.client", ""))
            given = await run_in_threadpool(self._access.open, token, client)
        if given is None:
            is_team = self._access.is_team
            message = "this token is not valid" if is_team else "this link is invalid or was used"
            hint = "ask an admin of your team for a new one" if is_team else "runner serve --link"
            return JSONResponse({"error": {"message": message, "hint": hint}}, 401)
        cookie, secret = given
        answer = JSONResponse({"secret": secret})
        # `Secure` over TLS. On plain http of the loopback not every browser stores such a cookie.
        # No script can read it, and no other site can send it (RFC 6265bis, 4.1.2.6 and 4.1.2.7).
        answer.set_cookie(
            *(self._access.cookie, cookie),
            httponly=True,
            samesite="strict",
            path="/",
            secure=self._access.is_secure,
        )
        return answer


# --- what waits -----------------------------------------------------------------------


def approve_item(build: Build, given: FormInput) -> Notice:
    """Approve one item exactly as it was shown."""
    item, seen = given.text("item", needed=True), given.text("seen", needed=True)
    project = build.open()
    with take_turn(project):
        if _is_draft(item):
            require_shown(project, item, seen)
            landed = draft_answers.approve_draft(project, item, via=VIA)
            return Notice(f"{landed.id} was added to the plan", "Start the build, or open Plan")
        reason = given.text("reason")
        met, reuse = given.texts("met"), given.flag("reuse")
        asked = Approve((item,), reuse=reuse, seen=seen, reason=reason, met=met, via=VIA)
        came = answers.approve(project, asked, _ignore)
    names = ", ".join(one.task for one in came.answered)
    for held in came.held:
        if held.missing:
            missing = ", ".join(held.missing)
            return Notice(
                f"{names} approved", f"{held.culprit} lands once {missing} is also approved"
            )
        return Notice(
            f"{names} approved", f"The runner rebuilds it on the change of {held.culprit}"
        )
    return Notice(f"{names} approved", _goes_on(project))


def reject_item(build: Build, given: FormInput) -> Notice:
    """Refuse one thing, for a reason that the next attempt reads."""
    item, seen = given.text("item", needed=True), given.text("seen", needed=True)
    reason = given.text("reason")
    if not reason:
        raise RunnerError("a rejection needs a reason", hint="write what must change")
    project = build.open()
    if _is_draft(item):
        with take_turn(project):
            require_shown(project, item, seen)
        # As one word with `=`: a reason that starts with a dash would be an option.
        return _begin_command(
            build, ["reject", item, f"--reason={reason}"], f"{item} is being redrafted"
        )
    with take_turn(project):
        came = answers.reject(project, Reject((item,), reason, seen=seen, via=VIA), _ignore)
    is_later = any(one.became is Became.DROPPED_LATER for one in came)
    return Notice(
        "; ".join(_REJECTED[one.became].format(one.task) for one in came),
        "Start the build again after this run" if is_later else _goes_on(project),
    )


_REJECTED = {
    Became.REJECTED: "{0} rejected",
    Became.DROPPED: "{0} rejected; the tasks that it breaks are DONE again",
    Became.DROPPED_LATER: "{0} rejected; the next run drops it",
    Became.PLANNED_AGAIN: "the plan of {0} was rejected: its implementer makes a new one",
    Became.OUT_OF_PLANS: "plan of {0} rejected, the last one allowed: the next run blocks the task",
    Became.DENIED: "request denied; {0} continues without it",
    Became.STANDS: "{0} is not rebuilt: it stays DONE",
}


class _PageEditor(Struct, frozen=True):
    """The texts that came with the form."""

    given: FormInput

    def edit(self, path: str, content: bytes) -> bytes:
        """Return the file's text from the form, or the old content if the form has none."""
        name = f"file:{path}"
        if name not in self.given.fields:
            return content
        known = EditableText.of(content)
        if known is None:
            raise RunnerError(
                "this file is not plain text",
                where=path,
                hint=f"runner edit {self.given.text('item')}",
            )
        return known.encode(self.given.text(name, most=1 << 20))

    def try_again(self, findings: tuple[Finding, ...]) -> bool:
        """Raise RunnerError for a secret in the text, since the form still has the text."""
        hint = findings[0].hint
        raise RunnerError("the edited text contains a secret; nothing was changed", hint=hint)


def edit_item(build: Build, given: FormInput) -> Notice:
    """Replace waiting work by a person's own text, which the next run proves."""
    item, seen = given.text("item", needed=True), given.text("seen", needed=True)
    project = build.open()
    with take_turn(project):
        if _is_draft(item):
            require_shown(project, item, seen)
            name = next((one for one in given.fields if one.startswith("file:")), "")
            editor = _DraftEditor(given.text(name, most=1 << 20))
            edited = draft_answers.edit_draft(project, item, editor)
            return Notice(
                f"{item} is unchanged"
                if edited is None
                else f"{item} is edited and waits for your approval"
            )
        came = held_edit.edit(project, (item,), _PageEditor(given), _ignore, seen=seen, via=VIA)
    if all(one.became is Became.UNCHANGED for one in came):
        return Notice(f"{item} is unchanged", tone="wait")
    return Notice(f"{item} edited: all checks and proofs run again", _goes_on(project))


class _DraftEditor(Struct, frozen=True):
    text: str

    def edit(self, path: str, content: bytes) -> bytes:
        del path
        known = EditableText.of(content)
        return known.encode(self.text) if known else content


def _is_draft(item: str) -> bool:
    return item.upper().startswith("DRAFT-")


def _goes_on(project: Project) -> str:
    lives = View.of(project).live
    return "The active run continues with it" if lives else "Start the build to continue"


def _ignore(_: Answered) -> None:
    """Report nothing here: the answer comes when all of it is written down."""


# --- a task, a run --------------------------------------------------------------------


def retry_task(build: Build, given: FormInput) -> Notice:
    """Queue a task for a retry, with a reason."""
    project = build.open()
    with take_turn(project):
        ids = retry(project, (given.text("task", needed=True),), given.text("reason"), via=VIA)
    return Notice(f"{', '.join(ids)} will be retried", _goes_on(project))


def cancel_task(build: Build, given: FormInput) -> Notice:
    """Cancel one attempt; its work is kept."""
    known = cancel(build.open(), given.text("task", needed=True))
    if goes_on(known):
        return Notice(f"{known.id} is stopping", tone="wait")
    return Notice(f"the attempt at {known.id} was stopped; its work is saved")


class Runs:
    """The runs that were begun from here: each is a process of its own that outlives us."""

    def __init__(self) -> None:
        self._callers: dict[str, Caller] = {}

    def begin(self, build: Build, given: FormInput) -> Notice:
        """Begin a run; it trusts nothing that nobody trusted. Says at once why it does not."""
        tasks = list(given.texts("tasks"))
        caller = self._callers.setdefault(build.id, Caller(build.root, build.environ, build.plan))
        try:
            answer = caller.carry_out(Call(TOOLS["run"], {"tasks": tasks} if tasks else {}))
        except InputError as error:
            raise RunnerError(str(error)) from error
        document = answer.document or {}
        if document.get("running"):
            return Notice("the build has started")
        text = str(document.get("said") or answer.text).strip()
        if document.get("exit") == 0:
            return Notice("nothing to do: all tasks are DONE")
        return Notice(text or "the build has ended", tone="bad" if answer.failed else "ask")


def stop_build(build: Build, given: FormInput) -> Notice:
    """Stop the run as Ctrl-C does."""
    del given
    stop_run(build.open())
    return Notice("the run is stopping", "Proven tasks stay; the next run continues", "wait")


# --- the plan -------------------------------------------------------------------------


def save_plan(build: Build, given: FormInput) -> Notice:
    """Save the plan's text, byte for byte what was left of it untouched."""
    seen = given.text("seen", needed=True)
    text = given.text("text", needed=True, most=1 << 20)
    project = build.open()
    with take_turn(project):
        data = save_plan_text(project, text, seen)
    mistakes = sum(one.is_error for one in project.check_text(data, project.plan(data)).problems)
    if mistakes:
        return Notice(
            f"saved; mistakes to fix: {mistakes}", "The Plan page shows each at its line", "ask"
        )
    return Notice("saved", "Start the build to continue")


def change_tasks(build: Build, given: FormInput) -> Notice:
    """Ask something new of tasks; without `confirmed` only what that would do."""
    project = build.open()
    known = [task.id for task in project.outline().tasks]
    ids = tuple(dict.fromkeys(find_id(word, known) for word in given.texts("tasks")))
    if not ids:
        raise RunnerError("no tasks given", hint="name tasks by ID, such as TASK-003")
    text = given.text("text", needed=True)
    confirmed = given.flag("confirmed")
    recorded = change(project, ChangeRequest(ids, text, dry_run=not confirmed))
    stale = ", ".join(one.id for one in recorded.change.stale) or "nothing"
    if not confirmed:
        return Notice(
            f"tasks that would become STALE: {stale}", "To record the change, confirm it", "ask"
        )
    return Notice(
        f"CHANGE-{recorded.number:03d} recorded", f"Tasks that are STALE now, see Review: {stale}"
    )


def begin_draft(build: Build, given: FormInput) -> Notice:
    """Draft a request with the project's own agent or model; the draft waits under Review."""
    wish = given.text("wish", needed=True)
    # After `--` nothing is an option (POSIX, 12.2, guideline 10), however a request starts.
    return _begin_command(build, ["draft", "--", wish], "the draft is being written")


def _begin_command(build: Build, words: list[str], begun: str) -> Notice:
    environ = dict(build.environ)
    if build.plan:
        environ["RUNNER_BUILD_TASK_GRAPH"] = build.plan
    command = OwnCommand(words, build.root, environ, stays=True)
    try:
        code = command.wait(_DRAFT_REFUSES_WITHIN)
        output, errors = (one.decode("utf-8", "replace") for one in command.read(4_000))
    finally:
        command.forget()
    # A pending draft and a run that needs a person's permission have the same exit code: the
    # message tells them apart.
    refused = _REFUSED.search(errors)
    if code is None or (code in (ExitCode.OK, ExitCode.PERSON) and refused is None):
        return Notice(begun, "It appears under Review when it is ready", "run")
    lines = [one.strip() for one in (refused[1] if refused else output or errors).splitlines()]
    hints = [one.removeprefix(_HINT) for one in lines if one.startswith(_HINT)]
    reason = "; ".join(one for one in lines if one and not one.startswith(_HINT))
    why = reason.replace(":; ", ": ")
    raise RunnerError(why or f"the command failed with exit {code}", hint="; ".join(hints))


_RUNS = Runs()
ACTIONS: dict[str, Callable[[Build, FormInput], Notice]] = {
    "approve": approve_item,
    "reject": reject_item,
    "edit": edit_item,
    "retry": retry_task,
    "cancel": cancel_task,
    "stop": stop_build,
    "plan": save_plan,
    "change": change_tasks,
    "draft": begin_draft,
    "run": _RUNS.begin,
}
