"""`runner approve`, `reject`, `edit`, `retry`, `adopt`, `waive`: record what a person decides.

`plan decide` and `plan pattern` record decisions for later tasks. `cancel` and `team lease` speak
to a run that is active, here or on another machine.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.commands import run
from runner.commands.output import open_console, open_with_gates, say, with_flag
from runner.errors import ExitCode, RunnerError
from runner.journal.lock import RunLock
from runner.lazy_module import lazy_module
from runner.model import Decision
from runner.project import BUILD, Project
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.answer import (
        answers,
        cancel_and_retry,
        decision_record,
        held_edit,
        one_task_runs,
    )
    from runner.app.answer.answers import Answered, Approve
    from runner.app.draft import draft_answers
    from runner.app.inspect import take_lease
    from runner.commands import review
    from runner.journal.task_state import TaskState
    from runner.model import Finding
    from runner.terminal import single_key, terminal_review
else:
    answers = lazy_module("runner.app.answer.answers")
    cancel_and_retry = lazy_module("runner.app.answer.cancel_and_retry")
    review = lazy_module("runner.commands.review")
    draft_answers = lazy_module("runner.app.draft.draft_answers")
    held_edit = lazy_module("runner.app.answer.held_edit")
    single_key = lazy_module("runner.terminal.single_key")
    terminal_review = lazy_module("runner.terminal.terminal_review")
    take_lease = lazy_module("runner.app.inspect.take_lease")
    decision_record = lazy_module("runner.app.answer.decision_record")
    one_task_runs = lazy_module("runner.app.answer.one_task_runs")

_AGAIN = "[e]dit again, or discard your edit and [w]ait? "


def execute_answer(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Answer what waits. Raises RunnerError for what does not wait, or cannot be answered so."""
    has_drafts = any(word.upper().startswith("DRAFT-") for word in given.what)
    project = Project.open(Path.cwd(), environ, plan_needed=not has_drafts)
    every = getattr(given, "all", False)
    drafts: tuple[str, ...] = ()
    named: tuple[str, ...] = tuple(given.what)
    if given.called != "retry":
        drafts, named = draft_answers.split_drafts(project, named, every=every)
    code = ExitCode.OK
    if named or every or not drafts:
        code = _answer_tasks(given, project, named, environ)
    return review.answer_drafts(given, project, drafts) if drafts else code


def _answer_tasks(
    given: argparse.Namespace, project: Project, named: tuple[str, ...], environ: Mapping[str, str]
) -> ExitCode:
    match given.called:
        case "approve":
            met = tuple(given.met.replace(",", " ").split())
            asked = answers.Approve(named, given.all, given.reuse, reason=given.reason, met=met)
            return _approve(project, asked)
        case "reject":
            answers.reject(project, answers.Reject(named, given.reason), _tell, _ask_reason)
            _print_next_command(project)
        case "retry":
            return _retry(project, cancel_and_retry.retry(project, named, given.reason), environ)
        case _:
            held_edit.edit(project, named, _TerminalEditor(environ), _tell)
    return ExitCode.OK


def _approve(project: Project, asked: Approve) -> ExitCode:
    came = answers.approve(project, asked, _tell)
    for one in came.held:
        print(answers.describe_held(one))
    if not came.answered:
        print("nothing is waiting for you")
    elif came.is_next_run:
        _print_next_command(project)
    return ExitCode.OK


def _print_next_command(project: Project) -> None:
    """Print the command that builds the answered work; an active run must end first."""
    lives = RunLock(project.root / BUILD).holder() is not None
    print("next: runner" + (", after the active run ends" if lives else ""))


def _retry(project: Project, ids: tuple[str, ...], environ: Mapping[str, str]) -> ExitCode:
    """Build them now; a run that is going on takes them up itself."""
    if not ids:
        raise RunnerError("name at least one task", hint="`runner status` lists the tasks")
    if RunLock(project.root / BUILD).holder() is not None:
        print(f"{', '.join(map(display, ids))}: will be retried after the active run ends")
        return ExitCode.OK
    return run.run_words(ids, environ)


def _tell(one: Answered) -> None:
    """Print one answer as soon as it is recorded."""
    print(answers.describe_answer(one))


