"""Run a build that has work to do, from the trust question to the summary.

At its start it takes the `!change` and `!replay` lines of the plan. After it come draft pull
requests and a message to the person, outside the repository.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from runner.app.build.build_request import BuildResult
from runner.app.build.engine_setup import Options, run_engine
from runner.app.build.preconditions import (
    confirm_removed_tasks,
    explain_commit_hooks,
    limits_of,
    require_suitable,
    require_trust,
)
from runner.app.build.run_reports import facts_of, summary_of
from runner.app.build.session import Session
from runner.errors import ExitCode, RunnerError
from runner.history.change import ChangePreview, plan_change, quote_of, record_change
from runner.history.revert import take_back
from runner.journal.session_events import ShipReopened
from runner.lazy_module import lazy_module
from runner.model import Reason, Status
from runner.report.documents import document_line
from runner.report.status_line import StatusWork
from runner.report.summary import MEANING
from runner.run.selection import select_ids
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from runner.app.artifacts import artifact_export
    from runner.app.build import saved_proposal
    from runner.app.build.build_request import BuildRequest
    from runner.app.change import change_text, transaction
    from runner.app.change.transaction import Transaction
    from runner.app.observer import Observer
    from runner.app.prove import publish
    from runner.app.prove.publish import Publisher
    from runner.history import revert
    from runner.history.revert import Replay
    from runner.journal.state import RunState
    from runner.plan.sections import PlanCommand
    from runner.project import Project, Reading
    from runner.report.summary import Summary
    from runner.run.landing.drafts import Adopted
    from runner.run.review import Asker
else:
    artifact_export = lazy_module("runner.app.artifacts.artifact_export")
    change_text = lazy_module("runner.app.change.change_text")
    transaction = lazy_module("runner.app.change.transaction")
    saved_proposal = lazy_module("runner.app.build.saved_proposal")
    publish = lazy_module("runner.app.prove.publish")
    revert = lazy_module("runner.history.revert")


_NEW_OBJECTS = 20_000
"""Allocations between two garbage collections; Python's 700 cost a sixth of a run's time."""


def run_build(
    project: Project,
    reading: Reading,
    request: BuildRequest,
    observer: Observer,
    asker: Asker | None,
    at_end: Callable[[BuildResult], None],
    *,
    shipped: str,
) -> BuildResult:
    """Build in a session of its own; `shipped` is the tag of the ship that this reopens."""
    _collect_garbage()
    again = request.trust_command
    require_trust(project, reading.plan, trusted=request.trusted, asker=asker, again=again)
    about = select_ids(request.chosen, reading.graph, reading.graph.ids)
    with Session(project, reading.plan.tasks, (observer.hear,)) as session:
        session.journal.warn_by(observer.say)
        if session.recovered:
            observer.say(session.recovered)
        if shipped:
            session.journal.note(ShipReopened(by="person"), durable=True)
        notices = require_suitable(
            session.repository, session.own_documents, allow_dirty=request.allow_dirty
        )
        hooks = explain_commit_hooks(session.repository, project.settings)
        limits = limits_of(project, reading.plan, terminal=asker is not None)
        for notice in (*notices, *filter(None, [hooks]), *limits):
            observer.say(f"note: {notice}")
        reading = apply_directives(
            session, reading, observer.say, yes=request.removed_meant, asker=asker
        )
        confirm_removed_tasks(
            session, set(reading.graph.ids), yes=request.removed_meant, asker=asker
        )
        past = session.journal.state
        observer.expect(lambda: _make_work(project, reading, about, past))
        options = Options(
            fail_fast=request.fail_fast,
            review_insisted=session.project.loaded.sources["review.mode"] != "default",
            reuse=request.reuse,
            rebuild=request.rebuild,
            adopted=_make_adopted(request, session),
        )
        code = run_engine(session, reading, request.chosen, options, observer, asker)
        observer.close()
        open_draft_requests(session, observer.say)
        result = _make_result(session, reading, about, code)
        at_end(result)
    store_artifacts(project, observer.say)
    notify(session, result.summary, observer.say)
    return result


def _collect_garbage() -> None:
    """Collect cycles from now on, but seldom, and never walk the plan: a run makes few of them.

    Only where the program began without collecting any, for a quick start.
    """
    if not gc.isenabled():
        gc.freeze()
        gc.set_threshold(_NEW_OBJECTS)
        gc.enable()


def _make_adopted(request: BuildRequest, session: Session) -> Mapping[str, Adopted]:
    saved = request.saved
    if saved is None or not isinstance(saved, saved_proposal.SavedProposal):
        return {}
    return saved_proposal.make_adopted(saved, session)


def _make_work(
    project: Project, reading: Reading, about: frozenset[str], state: RunState
) -> StatusWork:
    """Return the tasks of the run with dependencies and past durations, for estimates."""
    graph = reading.graph
    return StatusWork(
        needs={id_: graph.dependencies(id_) for id_ in graph.order() if id_ in about},
        seconds={id_: past for id_ in about if (past := state.task(id_).typical_seconds)},
        jobs=project.settings.build.jobs,
    )


def _make_result(
    session: Session, reading: Reading, about: frozenset[str], code: ExitCode
) -> BuildResult:
    return BuildResult(
        code=code,
        summary=summary_of(session, reading.plan, code),
        usage=session.manifest.usage,
        reading=reading,
        tasks=tuple(task for task in reading.plan.tasks if task.id in about),
        state=session.journal.state,
        seconds=session.elapsed,
    )


# --- after run ------------------------------------------------------------------------


LABEL = "needs-manual-fix"
_NOT_PASSED = (Reason.CHECKS, Reason.STUCK, Reason.BUDGET)
"""Reasons for which the existing work may be worth finishing manually."""
_ENDINGS = {
    ExitCode.OK: "done",
    ExitCode.FAILED: "blocked",
    ExitCode.PERSON: "waits",
    ExitCode.REGRESSION: "regression",
    ExitCode.STOPPED: "stopped",
}
"""Values of `notify.on`."""
_SECONDS = 30.0


def open_draft_requests(session: Session, say: Callable[[str], None]) -> None:
    """Push each draft of this run and open its pull request; a failure is only a message."""
    drafts = _drafts(session)
    if not drafts or not session.project.settings.git.draft_pr:
        return
    there = publish.publisher(session.project.root, session.repository, session.project.environ)
    if isinstance(there, str):
        say(f"note: cannot open draft pull requests: {there}")
        return
    for task, branch in drafts.items():
        try:
            address = _open(there, session, task, branch)
        except RunnerError as error:
            why = f"{error.message}: {error.detail}"
            say(f"note: cannot open a draft pull request for {task}: {why}")
        else:
            say(f"{task}: draft pull request {address}")


def _drafts(session: Session) -> dict[str, str]:
    """Return the draft branches of tasks that this run left unfinished, by task."""
    found = {}
    for id_ in session.reports.written:
        known = session.journal.state.task(id_)
        if known.status is Status.BLOCKED and known.reason in _NOT_PASSED and known.draft:
            found[id_] = known.draft
    return found


def _open(there: Publisher, session: Session, task: str, branch: str) -> str:
    there.push(f"refs/heads/{branch}")
    if known := there.request_of(branch):
        return known
    titles = {one.id: one.title for one in session.tasks}
    title, body = f"draft({task}): {titles.get(task, '')}", session.reports.written[task]
    try:
        return there.open_request(branch, title, body, "--draft", "--label", LABEL)
    except RunnerError as error:
        if "label" not in error.detail:
            raise
        return there.open_request(branch, title, body, "--draft")  # no such label: no matter


def store_artifacts(project: Project, say: Callable[[str], None]) -> None:
    """Start the export of the run's artifacts in a detached process."""
    if not project.settings.artifacts.store:
        return
    say(artifact_export.begin_export(project))


