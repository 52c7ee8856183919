"""`runner staged-write`: a write by hand, shown as a diff, then applied, edited or rejected."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.write.staged_states import BY_HAND, list_decided, refuse_decided
from runner.app.write.workplace import Workplace, display_path
from runner.commands.files.single_files import Unreadable, read_named
from runner.commands.files.staged_list import as_data, print_staged
from runner.commands.progress_notice import patience
from runner.errors import ExitCode, RunnerError
from runner.model import digest_of
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping

    from runner.app.write.proposals import Proposals, Proposed
    from runner.model import Change, Finding
    from runner.writes.staging import Staged

_EPILOG = """\
exit: 0 applied, 1 refused or rejected, 3 it waits for you, 6 the file changed meanwhile

examples:
  runner staged-write stage --task TASK-003 --file src/app.py --content proposed.txt
  runner staged-write list
  runner staged-write show 1a2b3c4d
  runner staged-write apply 1a2b3c4d
  runner staged-write edit 1a2b3c4d
  runner staged-write reject 1a2b3c4d --reason "keep the old name of the function"
"""
_QUESTION = "[a]pply, [e]dit, [r]eject, [s]how again, or [w]ait? "


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner staged-write` takes."""
    del name
    parser.epilog = _EPILOG
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

    desk = _StagedWrite(Proposals(Workplace.of(Path.cwd(), environ)), environ)
    match given.command:
        case "stage":
            return desk.stage(given.task, given.file, given.content)
        case "list":
            return desk.list(given.task, everything=given.all, as_json=given.json)
        case "show":
            return desk.show(_find_staged(desk, given.id), as_json=given.json)
        case "apply":
            return desk.apply(_find_staged(desk, given.id))
        case "edit":
            return desk.edit(_find_staged(desk, given.id))
        case _:
            return desk.reject(_find_staged(desk, given.id), given.reason)


def _find_staged(desk: _StagedWrite, typed: str) -> Staged:
    staging = desk.proposals.staging
    if not any(staged.id == typed for staged in staging.list()):
        refuse_decided(staging, typed)
        from runner.text.hints import did_you_mean

        near = did_you_mean(typed, (staged.id for staged in staging.list()))
        raise RunnerError(
            f'nothing is staged as "{display_path(typed)}"',
            hint=near or "runner staged-write list",
        )
    return staging.find(typed)


