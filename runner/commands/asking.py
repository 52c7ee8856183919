"""The review at the terminal: one change, one question."""

from __future__ import annotations

import difflib
import sys
from typing import TYPE_CHECKING

from runner.run.review import Answer
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runner.model import Change, Task
    from runner.report.console import Console

_ONE = "[a]pply, [r]eject, or [w]ait? "
_SEVERAL = "[a]pply, apply a[l]l {left}, [r]eject, or [w]ait? "


class TerminalAsker:
    """Shows a change as a unified diff and asks what to do with it."""

    def __init__(
        self, console: Console, before: Callable[[str, str], bytes | None] | None = None
    ) -> None:
        self._console = console
        self._before = before

    def ask(self, task: Task, change: Change, left: int) -> tuple[Answer, str, bool]:
        """The answer, the reason of a rejection, and whether it holds for all that are left."""
        self._console.say("\n".join(_shown(task, change)))
        while True:
            said = _read(_SEVERAL.format(left=left) if left > 1 else _ONE)
            match said[:1]:
                case "a":
                    return Answer.APPROVED, "", False
                case "l":
                    return Answer.APPROVED, "", True
                case "r":
                    return Answer.REJECTED, _read("why? "), False
                case "w" | "":
                    return Answer.WAITS, "", False


def _read(question: str) -> str:
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip()


def _shown(task: Task, change: Change) -> Iterator[str]:
    yield f"{display(task.id)} wants to {change.action} {display(change.path)}"
    yield from diff_lines(None, change)


def diff_lines(before: bytes | None, change: Change) -> Iterator[str]:
    """The change as a unified diff, every line safe for a terminal."""
    try:
        old = (before or b"").decode().splitlines()
        new = (change.content or b"").decode().splitlines()
    except UnicodeDecodeError:
        yield f"(binary, {len(change.content or b'')} bytes)"
        return
    for line in difflib.unified_diff(old, new, f"a/{change.path}", f"b/{change.path}", lineterm=""):
        yield display(line)
