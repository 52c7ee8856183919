"""The review at the terminal: one change, one question."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.run.review import Answer, Said
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.model import Change, Task
    from runner.report.console import Console

_ONE = "[a]pply, [e]dit, [r]eject, or [w]ait? "
_SEVERAL = "[a]pply, apply a[l]l {left}, [e]dit, [r]eject, or [w]ait? "


class TerminalAsker:
    """Shows a change as a unified diff and asks what to do with it."""

    def __init__(self, console: Console, environ: Mapping[str, str]) -> None:
        self._console = console
        self._environ = environ

    def ask(self, task: Task, change: Change, before: bytes | None, left: int) -> Said:
        """The answer to one change; asks again until there is one. No more input means wait."""
        with self._console.paused():
            self._show(task, change, before)
            while True:
                said = _read(_SEVERAL.format(left=left) if left > 1 else _ONE)
                if said is None or said.startswith("w"):
                    return Said(Answer.WAITS)
                answer = self._answer(said, change)
                if answer is not None:
                    return answer

    def choose(self, text: str, question: str) -> str:
        """What is typed, in small letters, after a text and a question; empty where nobody is."""
        with self._console.paused():
            if text:
                print(text, file=sys.stderr)
            return _read(question) or ""

    def _answer(self, said: str, change: Change) -> Said | None:
        match said[:1]:
            case "a":
                return Said(Answer.APPROVED)
            case "l":
                return Said(Answer.APPROVED, for_all=True)
            case "r":
                return Said(Answer.REJECTED, reason=_read("why? ") or "")
            case "e" if change.content is not None:
                content = edited(change.path, change.content, self._environ)
                return None if content is None else Said(Answer.EDITED, content=content)
        return None

    def _show(self, task: Task, change: Change, before: bytes | None) -> None:
        from runner.report.diff_view import diff_text

        width = shutil.get_terminal_size().columns
        print(
            f"{display(task.id)} wants to {change.action} {display(change.path)}",
            diff_text(before, change, colour=self._console.colour, width=width),
            sep="\n",
            file=sys.stderr,
        )


def edited(path: str, content: bytes, environ: Mapping[str, str]) -> bytes | None:
    """The content as a person leaves it in their editor; None when the editor says no.

    Raises RunnerError when no editor is set.
    """
    from runner.process.tools import run_interactive

    editor = environ.get("VISUAL") or environ.get("EDITOR")
    if not editor:
        raise RunnerError("no editor is set", hint="export EDITOR=vi")
    with TemporaryDirectory(prefix="runner-edit-") as folder:
        file = Path(folder) / Path(path).name
        file.write_bytes(content)
        status = run_interactive((*shlex.split(editor), str(file)), Path(folder))
        return file.read_bytes() if status == 0 else None


def _read(question: str) -> str | None:
    """What the person typed; None when there is nobody any more."""
    print(question, end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline()
    return line.strip().lower() if line and question != "why? " else (line.strip() or None)
