"""`runner review`, `approve`, `reject`, `edit`: a person's word on what waits, given any time."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.answer import permission_requests
from runner.app.answer.staged_by_hand import find_staged_by_hand, format_staged
from runner.app.answer.waiting import Waiting
from runner.commands.files.staged_list import as_data
from runner.errors import ExitCode, RunnerError
from runner.journal.permission_fold import waits as permission_waits
from runner.journal.plan_fold import waits as plan_waits
from runner.journal.task_fold import APPROVED
from runner.model import Status
from runner.report.console import wants_colour
from runner.report.documents import document
from runner.run.regressions.regression import HELD
from runner.run.review import HELD as REVIEW
from runner.run.review import is_answered, open_questions
from runner.run.selection import find_id
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from runner.journal.state import RunState
    from runner.project import Project
    from runner.repo.read import Repository

_EPILOGS = {
    "review": """\
examples:
  runner review             what waits for you, numbered
  runner review TASK-003    what that task wants to change, as a diff
""",
    "approve": """\
examples:
  runner approve TASK-003   its writes land, or it runs again, with the next `runner`
  runner approve 1          the first of `runner review`
  runner approve TASK-005 --reuse
                            what it built before is only proven again
  runner approve TASK-004   of one that a held change breaks: it is built anew on that change
  runner approve --all      everything
""",
    "reject": """\
example:
  runner reject TASK-003 --reason "keep the old name of the function"
                            of a STALE task: what was built stands, it is DONE again
  runner reject TASK-009 --reason "bookings may touch"
                            of a held change: what it breaks is DONE again, it is tried again
""",
    "edit": """\
example:
  runner edit TASK-003      its proposed files in your editor; the next `runner` proves them
