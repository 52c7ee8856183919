"""`runner review`: list everything that waits for a person, or show one item.

`runner draft` turns a request into tasks; `approve`, `reject` and `edit` answer a draft.
"""

from __future__ import annotations

import shutil
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands.output import open_console, say
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.repo.read import Repository
from runner.report.console import wants_colour
from runner.report.documents import document
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import join_few, read_number

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from runner.app.answer import waiting, waiting_document
    from runner.app.answer.waiting import Waiting
    from runner.app.draft import draft_answers, draft_checks, draft_prompt, drafting
    from runner.app.draft.draft_prompt import Wish
    from runner.app.draft.drafting import Drafted
    from runner.app.inspect import view
    from runner.app.write import staged_states
    from runner.journal.state import RunState
    from runner.model import Change
    from runner.report import diff_view
    from runner.terminal import terminal_review
else:
    diff_view = lazy_module("runner.report.diff_view")
    draft_answers = lazy_module("runner.app.draft.draft_answers")
    draft_checks = lazy_module("runner.app.draft.draft_checks")
    drafting = lazy_module("runner.app.draft.drafting")
    terminal_review = lazy_module("runner.terminal.terminal_review")
    waiting_document = lazy_module("runner.app.answer.waiting_document")
    draft_prompt = lazy_module("runner.app.draft.draft_prompt")
    waiting = lazy_module("runner.app.answer.waiting")
    view = lazy_module("runner.app.inspect.view")
    staged_states = lazy_module("runner.app.write.staged_states")

# --- what waits -----------------------------------------------------------------------


