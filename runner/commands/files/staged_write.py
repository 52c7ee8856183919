"""`runner staged-write`: a write by hand, shown as a diff, then applied, edited or rejected."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.write.staged_states import BY_HAND, find_staged
from runner.app.write.workplace import Workplace, display_path, require_named
from runner.commands.files.single_files import read_input
from runner.errors import ExitCode, RunnerError
from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.model import digest_of
from runner.report.console import wants_colour
from runner.report.documents import document
from runner.secrets.redact import redact
from runner.terminal.progress_notice import patience
from runner.text.display import display
from runner.text.wording import moment, plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence

    from runner.app.write.proposals import Proposals, Proposed
    from runner.app.write.staged_states import Standing
    from runner.model import Change, Finding
    from runner.report import diff_view, table
    from runner.terminal import paging, single_key, terminal_review
    from runner.writes.staging import Staged
else:
    diff_view = lazy_module("runner.report.diff_view")
    paging = lazy_module("runner.terminal.paging")
    single_key = lazy_module("runner.terminal.single_key")
    table = lazy_module("runner.report.table")
    terminal_review = lazy_module("runner.terminal.terminal_review")

EXAMPLES = """\
exit: 0 applied, 1 refused or rejected, 3 it waits for you, 6 the file changed meanwhile

examples:
  runner staged-write stage --task TASK-003 --file src/app.py --content proposed.txt
  runner staged-write list
  runner staged-write show 1a2b3c4d
  runner staged-write apply 1a2b3c4d
  runner staged-write edit 1a2b3c4d
  runner staged-write reject 1a2b3c4d --reason "keep the old name of the function"
