"""The task graph for Graphviz, in the DOT language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.report.status_style import PALETTE
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.model import Status
    from runner.report.status_style import Node


def dot(tasks: Iterable[Node], statuses: Mapping[str, Status]) -> str:
    """A digraph with one node a task, the status in its label and in its colour.

    Nodes have numbers for names, so that no id can be a keyword. Dependencies on tasks that are not
    there are left out. Grammar: graphviz.org/doc/info/lang.html.
    """
    tasks = tuple(tasks)
    names = {task.id: f"t{number}" for number, task in enumerate(tasks, 1)}
    lines = [
        "digraph tasks {",
        "  rankdir=LR;",
        '  node [shape=box, style="rounded,filled", fontname="sans-serif"];',
    ]
    for task in tasks:
        status = statuses.get(task.id, task.status)
        look = PALETTE[status]
        label = rf"{_escape(task.id)}\n{_escape(task.title)}\n{status}"
        lines.append(
            f'  {names[task.id]} [label="{label}", fillcolor="{look.fill}", '
            f'color="{look.edge}", fontcolor="{look.text}"];'
        )
    lines += [
        f"  {names[needed]} -> {names[task.id]};"
        for task in tasks
        for needed in dict.fromkeys(task.depends_on)
        if needed in names
    ]
    return "\n".join((*lines, "}")) + "\n"


def _escape(text: str) -> str:
    """`text` inside a quoted label (escString: a backslash begins an escape there)."""
    return display(text).replace("\\", "\\\\").replace('"', '\\"')
