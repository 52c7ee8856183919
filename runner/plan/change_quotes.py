"""The quotes in a task's section that record its changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.plan.block_tree import Kind, Node
from runner.plan.body import read_body
from runner.plan.markdown import Cuts, piece_at
from runner.plan.source import body_start, line_end_of

if TYPE_CHECKING:
    from runner.model import Task
    from runner.plan.sections import Written
    from runner.plan.source import Source


def add_quote(
    data: bytes,
    task_id: str,
    text: str,
    *,
    prefixes: tuple[str, ...] = (),
    replacing: Written | None = None,
) -> bytes:
    """The file with `> text` in a task's section: behind its fields, or instead of a command line.

    `text` is such as `CHANGE-003 (2026-11-21): dates are UTC`; its line ends become blanks.
    Raises RunnerError when the file has no such task.
    """
    from runner.plan.document import read_plan

    plan = read_plan(data, "TASK-GRAPH.md", prefixes=prefixes)
    task = next((each for each in plan.tasks if each.id == task_id), None)
    if task is None:
        raise RunnerError(f"the plan has no task {task_id}", hint="`runner list` shows the ids")
    quote = b"> " + " ".join(text.split()).encode()
    if replacing:
        return _replace_line(data, replacing.line - 1, quote)
    return _insert(data, _place(data, task), quote)


def _place(data: bytes, task: Task) -> int:
    """The line, from 0, before which a quote goes: behind the last block of fields or quotes."""
    start = len(b"".join(data.splitlines(keepends=True)[: task.line - 1]))
    piece = piece_at(data, start or body_start(data), task.line, Cuts(data))
    heading, *rest = piece.nodes
    stop = next((at for at, node in enumerate(rest) if node.kind is Kind.HEADING), len(rest))
    below = rest[:stop]
    fields = read_body(below, piece.source)
    used = {run.line for field in fields.fields for value in field.values for run in value.runs}
    ends = [
        _end_of(node, piece.source)
        for node in below
        if node in fields.holders
        or _records(node, piece.source)
        or not used.isdisjoint(range(node.start, node.end))
    ]
    return task.line - 1 + max([heading.end, *ends])


def _end_of(node: Node, source: Source) -> int:
    """The line behind the last one of a block that is not blank."""
    end = node.end
    while end > node.start + 1 and not source.lines[end - 1].strip(" \t"):
        end -= 1
    return end


def _records(node: Node, source: Source) -> bool:
    return node.kind is Kind.QUOTE and "CHANGE-" in source.lines[node.start]


def _insert(data: bytes, line: int, quote: bytes) -> bytes:
    """The quote before a line, with blank lines around it so that it joins no other block."""
    lines = data.splitlines(keepends=True)
    end = line_end_of(data)
    before, after = lines[:line], lines[line:]
    lead = b"" if before and before[-1].endswith((b"\n", b"\r")) else end
    trail = end if after and after[0].strip() else b""
    closing = end if after or not lead else b""
    return b"".join((*before, lead, end, quote, closing, trail, *after))


def _replace_line(data: bytes, line: int, quote: bytes) -> bytes:
    """The quote instead of a line; a blank line keeps it apart from text behind it."""
    lines = data.splitlines(keepends=True)
    end = line_end_of(data)
    old = lines[line]
    own_end = old[len(old.rstrip(b"\r\n")) :]
    follows = lines[line + 1 : line + 2]
    gap = end if follows and follows[0].strip() else b""
    return b"".join((*lines[:line], quote, own_end, gap, *lines[line + 1 :]))
