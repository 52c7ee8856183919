"""The task graph as a Mermaid flowchart, with the statuses as classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.model import Status
from runner.report.status_style import PALETTE
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.report.status_style import Node

_CLASSES = {
    Status.PENDING: "pending",
    Status.IN_PROGRESS: "progress",
    Status.DONE: "done",
    Status.BLOCKED: "blocked",
    Status.STALE: "stale",
}


def mermaid(tasks: Iterable[Node], statuses: Mapping[str, Status]) -> str:
    """`flowchart TD` with one node a task.

    Nodes have numbers for names, so that no id can end a node or begin a keyword. Dependencies on
    tasks that are not there are left out.
    """
    tasks = tuple(tasks)
    names = {task.id: f"t{number}" for number, task in enumerate(tasks, 1)}
    lines = ["flowchart TD"]
    for task in tasks:
        status = statuses.get(task.id, task.status)
        label = f"{escape_label(task.id)}: {escape_label(task.title)}<br/>{status}"
        lines.append(f'    {names[task.id]}["{label}"]:::{_CLASSES[status]}')
    lines += [
        f"    {names[needed]} --> {names[task.id]}"
        for task in tasks
        for needed in task.depends_on
        if needed in names
    ]
    lines += [
        f"    classDef {name} fill:{look.fill},stroke:{look.edge},color:{look.text}"
        for name, look in ((_CLASSES[status], PALETTE[status]) for status in Status)
    ]
    return "\n".join(lines) + "\n"


def escape_label(text: str) -> str:
    """`text` for a quoted Mermaid label: all but letters, digits and plain marks as entity codes.

    Mermaid reads `#34;` as a character (its documentation: Entity codes to escape characters).
    """
    return "".join(
        character if character.isalnum() or character in " .,-_/()" else f"#{ord(character)};"
        for character in display(text)
    )
