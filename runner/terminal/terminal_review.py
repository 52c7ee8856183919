"""Review tasks and staged writes at the terminal: one question, one key."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.app.write import workplace
from runner.app.write.staged_states import BY_HAND, describe_staged
from runner.app.write.workplace import display_path
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.model import digest_of
from runner.process.tools import NOT_FOUND, run_interactive
from runner.report.console import wants_colour
from runner.report.documents import document
from runner.run.review import Answer, Reply, Spot
from runner.secrets.redact import redact
from runner.terminal import screen
from runner.terminal.screen import patience
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from runner.app.write.proposals import ProposalResult, Proposals
    from runner.model import Change, Finding, Task
    from runner.report import diff_view
    from runner.report.console import Console
    from runner.run.review import ProvenProposal
    from runner.terminal import single_key
    from runner.writes.staging import Staged
else:
    diff_view = lazy_module("runner.report.diff_view")
    single_key = lazy_module("runner.terminal.single_key")

REFUSED = "your edit was refused; the proposal is unchanged"
NO_REASON = "a rejection needs a reason: the next attempt reads it"
PROVING = "testing your edit; if it passes, it lands as you saved it"
UNCHANGED = "nothing changed"
_MOVES = {"n": Answer.NEXT, "p": Answer.PREVIOUS}
_KEYED = re.compile(r"\[\w\]")
"""Notation of a key in a prompt; `[y/N]` expects a line."""
_QUESTION = "[a]pply, [e]dit, [r]eject, [s]how again, or [w]ait? "


def find_asker(console: Console, environ: Mapping[str, str]) -> TerminalAsker | None:
    """Return an asker for the person at the terminal; None if there is no person."""
    return TerminalAsker(console, environ) if has_person(environ) else None


def has_person(environ: Mapping[str, str]) -> bool:
    """Return whether prompts are possible: standard streams are terminals and CI is unset."""
    return sys.stdin.isatty() and sys.stderr.isatty() and environ.get("CI", "").lower() != "true"


class TerminalAsker:
    """Shows a change as a unified diff and asks what to do with it."""

    def __init__(self, console: Console, environ: Mapping[str, str]) -> None:
        self._console = console
        self._environ = environ

    def ask(self, task: Task, change: Change, before: bytes | None, spot: Spot) -> Reply:
        """Prompt until a change has an answer; end of input means wait."""
        draft = EditedProposal(change)
        with self._console.pause():
            self._show(task, change, before, spot)
            while True:
                question = _question(change, spot)
                key = _key_of(single_key.read_key(question, self._meanwhile(spot)))
                if key == "s":
                    self._show(task, change, before, spot)
                if key == "?":
                    print(*_explain(question, spot), sep="\n", file=sys.stderr)
                answer = self._answer(key, draft, spot)
                if answer is not None:
                    return answer

    def _meanwhile(self, spot: Spot) -> Callable[[], None] | None:
        """Return a function that continues other work during a prompt, or None."""
        if (going_on := spot.meanwhile) is None:
            return None

        def go_on() -> None:
            with self._console.hold():
                going_on()

        return go_on

    def choose(self, text: str, question: str) -> str:
        """Show a text and a question, and return the answer in lower case."""
        with self._console.pause():
            if text:
                screen.show(text, self._environ, sys.stderr)
            ask = (
                single_key.read_key
                if _KEYED.search(question) and "[y/N]" not in question
                else single_key.read_line
            )
            return (ask(question) or "").lower()

    def _answer(self, key: str, draft: EditedProposal, spot: Spot) -> Reply | None:
        match key:
            case "a":
                return Reply(Answer.APPROVED)
            case "l":
                return Reply(Answer.APPROVED, for_all=True)
            case "t" if spot.others is not None:
                return self._show_others(spot.others())
            case "A" | "R" if spot.no_auto == "":
                return Reply(Answer.AUTO, for_all=key == "R")
            case "A" | "R" if spot.no_auto:
                print(display(spot.no_auto), file=sys.stderr)
            case "r":
                reason = read_reason()
                return Reply(Answer.REJECTED, reason=reason) if reason else None
            case "e" if draft.change.content is not None:
                return draft.ask_editor(self._environ, proving=not spot.is_plan)
            case "n" | "p" if spot.count > 1:
                return Reply(_MOVES[key])
            case "w":
                return Reply(Answer.WAITS)
        return None

    def _show(self, task: Task, change: Change, before: bytes | None, spot: Spot) -> None:
        width = shutil.get_terminal_size().columns
        where = f"{spot.number} of {spot.count}" if spot.count > 1 else ""
        notes = ", ".join(part for part in (where, spot.note) if part)
        if spot.is_plan:
            head = f"plan of {display(task.id)} {display(task.title)}".rstrip()
            diff = display((change.content or b"").decode("utf-8", "replace"), lines=True)
        else:
            head = f"{display(task.id)} wants to {change.action} {display(change.path)}"
            diff = diff_view.diff_text(before, change, colour=self._console.colour, width=width)
        text = f"{head}{f' ({notes})' if notes else ''}\n{diff}"
        screen.show(text, self._environ, sys.stderr)

    def _show_others(self, others: Sequence[ProvenProposal]) -> Reply | None:
        """Show what else waits, whole; a yes is one to all of it, and to the task at hand."""
        if not others:
            print("no other proven task is waiting yet", file=sys.stderr)
            return None
        for one in others:
            for place, change in enumerate(one.changes, start=1):
                spot = Spot(place, len(one.changes))
                self._show(one.task, change, one.before(change.path), spot)
        names = ", ".join(display(one.task.id) for one in others)
        typed = single_key.read_key(f"apply the changes of {names} and this one? [y]es or [n]o? ")
        if (typed or "").lower()[:1] != "y":
            return None
        seen = tuple((one.task.id, change) for one in others for change in one.changes)
        return Reply(Answer.APPROVED, for_all=True, others=seen)


def _key_of(typed: str | None) -> str:
    """Return the key of an input; a single capital letter is kept."""
    if typed is None:
        return "w"
    return typed if typed in ("A", "R") else typed.lower()[:1]


def _question(change: Change, spot: Spot) -> str:
    """Return the prompt with all choices for a change."""
    choices = ["[a]pprove" if spot.is_plan else "[a]pply"]
    every = "yes to a[l]l plans" if spot.is_plan else f"apply a[l]l {spot.left}"
    choices += [every] if spot.left > 1 else []
    others = len(spot.others()) if spot.others is not None else 0
    choices += [f"[t]he other {others} as well"] if others else []
    choices += ["[e]dit"] if change.content is not None else []
    choices += ["[r]eject", "[s]how again"]
    choices += ["[n]ext", "[p]revious"] if spot.count > 1 else []
    choices += ["[A]uto for the task", "for the [R]un"] if spot.no_auto == "" else []
    return f"{', '.join(choices)}, [?], or [w]ait? "


_KEYS = {
    "a": "accept this change exactly as shown",
    "l": "accept all changes of this task that are not answered yet",
    "t": "show the other proven tasks; one yes then accepts all of them",
    "e": "open it in your editor; your saved version is approved, and re-tested before it lands",
    "r": "give a reason: the next attempt reads it first",
    "s": "show the diff again",
    "n": "answer this one later; go to the next change of this task",
    "p": "go to the previous change",
    "A": "review = auto for this task: your configured reviewer decides, and is recorded",
    "R": "the same for all tasks of this run; you still review control files and changed tests",
    "w": "leave the task for `runner review`; other tasks continue",
}
_PLAN_KEYS = {
    "a": "accept this plan: the task is built accordingly",
    "l": "accept all plans of this run unseen; you still review the code",
    "e": "open it in your editor; your saved version is the plan",
    "r": "give a reason: the next plan starts from it",
    "s": "show the plan again",
}


def _explain(question: str, spot: Spot) -> Iterator[str]:
    """Yield an explanation of each available key."""
    keys = {**_KEYS, **_PLAN_KEYS} if spot.is_plan else _KEYS
    yield from (f"  {key}  {meaning}" for key, meaning in keys.items() if f"[{key}]" in question)


class EditedProposal:
    """A person's edit of a proposal; a refused text is preserved."""

    def __init__(self, change: Change) -> None:
        self.change = change
        self._text = change.content or b""

    def ask_editor(self, environ: Mapping[str, str], *, proving: bool) -> Reply | None:
        """Open the editor and return the edited text as an answer; None if it is unchanged."""
        content = self.edit(environ)
        if content == self.change.content:
            print(UNCHANGED, file=sys.stderr)
        if content is None or content == self.change.content:
            return None
        if proving:
            print(PROVING, file=sys.stderr)
        return Reply(Answer.EDITED, content=content)

    def edit(self, environ: Mapping[str, str]) -> bytes | None:
        """Return the content as they left it; None, with a message, where that came to nothing."""
        try:
            content = edit_content(self.change.path, self._text, environ)
        except RunnerError as error:
            print(error.message, file=sys.stderr)
            print(f"hint: {error.hint}", file=sys.stderr)
            return None
        self._text = content
        found = workplace.Workplace.of(Path.cwd(), environ).find_secrets(content, self.change.path)
        if not found:
            return content
        print(*format_findings(found), REFUSED, sep="\n", file=sys.stderr)
        return None


