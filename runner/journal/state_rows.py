"""A state as lines of JSON and back, for the snapshot: ten thousand tasks in some 50 ms."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runner import model
from runner.journal import events, sessions, task_state
from runner.journal.codec import decode, dump, encode, read_noun, to_text
from runner.journal.events import Record, WriteRejected, WriteReviewed
from runner.journal.lazy_json import Stored
from runner.journal.persistent import PersistentMap
from runner.journal.state import ReviewKey, RunState
from runner.journal.task_state import TaskState
from runner.model import Finding, Proof
from runner.model.codec import Codec, Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

_APART = ("landing", "tasks", "reviews")
_SPEC, _TRIED, _PROOFS, _FINDINGS = map(
    TaskState._fields.index, ("spec", "tried", "proofs", "findings")
)
_AFTER = _TRIED + 1
_SAME = "spec"


def _vocabulary() -> dict[str, object]:
    names = {"Mapping": Mapping, "Sequence": Sequence, "Record": Record, "Review": WriteReviewed}
    return {**vars(model), **vars(events), **vars(sessions), **vars(task_state), **names}


_ROWS = Codec(Shape.ROW, _vocabulary)


def write_state(state: RunState) -> bytes:
    """All of a state."""
    run = state._asdict()
    tasks = list(state.tasks.values())
    hot = {
        "run": {name: _ROWS.to_json(run[name]) for name in run if name not in _APART},
        "landing": encode(state.landing).decode() if state.landing else "",
        "reviews": [
            [list(key), type(review).__name__, _ROWS.to_json(review)]
            for key, review in state.reviews.items()
        ],
        "tasks": [_row(task) for task in tasks],
    }
    lines = [to_text(hot).encode("utf-8", "backslashreplace")]
    lines += (_text(task.proofs) for task in tasks)
    lines += (_text(task.findings) for task in tasks)
    return b"\n".join(lines)


def read_state(body: bytes) -> RunState:
    """The state that `write_state` wrote; raises ValueError, KeyError, TypeError, IndexError."""
    first, *rest = body.split(b"\n")
    hot = json.loads(first)
    rows = hot["tasks"]
    proofs, findings = rest[: len(rows)], rest[len(rows) :]
    if len(findings) != len(rows):
        raise ValueError("lines are missing")
    return RunState(
        **_ROWS.read_fields(RunState, hot["run"]),
        landing=decode(hot["landing"].encode()) if hot["landing"] else None,
        tasks=PersistentMap(_tasks(rows, proofs, findings)),
        reviews=PersistentMap(
            (ReviewKey(*key), _read_review(kind, row)) for key, kind, row in hot["reviews"]
        ),
    )


def _read_review(kind: str, row: object) -> WriteReviewed | WriteRejected:
    if kind == WriteReviewed.__name__:
        return _ROWS.read(WriteReviewed, row)
    return _ROWS.read(WriteRejected, row)


def _text(items: Sequence[object]) -> bytes:
    if isinstance(items, Stored):
        return items.text
    return dump(items).encode("utf-8", "backslashreplace") if items else b""


def _row(task: TaskState) -> list[Any]:
    # an empty list is no default, so that the row reaches as far as these do
    proofs: Sequence[Proof] = [] if task.proofs else ()
    findings: Sequence[Finding] = [] if task.findings else ()
    row: list[Any] = _ROWS.to_json(task._replace(proofs=proofs, findings=findings))
    if task.tried is not None and task.tried == task.spec:  # as of nearly every task
        row[_TRIED] = _SAME
    return row


def _tasks(
    rows: list[Any], proofs: list[bytes], findings: list[bytes]
) -> Iterator[tuple[str, TaskState]]:
    read = _ROWS.reader(TaskState)
    for row, proved, found in zip(rows, proofs, findings, strict=True):
        if row[_TRIED:_AFTER] == [_SAME]:
            row[_TRIED] = row[_SPEC]
        if proved:
            row[_PROOFS] = Stored(proved, _proof)
        if found:
            row[_FINDINGS] = Stored(found, _finding)
        task = read(row, ())
        yield task.id, task


def _proof(fields: Any) -> Proof:
    return read_noun(Proof, fields)


def _finding(fields: Any) -> Finding:
    return read_noun(Finding, fields)