@dataclass(frozen=True, slots=True)
class _StagedWrite:
    """Where a person looks at proposals and answers them."""

    proposals: Proposals
    environ: Mapping[str, str]

    # --- the commands -----------------------------------------------------------------

    def stage(self, task: str, file: str, content: str) -> ExitCode:
        """Propose, and on a terminal ask at once."""
        workplace = self.proposals.workplace
        id_, known = workplace.task(task)
        path = workplace.path_of(file)
        new = _read(content)
        with patience(f"looking through {display_path(path)} ({len(new) >> 20} MB)"):
            proposed = self.proposals.propose(id_, known, path, new)
        return self._answer(proposed)

    def list(self, task: str, *, everything: bool, as_json: bool) -> ExitCode:
        """What waits for a person, and how; with `everything`, what no longer does, too."""
        wanted = self.proposals.workplace.task(task)[0] if task else ""
        standings = self.proposals.standings()
        there = {one.id for one in standings.staged}
        known = [(one, standings.of(one)) for one in standings.staged]
        known += [one for one in list_decided(self.proposals.staging) if one[0].id not in there]
        known = [(one, standing) for one, standing in known if wanted in {"", one.task}]
        return print_staged(known, everything=everything, as_json=as_json)

    def show(self, staged: Staged, *, as_json: bool) -> ExitCode:
        """One proposal, with what there is to say of it."""
        from runner.report.documents import document

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
        if staged.attempt != BY_HAND:
            return self._approve(staged)
        change = self.proposals.apply(staged)
        print(f"applied: {display_path(change.path)}", file=sys.stderr)
        report = self.proposals.scan(staged, change)
        if report.findings:
            hint = f"runner sast show --task {staged.task}"
            print(f"SAST: {report.summary}; see {display(hint)}", file=sys.stderr)
        return ExitCode.OK

    def _approve(self, staged: Staged) -> ExitCode:
        """A task's writes were proven together, so they land together: not one by one, here."""
        self._must_wait(staged)
        self.proposals.approve(staged)
        standings = self.proposals.standings()
        open_ones = [one for one in standings.siblings(staged) if standings.of(one).is_open]
        left = ", ".join(display_path(one.path) for one in open_ones)
        then = f"when {left} is approved, too" if left else "with the next run: runner"
        task = display(staged.task)
        print(f"approved: {display_path(staged.path)}; {task} lands {then}", file=sys.stderr)
        return ExitCode.OK

    def _must_wait(self, staged: Staged) -> None:
        standing = self.proposals.standings().of(staged)
        if not standing.is_open:
            raise RunnerError(
                f"there is nothing to answer: {standing.said}",
                where=display_path(staged.path),
                hint="runner staged-write list says what waits",
            )

    def edit(self, staged: Staged) -> ExitCode:
        """Let the person change the proposal; what comes back is a proposal like any other."""
        from runner.commands.running.terminal_review import edit_content

        change = self._editable(staged)
        return self._revise(staged, edit_content(change.path, change.content or b"", self.environ))

    def _editable(self, staged: Staged) -> Change:
        if staged.attempt != BY_HAND:
            raise RunnerError(
                "this belongs to a proposal of a run",
                where=display_path(staged.path),
                hint=f"runner edit {staged.task} opens it; it is proven again then",
            )
        change = self.proposals.staging.read(staged)
        if change.content is None:
            raise RunnerError("a deletion has nothing to edit", where=display_path(change.path))
        return change

    def _revise(self, staged: Staged, content: bytes) -> ExitCode:
        from runner.commands.running.terminal_review import REFUSED

        if digest_of(content) == staged.after:
            print("the proposal is as it was", file=sys.stderr)
            return self._ask(staged)
        proposed = self.proposals.revise(staged, content)
        if proposed.staged is not None:
            return self._answer(proposed)
        _say(proposed.findings)
        print(REFUSED, file=sys.stderr)
        return self._ask(staged, content) if _at_terminal() else ExitCode.FAILED

    def _edit(self, staged: Staged, draft: bytes | None) -> bytes | None:
        """What they make of it, or of their own text that was refused; None where of neither."""
        from runner.commands.running.terminal_review import edit_content

        try:
            change = self._editable(staged)
            return edit_content(change.path, draft or change.content or b"", self.environ)
        except RunnerError as error:
            print(f"{error.message}\nhint: {error.hint}", file=sys.stderr)
            return None

    def reject(self, staged: Staged, reason: str) -> ExitCode:
        """Refuse the proposal; on a terminal the reason is asked for."""
        if staged.attempt != BY_HAND:
            self._must_wait(staged)
        from runner.commands.running.terminal_review import read_reason

        if not reason.strip() and _at_terminal():
            reason = read_reason()
        others = len(self.proposals.standings().siblings(staged)) - 1
        self.proposals.reject(staged, reason)
        whole = staged.attempt != BY_HAND and others
        rest = f", and with it the whole proposal of {display(staged.task)}" if whole else ""
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
        from runner.commands.running.terminal_review import read_answer, read_reason

        while _at_terminal():
            match (read_answer(_QUESTION) or "wait").lower()[:1]:
                case "a":
                    return self.apply(staged)
                case "e":
                    content = self._edit(staged, draft)
                    if content is not None:
                        return self._revise(staged, content)
                case "r":
                    reason = read_reason()
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
        from runner.commands.paging import show
        from runner.report.console import wants_colour

        head = f"{display(staged.task)} wants to {change.action} {display_path(change.path)}"
        if self._is_in_the_way(change):
            head += (
                "\nnote: the file changed since this was staged, so it cannot be applied as it is"
            )
        text = self._diff(change, colour=wants_colour(sys.stdout, self.environ))
        show(f"{head}\n{text}", self.environ)

    def _diff(self, change: Change, *, colour: bool) -> str:
        from runner.report.diff_view import diff_text

        before = self.proposals.current(change.path)
        width = shutil.get_terminal_size().columns
        with patience(f"comparing {display_path(change.path)}"):
            return diff_text(before, change, colour=colour, width=width)

    def _is_in_the_way(self, change: Change) -> bool:
        from runner.writes.landing import in_the_way

        return bool(in_the_way(self.proposals.workplace.root, (change,)))


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _read(name: str) -> bytes:
    content = read_named(name)
    if isinstance(content, Unreadable):
        raise RunnerError(content.message, where=content.path, hint=content.hint)
    return content


def _say(findings: Iterable[Finding]) -> None:
    """Findings on standard error, without a value in them."""
    from runner.secrets.redact import redact

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
