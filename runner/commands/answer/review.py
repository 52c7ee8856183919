"""`runner review`: everything that waits for a person, numbered, and one of it whole."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.answer.waiting import (
    choose_waiting,
    find_stale_work,
    list_built_changes,
    list_staged_by_hand,
    list_waiting,
)
from runner.app.answer.waiting_document import (
    describe_waiting,
    format_staged,
    format_stale,
    how_to_answer,
    lines_below,
)
from runner.app.inspect.view import View
from runner.app.write.staged_states import describe_staged
from runner.errors import ExitCode
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.repo.read import Repository
from runner.report.console import wants_colour
from runner.report.documents import document
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.answer.waiting import Waiting
    from runner.commands.answer import draft
    from runner.journal.state import RunState
    from runner.model import Change
    from runner.report import diff_view
else:
    diff_view = lazy_module("runner.report.diff_view")
    draft = lazy_module("runner.commands.answer.draft")

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
            for line in lines_below(project, repository, state, one, whole=bool(given.what)):
                print(f"     {line}".rstrip())
            if given.what:
                _show_diffs(project, repository, one)
                if one.kind == "stale":
                    _show_stale(project, repository, one.task)
    for by_a_person in by_hand:
        print(format_staged(by_a_person))
    if shown and not given.what:
        print(f"\n{how_to_answer(shown)}")
    return ExitCode.OK


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
    for line in format_stale(stale):
        print(f"     {line}")
    built = list_built_changes(project, repository, stale.commit) if stale.commit else ()
    if built is None:
        print("     that commit is gone: the history was rewritten")
    for change, before in built or ():
        print(redact(_diff(project, change, before)))
