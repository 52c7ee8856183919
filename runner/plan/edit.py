"""Edit statuses in TASK-GRAPH.md and add quotes of changes; every other byte stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runner.errors import RunnerError
from runner.model import Status
from runner.plan.body import read_body
from runner.plan.document import read_plan
from runner.plan.markdown import Cuts, Kind, Node, piece_at
from runner.plan.source import body_start, line_end_of
from runner.plan.status import SpansByTask, StatusSpan, write_status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runner.model import Task
    from runner.plan.body import Body
    from runner.plan.document import Plan
    from runner.plan.markdown import Piece
    from runner.plan.sections import PlanCommand
    from runner.plan.source import Source


class Edited(NamedTuple):
    """The new text, and where the statuses stand in it."""

    pieces: tuple[bytes | memoryview, ...]
    """Consecutive pieces; unchanged ones are views of the old text."""
    spans: SpansByTask

    @property
    def data(self) -> bytes:
        """The new bytes, joined: of a large plan megabytes more."""
        return b"".join(self.pieces)


def set_statuses(
    data: bytes,
    statuses: Mapping[str, tuple[Status, str]],
    *,
    prefixes: tuple[str, ...] = (),
    spans: Mapping[str, StatusSpan] | None = None,
) -> bytes:
    """Return the file with the statuses of these tasks replaced; other bytes are unchanged.

    A missing Status item is inserted. `spans` (of exactly these bytes) save reading the file.
    Raises RunnerError when the file has no such task.
    """
    known = find_spans(data, prefixes) if spans is None else spans
    return edit_statuses(data, statuses, {key: known[key] for key in statuses if key in known}).data


def differs_only_in_statuses(before: bytes, now: bytes) -> bool:
    """Return whether two texts of a plan are equal but for the statuses of their tasks."""
    try:
        pending = dict.fromkeys(find_spans(before), (Status.PENDING, ""))
        return set_statuses(before, pending) == set_statuses(now, pending)
    except RunnerError:
        return False


def find_spans(data: bytes, prefixes: tuple[str, ...] = ()) -> SpansByTask:
    """Return the span of each task's status; of tasks with the same id, the first."""
    return spans_of(read_plan(data, "TASK-GRAPH.md", prefixes=prefixes))


def spans_of(plan: Plan, places: Mapping[str, int] | None = None) -> SpansByTask:
    """Return the status spans of a parsed plan by task ID."""
    if places is not None and len(places) == len(plan.spans) and plan.spans.is_sorted:
        return SpansByTask(places, plan.spans)
    return SpansByTask.of(
        (task.id, span) for task, span in zip(plan.tasks, plan.spans, strict=True)
    )


def edit_statuses(
    data: bytes, statuses: Mapping[str, tuple[Status, str]], spans: Mapping[str, StatusSpan]
) -> Edited:
    """Write statuses in one pass over known spans; return the data and the moved spans."""
    known = spans if isinstance(spans, SpansByTask) else SpansByTask.of(spans.items())
    _check_known(statuses, known)
    view = memoryview(data)  # what stands between two of them may be nearly all of the file
    parts: list[bytes | memoryview] = []
    written: dict[int, tuple[int, StatusSpan]] = {}
    position = shift = 0
    end = line_end_of(data).decode()
    for number, task_id in sorted((known.number(one), one) for one in statuses):
        span = known.spans[number]
        # Inserted text uses the file's line ends: else one status would mix line ends, and some
        # editors then rewrite every line.
        before, after = (text.replace("\n", end).encode() for text in (span.before, span.after))
        value = write_status(*statuses[task_id]).encode()
        parts += (view[position : span.start], before, value, after)
        start = span.start + shift + len(before)
        grown = len(before) + len(value) + len(after) - (span.end - span.start)
        written[number] = (grown, StatusSpan(start, start + len(value)))
        shift, position = shift + grown, span.end
    return Edited((*parts, view[position:]), known.shift_behind(written))


def _check_known(
    statuses: Mapping[str, tuple[Status, str]], spans: Mapping[str, StatusSpan]
) -> None:
    missing = [task_id for task_id in statuses if task_id not in spans]
    if missing:
        names = ", ".join(missing)
        raise RunnerError(
            f"the plan has no task {names}", hint="read the plan again: `runner status`"
        )


