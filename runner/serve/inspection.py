"""One task, and one thing that waits, as a person looks at them: words, proofs, diffs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.app.answer.held_out_output import asks_about_tests, format_failures
from runner.app.answer.review_order import assess, find_contract_documents, in_order
from runner.app.answer.waiting import (
    DRAFT,
    PLAN,
    find_plan,
    find_stale_work,
    find_task,
    list_built_changes,
    list_waiting,
)
from runner.app.answer.waiting_document import describe_acceptance, digest_shown, list_words
from runner.app.inspect.causes import format_cause
from runner.app.inspect.task_inquiry import explain, find_one_task, load_story
from runner.app.inspect.task_view import portrait
from runner.app.inspect.view import View
from runner.app.write.plan_save import EditableText
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
from runner.report.acceptance_table import describe_table
from runner.run.review import open_questions
from runner.secrets.redact import redact
from runner.serve.drawings import SIGNS, TONES, diff_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.app.answer.review_order import Risk
    from runner.app.answer.waiting import Waiting
    from runner.app.draft import draft_answers
    from runner.app.inspect.task_inquiry import Attempt
    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.model import Change, Finding, Proof
    from runner.project import Project
    from runner.serve.builds import Build
    from runner.serve.drawings import FileDiff

    Rows = list[dict[str, object]]
    """The acceptance table, an entry a verdict."""
else:
    draft_answers = lazy_module("runner.app.draft.draft_answers")

_MOST_RAN = 3
"""Proofs that are named beside one line."""


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One thing in the queue."""

    item: str
    title: str
    note: str
    risk: Risk


@dataclass(frozen=True, slots=True)
class Editable:
    """A file that may be edited in the page."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class InspectedItem:
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
    """The item before it in the queue, for `k`; empty for the first."""
    after: str
    has_items: bool
    """Whether a person may say of each acceptance item that it is met."""
    asks_about_tests: bool
    """Whether held-out tests failed; their output comes by a request of its own."""


@dataclass(frozen=True, slots=True)
class TaskPage:
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
    """Everything that waits, risk first."""
    project = build.open()
    with Repository.open(project.root) as repository:
        state = View.of(project).state
        waiting = [one for one in list_waiting(project, repository, state) if not one.answered]
        ranked = in_order(state, waiting, find_contract_documents(project)) if waiting else ()
        return tuple(QueueRow(one.task, one.title, one.note, risk) for one, risk in ranked)


def inspect_item(build: Build, id_: str) -> InspectedItem:
    """One of them. Raises RunnerError where it does not wait (any more)."""
    project = build.open()
    with Repository.open(project.root) as repository:
        state = View.of(project).state
        known = list_waiting(project, repository, state)
        one = next((one for one in known if one.task == id_), None)
        if one is None:
            raise RunnerError(
                f"{id_} has nothing to approve",
                hint="it was already answered",
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
    """The files of a change, beside each line the proofs that were seen to run it."""
    store = ImpactStore(project.cache)
    try:
        seen = Observations(store)
        return tuple(diff_file(before, change, _ran(seen, change)) for change, before in pairs)
    finally:
        store.close()


def _ran(seen: Observations, change: Change) -> Mapping[int, str]:
    """By line which proofs ran these very bytes."""
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
    """What may be edited here; what a text field would change may not."""
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
    """One task. Raises RunnerError for an id that no task has."""
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