def notify(session: Session, summary: Summary, say: Callable[[str], None]) -> None:
    """Pipe one line of JSON to `notify.command`; a failure is only reported."""
    settings, code = session.project.settings, summary.exit
    line, ending = settings.notify.command, _ENDINGS.get(code, "")
    if not line or ending not in settings.notify.on:
        return
    root = session.project.root
    text = document_line(
        "attention",
        ending=ending,
        project=session.project.name,
        folder=root,
        run=session.journal.run,
        branch=session.branch.shown,
        meaning=MEANING[code],
        **facts_of(summary, session.manifest.usage),
    )
    ran = publish.errand(
        line, root, session.project.environ, stdin=redact(text).encode(), seconds=_SECONDS
    )
    if not ran.passed:
        why = f"exit {ran.exit}" if ran.ended == "exited" else ran.ended
        say(f"warning: notify.command failed ({why}): {ran.tail.strip()[-200:]}")


# --- plan directives ------------------------------------------------------------------


_GO_BACK = "go back and rebuild these tasks in this run? [y/N] "


def apply_directives(
    session: Session,
    reading: Reading,
    say: Callable[[str], None],
    *,
    yes: bool,
    asker: Asker | None,
) -> Reading:
    """Apply the commands written in the plan under the run lock, and return the updated plan.

    A crash may have been put right in it since it was read. Raises RunnerError, exit 3 where
    nobody agrees to a replay.
    """
    if session.project.plan_bytes != reading.data:
        reading = session.project.check()
        transaction.require_readable(reading.plan)
    lines = [line for line in reading.plan.written_commands if line.task]
    if not lines:
        return reading
    plan = reading.plan
    # Check all lines before applying the first: an invalid line leaves the plan unchanged.
    for line in lines:
        _require_text(line, plan.path)
    session.take_in(plan.tasks)
    if not yes:
        _confirm_replays(session, [line.task for line in lines if line.kind == "replay"], asker)
    return _apply_lines(session, reading, lines, say)


