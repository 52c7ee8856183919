"""The review at the terminal: one change, one question."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from runner.app.write.workplace import Workplace
from runner.errors import RunnerError
from runner.process.tools import NOT_FOUND, run_interactive
from runner.run.review import Answer, Said
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.model import Change, Finding, Task
    from runner.report.console import Console
    from runner.run.review import Spot

REFUSED = "your edit was refused; the proposal stands"
NO_REASON = "a rejection needs a reason: the next attempt reads it"
_MOVES = {"n": Answer.NEXT, "p": Answer.PREVIOUS}


def find_asker(console: Console, environ: Mapping[str, str]) -> TerminalAsker | None:
    """Who puts questions to the person at the terminal; None where nobody may be asked."""
    return TerminalAsker(console, environ) if has_person(environ) else None


def has_person(environ: Mapping[str, str]) -> bool:
    """Whether somebody sits at a terminal and may be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty() and environ.get("CI", "").lower() != "true"


class TerminalAsker:
    """Shows a change as a unified diff and asks what to do with it."""

    def __init__(self, console: Console, environ: Mapping[str, str]) -> None:
        self._console = console
        self._environ = environ

    def ask(self, task: Task, change: Change, before: bytes | None, spot: Spot) -> Said:
        """The answer to one change; asks again until there is one. No more input means wait."""
        question, draft = _question(change, spot), Draft(change)
        with self._console.pause():
            self._show(task, change, before, spot)
            while True:
                typed = read_answer(question)
                said = "w" if typed is None else typed.lower()[:1]
                if said == "s":
                    self._show(task, change, before, spot)
                if said == "?":
                    print(*_explain(question), sep="\n", file=sys.stderr)
                answer = self._answer(said, draft, spot)
                if answer is not None:
                    return answer

    def choose(self, text: str, question: str) -> str:
        """What is typed, in small letters, after a text and a question; empty where nobody is."""
        with self._console.pause():
            if text:
                from runner.commands.paging import show

                show(text, self._environ, sys.stderr)
            return (read_answer(question) or "").lower()

    def _answer(self, said: str, draft: Draft, spot: Spot) -> Said | None:
        match said:
            case "a":
                return Said(Answer.APPROVED)
            case "l":
                return Said(Answer.APPROVED, for_all=True)
            case "r":
                reason = read_reason()
                return Said(Answer.REJECTED, reason=reason) if reason else None
            case "e" if draft.change.content is not None:
                content = draft.edit(self._environ)
                return None if content is None else Said(Answer.EDITED, content=content)
            case "n" | "p" if spot.count > 1:
                return Said(_MOVES[said])
            case "w":
                return Said(Answer.WAITS)
        return None

    def _show(self, task: Task, change: Change, before: bytes | None, spot: Spot) -> None:
        from runner.commands.paging import show
        from runner.report.diff_view import diff_text

        width = shutil.get_terminal_size().columns
        where = f"{spot.number} of {spot.count}" if spot.count > 1 else ""
        told = ", ".join(part for part in (where, spot.said) if part)
        head = f"{display(task.id)} wants to {change.action} {display(change.path)}"
        diff = diff_text(before, change, colour=self._console.colour, width=width)
        text = f"{head}{f' ({told})' if told else ''}\n{diff}"
        show(text, self._environ, sys.stderr)


def _question(change: Change, spot: Spot) -> str:
    """What may be typed about a change at its place among the task's others."""
    choices = ["[a]pply"]
    choices += [f"apply a[l]l {spot.left}"] if spot.left > 1 else []
    choices += ["[e]dit"] if change.content is not None else []
    choices += ["[r]eject", "[s]how again"]
    choices += ["[n]ext", "[p]revious"] if spot.count > 1 else []
    return f"{', '.join(choices)}, [?], or [w]ait? "


_KEYS = {
    "a": "this change, these very bytes: it lands with the task once all of it is proven",
    "l": "every change of this task that is not answered yet",
    "e": "open it in your editor; what you save is what is proven",
    "r": "say why: the next attempt reads it first",
    "s": "the difference once more",
    "n": "answer this one later; the next of this task",
    "p": "the one before",
    "w": "leave the task for `runner review`; others go on",
}


def _explain(question: str) -> Iterator[str]:
    """What each key does that may be typed now."""
    yield from (f"  {key}  {said}" for key, said in _KEYS.items() if f"[{key}]" in question)


class Draft:
    """What a person makes of a proposal in their editor: a text that is refused is not lost."""

    def __init__(self, change: Change) -> None:
        self.change = change
        self._text = change.content or b""

    def edit(self, environ: Mapping[str, str]) -> bytes | None:
        """The content as they left it; None where that came to nothing, which is said."""
        try:
            content = edit_content(self.change.path, self._text, environ)
        except RunnerError as error:
            print(error.message, file=sys.stderr)
            print(f"hint: {error.hint}", file=sys.stderr)
            return None
        self._text = content
        found = Workplace.of(Path.cwd(), environ).find_secrets(content, self.change.path)
        if not found:
            return content
        print(*format_findings(found), REFUSED, sep="\n", file=sys.stderr)
        return None


def edit_content(path: str, content: bytes, environ: Mapping[str, str]) -> bytes:
    """The content as a person leaves it in their editor.

    Raises RunnerError when no editor is set, when it cannot start or says no, and when it leaves
    no file.
    """
    words = _editor(environ)
    with TemporaryDirectory(prefix="runner-edit-") as folder:
        file = Path(folder) / Path(path).name
        file.write_bytes(content)
        status = run_interactive((*words, str(file)), Path(folder))
        if status == NOT_FOUND:
            hint = "export EDITOR=vi, or another program that is there"
            raise RunnerError(f"the editor could not start: {words[0]}", hint=hint)
        if status:
            hint = "save and leave it without an error"
            raise RunnerError(f"the editor ended with exit {status}; nothing changed", hint=hint)
        try:
            return file.read_bytes()
        except OSError as error:
            hint = "save it where it was opened; to take a file away, reject the change"
            raise RunnerError("the editor left no file; nothing changed", hint=hint) from error


def _editor(environ: Mapping[str, str]) -> list[str]:
    """The words of the command that opens a file. Raises RunnerError where none is set."""
    line = environ.get("VISUAL") or environ.get("EDITOR") or ""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise RunnerError(f"the editor cannot be read: {line}", hint="export EDITOR=vi") from error
    if not words:
        raise RunnerError("no editor is set", hint="export EDITOR=vi")
    return words


def format_findings(findings: tuple[Finding, ...]) -> Iterator[str]:
    """Findings as lines, without a value in them."""
    for one in findings:
        yield display(redact(f"{one.path}:{one.line}: {one.message}"))


def read_reason() -> str:
    """Why a person says no; empty, which is said, where that is no reason for anybody."""
    reason = read_answer("why? ") or ""
    if any(sign.isalnum() for sign in reason):
        return reason
    print(NO_REASON, file=sys.stderr)
    return ""


def read_answer(question: str) -> str | None:
    """What the person typed; None when there is nobody any more."""
    print(question, end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline()
    if not line:
        print(file=sys.stderr)  # what is said next begins a line
    return line.strip() if line else None
