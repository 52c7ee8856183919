"""The task graph for Graphviz, in the DOT language.

How a status looks in a picture, with a sign for those who see no colour.

The task graph as a Mermaid flowchart, with the statuses as classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from runner.model import Status
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def dot(tasks: Iterable[GraphNode], statuses: Mapping[str, Status]) -> str:
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


# --- status style ---------------------------------------------------------------------


class GraphNode(Protocol):
    """What a picture shows of a task: a task of the plan, or of its outline."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def title(self) -> str:
        """Its title."""

    @property
    def status(self) -> Status:
        """Its status by the plan, where nothing newer is known."""

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The ids it depends on."""


class Look(NamedTuple):
    """Colours for a page, a colour and a sign for a terminal."""

    fill: str
    edge: str
    text: str
    colour: str
    sign: str


PALETTE = {
    Status.PENDING: Look("#f6f8fa", "#8c959f", "#1f2328", "", "o"),
    Status.IN_PROGRESS: Look("#ddf4ff", "#0969da", "#0a3069", "cyan", ">"),
    Status.DONE: Look("#dafbe1", "#1a7f37", "#0f3d1e", "green", "*"),
    Status.BLOCKED: Look("#ffebe9", "#cf222e", "#6e1018", "red", "!"),
    Status.STALE: Look("#fff8c5", "#9a6700", "#4d3400", "yellow", "~"),
}


# --- mermaid --------------------------------------------------------------------------


_CLASSES = {
    Status.PENDING: "pending",
    Status.IN_PROGRESS: "progress",
    Status.DONE: "done",
    Status.BLOCKED: "blocked",
    Status.STALE: "stale",
}


def mermaid(tasks: Iterable[GraphNode], statuses: Mapping[str, Status]) -> str:
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
