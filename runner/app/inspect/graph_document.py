"""The graph of a plan as data: the same for `graph --json` and for what a run leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runner.app.inspect.view import View


def describe_graph(view: View) -> dict[str, object]:
    """The content of the document `graph`: tasks, and an edge to each from what it needs."""
    return {
        "nodes": [
            {"id": task.id, "title": task.title, "status": view.status(task.id)}
            for task in view.tasks
        ],
        "edges": [
            {"from": needed, "to": task.id}
            for task in view.tasks
            for needed in task.depends_on
            if needed in view.states
        ],
    }
