"""`runner review`: everything that waits for a person, numbered, and one of it whole."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.answer import waiting
from runner.app.answer.waiting import (
    DRAFT,
    PERMISSION,
    PLAN,
    choose_waiting,
    find_plan,
    find_stale_work,
    list_built_changes,
    list_staged_by_hand,
    list_waiting,
)
from runner.app.answer.waiting_document import describe_waiting, format_calls, how_to_answer
from runner.app.inspect.view import View
from runner.app.write.staged_states import describe_staged
from runner.app.write.workplace import display_path
from runner.errors import ExitCode
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.repo.read import Repository
from runner.report.console import wants_colour
from runner.report.documents import document
from runner.report.next_step import next_step
from runner.run.permission_prompts import format_questions
from runner.run.review import open_questions
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from runner.app.answer.waiting import Waiting
    from runner.app.draft import draft_answers
    from runner.commands.answer import draft
    from runner.context import task_plan
    from runner.journal.state import RunState
    from runner.journal.task_state import Planned
    from runner.model import Change
    from runner.report import diff_view
    from runner.writes.staging import Staged
else:
    diff_view = lazy_module("runner.report.diff_view")
    draft = lazy_module("runner.commands.answer.draft")
    draft_answers = lazy_module("runner.app.draft.draft_answers")
    task_plan = lazy_module("runner.context.task_plan")

EXAMPLES = """\
examples:
  runner review             what waits for you, numbered
  runner review TASK-003    what that task wants to change, as a diff
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner review` takes."""
    parser.add_argument("what", nargs="*", metavar="ID", help="task, draft, or number")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """List what waits, or show what was named of it."""
    if given.what and all(word.upper().startswith("DRAFT-") for word in given.what):
        return draft.show_drafts(Project.open(Path.cwd(), environ, plan_needed=False), given)
    project = Project.open(Path.cwd(), environ)
    with Repository.open(project.root) as repository:
        state = View.of(project).state
        known = list_waiting(project, repository, state)
        return _review(given, project, repository, state, known)


def _review(
    given: argparse.Namespace,
    project: Project,
    repository: Repository,
    state: RunState,
    known: tuple[Waiting, ...],
) -> ExitCode:
    waiting = tuple(one for one in known if not one.answered)
    shown = choose_waiting(project, given.what, known) if given.what else waiting
    by_hand = () if given.what else list_staged_by_hand(project, state)
    if given.json:
        waits = [describe_waiting(project, state, one) for one in shown]
        print(document("review", waiting=waits, staged=[describe_staged(one) for one in by_hand]))
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
                    _show_stale(project, repository, one.task)
    for by_a_person in by_hand:
        print(_format_staged(by_a_person))
    if shown and not given.what:
        print(f"\n{how_to_answer(shown)}")
    return ExitCode.OK


def _below(
    project: Project, repository: Repository, state: RunState, one: Waiting, *, whole: bool
) -> Iterator[str]:
    """What is listed below one item: what it asks first."""
    if one.kind == "writes":
        yield from format_questions(open_questions(state.task(one.task)))
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
        tasks = project.plan(project.plan_bytes).tasks
        in_vain = waiting.explain_vain_approval(tasks, state, one.task, repository)
        yield from waiting.format_breakage(state, one.task, whole=whole, in_vain=in_vain)
    elif one.kind == "blocked":
        yield f"next: {next_step(state.task(one.task), state)}"
    elif one.culprit:
        approved = state.task(one.task).approved
        how = "is approved: it is" if approved else "with runner approve it is"
        yield f"{how} built anew on the held change of {display(one.culprit)}"


def format_plan(planned: Planned, task: str) -> str:
    """A plan as it is kept, made safe to show."""
    return display(task_plan.plan_text(planned.plan, task), lines=True)


def _format_staged(one: Staged) -> str:
    """A write by hand, with the command that shows it."""
    what = f"{display(one.task)} {one.action} {display_path(one.path)}"
    return f"by hand: {what} — runner staged-write show {one.id}, then apply, edit or reject"


def _show_diffs(project: Project, repository: Repository, one: Waiting) -> None:
    held = project.state().task(one.task).held
    base = held.base if held else ""
    for change in one.changes:
        print(_diff(project, change, repository.blob(base, change.path) if base else None))


def _diff(project: Project, change: Change, before: bytes | None) -> str:
    colour = wants_colour(sys.stdout, project.environ)
    return diff_view.diff_text(
        before, change, colour=colour, width=shutil.get_terminal_size().columns
    )


def _show_stale(project: Project, repository: Repository, id_: str) -> None:
    """Print the original implementation's diff, its test contracts, and the change."""
    stale = find_stale_work(project, id_)
    for note in stale.asked:
        print(f"     asked for since: {display(note)}")
    for field in stale.edited:
        if field not in ("what", "change"):
            print(f"     edited since: {display(field)}")
    for contract in stale.contracts:
        print(f"     {display(contract.id)} ({contract.shown_level}): {display(contract.command)}")
    if not stale.commit:
        print("     it has no commit of its own")
        return
    print(f"     what was built, as {short(stale.commit)}:")
    built = list_built_changes(project, repository, stale.commit)
    if built is None:
        print("     that commit is gone: the history was rewritten")
    for change, before in built or ():
        print(redact(_diff(project, change, before)))
