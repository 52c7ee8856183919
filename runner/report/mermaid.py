"""The task graph as a Mermaid flowchart, with the statuses as classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.model import Status
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.model import Task

_CLASSES = {
    Status.PENDING: ("pending", "fill:#f6f8fa,stroke:#8c959f,color:#1f2328"),
    Status.IN_PROGRESS: ("progress", "fill:#ddf4ff,stroke:#0969da,color:#0a3069"),
    Status.DONE: ("done", "fill:#dafbe1,stroke:#1a7f37,color:#0f3d1e"),
    Status.BLOCKED: ("blocked", "fill:#ffebe9,stroke:#cf222e,color:#6e1018"),
    Status.STALE: ("stale", "fill:#fff8c5,stroke:#9a6700,color:#4d3400"),
}


def mermaid(tasks: Iterable[Task], statuses: Mapping[str, Status] | None = None) -> str:
    """`flowchart TD` with one node a task.

    Nodes have numbers for names, so that no id can end a node or begin a keyword. Dependencies on
    tasks that are not there are left out.
    """
    tasks = tuple(tasks)
    known = statuses or {}
    names = {task.id: f"t{number}" for number, task in enumerate(tasks, 1)}
    lines = ["flowchart TD"]
    for task in tasks:
        status = known.get(task.id, task.status)
        label = f"{escape_label(task.id)}: {escape_label(task.title)}<br/>{status}"
        lines.append(f'    {names[task.id]}["{label}"]:::{_CLASSES[status][0]}')
    lines += [
        f"    {names[needed]} --> {names[task.id]}"
        for task in tasks
        for needed in task.depends_on
        if needed in names
    ]
    lines += [f"    classDef {name} {style}" for name, style in _CLASSES.values()]
    return "\n".join(lines) + "\n"


def escape_label(text: str) -> str:
    """`text` for a quoted Mermaid label: all but letters, digits and plain marks as entity codes.

    Mermaid reads `#34;` as a character (its documentation: Entity codes to escape characters).
    """
    return "".join(
        character if character.isalnum() or character in " .,-_/()" else f"#{ord(character)};"
        for character in display(text)
    )