def _ask_reason() -> str:
    if not sys.stdin.isatty():
        return ""
    print("why? ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip()


class _TerminalEditor(Struct, frozen=True):
    """The person's own editor; a text with a secret is opened again where they are there."""

    environ: Mapping[str, str]

    def edit(self, path: str, content: bytes) -> bytes:
        """Open the content in the person's editor and return the result."""
        return terminal_review.edit_content(path, content, self.environ)

    def try_again(self, findings: tuple[Finding, ...]) -> bool:
        """Return whether the user wants to edit again. Raises RunnerError without a terminal."""
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise RunnerError(
                f"the edited file contains a secret: {terminal_review.REFUSED}",
                detail="\n".join(terminal_review.format_findings(findings)),
                hint=findings[0].hint,
            )
        print(
            *terminal_review.format_findings(findings),
            terminal_review.REFUSED,
            sep="\n",
            file=sys.stderr,
        )
        return (single_key.read_key(_AGAIN) or "w").lower()[:1] == "e"


def execute_lease(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Show it, or take it."""
    if given.take and not given.reason.strip():
        hint = 'runner team lease --take --reason "the laptop is asleep"'
        raise RunnerError("--take needs --reason, which the lease holder sees", hint=hint)
    if given.reason and not given.take:
        raise RunnerError("--reason works only with --take", hint="runner team lease --help")
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    if given.take:
        seen = take_lease.take_lease(project, given.reason, meant=given.yes)
    else:
        seen = take_lease.look_at_lease(project)
    if given.json:
        print(take_lease.lease_document(seen, taken=given.take), end="")
    else:
        print(take_lease.takeover_text(seen) if given.take else take_lease.lease_text(seen))
    return ExitCode.OK


def execute_cancel(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Ask the run, and wait until it has done so; exit 1 where it has not."""
    ended = cancel_and_retry.cancel(Project.open(Path.cwd(), environ), given.id)
    print(_format_status(ended))
    return ExitCode.FAILED if cancel_and_retry.goes_on(ended) else ExitCode.OK


def _format_status(known: TaskState) -> str:
    if cancel_and_retry.goes_on(known):
        return f"{display(known.id)} is still stopping; check with: runner status"
    note = f": {display(known.note)}" if known.note else ""
    return f"{display(known.id)} is {known.status}{note}"


def execute_decide(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Append the decision, and say its number."""
    project = Project.open(Path.cwd(), environ, plan_needed=bool(given.task))
    decision = Decision(
        title=given.title,
        context=given.context,
        decision=given.decision,
        tradeoff=given.tradeoff,
        pattern=given.pattern,
    )
    number = decision_record.decide(project, decision, given.task)
    print(f"DECISION-{number:03d} written to artifacts/build/DECISIONS.md")
    return ExitCode.OK


def execute_pattern(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Run `pattern`. Raises RunnerError for an invalid pattern or a missing index."""
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    record, as_json = decision_record, given.json
    if given.verb == "accept":
        one = record.accept(project, given.words)
        say(one, record.acceptance_lines, record.acceptance_document, as_json=as_json)
    elif given.verb == "search":
        found = record.search_patterns(project, given.words)
        lines = partial(record.match_lines, words=given.words)
        say(found, lines, partial(record.match_document, words=given.words), as_json=as_json)
    elif given.words:
        raise RunnerError(
            "`list` takes no arguments", hint=f"runner plan pattern search {given.words[0]}"
        )
    else:
        known = record.load_index(project).patterns
        say(known, record.pattern_lines, record.pattern_document, as_json=as_json)
    return ExitCode.OK


def execute_adopt(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Adopt the branch, and say what became of the task."""
    flags = {"task_graph": given.task_graph, "sandbox": given.sandbox, "review": given.review}
    project = open_with_gates(environ, flags)
    again = with_flag(given, "--trust")
    asked = one_task_runs.Adopt(
        given.id, given.branch, given.yes, given.trust, given.allow_dirty, again
    )
    with open_console(project, is_quiet=given.json) as (observer, asker):
        came = one_task_runs.adopt_branch(project, asked, observer, asker)
    lines, form = one_task_runs.adoption_lines, one_task_runs.adoption_document
    say(came, lines, form, as_json=given.json)
    return came.code


def execute_waive(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Write a waiver into the journal and the plan; exit 3 where no person can have given it."""
    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    made = decision_record.waive(project, decision_record.Waive(given.id, given.reason))
    how = ": DONE — waived" if made.is_new else " is already waived"
    print(f"{display(made.task)}{how}: {display(made.reason)}")
    return ExitCode.OK
