"""A DONE task that was edited by hand: at a terminal it is asked at once how to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.journal.events import TaskApproved
from runner.model import Status
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runner.journal.state import RunState
    from runner.model import Task
    from runner.run.journal_writer import JournalWriter

_QUESTION = "[b]uild it anew, only [p]rove what is there again, or [l]eave it STALE? "
_ANSWERS = {"b": "built anew", "p": "only proven again"}


def ask_about_edits(
    tasks: Sequence[Task], ledger: JournalWriter, ask: Callable[[str, str], str]
) -> None:
    """Ask about each task that this run has found edited, and write the answers down.

    `ask` shows a text, puts a question behind it, and gives what was typed. Who is STALE through
    an edited task follows from what becomes of that, so nobody is asked about it.
    """
    for task in tasks:
        if _is_edited(task.id, ledger):
            said = _answer(task, tasks, ledger.state, ask)
            if said in _ANSWERS:
                note = f"{_ANSWERS[said]}, as was said when the run began"
                event = TaskApproved(by="person", note=note, reuse=said == "p")
                attempt = ledger.state.task(task.id).last_attempt
                ledger.note(event, task=task.id, attempt=attempt, durable=True)


def _is_edited(id_: str, ledger: JournalWriter) -> bool:
    """Whether the readings of this run made it STALE (ids of runs and records are in order)."""
    known = ledger.state.task(id_)
    by_hand = bool(known.changed) and known.changed != ("change",)
    return known.status is Status.STALE and by_hand and known.cause > ledger.run


def _answer(
    task: Task, tasks: Sequence[Task], state: RunState, ask: Callable[[str, str], str]
) -> str:
    text = "\n".join(_format_edit(task, tasks, state))
    while True:
        said = ask(text, _QUESTION)[:1]
        if said in ("", "l", *_ANSWERS):
            return said
        text = ""


def _format_edit(task: Task, tasks: Sequence[Task], state: RunState) -> Iterator[str]:
    """What becomes STALE, and why."""
    yield _line(task, state)
    behind = [one for one in tasks if state.task(one.id).status is Status.STALE]
    next_to: dict[str, list[Task]] = {}
    for one in behind:
        next_to.setdefault(state.task(one.id).via, []).append(one)
    waiting = list(next_to.pop(task.id, ()))
    for one in waiting:
        yield f"  {_line(one, state)}"
        waiting += next_to.pop(one.id, ())
    if waiting:
        yield "  those behind it are only proven again, unless it offers something else then"


def _line(task: Task, state: RunState) -> str:
    return f"STALE {display(task.id)} {display(task.title)}: {display(state.task(task.id).note)}"
