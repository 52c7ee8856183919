"""Handle a person's answer to a draft: write it into the plan, draft again, or edit it.

The word is durable before the plan changes; the plan changes in one rename, behind all that is
there; then the journal says so. A crash between leaves an approved draft that waits: the next
approval sees whether its sections stand in the plan, and writes them once.
"""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner import effects
from runner.app.answer.answer_between_runs import open_journal
from runner.app.draft import draft_checks
from runner.app.draft.draft_checks import Target, check_sections, find_errors
from runner.app.draft.draft_prompt import Wish
from runner.app.draft.drafted_imports import redraft_import
from runner.app.draft.drafting import DraftRequest, draft, ids_in_use, propose
from runner.app.write.import_tasks import MARKED, WISH
from runner.errors import ExitCode, RunnerError
from runner.implementers.registry import agent_of
from runner.journal.session_events import PERSON, DraftLanded, DraftReviewed
from runner.model import Status, digest_of
from runner.model.work import items_of
from runner.plan import document
from runner.plan.document import read_plan
from runner.plan.drafted_sections import DraftReading, Remark
from runner.project import Project
from runner.text.display import display
from runner.text.wording import join_few, read_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol

    from runner.app.draft.drafting import Drafted
    from runner.app.observer import Observer
    from runner.journal.session_events import DraftProposed
    from runner.model import Task
    from runner.project import Project
    from runner.run.review import Asker

    class TextEditor(Protocol):
        """The editor in which a person changes a text."""

        def edit(self, path: str, content: bytes) -> bytes:
            """Return the content after editing. Raises RunnerError if there is none."""

    from collections.abc import Iterator


_TRIES = 5
"""How often to retry when others save the plan while sections are appended."""


class Landing(Struct, frozen=True):
    """A draft whose sections stand in its plan."""

    id: str
    plan: str
    tasks: tuple[str, ...]


def find_draft(project: Project, named: str) -> DraftProposed:
    """Return the open draft named like `DRAFT-1`. Raises RunnerError if it does not wait."""
    number = named.upper().removeprefix("DRAFT-")
    for one in project.state().open_drafts:
        if str(one.number) == number:
            return one
    raise RunnerError(f"{named.upper()} has nothing to approve", hint="runner review")


def approve_draft(project: Project, named: str, by: str = "person", via: str = "") -> Landing:
    """Append the sections of a draft to its plan, approved by `by`, optionally `via` a page.

    Raises RunnerError where they do not fit it (any more), and where it is saved all the time.
    """
    one = find_draft(project, named)
    id_ = f"DRAFT-{one.number}"
    with open_journal(project, via) as journal:
        if not _stands(project, one):
            _require_fitting(project, one)
            # A killed process already recorded it: one answer is one line of the journal.
            if one.digest not in project.state().approved_drafts:
                word = DraftReviewed(one.number, one.digest, approved=True, by=by)
                journal.append(word, durable=True)
            _write(project, one)
        journal.append(DraftLanded(one.number, one.plan, one.tasks), durable=True)
    return Landing(id_, one.plan, one.tasks)


def reject_draft(
    project: Project, named: str, reason: str, observer: Observer, asker: Asker | None = None
) -> Drafted:
    """Refuse it, and draft the same wish anew with the reason. The refusal is durable first."""
    one = find_draft(project, named)
    if not reason:
        raise RunnerError(
            "a rejection needs a reason", hint="add --reason TEXT; the next draft reads it"
        )
    # A kill came between plan and journal: a rejection would leave unwanted tasks in the plan.
    if one.digest in project.state().approved_drafts and _stands(project, one):
        raise RunnerError(f"its tasks are already in {one.plan}", hint=f"runner approve {named}")
    reason = project.without_secrets(reason)
    decline_draft(project, named, reason)
    if one.imported:
        return redraft_import(project, one, reason, observer, asker)
    own = one.plan if one.plan != Target.of(project).path else ""
    return draft(
        project,
        DraftRequest(
            Wish(one.wish, one.source), str(project.root / own) if own else "", reason=reason
        ),
        observer,
        asker,
    )


