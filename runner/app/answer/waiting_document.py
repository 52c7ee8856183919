"""Pending reviews as a JSON document for `review --json`, the page and the API.

That a person answers what they were shown: its digest goes out with it and comes back.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from runner import effects
from runner.app.answer.waiting import (
    DRAFT,
    PERMISSION,
    PLAN,
    as_data,
    explain_futile_approval,
    find_plan,
    find_stale_work,
    format_breakage,
    list_waiting,
)
from runner.app.write.workplace import display_path
from runner.context import task_plan
from runner.context.task_plan import plan_text
from runner.errors import ExitCode, RunnerError
from runner.journal.events import AttemptFinished
from runner.journal.records import read_journal
from runner.lazy_module import lazy_module
from runner.model import Reason, digest_of
from runner.model.words import WHAT_CHANGED
from runner.repo.read import Repository
from runner.report.documents import document, document_line
from runner.report.task_report import describe_table, format_table, next_step
from runner.run.landing.drafts import without_deleted
from runner.run.permission_prompts import call_text, format_questions
from runner.run.review import open_questions
from runner.text.display import display
from runner.text.wording import short

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.app.answer.waiting import StaleWork, Waiting
    from runner.app.draft import draft_answers
    from runner.app.draft.drafting import Drafted
    from runner.journal.session_events import DraftProposed
    from runner.journal.state import RunState
    from runner.journal.task_state import Planned, TaskState
    from runner.model import Proof
    from runner.project import Project
    from runner.writes.staging import Staged
else:
    draft_answers = lazy_module("runner.app.draft.draft_answers")


def describe_waiting(project: Project, state: RunState, one: Waiting) -> dict[str, object]:
    """Return one item of the `review` JSON document."""
    known = state.task(one.task)
    changes = [
        {
            "path": change.path,
            "action": str(change.action),
            "before": change.before,
            "after": change.after,
        }
        for change in one.changes
    ]
    return {
        "id": one.task,
        "title": one.title,
        "kind": one.kind,
        "note": one.note,
        "changes": changes,
        "questions": [finding.message for finding in open_questions(known)],
        **_by_kind(project, state, one),
        **({"culprit": one.culprit, "approved": known.approved} if one.culprit else {}),
    }


def _find_proofs(project: Project, known: TaskState) -> Sequence[Proof]:
    """Return what was proven of work that waits; the journal alone keeps it of a question."""
    if known.held is None or known.passed is not None:
        return known.passed.proofs if known.held and known.passed else ()
    records = read_journal(project.journal_path, wanted=("attempt.finished",))
    proofs: Sequence[Proof] = ()
    for record in records:
        if record.task == known.id and isinstance(record.event, AttemptFinished):
            proofs = record.event.proofs
    return proofs


def describe_acceptance(project: Project, known: TaskState) -> list[dict[str, object]]:
    """Return the acceptance table of work that waits; it has no rows where there is none."""
    proofs = _find_proofs(project, known)
    tasks = (task for task in project.plan(project.plan_bytes).tasks if task.id == known.id)
    return [row for task in tasks for row in describe_table(task, proofs)]


def _format_acceptance(project: Project, known: TaskState) -> Iterator[str]:
    proofs = _find_proofs(project, known)
    tasks = (task for task in project.plan(project.plan_bytes).tasks if task.id == known.id)
    if lines := [f"  {line}" for task in tasks for line in format_table(task, proofs)]:
        yield from ("acceptance:", *lines)


def _by_kind(project: Project, state: RunState, one: Waiting) -> dict[str, object]:
    """Return the fields that only this kind of waiting item has."""
    match one.kind:
        case "stale":
            stale = find_stale_work(project, one.task)
            return {
                "commit": stale.commit or None,
                "asked": stale.asked,
                "edited": stale.edited,
                "tests": [{"id": test.id, "command": test.command} for test in stale.contracts],
            }
        case "plan":
            planned = find_plan(state, one.task)
            return {"plan": planned.plan, "path": planned.path, "digest": planned.digest}
        case "draft":
            return {"draft": describe_draft(draft_answers.find_draft(project, one.task))}
        case "permission":
            return {"asks": [asdict(call) for call in state.task(one.task).asks]}
        case "regression":
            return as_data(state, one.task)
    return {}


def describe_draft(one: DraftProposed) -> dict[str, object]:
    """Return a waiting draft as JSON data."""
    covered = [
        {"asked": request, "tasks": [word for word in ids.split(", ") if word]}
        for request, ids in zip(one.asked, one.covered_by, strict=False)
    ]
    return {
        "id": f"DRAFT-{one.number}",
        "kind": "draft",
        "plan": one.plan,
        "digest": one.digest,
        "tasks": list(one.tasks),
        "text": one.text,
        "wish": one.wish,
        "source": one.source or None,
        "asked": covered,
        "takenOut": list(one.taken_out),
        "notes": list(one.notes),
        "mistakes": list(one.mistakes),
        "rounds": one.rounds,
        "by": one.by,
    }


def format_calls(state: RunState, task: str) -> Iterator[str]:
    """Yield each call that waits for permission, with the rule that requires it."""
    for one in state.task(task).asks:
        rule = f" ({display(one.rule)})" if one.rule else ""
        yield f"wants to call {call_text(one)}{rule}"


def list_words(project: Project, state: RunState, one: Waiting) -> Iterator[str]:
    """Yield the notes on one item beside its files, a line each."""
    known = state.task(one.task)
    match one.kind:
        case "regression":
            with Repository.open(project.root) as repository:
                in_vain = _explain_futile(project, repository, state, one.task)
            yield from format_breakage(state, one.task, whole=True, in_vain=in_vain)
        case "blocked":
            with Repository.open(project.root) as repository:
                yield f"next: {next_step(without_deleted(repository, known), state)}"
        case "writes" if asks_about_tests(known):
            yield f"next: {next_step(known, state)}"
        case "stale":
            yield from _list_stale(find_stale_work(project, one.task))
        case "plan":
            yield from plan_text(find_plan(state, one.task).plan, one.task).splitlines()
        case "permission":
            yield from format_calls(state, one.task)
        case "draft":
            yield from _draft_words(project, one.task)


def _list_stale(stale: StaleWork) -> Iterator[str]:
    yield from (f"requested since the build: {request}" for request in stale.asked)
    fields = (name for name in stale.edited if name not in ("what", "change"))
    yield from (f"edited since the build: {name}" for name in fields)
    yield from (f"{one.id} ({one.shown_level}): {one.command}" for one in stale.contracts)


def _draft_words(project: Project, item: str) -> Iterator[str]:
    draft = draft_answers.find_draft(project, item)
    for text, ids in zip(draft.asked, draft.covered_by, strict=False):
        yield f"requested: {text} → {ids}" if ids else f"requested, but not covered: {text}"
    yield from (f"removed, {text}" for text in draft.taken_out)
    yield from (f"to fix: {text}" for text in draft.mistakes)
    yield from (f"note: {text}" for text in draft.notes)
    yield from ("", *draft.text.splitlines())


def how_to_answer(shown: tuple[Waiting, ...]) -> str:
    """Return a hint on how to answer the listed items."""
    if any(one.kind == "regression" for one in shown):
        return "to see one in full: runner review ID; approve or reject by number or ID"
    if any(one.changes or one.kind in (PLAN, PERMISSION, DRAFT) for one in shown):
        return (
            "to see one: runner review ID; then runner approve ID, or runner reject ID --reason …"
        )
    if any(one.kind == "stale" for one in shown):
        return (
            "to see what was built: runner review ID; to rebuild it: runner approve ID "
            "(--reuse re-tests it); to leave it as it is: runner reject ID --reason …"
        )
    return "to see the reason: runner why ID; to retry the task: runner retry ID"


def attempt_document(came: Drafted) -> str:
    """Return the `draft` JSON document: the proposed draft, or the mistakes that prevent one."""
    found = came.proposed and describe_draft(came.proposed)
    mistakes = [{"line": one.line, "text": one.text, "hint": one.hint} for one in came.mistakes]
    return document("draft", draft=found, mistakes=mistakes, rounds=came.rounds)


# --- for a person -------------------------------------------------------------------------


def lines_below(
    project: Project, repository: Repository, state: RunState, one: Waiting, *, whole: bool
) -> Iterator[str]:
    """Yield the lines listed below one item, its questions first."""
    if one.kind == "writes":
        known = state.task(one.task)
        yield from format_questions(open_questions(known))
        notes = (
            found for found in known.findings if found.check == WHAT_CHANGED and not found.asks
        )
        yield from (display(f"{found.path}: {found.message}") for found in notes)
        if asks_about_tests(known):
            yield f"next: {next_step(known, state)}"
        yield from _format_acceptance(project, known) if whole else ()
    yield from (f"{change.action} {display(change.path)}" for change in one.changes)
    if one.kind == DRAFT:
        yield from draft_answers.format_draft(project, one.task, whole=whole)
    elif one.kind == PLAN:
        planned = find_plan(state, one.task)
        files = (f"would write {display(path)}" for path in planned.plan.files)
        yield from format_plan(planned, one.task).splitlines() if whole else files
    elif one.kind == PERMISSION:
        yield from format_calls(state, one.task)
    elif one.kind == "regression":
        in_vain = _explain_futile(project, repository, state, one.task)
        yield from format_breakage(state, one.task, whole=whole, in_vain=in_vain)
    elif one.kind == "blocked":
        known = without_deleted(repository, state.task(one.task))
        yield f"next: {next_step(known, state)}"
    elif one.culprit and (in_vain := _explain_futile(project, repository, state, one.culprit)):
        yield f"approving this task has no effect yet: {in_vain}"
    elif one.culprit:
        approved = state.task(one.task).approved
        who = "the next run" if approved else "runner approve"
        yield f"{who} rebuilds this task on the held change of {display(one.culprit)}"


def _explain_futile(project: Project, repository: Repository, state: RunState, culprit: str) -> str:
    tasks = project.plan(project.plan_bytes).tasks
    return explain_futile_approval(tasks, state, culprit, repository)


def format_plan(planned: Planned, task: str) -> str:
    """Return the text of a stored task plan, escaped for display."""
    return display(task_plan.plan_text(planned.plan, task), lines=True)


def format_staged(one: Staged) -> str:
    """Return a line for a manually staged write, with the command that shows it."""
    what = f"{display(one.task)} {one.action} {display_path(one.path)}"
    return (
        f"staged: {what} — runner pipeline staged-write show {one.id}, then apply, edit or reject"
    )


def format_stale(stale: StaleWork) -> Iterator[str]:
    """Yield the requests and edits since the build, the tests, and the commit that was built."""
    yield from map(display, _list_stale(stale))
    if stale.commit:
        yield f"built as {short(stale.commit)}:"
    else:
        yield "this task has no commit of its own"


# --- what was shown -------------------------------------------------------------------


@contextmanager
def take_turn(project: Project) -> Iterator[None]:
    """Hold the lock that serializes answers given outside of a terminal."""
    effects.make_folder(project.cache)
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(project.cache / "answers.lock", flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


class MovedError(RunnerError):
    """The pending items changed after a person saw them."""


def digest_shown(project: Project, state: RunState, one: Waiting) -> str:
    """Return the digest of all that is shown of an item, and of its answers so far."""
    document = document_line(
        "shown",
        what=describe_waiting(project, state, one),
        answered=one.answered,
        # A proposal of another attempt is a new question, even with identical bytes.
        attempt=state.task(one.task).last_attempt,
    )
    return digest_of(document.encode())


def require_unmoved(
    project: Project, state: RunState, chosen: Sequence[Waiting], seen: str
) -> None:
    """Raise MovedError where what is answered is not what was `seen`; empty asks nothing."""
    if not seen:
        return
    now = [digest_shown(project, state, one) for one in chosen]
    if now == [seen]:
        return
    names = ", ".join(one.task for one in chosen)
    answered = any(one.answered for one in chosen)
    raise MovedError(
        f"{names} is already answered" if answered else f"{names} changed since you saw it",
        hint="review it again, then answer",
        code=ExitCode.CONFLICT,
    )


def require_shown(project: Project, item: str, seen: str) -> None:
    """Check that an item is unchanged since `seen`. Raises RunnerError if it no longer waits."""
    if not seen:
        return
    with Repository.open(project.root) as repository:
        state = project.state()
        known = list_waiting(project, repository, state)
    chosen = [one for one in known if one.task == item.upper()]
    if not chosen:
        raise RunnerError(f"{item} has nothing to approve", code=ExitCode.CONFLICT)
    require_unmoved(project, state, chosen, seen)


def asks_about_tests(known: TaskState) -> bool:
    """Return whether the work of a task waits since its held-out tests failed or cannot fail."""
    return known.held is not None and known.reason is Reason.HELD_OUT


def format_failures(project: Project, task_id: str) -> Iterator[str]:
    """Yield each test that failed in the task's last held-out proof, and its output.

    Before that, why the last draft of its tests was refused.
    """
    store = project.held_out.store
    if refusal := store.read_refusal(task_id):
        yield f"--- draft of the test author, refused: {display(task_id)}"
        yield from (display(line) for line in refusal.splitlines())
    for test, message in store.read_failures(task_id):
        yield f"--- failed in the last proof: {display(test)}"
        yield from (display(line) for line in message.splitlines())
