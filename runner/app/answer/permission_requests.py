"""Calls that permission rules want a person asked about, and that wait: shown and answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.journal.sessions import PermissionAnswered
from runner.run.permission_prompts import call_text
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.journal.events import Event
    from runner.journal.state import RunState

KIND = "permission"


def format_calls(state: RunState, task: str) -> Iterator[str]:
    """The calls below their task, each with the rule that asks."""
    for one in state.task(task).asks:
        rule = f" ({display(one.rule)})" if one.rule else ""
        yield f"wants to call {call_text(one)}{rule}"


def as_data(state: RunState, task: str) -> dict[str, object]:
    """The calls as JSON."""
    return {"asks": [one._asdict() for one in state.task(task).asks]}


def answers(state: RunState, task: str, *, allowed: bool, reason: str = "") -> list[Event]:
    """One word to everything that a task asks; it is remembered for the task as it is written."""
    return [
        PermissionAnswered(one.tool, one.subject, allowed, reason, by="person")
        for one in state.task(task).asks
    ]


def refuse_to_edit(kind: str, task: str) -> None:
    """Raise RunnerError for a question, of which nothing can be edited."""
    if kind == KIND:
        hint = f"runner approve {task}, or runner reject {task} --reason …"
        raise RunnerError(f"{task} asks whether it may call a tool", hint=hint)
