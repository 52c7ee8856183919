"""Edit held writes and task plans in a person's own editor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from runner.app.answer.answer_between_runs import open_journal
from runner.app.answer.answers import Answered, Became, open_answers, release_answered
from runner.app.answer.waiting import PERMISSION, PLAN, find_plan, find_task
from runner.app.answer.waiting_document import require_unmoved
from runner.app.write.workplace import Workplace
from runner.context.task_plan import plan_text
from runner.errors import RunnerError
from runner.journal.events import WriteReviewed
from runner.journal.session_events import PlanProposed, PlanReviewed
from runner.model import Finding, digest_of
from runner.repo.commit import commit_tree
from runner.repo.refs import find_own_name, keep_ref
from runner.run.planned.task_plans import keep_plan, parse_edited_plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.app.answer.answers import AnswerContext
    from runner.app.answer.waiting import Waiting
    from runner.model import Change
    from runner.project import Project


class Editor(Protocol):
    """The editor in which a person changes a text."""

    def edit(self, path: str, content: bytes) -> bytes:
        """Return the content after editing. Raises RunnerError if there is none."""

    def try_again(self, findings: tuple[Finding, ...]) -> bool:
        """Return whether the user edits a text with these secrets again. Raises RunnerError.

        Raises RunnerError where nobody is there to be asked.
        """


def edit(
    project: Project,
    named: tuple[str, ...],
    editor: Editor,
    tell: Callable[[Answered], None],
    *,
    seen: str = "",
    via: str = "",
) -> tuple[Answered, ...]:
    """Open what a person named in their editor, plans first; the next run uses the edited version.

    `seen` and `via` are as in `Approve`. Raises RunnerError for what cannot be edited, for an
    editor that fails, and for text that cannot be a plan of its task.
    """
    answered = []
    with open_answers(project) as context:
        chosen = context.choose(named)
        require_unmoved(project, context.state, chosen, seen)
        for one in chosen:
            _refuse_question(one)
            if one.kind == PLAN:
                answered.append(_edit_plan(context, one.task, editor, via))
                tell(answered[-1])
        for one in chosen:
            if one.kind != PLAN:
                answered.append(_edit_writes(context, one, editor, via))
                tell(answered[-1])
    return tuple(answered)


def _refuse_question(one: Waiting) -> None:
    if one.kind == PERMISSION:
        hint = f"runner approve {one.task}, or runner reject {one.task} --reason …"
        raise RunnerError(f"{one.task} asks to call a tool: there is nothing to edit", hint=hint)


# --- held writes ----------------------------------------------------------------------


def _edit_writes(context: AnswerContext, one: Waiting, editor: Editor, via: str) -> Answered:
    """Let a person edit held writes; the next run checks and tests the result."""
    _require_editable(context, one)
    made = [_edit_change(context.project, change, editor) for change in one.changes]
    if made == list(one.changes):
        return Answered(one.task, Became.UNCHANGED)
    _keep_writes(context, one, made, via)
    release_answered(context.project, (replace(one, changes=tuple(made)),), via)
    return Answered(one.task, Became.EDITED)


def _require_editable(context: AnswerContext, one: Waiting) -> None:
    if context.state.task(one.task).held is None:
        raise RunnerError(f"{one.task} has no writes to edit", hint=f"runner why {one.task}")
    if one.kind == "regression":
        raise RunnerError(
            f"{one.task} breaks other tasks: its held change cannot be edited",
            hint=f"runner reject {one.task} --reason …, or approve the tasks it breaks",
        )


def _edit_change(project: Project, change: Change, editor: Editor) -> Change:
    """Return a change after editing; with a secret in it, the change is returned unchanged."""
    if change.content is None:
        return change
    here = Workplace.of(project.root, project.environ)
    text = change.content
    while True:
        text = editor.edit(change.path, text)
        found = here.find_secrets(text, change.path)
        if not found:
            return replace(change, content=text, after=digest_of(text))
        if not editor.try_again(found):
            return replace(change, after=digest_of(change.content))


def _keep_writes(context: AnswerContext, one: Waiting, made: list[Change], via: str) -> None:
    """Replace the held proposal by the edited one, and record who wrote it."""
    known = context.state.task(one.task)
    assert known.held is not None
    message = f"held({one.task}): edited by a person\n"
    commit = commit_tree(context.repository, known.held.base or None, made, message, sign=False)
    # Keep the bytes before the journal record: after a kill in between, they need a new answer.
    keep_ref(context.repository, find_own_name(context.repository, known.held.ref), commit.sha)
    with open_journal(context.project, via) as journal:
        for old, new in zip(one.changes, made, strict=True):
            # an editor has seen the whole proposal: files left unchanged are approved too
            how = "edited" if old != new else "applied"
            event = WriteReviewed(new.path, new.before, new.after, how, "person")
            journal.append(event, task=one.task, attempt=known.last_attempt, durable=True)


# --- plans ----------------------------------------------------------------------------


def _edit_plan(context: AnswerContext, id_: str, editor: Editor, via: str) -> Answered:
    """Let a person edit a plan; saving it approves the plan by its digest."""
    project, task = context.project, find_task(context.project, id_)
    assert task is not None  # its plan waits, so the plan's file has it
    planned = find_plan(context.state, id_)
    before = plan_text(planned.plan, id_, task.title).encode("utf-8", "replace")
    content = editor.edit(planned.path, before)
    if content == before:
        return Answered(id_, Became.UNCHANGED)
    plan = parse_edited_plan(task, content, project.settings, project.root)
    if isinstance(plan, Finding):
        raise RunnerError(f"the edited plan is not valid: {plan.message}", hint=plan.hint)
    text = plan_text(plan, id_, task.title).encode("utf-8", "replace")
    path = keep_plan(project.root, id_, text)
    events = (
        PlanProposed(plan, path, digest_of(text), what=task.spec.what),
        PlanReviewed(digest_of(text), approved=True, review="edited", by="person"),
    )
    with open_journal(project, via) as journal:
        for event in events:
            attempt = context.state.task(id_).last_attempt
            journal.append(event, task=id_, attempt=attempt, durable=True)
    return Answered(id_, Became.PLAN_EDITED)