def edit_content(path: str, content: bytes, environ: Mapping[str, str]) -> bytes:
    """Open the content in the user's editor and return the result. Raises RunnerError.

    Raises RunnerError when no editor is set, when it cannot start or says no, and when it leaves
    no file.
    """
    words = _editor(environ)
    with TemporaryDirectory(prefix="runner-edit-") as folder:
        # Keep its name, by which an editor detects the language.
        file = Path(folder) / Path(path).name
        file.write_bytes(content)
        status = run_interactive((*words, str(file)), Path(folder))
        if status == NOT_FOUND:
            hint = "export EDITOR=vi, or another installed editor"
            raise RunnerError(f"the editor could not start: {words[0]}", hint=hint)
        if status:
            hint = "save and close the editor without an error"
            raise RunnerError(f"the editor ended with exit {status}; nothing changed", hint=hint)
        try:
            return file.read_bytes()
        except OSError as error:
            hint = "save it under the same path; to remove the file, reject the change"
            raise RunnerError("the editor left no file; nothing changed", hint=hint) from error


def _editor(environ: Mapping[str, str]) -> list[str]:
    """Return the editor's command. Raises RunnerError if none is set."""
    # In git's order (git-var(1), GIT_EDITOR): with both set, the first is for a screen.
    line = environ.get("VISUAL") or environ.get("EDITOR") or ""
    try:
        # With options: graphical editors return immediately without `--wait`.
        words = shlex.split(line)
    except ValueError as error:
        raise RunnerError(f"invalid editor command: {line}", hint="export EDITOR=vi") from error
    if not words:
        raise RunnerError("no editor is set", hint="export EDITOR=vi")
    return words