""",
}


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What the four commands take."""
    parser.epilog = _EPILOGS[name]
    parser.set_defaults(command=name)
    parser.add_argument("what", nargs="*", metavar="ID", help="task, or number in `runner review`")
    if name == "approve":
        parser.add_argument("--all", action="store_true", help="everything that waits")
        parser.add_argument(
            "--reuse",
            action="store_true",
            help="of a STALE task: prove what is there again, nobody implements",
        )
    if name == "reject":
        parser.add_argument("--reason", default="", help="what the next attempt is to do better")
    if name == "review":
        parser.add_argument("--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """List or show what waits, or answer it."""
    from runner.app.answer.between_runs import answer_at_once
    from runner.app.inspect.view import View
    from runner.project import Project
    from runner.repo.read import Repository

    project = Project.open(Path.cwd(), environ)
    with Repository.open(project.root) as repository:
        if given.command == "review":
            state = View.of(project).state
            return _review(
                given, project, repository, state, _find_waiting(project, repository, state)
            )
        with answer_at_once(project, repository):
            state = project.state()
            known = _find_waiting(project, repository, state)
            waiting = tuple(one for one in known if not one.answered)
            every = getattr(given, "all", False)
            chosen = waiting if every else _choose_waiting(given, project, known)
            return _answer(given, project, repository, state, chosen, waiting)


def _answer(
    given: argparse.Namespace,
    project: Project,
    repository: Repository,
    state: RunState,
    chosen: tuple[Waiting, ...],
    waiting: tuple[Waiting, ...],
) -> ExitCode:
    from runner.commands.answer import (
        approval,
    )

    match given.command:
        case "approve":
            return approval.approve(project, state, chosen, reuse=given.reuse, every=given.all)
        case "reject":
            refused = _culprits_first(chosen, waiting)
            return approval.reject(project, repository, state, refused, given.reason)
        case _:
            from runner.commands.answer.edit import edit_held
            from runner.commands.answer.task_plan_review import KIND, edit

            for one in chosen:
                permission_requests.refuse_to_edit(one.kind, one.task)
                if one.kind == KIND:
                    edit(project, state, one.task)
            others = tuple(one for one in chosen if one.kind != KIND)
            return edit_held(project, repository, state, others)


def _culprits_first(
    chosen: tuple[Waiting, ...], waiting: tuple[Waiting, ...]
) -> tuple[Waiting, ...]:
    """For a task that a held change breaks that change: a no to the one is a no to the other."""
    held = {one.task: one for one in waiting if one.kind == "regression"}
    meant = (one if one.changes else held.get(one.culprit, one) for one in chosen)
    return tuple(dict.fromkeys(meant))


def _find_waiting(project: Project, repository: Repository, state: RunState) -> tuple[Waiting, ...]:
    """Everything that waits for a person, in the plan's order."""
    from runner.run.landing.drafts import load_held_changes

    found = []
    for task in project.outline().tasks:
        known = state.task(task.id)
        if known.held is not None and known.status is not Status.DONE:
            changes = load_held_changes(repository, known.held) or ()
            kind = "regression" if known.held.kind == HELD else "writes"
            said = known.held.kind == REVIEW and is_answered(state, task.id, changes)
            note = APPROVED if said else known.note
            whose = known.culprit if kind == "writes" else ""
            found.append(Waiting(task.id, task.title, kind, note, changes, whose, answered=said))
        elif plan_waits(known):
            found.append(Waiting(task.id, task.title, "plan", known.note))
        elif permission_waits(known):
            found.append(Waiting(task.id, task.title, permission_requests.KIND, known.note))
        elif known.status is Status.STALE:
            found.append(Waiting(task.id, task.title, "stale", known.note, culprit=known.culprit))
        elif known.status is Status.BLOCKED:
            found.append(Waiting(task.id, task.title, "blocked", known.note))
    return tuple(found)


def _choose_waiting(
    given: argparse.Namespace, project: Project, known: tuple[Waiting, ...]
) -> tuple[Waiting, ...]:
    """What a person named, by number or id. Raises RunnerError for what does not wait."""
    waiting = [one for one in known if not one.answered]
    if not given.what:
        raise RunnerError("which one?", hint="runner review numbers what waits")
    ids = [task.id for task in project.outline().tasks]
    chosen = []
    for typed in given.what:
        if typed.isdigit() and 1 <= int(typed) <= len(waiting):
            chosen.append(waiting[int(typed) - 1])
            continue
        id_ = find_id(typed, ids)
        found = [one for one in known if one.task == id_]
        if not found:
            raise RunnerError(f"{id_} does not wait for you", hint=f"runner why {id_}")
        chosen += found
    return tuple(chosen)


# --- showing --------------------------------------------------------------------------


def _review(
    given: argparse.Namespace,
    project: Project,
    repository: Repository,
    state: RunState,
    known: tuple[Waiting, ...],
) -> ExitCode:
    waiting = tuple(one for one in known if not one.answered)
    shown = _choose_waiting(given, project, known) if given.what else waiting
    by_hand = () if given.what else find_staged_by_hand(project, state)
    if given.json:
        waits = [_as_data(project, state, one) for one in shown]
        print(document("review", waiting=waits, staged=[as_data(one) for one in by_hand]))
        return ExitCode.OK
    if not shown and not by_hand:
        print("nothing waits for you")
    said = [one for one in known if one.answered and (one in shown or not given.what)]
    places = [(f"{number}. ", one) for number, one in enumerate(waiting, start=1) if one in shown]
    for place, one in (*places, *(("", one) for one in said)):
        print(f"{place}{display(one.task)} {display(one.title)} — {display(one.note)}")
        if one in shown:
            for line in _below(project, repository, state, one, whole=bool(given.what)):
                print(f"     {line}".rstrip())
            if given.what:
                _show_diffs(project, repository, one)
                if one.kind == "stale":
                    from runner.commands.answer.stale_review import show_stale

                    show_stale(project, repository, one.task)
    for by_a_person in by_hand:
        print(format_staged(by_a_person))
    if shown and not given.what:
        print(f"\n{_how_to_answer(shown)}")
    return ExitCode.OK


def _below(
    project: Project, repository: Repository, state: RunState, one: Waiting, *, whole: bool
) -> Iterator[str]:
    """What is listed below one item: what it asks first."""
    from runner.run.approvals import format_questions

    if one.kind == "writes":
        yield from format_questions(open_questions(state.task(one.task)))
    yield from (f"{change.action} {display(change.path)}" for change in one.changes)
    if one.kind == "plan":
        from runner.commands.answer import (
            task_plan_review,
        )

        yield from task_plan_review.format_plan(state, one.task, whole=whole)
    elif one.kind == permission_requests.KIND:
        yield from permission_requests.format_calls(state, one.task)
    elif one.kind == "regression":
        from runner.app.answer import breakage

        tasks = project.plan(project.plan_bytes).tasks
        in_vain = breakage.explain_vain_approval(tasks, state, one.task, repository)
        yield from breakage.format_breakage(state, one.task, whole=whole, in_vain=in_vain)
    elif one.culprit:
        approved = state.task(one.task).approved
        how = "is approved: it is" if approved else "with runner approve it is"
        yield f"{how} built anew on the held change of {display(one.culprit)}"


def _breakage_document(state: RunState, one: Waiting) -> dict[str, object]:
    return {"culprit": one.culprit, "approved": state.task(one.task).approved}


def _how_to_answer(shown: tuple[Waiting, ...]) -> str:
    """What can be typed about what was listed."""
    if any(one.kind == "regression" for one in shown):
        return "runner review ID shows it whole; number or ID can be approved or rejected"
    if any(one.changes or one.kind in ("plan", permission_requests.KIND) for one in shown):
        return "runner review ID shows it; runner approve ID, or runner reject ID --reason …"
    if any(one.kind == "stale" for one in shown):
        return (
            "runner review ID shows what was built; runner approve ID [--reuse], "
            "or runner reject ID --reason … to leave it as it is"
        )
    return "runner why ID says more; runner approve ID has it tried again"


def _as_data(project: Project, state: RunState, one: Waiting) -> dict[str, object]:
    from runner.app.answer import breakage
    from runner.commands.answer import task_plan_review
    from runner.commands.answer.stale_review import stale_data

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
        "questions": [finding.message for finding in open_questions(state.task(one.task))],
        **(stale_data(project, one.task) if one.kind == "stale" else {}),
        **(task_plan_review.as_data(state, one.task) if one.kind == "plan" else {}),
        **(
            permission_requests.as_data(state, one.task)
            if one.kind == permission_requests.KIND
            else {}
        ),
        **(_breakage_document(state, one) if one.culprit else {}),
        **(breakage.as_data(state, one.task) if one.kind == "regression" else {}),
    }


def _show_diffs(project: Project, repository: Repository, one: Waiting) -> None:
    from runner.report.diff_view import diff_text

    held = project.state().task(one.task).held
    base = held.base if held else ""
    colour = wants_colour(sys.stdout, project.environ)
    width = shutil.get_terminal_size().columns
    for change in one.changes:
        before = repository.blob(base, change.path) if base else None
        print(diff_text(before, change, colour=colour, width=width))
