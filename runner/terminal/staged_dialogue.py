"""A write by hand before a person at a terminal: shown, then applied, edited or rejected."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

from runner.app.write.staged_states import BY_HAND, describe_staged
from runner.app.write.workplace import display_path
from runner.errors import ExitCode, RunnerError
from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.model import digest_of
from runner.report.console import wants_colour
from runner.report.documents import document
from runner.secrets.redact import redact
from runner.terminal.screen import patience
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.app.write.proposals import ProposalResult, Proposals
    from runner.model import Change, Finding
    from runner.report import diff_view
    from runner.terminal import screen, single_key, terminal_review
    from runner.writes.staging import Staged
else:
    diff_view = lazy_module("runner.report.diff_view")
    screen = lazy_module("runner.terminal.screen")
    single_key = lazy_module("runner.terminal.single_key")
    terminal_review = lazy_module("runner.terminal.terminal_review")

_QUESTION = "[a]pply, [e]dit, [r]eject, [s]how again, or [w]ait? "


@dataclass(frozen=True, slots=True)
class StagedDialogue:
    """Where a person looks at proposals and answers them."""

    proposals: Proposals
    environ: Mapping[str, str]

    # --- the commands -----------------------------------------------------------------

    def stage(self, task: str, file: str, content: bytes) -> ExitCode:
        """Propose, and on a terminal ask at once."""
        path = display_path(self.proposals.workplace.path_of(file))
        with patience(f"checking {path} ({len(content) >> 20} MB)"):
            proposed = self.proposals.propose(task, file, content)
        return self._answer(proposed)

    def show(self, staged: Staged, *, as_json: bool) -> ExitCode:
        """One proposal, with what there is to say of it."""
        change = self.proposals.staging.read(staged)
        if as_json:
            diff = self._diff(change, colour=False)
            sys.stdout.write(document("staged-write", staged=describe_staged(staged), diff=diff))
            return ExitCode.OK
        self._show(staged, change)
        _say(self.proposals.remarks(change))
        return ExitCode.OK

    def apply(self, staged: Staged) -> ExitCode:
        """Write the staged bytes; of a run's proposal, let them land with the next run."""
        came = self.proposals.apply(staged, _tell_applied)
        if came.report is not None and came.report.findings:
            hint = f"runner pipeline sast-log --task {staged.task}"
            print(f"SAST: {came.report.summary}; see {display(hint)}", file=sys.stderr)
        if not came.is_written:
            left = ", ".join(map(display_path, came.left))
            then = f"once {left} is approved as well" if left else "when you next run `runner`"
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
            print("the proposal is unchanged", file=sys.stderr)
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
        rest = f", with the rest of the proposal of {display(staged.task)}" if others else ""
        print(f"rejected: {display_path(staged.path)}{rest}", file=sys.stderr)
        return ExitCode.FAILED

    # --- asking -----------------------------------------------------------------------

    def _answer(self, proposed: ProposalResult) -> ExitCode:
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
        print(f"staged as {id_}; see it with: runner pipeline staged-write show {id_}")
        return ExitCode.PERSON

    def _show(self, staged: Staged, change: Change) -> None:
        head = f"{display(staged.task)} wants to {change.action} {display_path(change.path)}"
        if self.proposals.is_in_the_way(change):
            head += (
                "\nnote: the file changed since this was staged, so it cannot be applied unchanged"
            )
        text = self._diff(change, colour=wants_colour(sys.stdout, self.environ))
        screen.show(f"{head}\n{text}", self.environ)

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