def format_findings(findings: tuple[Finding, ...]) -> Iterator[str]:
    """Yield the findings as redacted lines."""
    for one in findings:
        yield display(redact(f"{one.path}:{one.line}: {one.message}"))


def read_reason() -> str:
    """Ask why a person says no; empty, with a message, where that is no reason for anybody."""
    reason = single_key.read_line("why? ") or ""
    if any(sign.isalnum() for sign in reason):
        return reason
    print(NO_REASON, file=sys.stderr)
    return ""


class StagedDialogue(Struct, frozen=True):
    """The dialogue in which a person reads proposals and answers them."""

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
        """Print one proposal with remarks on it."""
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
        came = self.proposals.apply(staged, _print_applied)
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
        """Let the person edit the proposal; the result is a normal proposal."""
        change = self.proposals.editable(staged)
        return self._revise(staged, edit_content(change.path, change.content or b"", self.environ))

    def _revise(self, staged: Staged, content: bytes) -> ExitCode:
        if digest_of(content) == staged.after:
            print("the proposal is unchanged", file=sys.stderr)
            return self._ask(staged)
        proposed = self.proposals.revise(staged, content)
        if proposed.staged is not None:
            return self._answer(proposed)
        _say(proposed.findings)
        print(REFUSED, file=sys.stderr)
        return self._ask(staged, content) if _at_terminal() else ExitCode.FAILED

    def _edit(self, staged: Staged, draft: bytes | None) -> bytes | None:
        """Let a person edit the proposal or their rejected draft; None if it cannot be edited."""
        try:
            change = self.proposals.editable(staged)
            return edit_content(change.path, draft or change.content or b"", self.environ)
        except RunnerError as error:
            print(f"{error.message}\nhint: {error.hint}", file=sys.stderr)
            return None

    def reject(self, staged: Staged, reason: str) -> ExitCode:
        """Refuse the proposal; on a terminal the reason is asked for."""
        if staged.attempt != BY_HAND:
            self.proposals.require_waiting(staged)
        if not reason.strip() and _at_terminal():
            reason = read_reason()
        others = self.proposals.reject(staged, reason)
        rest = f", with the rest of the proposal of {display(staged.task)}" if others else ""
        print(f"rejected: {display_path(staged.path)}{rest}", file=sys.stderr)
        return ExitCode.FAILED

    # --- asking -----------------------------------------------------------------------

    def _answer(self, proposed: ProposalResult) -> ExitCode:
        """Show a proposal and ask for a decision, or print why it was refused."""
        if proposed.staged is None:
            _say(proposed.findings)
            print("refused: nothing was staged", file=sys.stderr)
            return ExitCode.FAILED
        if proposed.replaced:
            print(f"this proposal replaces {proposed.replaced}", file=sys.stderr)
        if _at_terminal():
            self._show(proposed.staged, self.proposals.staging.read(proposed.staged))
        _say(proposed.findings)
        return self._ask(proposed.staged)

    def _ask(self, staged: Staged, draft: bytes | None = None) -> ExitCode:
        """Prompt for an answer and apply it; without a terminal the write waits."""
        while _at_terminal():
            match (single_key.read_key(_QUESTION) or "wait").lower()[:1]:
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
        print(f"staged as {id_}; see it with: runner pipeline staged-write show {id_}")
        return ExitCode.PERSON

    def _show(self, staged: Staged, change: Change) -> None:
        head = f"{display(staged.task)} wants to {change.action} {display_path(change.path)}"
        if self.proposals.is_conflicting(change):
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


def _print_applied(change: Change) -> None:
    print(f"applied: {display_path(change.path)}", file=sys.stderr)


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _say(findings: Iterable[Finding]) -> None:
    """Print findings to standard error, redacted."""
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