def decline_draft(project: Project, named: str, reason: str, by: str = "person") -> None:
    """Reject a draft. Raises RunnerError if it is not waiting."""
    one = find_draft(project, named)
    with open_journal(project) as journal:
        word = DraftReviewed(one.number, one.digest, approved=False, reason=reason, by=by)
        journal.append(word, durable=True)


def edit_draft(project: Project, named: str, editor: TextEditor) -> DraftProposed | None:
    """Let a person edit a draft, which stays open for approval; None if nothing changed.

    What they leave is kept whatever is wrong with it: it is approved only once that is mended.
    """
    one = find_draft(project, named)
    before = one.text.encode()
    content = editor.edit(f"DRAFT-{one.number}.md", before)
    if content == before:
        return None
    text = content.decode("utf-8", "replace").replace("\r\n", "\n").rstrip("\n") + "\n"
    tasks = tuple(task.id for task in read_plan(text.encode(), "draft").tasks)
    edited = replace(
        one,
        text=text,
        digest=digest_of(text.encode()),
        tasks=tasks,
        taken_out=(),
        by=PERSON,
        usage=None,  # recorded with the draft that they edited
    )
    mistakes = tuple(map(str, _mistakes(project, edited)))
    return propose(project, replace(edited, mistakes=mistakes))


def _require_fitting(project: Project, one: DraftProposed) -> None:
    mistakes = _mistakes(project, one)
    if mistakes:
        id_ = f"DRAFT-{one.number}"
        raise RunnerError(
            f"{id_} cannot be added to {one.plan}; nothing was written",
            detail="\n".join(map(str, mistakes)),
            hint=f"runner edit {id_}, or runner reject {id_} --reason …",
            code=ExitCode.USAGE,
        )


def _mistakes(project: Project, one: DraftProposed) -> tuple[Remark, ...]:
    """Return the problems of these bytes in the current plan."""
    target = Target.of(project, one.plan)
    if one.text.lstrip().startswith("# ") or not one.text.startswith("#"):
        return (Remark(1, "the draft does not start with a task heading", "## TASK-001: Title"),)
    plan = read_plan(target.data, target.path, prefixes=project.settings.build.id_prefixes)
    own = read_plan(one.text.encode(), "draft", prefixes=project.settings.build.id_prefixes)
    taken = ids_in_use(project, target, plan, but=one.number)
    places = {task.id: task.line for task in own.tasks}
    found = [
        Remark(problem.line, problem.message, problem.hint)
        for problem in own.problems
        if problem.is_error
    ]
    for task in own.tasks:
        if task.id in taken:
            found.append(Remark(task.line, f"{task.id} is already used by another task"))
        if task.status is not Status.PENDING and not _is_import_status(one, task):
            found.append(Remark(task.line, f"{task.id} is {task.status}: a draft must be PENDING"))
    if found or not own.tasks:
        return tuple(found)
    reading = DraftReading(tuple(one.text.split("\n")), (), places)
    if one.imported:  # warnings of imported tasks are shown as an import shows them
        return find_errors(project, target, reading, one.text)
    return check_sections(project, target, reading, one.text).mistakes


def _is_import_status(one: DraftProposed, task: Task) -> bool:
    """Return whether a status is one that an import writes: marked DONE, or blocked as a wish."""
    if not one.imported:
        return False
    marked = task.status is Status.DONE and task.note.startswith(MARKED)
    return marked or (task.status is Status.BLOCKED and task.note == WISH)


def _stands(project: Project, one: DraftProposed) -> bool:
    """Return whether the approved draft's sections are all in the plan."""
    if one.digest not in project.state().approved_drafts:
        return False
    target, prefixes = Target.of(project, one.plan), project.settings.build.id_prefixes
    there = read_plan(target.data, target.path, prefixes=prefixes).tasks
    own = read_plan(one.text.encode(), "draft", prefixes=prefixes).tasks
    return {(task.id, task.title) for task in there}.issuperset((one.id, one.title) for one in own)