def add_quote(
    data: bytes,
    task_id: str,
    text: str,
    *,
    prefixes: tuple[str, ...] = (),
    replacing: PlanCommand | None = None,
) -> bytes:
    """Add `> text` to a task's section, after its fields or in place of a command line.

    `text` is such as `CHANGE-003 (2026-11-21): dates are UTC`; its line ends become blanks.
    Raises RunnerError when the file has no such task.
    """
    plan = read_plan(data, "TASK-GRAPH.md", prefixes=prefixes)
    task = next((each for each in plan.tasks if each.id == task_id), None)
    if task is None:
        raise RunnerError(
            f"the plan has no task {task_id}", hint="`runner status --list` shows the ids"
        )
    quote = b"> " + " ".join(text.split()).encode()
    if replacing and not _is_among_fields(data, task, replacing.line):
        return _replace_line(data, replacing.line - 1, quote)
    if replacing:
        lines = data.splitlines(keepends=True)
        data = b"".join((*lines[: replacing.line - 1], *lines[replacing.line :]))
    return _insert(data, _place(data, task), quote)


def _is_among_fields(data: bytes, task: Task, line: int) -> bool:
    """Return whether a quote on this line would separate fields from their task."""
    piece, _, fields = read_section(data, task)
    return any(
        node.start <= line - task.line < _end_of(node, piece.source) - 1 for node in fields.holders
    )


def read_section(data: bytes, task: Task) -> tuple[Piece, Sequence[Node], Body]:
    """Return the piece at a task's heading, the nodes below it, and its fields."""
    # For bytes, `splitlines` splits only at LF, CR and CR LF, like CommonMark; for str also at
    # U+2028, form feed and others.
    start = len(b"".join(data.splitlines(keepends=True)[: task.line - 1]))
    piece = piece_at(data, start or body_start(data), task.line, Cuts(data))
    rest = piece.nodes[1:]
    stop = next((at for at, node in enumerate(rest) if node.kind is Kind.HEADING), len(rest))
    return piece, rest[:stop], read_body(rest[:stop], piece.source)


def _place(data: bytes, task: Task) -> int:
    """Return the 0-based line before which to insert a quote, after fields and quotes."""
    piece, below, fields = read_section(data, task)
    used = {run.line for field in fields.fields for value in field.values for run in value.runs}
    held = {node.start for node in fields.holders}
    ends = [
        _end_of(node, piece.source)
        for node in below
        if node.start in held
        or _records(node, piece.source)
        or not used.isdisjoint(range(node.start, node.end))
    ]
    return task.line - 1 + max([piece.nodes[0].end, *ends])


def _end_of(node: Node, source: Source) -> int:
    """Return the line after the last non-blank line of a block."""
    end = node.end
    while end > node.start + 1 and not source.lines[end - 1].strip(" \t"):
        end -= 1
    return end


def _records(node: Node, source: Source) -> bool:
    return node.kind is Kind.QUOTE and "CHANGE-" in source.lines[node.start]


def _insert(data: bytes, line: int, quote: bytes) -> bytes:
    """Insert a quote before a line, with blank lines around it."""
    lines = data.splitlines(keepends=True)
    end = line_end_of(data)
    before, after = lines[:line], lines[line:]
    lead = b"" if before and before[-1].endswith((b"\n", b"\r")) else end
    # Text directly after a quote would join it (CommonMark 0.31, 5.1, lazy continuation).
    trail = end if after and after[0].strip() else b""
    closing = end if after or not lead else b""
    return b"".join((*before, lead, end, quote, closing, trail, *after))


def _replace_line(data: bytes, line: int, quote: bytes) -> bytes:
    """Replace a line with a quote, followed by a blank line if text follows."""
    lines = data.splitlines(keepends=True)
    end = line_end_of(data)
    old = lines[line]
    own_end = old[len(old.rstrip(b"\r\n")) :]
    follows = lines[line + 1 : line + 2]
    gap = end if follows and follows[0].strip() else b""
    return b"".join((*lines[:line], quote, own_end, gap, *lines[line + 1 :]))
