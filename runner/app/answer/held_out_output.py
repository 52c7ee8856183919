"""The output of failed held-out tests, for a person who may answer: no document has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.model import Reason
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.journal.task_state import TaskState
    from runner.project import Project


def asks_about_tests(known: TaskState) -> bool:
    """Return whether the work of a task waits since its held-out tests failed or cannot fail."""
    return known.held is not None and known.reason is Reason.HELD_OUT


def format_failures(project: Project, task_id: str) -> Iterator[str]:
    """Yield each test that failed in the task's last held-out proof, and its output."""
    for test, message in project.held_out.store.read_failures(task_id):
        yield f"--- failed in the last proof: {display(test)}"
        yield from (display(line) for line in message.splitlines())
