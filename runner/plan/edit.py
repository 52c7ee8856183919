"""Edits of TASK-GRAPH.md that change only what they must, byte for byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runner.errors import RunnerError
from runner.plan.source import line_end_of
from runner.plan.status import StatusSpan, write_status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.model import Status


class Edited(NamedTuple):
    """The new bytes, and where the statuses stand in them."""

    data: bytes
    spans: dict[str, StatusSpan]


def set_statuses(
    data: bytes,
    statuses: Mapping[str, tuple[Status, str]],
    *,
    prefixes: tuple[str, ...] = (),
    spans: Mapping[str, StatusSpan] | None = None,
) -> bytes:
    """The file with the statuses of these tasks replaced, all else byte for byte as it was.

    A missing Status item is inserted. `spans` (of exactly these bytes) save reading the file.
    Raises RunnerError when the file has no such task.
    """
    known = find_spans(data, prefixes) if spans is None else spans
    return edit_statuses(data, statuses, {key: known[key] for key in statuses if key in known}).data


def find_spans(data: bytes, prefixes: tuple[str, ...] = ()) -> dict[str, StatusSpan]:
    """Where the status of each task stands; of two tasks with one id, the first."""
    from runner.plan.document import read_plan

    plan = read_plan(data, "TASK-GRAPH.md", prefixes=prefixes)
    pairs = zip(plan.tasks, plan.spans, strict=True)
    return {task.id: span for task, span in reversed(list(pairs))}


def edit_statuses(
    data: bytes, statuses: Mapping[str, tuple[Status, str]], spans: Mapping[str, StatusSpan]
) -> Edited:
    """The same in one pass over known spans, which come back moved to where they are then."""
    parts: list[bytes] = []
    moved: dict[str, StatusSpan] = {}
    position = shift = 0
    end = line_end_of(data).decode()
    _check_known(statuses, spans)
    for task_id, span in sorted(spans.items(), key=lambda pair: pair[1].start):
        if task_id not in statuses:
            moved[task_id] = span.move(shift)
            continue
        before, after = (text.replace("\n", end).encode() for text in (span.before, span.after))
        value = write_status(*statuses[task_id]).encode()
        parts += (data[position : span.start], before, value, after)
        start = span.start + shift + len(before)
        moved[task_id] = StatusSpan(start, start + len(value))
        shift += len(before) + len(value) + len(after) - (span.end - span.start)
        position = span.end
    return Edited(b"".join((*parts, data[position:])), moved)


def _check_known(
    statuses: Mapping[str, tuple[Status, str]], spans: Mapping[str, StatusSpan]
) -> None:
    missing = [task_id for task_id in statuses if task_id not in spans]
    if missing:
        names = ", ".join(missing)
        raise RunnerError(
            f"the plan has no task {names}", hint="read the plan again: `runner status`"
        )
