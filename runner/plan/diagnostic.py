"""A problem in a file that a person wrote: its place, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from runner.errors import RunnerError
from runner.model import Severity
from runner.text.display import caret, display
from runner.text.wording import plural

if TYPE_CHECKING:
    from collections.abc import Sequence


class Problem(Struct, frozen=True):
    """Something to say about a place in a file; `line` and `column` count from 1."""

    message: str
    path: str
    line: int
    column: int
    hint: str = ""
    severity: Severity = Severity.ERROR
    source_line: str = ""
    width: int = 1
    task: str = ""
    """Only task that a mistake stops, at its turn; empty: nothing runs."""

    @property
    def is_error(self) -> bool:
        """Whether this is a mistake, which `validate` refuses."""
        return self.severity is Severity.ERROR

    @property
    def stops_all(self) -> bool:
        """Whether nothing may run before this is mended."""
        return self.is_error and not self.task


def render(problem: Problem) -> str:
    """Format a problem for output: place and message, source line with a caret, hint."""
    place = f"{display(problem.path)}:{problem.line}:{problem.column}"
    lines = [f"{place}: {problem.severity.value}: {display(problem.message)}"]
    if problem.source_line:
        shown = caret(problem.source_line, problem.column, problem.width)
        lines += ["  " + line for line in shown.split("\n")]
    if problem.hint:
        lines.append(f"hint: {display(problem.hint)}")
    return "\n".join(lines)


def refusal(mistakes: Sequence[Problem], outcome: str) -> RunnerError:
    """Return the error with all mistakes of a plan that cannot be used."""
    count = plural(len(mistakes), "mistake")
    text = "\n\n".join(render(problem) for problem in mistakes)
    return RunnerError(f"the plan has {count}; {outcome}", detail=text)
