"""A RunnerError as a person reads it: what, where, and a hint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.text.display import display

if TYPE_CHECKING:
    from runner.errors import RunnerError


def format_error(error: RunnerError) -> str:
    """The lines for standard error, without the last line's end."""
    where = f" ({display(error.where)})" if error.where else ""
    lines = [f"runner: {display(error.message)}{where}"]
    if error.detail:
        lines.append(display(error.detail, lines=True))
    if error.hint:
        lines.append(f"hint: {display(error.hint)}")
    return "\n".join(lines)