"""
_HEAD = ("ID", "Task", "Action", "File", "Staged", "Standing")
_QUESTION = "[a]pply, [e]dit, [r]eject, [s]how again, or [w]ait? "


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner staged-write` takes."""
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    stage = commands.add_parser("stage", help="propose a file's new content", allow_abbrev=False)
    stage.add_argument("--task", required=True, metavar="ID", help="the task it is for")
    stage.add_argument("--file", required=True, metavar="PATH", help="the file to write")
    stage.add_argument("--content", required=True, metavar="FILE", help="its new bytes; - is input")
    listing = commands.add_parser("list", help="what waits", allow_abbrev=False)
    listing.add_argument("--task", default="", metavar="ID", help="only what is of this task")
    listing.add_argument("--all", action="store_true", help="what is decided or landed, too")
    show = commands.add_parser("show", help="one proposal as a diff", allow_abbrev=False)
    apply = commands.add_parser("apply", help="write exactly these bytes", allow_abbrev=False)
    edit = commands.add_parser("edit", help="change the proposal in $EDITOR", allow_abbrev=False)
    reject = commands.add_parser("reject", help="refuse it, with a reason", allow_abbrev=False)
    reject.add_argument("--reason", default="", metavar="TEXT", help="read by the next attempt")
    for one in (show, apply, edit, reject):
        one.add_argument("id", metavar="ID", help="eight letters and digits, as `list` says")
    for one in (listing, show):
        one.add_argument("--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Do what was asked for. Raises RunnerError for what cannot be staged, found or written."""
    from runner.app.write.proposals import Proposals

    proposals = Proposals(Workplace.of(Path.cwd(), environ))
    dialogue = _Dialogue(proposals, environ)
    match given.command:
        case "stage":
            return dialogue.stage(given.task, given.file, given.content)
        case "list":
            return _print_list(proposals.list(given.task), everything=given.all, as_json=given.json)
        case "show":
            return dialogue.show(find_staged(proposals.staging, given.id), as_json=given.json)
        case "apply":
            return dialogue.apply(find_staged(proposals.staging, given.id))
        case "edit":
            return dialogue.edit(find_staged(proposals.staging, given.id))
        case _:
            return dialogue.reject(find_staged(proposals.staging, given.id), given.reason)


def _print_list(
    known: Sequence[tuple[Staged, Standing]], *, everything: bool, as_json: bool
) -> ExitCode:
    """Print those that wait, or `everything`; how many are left out is said beside it."""
    shown = [(one, standing) for one, standing in known if everything or standing.is_open]
    if as_json:
        staged = [{**as_data(one), "standing": standing} for one, standing in shown]
        sys.stdout.write(document("staged-writes", staged=staged))
        return ExitCode.OK
    if shown:
        rows = [
            (one.id, one.task, one.action.value, display_path(one.path), moment(one.time), standing)
            for one, standing in shown
        ]
        sys.stdout.write(table.table(_HEAD, rows))
    else:
        print("nothing waits for you", file=sys.stderr)
    if len(shown) < len(known):
        rest = plural(len(known) - len(shown), "staged write")
        print(f"{rest} no longer: runner staged-write list --all", file=sys.stderr)
    return ExitCode.OK


def as_data(staged: Staged) -> dict[str, object]:
    """One staged write for a JSON document."""
    return {
        "id": staged.id,
        "task": staged.task,
        "attempt": staged.attempt,
        "path": display_path(staged.path),
        "action": staged.action,
        "mode": f"{staged.mode:06o}",
        "before": staged.before,
        "after": staged.after,
        "time": staged.time,
    }


@dataclass(frozen=True, slots=True)
class _Dialogue:
    """Where a person looks at proposals and answers them."""

    proposals: Proposals
    environ: Mapping[str, str]

    # --- the commands -----------------------------------------------------------------

    def stage(self, task: str, file: str, content: str) -> ExitCode:
        """Propose, and on a terminal ask at once."""
        new = require_named(content, read_input)
        path = display_path(self.proposals.workplace.path_of(file))
        with patience(f"looking through {path} ({len(new) >> 20} MB)"):
            proposed = self.proposals.propose(task, file, new)
        return self._answer(proposed)

    def show(self, staged: Staged, *, as_json: bool) -> ExitCode:
        """One proposal, with what there is to say of it."""
        change = self.proposals.staging.read(staged)
        if as_json:
            diff = self._diff(change, colour=False)
            sys.stdout.write(document("staged-write", staged=as_data(staged), diff=diff))
            return ExitCode.OK
        self._show(staged, change)
        _say(self.proposals.remarks(change))
        return ExitCode.OK

    def apply(self, staged: Staged) -> ExitCode:
        """Write the staged bytes; of a run's proposal, let them land with the next run."""
        came = self.proposals.apply(staged, _tell_applied)
        if came.report is not None and came.report.findings:
            hint = f"runner sast show --task {staged.task}"
            print(f"SAST: {came.report.summary}; see {display(hint)}", file=sys.stderr)
        if not came.is_written:
            left = ", ".join(map(display_path, came.left))
            then = f"when {left} is approved, too" if left else "with the next run: runner"
            task = display(staged.task)
            print(f"approved: {display_path(staged.path)}; {task} lands {then}", file=sys.stderr)
        return ExitCode.OK

    def edit(self, staged: Staged) -> ExitCode:
        """Let the person change the proposal; what comes back is a proposal like any other."""
        change = self.proposals.editable(staged)
        return self._revise(
            staged, terminal_review.edit_content(change.path, change.content or b"", self.environ)
        )

    def _revise(self, staged: Staged, content: bytes) -> ExitCode:
        if digest_of(content) == staged.after:
            print("the proposal is as it was", file=sys.stderr)
            return self._ask(staged)
        proposed = self.proposals.revise(staged, content)
        if proposed.staged is not None:
            return self._answer(proposed)
        _say(proposed.findings)
        print(terminal_review.REFUSED, file=sys.stderr)
        return self._ask(staged, content) if _at_terminal() else ExitCode.FAILED

    def _edit(self, staged: Staged, draft: bytes | None) -> bytes | None:
        """What they make of it, or of their own text that was refused; None where of neither."""
        try:
            change = self.proposals.editable(staged)
            return terminal_review.edit_content(
                change.path, draft or change.content or b"", self.environ
            )
        except RunnerError as error:
            print(f"{error.message}\nhint: {error.hint}", file=sys.stderr)
            return None

    def reject(self, staged: Staged, reason: str) -> ExitCode:
        """Refuse the proposal; on a terminal the reason is asked for."""
        if staged.attempt != BY_HAND:
            self.proposals.require_waiting(staged)
        if not reason.strip() and _at_terminal():
            reason = terminal_review.read_reason()
        others = self.proposals.reject(staged, reason)
        rest = f", and with it the whole proposal of {display(staged.task)}" if others else ""
        print(f"rejected: {display_path(staged.path)}{rest}", file=sys.stderr)
        return ExitCode.FAILED

    # --- asking -----------------------------------------------------------------------

    def _answer(self, proposed: Proposed) -> ExitCode:
        """What a proposal comes to: refused at once, or shown and decided."""
        if proposed.staged is None:
            _say(proposed.findings)
            print("refused: nothing was staged", file=sys.stderr)
            return ExitCode.FAILED
        if proposed.replaced:
            print(f"it replaces {proposed.replaced}", file=sys.stderr)
        if _at_terminal():
            self._show(proposed.staged, self.proposals.staging.read(proposed.staged))
        _say(proposed.findings)
        return self._ask(proposed.staged)

    def _ask(self, staged: Staged, draft: bytes | None = None) -> ExitCode:
        """The person's answer; without a person at a terminal it waits."""
        while _at_terminal():
            match (single_key.read_key(_QUESTION) or "wait").lower()[:1]:
                case "a":
                    return self.apply(staged)
                case "e":
                    content = self._edit(staged, draft)
                    if content is not None:
                        return self._revise(staged, content)
                case "r":
                    reason = terminal_review.read_reason()
                    if reason:
                        return self.reject(staged, reason)
                case "s":
                    self._show(staged, self.proposals.staging.read(staged))
                case "w":
                    break
        id_ = staged.id
        print(f"staged as {id_}; see it with: runner staged-write show {id_}")
        return ExitCode.PERSON

    def _show(self, staged: Staged, change: Change) -> None:
        head = f"{display(staged.task)} wants to {change.action} {display_path(change.path)}"
        if self.proposals.is_in_the_way(change):
            head += (
                "\nnote: the file changed since this was staged, so it cannot be applied as it is"
            )
        text = self._diff(change, colour=wants_colour(sys.stdout, self.environ))
        paging.show(f"{head}\n{text}", self.environ)

    def _diff(self, change: Change, *, colour: bool) -> str:
        before = self.proposals.current(change.path)
        width = shutil.get_terminal_size().columns
        with patience(f"comparing {display_path(change.path)}"):
            return diff_view.diff_text(before, change, colour=colour, width=width)


def _tell_applied(change: Change) -> None:
    print(f"applied: {display_path(change.path)}", file=sys.stderr)


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _say(findings: Iterable[Finding]) -> None:
    """Findings on standard error, without a value in them."""
    for found in findings:
        where = display_path(found.path)
        column = f":{found.column}" if found.column else ""
        place = f"{where}:{found.line}{column}" if found.line else where
        print(
            f"{place}: {found.severity}: {display(redact(found.message))}".removeprefix(": "),
            file=sys.stderr,
        )
        if found.hint:
            print(f"    hint: {display(redact(found.hint))}", file=sys.stderr)