def _write(project: Project, one: DraftProposed) -> None:
    place = project.root / one.plan
    for _ in range(_TRIES):
        target = Target.of(project, one.plan)
        whole = target.with_text(one.text, project.root.name)
        if not target.data:
            effects.make_folder(place.parent)
        if effects.write_file(place, whole, mode=effects.mode_of(place), expected=target.data):
            return
    raise RunnerError(
        f"{one.plan} keeps changing: another program is saving it; nothing was written",
        hint=f"runner approve DRAFT-{one.number}",
        code=ExitCode.CONFLICT,
    )


def split_drafts(
    project: Project, named: Sequence[str], *, every: bool = False
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split the given names into draft IDs and everything else, with draft numbers resolved.

    In the numbered list drafts stand before everything else that waits.
    """
    waiting = [f"DRAFT-{one.number}" for one in project.state().open_drafts]
    if every:
        return tuple(waiting), ()
    drafts: list[str] = []
    others: list[str] = []
    for word in named:
        if 1 <= (number := read_number(word)) <= len(waiting):
            drafts.append(waiting[number - 1])
        else:
            (drafts if word.upper().startswith("DRAFT-") else others).append(word)
    return tuple(dict.fromkeys(drafts)), tuple(others)


def format_draft(project: Project, named: str, *, whole: bool) -> Iterator[str]:
    """Yield the lines of a draft in the list of waiting items."""
    yield from draft_lines(project, find_draft(project, named), whole=whole)


def draft_lines(project: Project, one: DraftProposed, *, whole: bool) -> Iterator[str]:
    """Yield the plan changes of a draft and the requirements that it covers."""
    if not whole:
        yield f"would add {join_few([*map(display, one.tasks)])} to {display(one.plan)}"
        yield from (f"to fix: {display(text)}" for text in one.mistakes)
        return
    target = draft_checks.Target.of(project, one.plan)
    new = target.with_text(one.text, project.root.name)
    rows = unified_diff(
        target.data.decode("utf-8", "replace").splitlines(),
        new.decode("utf-8", "replace").splitlines(),
        one.plan if target.data else "/dev/null",
        one.plan,
        lineterm="",
    )
    yield from (display(row.rstrip("\n")) for row in rows)
    yield ""
    tasks = {task.id: task for task in document.read_plan(one.text.encode(), "draft").tasks}
    covered = list(zip(one.asked, one.covered_by, strict=False))
    for text, ids in covered:
        for id_ in filter(None, ids.split(", ")):
            proofs = [test.command for test in tasks[id_].test_contracts] if id_ in tasks else []
            yield display(f"requested: {text} → {id_} → {'; '.join(proofs) or 'see plan'}")
    yield from (display(f"requested, but not covered: {text}") for text, ids in covered if not ids)
    if not covered:
        yield "the draft does not list which parts of the request it covers"
    yield from (f"removed, {display(text)}" for text in one.taken_out)
    yield from (f"to fix: {display(text)}" for text in one.mistakes)
    yield from (f"note: {display(text)}" for text in one.notes)
    yield from _propose_author(project, one, tasks.values())


def _propose_author(project: Project, one: DraftProposed, tasks: Iterable[Task]) -> Iterator[str]:
    """Propose held-out tests by another session, for tasks that an agent would build."""
    named = [
        (task.id, name)
        for task in tasks
        if (name := agent_of(task, project.settings)) and items_of(task) and not task.test_author
    ]
    if named:
        ids, name = join_few([display(id_) for id_, _ in named]), display(named[0][1])
        yield f"with `- Test author: {name}` in {ids}, another session writes held-out tests"
        yield f"before the work starts: runner edit DRAFT-{one.number}"


def attempt_lines(project: Project, came: Drafted) -> Iterator[str]:
    """Yield the waiting draft with the commands to answer it, or why there is none."""
    if came.proposed is None:
        yield "no usable draft:"
        for one in came.mistakes:
            yield display(str(one))
            if one.hint:
                yield f"  hint: {display(one.hint)}"
        yield f"nothing was written; the drafter was asked {came.rounds} times"
        return
    yield from draft_lines(project, came.proposed, whole=True)
    id_ = f"DRAFT-{came.proposed.number}"
    yield ""
    yield f"{id_} waits: runner approve {id_}, runner edit {id_}, or"
    yield f"runner reject {id_} --reason …"