def _confirm_replays(session: Session, ids: Sequence[str], asker: Asker | None) -> None:
    """Ask once before `!replay` lines start implementers again; nothing is written before a yes.

    Raises RunnerError (exit 3) where nobody says yes.
    """
    previews = [
        "\n".join([f"!replay in {display(id_)}:", *change_text.replay_preview(seen)])
        for id_ in ids
        if not (seen := _look_back(session, id_)).nothing
    ]
    if not previews:
        return
    if asker is not None and asker.choose("\n".join(previews), _GO_BACK) in ("y", "yes"):
        return
    raise RunnerError(
        f"!replay in {', '.join(map(display, ids))} would rebuild landed tasks; nothing has run",
        detail="" if asker else "\n".join(previews),
        hint="`runner run --yes --reuse` lands their recorded work again, `runner run --yes` "
        "rebuilds them; or remove the line",
        code=ExitCode.PERSON,
    )


def _look_back(session: Session, id_: str) -> Replay:
    state = session.journal.state
    return revert.plan_replay(session.repository, state, id_, session.own_documents)


def _apply_lines(
    session: Session, reading: Reading, lines: Sequence[PlanCommand], say: Callable[[str], None]
) -> Reading:
    """Carry out confirmed `!change` and `!replay` lines, and return the plan as it reads then.

    Each line becomes a quote. Raises RunnerError, with that line left as it is: going back meets
    a conflict (exit 6).
    """
    plan = reading.plan
    amendment = transaction.Transaction(session, plan, reading.data)
    amendment.begin("run")
    for line in lines:
        for message in _apply_line(amendment, line):
            say(message)
    again = session.project.check()
    transaction.require_readable(again.plan)
    return again


def _require_text(line: PlanCommand, path: str) -> None:
    if line.kind == "change" and not line.text:
        raise RunnerError(
            f"!change in {line.task} has no text",
            where=f"{path}:{line.line}",
            hint="describe the change on the same line: `!change TEXT`",
        )


def _apply_line(amendment: Transaction, line: PlanCommand) -> Iterator[str]:
    text = quote_of(line)
    if line.kind == "replay":
        yield _go_back(amendment, line.task)
        change = ChangePreview(text, (line.task,), (), ())
    else:
        change = plan_change(amendment.plan.tasks, amendment.state.task, (line.task,), text)
    number = record_change(amendment.session.context, change)
    yield f"CHANGE-{number:03d} recorded for {line.task}: {text}"
    for one in change.stale:
        yield f"{one.id} is STALE: {one.reason}"


def _go_back(amendment: Transaction, id_: str) -> str:
    session = amendment.session
    seen = _look_back(session, id_)
    if seen.nothing:
        return f"nothing landed after {id_}"
    take_back(session.lander, seen.back)
    return f"back to the checkpoint of {id_}; HEAD was saved as refs/runner/{seen.back.kept}"
