"""What a person does from the page or its API: each is one call of a use case."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.app.answer import answers, held_edit
from runner.app.answer.answer_types import Answered, Approve, Became, Reject
from runner.app.answer.attempts import cancel, goes_on, retry, stop_run
from runner.app.answer.waiting_document import require_shown, take_turn
from runner.app.change.transaction import ChangeRequest, change
from runner.app.inspect.view import View
from runner.app.write.plan_save import EditableText, save_plan_text
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.mcp_server.calls import Call, Caller
from runner.mcp_server.tools import TOOLS
from runner.operations.json_schema import InputError
from runner.process.own_command import OwnCommand
from runner.run.selection import find_id
from runner.serve.access import FormInput, Notice

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.app.draft import draft_answers
    from runner.model import Finding
    from runner.project import Project
    from runner.serve.builds import Build
else:
    draft_answers = lazy_module("runner.app.draft.draft_answers")

VIA = "page"
_REFUSED = re.compile(r"^runner: (.*)\Z", re.MULTILINE | re.DOTALL)
"""The error of a command that did not begin (`display.format_error`), after its other output."""
_HINT = "hint: "
_DRAFT_REFUSES_WITHIN = 3.0
"""Seconds in which a draft that cannot be made has failed."""


# --- what waits -----------------------------------------------------------------------


def approve_item(build: Build, given: FormInput) -> Notice:
    """Let one thing go on, exactly as it was shown."""
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
        return Notice(f"{names} approved", f"It is rebuilt on the change of {held.culprit}")
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
        # One word with `=`: a reason that begins with a dash would be an option.
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
    Became.PLANNED_AGAIN: "the plan of {0} was rejected: it is planned again",
    Became.OUT_OF_PLANS: "the last plan of {0} was rejected: the next run blocks the task",
    Became.DENIED: "{0} continues without it",
    Became.STANDS: "{0} stays as it was built: DONE",
}


@dataclass(frozen=True, slots=True)
class _PageEditor:
    """The texts that came with the form."""

    given: FormInput

    def edit(self, path: str, content: bytes) -> bytes:
        """The text of this path; what was not in the form stays."""
        name = f"file:{path}"
        if name not in self.given.fields:
            return content
        known = EditableText.of(content)
        if known is None:
            raise RunnerError("this file is not plain text", where=path, hint="runner edit ID")
        return known.encode(self.given.text(name, most=1 << 20))

    def try_again(self, findings: tuple[Finding, ...]) -> bool:
        """Nobody is asked: the form is still there."""
        hint = findings[0].hint
        raise RunnerError("the edited text contains a secret; nothing was changed", hint=hint)


def edit_item(build: Build, given: FormInput) -> Notice:
    """Take a person's own text in the place of what waits; the next run proves it."""
    item, seen = given.text("item", needed=True), given.text("seen", needed=True)
    project = build.open()
    with take_turn(project):
        if _is_draft(item):
            require_shown(project, item, seen)
            name = next((one for one in given.fields if one.startswith("file:")), "")
            editor = _DraftEditor(given.text(name, most=1 << 20))
            edited = draft_answers.edit_draft(project, item, editor)
            return Notice(
                f"{item} is unchanged" if edited is None else f"{item} is edited and still waits"
            )
        came = held_edit.edit(project, (item,), _PageEditor(given), _ignore, seen=seen, via=VIA)
    if all(one.became is Became.UNCHANGED for one in came):
        return Notice(f"{item} is unchanged", tone="wait")
    return Notice(f"{item} edited: all checks and proofs run again", _goes_on(project))


@dataclass(frozen=True, slots=True)
class _DraftEditor:
    text: str

    def edit(self, path: str, content: bytes) -> bytes:
        del path
        known = EditableText.of(content)
        return known.encode(self.text) if known else content


def _is_draft(item: str) -> bool:
    return item.upper().startswith("DRAFT-")


def _goes_on(project: Project) -> str:
    lives = View.of(project).live
    return "The run picks it up" if lives else "Start the build to continue"


def _ignore(_: Answered) -> None:
    """Report nothing here: the answer comes when all of it is written down."""


# --- a task, a run --------------------------------------------------------------------


def retry_task(build: Build, given: FormInput) -> Notice:
    """Have a task tried again, with something to know."""
    project = build.open()
    with take_turn(project):
        ids = retry(project, (given.text("task", needed=True),), given.text("reason"), via=VIA)
    return Notice(f"{', '.join(ids)} will be retried", _goes_on(project))


def cancel_task(build: Build, given: FormInput) -> Notice:
    """End one attempt; its work is kept."""
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
            return Notice("nothing is left to do: everything is DONE")
        return Notice(text or "the build has ended", tone="bad" if answer.failed else "ask")


def stop_build(build: Build, given: FormInput) -> Notice:
    """End the run, as Ctrl-C does."""
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
        return Notice(f"saved; mistakes to fix: {mistakes}", "Each is shown at its line", "ask")
    return Notice("saved", "Start the build to continue")


def change_tasks(build: Build, given: FormInput) -> Notice:
    """Ask something new of tasks; without `confirmed` only what that would do."""
    project = build.open()
    known = [task.id for task in project.outline().tasks]
    ids = tuple(dict.fromkeys(find_id(word, known) for word in given.texts("tasks")))
    if not ids:
        raise RunnerError("no tasks given", hint="task IDs, such as TASK-003")
    text = given.text("text", needed=True)
    confirmed = given.flag("confirmed")
    recorded = change(project, ChangeRequest(ids, text, dry_run=not confirmed))
    stale = ", ".join(one.id for one in recorded.change.stale) or "nothing"
    if not confirmed:
        return Notice(f"would become STALE: {stale}", "Confirm to record it", "ask")
    return Notice(
        f"CHANGE-{recorded.number:03d} recorded", f"STALE: {stale}; they wait under Review"
    )


def begin_draft(build: Build, given: FormInput) -> Notice:
    """Have a wish drafted by the project's own agent or model; the draft waits under Review."""
    wish = given.text("wish", needed=True)
    # Behind `--` nothing is an option (POSIX, 12.2, guideline 10), however a wish begins.
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
    # That a draft waits and that a person is to let it begin are one exit: its words tell them
    # apart.
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