def execute_review(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """List what waits, or show what was named of it."""
    if given.what and all(word.upper().startswith("DRAFT-") for word in given.what):
        return show_drafts(Project.open(Path.cwd(), environ, plan_needed=False), given)
    project = Project.open(Path.cwd(), environ)
    with Repository.open(project.root) as repository:
        state = view.View.of(project).state
        known = waiting.list_waiting(project, repository, state)
        return _review(given, project, repository, state, known)


def _review(
    given: argparse.Namespace,
    project: Project,
    repository: Repository,
    state: RunState,
    known: tuple[Waiting, ...],
) -> ExitCode:
    unanswered = tuple(one for one in known if not one.answered)
    shown = waiting.choose_waiting(project, given.what, known) if given.what else unanswered
    by_hand = () if given.what else waiting.list_manually_staged(project, state)
    if given.json:
        waits = [
            {
                **waiting_document.describe_waiting(project, state, one),
                "acceptance": waiting_document.describe_acceptance(project, state.task(one.task)),
            }
            for one in shown
        ]
        print(
            document(
                "review",
                waiting=waits,
                staged=[staged_states.describe_staged(one) for one in by_hand],
            )
        )
        return ExitCode.OK
    if not shown and not by_hand:
        print("nothing is waiting for you")
    answered = [one for one in known if one.answered and (one in shown or not given.what)]
    places = _number(project, known, shown, anew=not given.what)
    for place, one in (*places, *(("", one) for one in answered)):
        print(f"{place}{display(one.task)} {display(one.title)} — {display(one.note)}")
        if one in shown:
            for line in waiting_document.lines_below(
                project, repository, state, one, whole=bool(given.what)
            ):
                print(f"     {line}".rstrip())
            if given.what:
                _show_diffs(project, repository, one)
                _show_failed_tests(project, state, one.task)
                if one.kind == "stale":
                    _show_stale(project, repository, one.task)
    for by_a_person in by_hand:
        print(waiting_document.format_staged(by_a_person))
    if shown and not given.what:
        print(f"\n{waiting_document.how_to_answer(shown)}")
    return ExitCode.OK


def _number(
    project: Project, known: Sequence[Waiting], shown: Sequence[Waiting], *, anew: bool
) -> list[tuple[str, Waiting]]:
    """Return the shown items with the numbers that answer them; only a full list renumbers."""
    if anew:
        waiting.remember_numbers(project, known)
    numbers = {task: n for n, task in waiting.number_waiting(project, known).items()}
    return [(f"{numbers[one.task]}. " if one.task in numbers else "", one) for one in shown]


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


def _show_failed_tests(project: Project, state: RunState, id_: str) -> None:
    """Print the output of failed held-out tests, on a terminal only."""
    if not waiting_document.asks_about_tests(state.task(id_)):
        return
    if sys.stdin.isatty() and sys.stdout.isatty():
        for line in waiting_document.format_failures(project, id_):
            print(line)
    else:
        print("     run this on a terminal to see the output of the failed held-out tests")


def _show_stale(project: Project, repository: Repository, id_: str) -> None:
    """Print the original implementation's diff, its test contracts, and the change."""
    stale = waiting.find_stale_work(project, id_)
    for line in waiting_document.format_stale(stale):
        print(f"     {line}")
    built = waiting.list_built_changes(project, repository, stale.commit) if stale.commit else ()
    if built is None:
        print("     the commit of this task is gone: the history was rewritten")
    for change, before in built or ():
        print(redact(_diff(project, change, before)))


# --- drafts ---------------------------------------------------------------------------


def execute_draft(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Draft sections and show what waits; exit 3, or 1 if no draft was accepted."""
    flags = {"task_graph": given.task_graph, "sandbox": "none" if given.no_sandbox else None}
    flags = {name: value for name, value in flags.items() if value is not None}
    project = Project.open(Path.cwd(), environ, flags, plan_needed=False)
    wish = _find_wish(given, project)
    asked = drafting.DraftRequest(wish, given.new_plan, given.prove, given.trust)
    with open_console(project, is_quiet=given.json) as (observer, asker):
        came = drafting.draft(project, asked, observer, asker)
    return print_drafted(project, came, as_json=given.json)


def _find_wish(given: argparse.Namespace, project: Project) -> Wish:
    sources = (bool(given.wish), bool(given.file), given.issue is not None)
    if sum(sources) != 1 or (given.others and given.issue is None):
        raise RunnerError(
            "give exactly one request to draft",
            hint='runner draft "…", or --file PATH, or --issue N [--with N,N]',
        )
    if given.file:
        return draft_prompt.read_request_file(project.root, Path(given.file))
    if given.issue is None:
        return draft_prompt.wish_of_words(given.wish)
    words = [one.strip() for one in given.others.split(",") if one.strip()]
    if not all(read_number(one) > 0 for one in words):
        raise RunnerError("--with needs issue numbers", hint="--with 43,44")
    numbers = tuple(dict.fromkeys((given.issue, *map(int, words))))
    return draft_prompt.read_issue_request(project.root, numbers, project.environ)


def print_drafted(project: Project, came: Drafted, *, as_json: bool = False) -> ExitCode:
    """Print the draft that waits, or why none could be taken."""
    lines = partial(draft_answers.attempt_lines, project)
    say(came, lines, waiting_document.attempt_document, as_json=as_json)
    return came.code


# --- what waits -----------------------------------------------------------------------


def show_drafts(project: Project, given: argparse.Namespace) -> ExitCode:
    """Print whole drafts for `runner review DRAFT-1`."""
    drafts = [draft_answers.find_draft(project, word) for word in given.what]
    if given.json:
        print(
            document(
                "review",
                waiting=[waiting_document.describe_draft(one) for one in drafts],
                staged=[],
            ),
            end="",
        )
        return ExitCode.OK
    for one in drafts:
        print(
            "\n".join((f"DRAFT-{one.number}", *draft_answers.draft_lines(project, one, whole=True)))
        )
    return ExitCode.OK


# --- a person's word ------------------------------------------------------------------


def answer_drafts(given: argparse.Namespace, project: Project, drafts: Sequence[str]) -> ExitCode:
    """Approve, reject or edit drafts."""
    code = ExitCode.OK
    for named in drafts:
        if given.called == "approve":
            done = draft_answers.approve_draft(project, named)
            verb = "is" if len(done.tasks) == 1 else "are"
            print(f"{done.id}: {join_few(done.tasks)} {verb} now in {display(done.plan)}")
            print("next: runner validate, then runner")
        elif given.called == "reject":
            code = _reject(given, project, named)
        else:
            code = _edit(project, named)
    return code


def _reject(given: argparse.Namespace, project: Project, named: str) -> ExitCode:
    with open_console(project, is_quiet=False) as (observer, asker):
        came = draft_answers.reject_draft(project, named, given.reason, observer, asker)
    return print_drafted(project, came)


def _edit(project: Project, named: str) -> ExitCode:
    class TerminalEditor:
        def edit(self, path: str, content: bytes) -> bytes:
            return terminal_review.edit_content(path, content, project.environ)

    edited = draft_answers.edit_draft(project, named, TerminalEditor())
    if edited is None:
        print(f"{named.upper()} is unchanged")
        return ExitCode.OK
    for mistake in edited.mistakes:
        print(f"to fix: {display(mistake)}")
    verb = "edit" if edited.mistakes else "approve"
    print(f"DRAFT-{edited.number} was edited; next: runner {verb} DRAFT-{edited.number}")
    return ExitCode.OK
