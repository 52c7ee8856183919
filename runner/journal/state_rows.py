"""A state as lines of JSON and back, for the snapshot: ten thousand tasks in some 50 ms."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from runner.journal.codec import decode, dump, encode, fields_of_tuple, read_noun
from runner.journal.events import AttemptFinished, WriteRejected, WriteReviewed
from runner.journal.lazy_json import Stored
from runner.journal.persistent import PersistentMap
from runner.journal.sessions import PermissionAnswered, PermissionAsked
from runner.journal.state import ReviewKey, RunState
from runner.journal.task_state import Held, Kept, Landed, Open, Planned, TaskState, Try, Waived
from runner.model import Coverage, Finding, Proof, ProvenBy, Reason, Spec, Status, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_PLAIN = ("reason", "changed", "reuse", "via", "cut_off", "plans_refused", "aside", "unproven")
_NOTHING = Usage()
_APART = ("landing", "tasks", "reviews")
_TUPLES = ("stuck", "since_checkpoint", "awaiting_line")
_BY: dict[str, ProvenBy] = {by.value: by for by in ProvenBy}
_STATUS: dict[str, Status] = {status.value: status for status in Status}
_PROOF: Callable[[Any], Proof] = partial(read_noun, Proof)
_FINDING: Callable[[Any], Finding] = partial(read_noun, Finding)


def write_state(state: RunState) -> bytes:
    """All of a state."""
    run = {name: value for name, value in state._asdict().items() if name not in _APART}
    tasks = list(state.tasks.values())
    hot = {
        "run": run,
        "landing": encode(state.landing).decode() if state.landing else "",
        "reviews": [[*key, _review_fields(review)] for key, review in state.reviews.items()],
        "tasks": [_row(task) for task in tasks],
    }
    lines = [dump(hot).encode("utf-8", "backslashreplace")]
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
    run = hot["run"]
    run.update((name, tuple(run[name])) for name in _TUPLES)
    return RunState(
        **run,
        landing=decode(hot["landing"].encode()) if hot["landing"] else None,
        tasks=PersistentMap(_tasks(rows, proofs, findings)),
        reviews=PersistentMap(
            (ReviewKey(*key), _review(fields)) for *key, fields in hot["reviews"]
        ),
    )


def _text(items: Sequence[object]) -> bytes:
    if isinstance(items, Stored):
        return items.text
    return dump(items).encode("utf-8", "backslashreplace") if items else b""


def _review_fields(review: WriteReviewed | WriteRejected) -> dict[str, object]:
    return {"kind": type(review).__name__, **fields_of_tuple(review)}


def _review(fields: dict[str, Any]) -> WriteReviewed | WriteRejected:
    if fields["kind"] == WriteReviewed.__name__:
        return read_noun(WriteReviewed, fields)
    return read_noun(WriteRejected, fields)


# --- one task -------------------------------------------------------------------------


def _row(task: TaskState) -> list[object]:
    """What nearly every task has, in a row; the rest in an object at its end."""
    same = task.tried == task.spec
    return [
        task.id,
        task.status,
        task.note,
        task.spec and [task.spec.what, task.spec.proof],
        task.commit,
        task.tree,
        task.verified,
        None if same or task.tried is None else [task.tried.what, task.tried.proof],
        same,
        task.last_attempt,
        task.base,
        task.last_tree,
        task.coverage,
        task.patterns,
        task.durations,
        task.draft,
        task.published,
        task.done_at,
        task.cause,
        task.origin,
        task.proven,
        _rest(task),
    ]


def _rest(task: TaskState) -> dict[str, object]:
    plain = ((name, getattr(task, name)) for name in _PLAIN)
    rest: dict[str, object] = {name: value for name, value in plain if value}
    if task.culprit:
        rest |= {"culprit": task.culprit, "approved": task.approved}
    if task.usage != _NOTHING:
        rest |= {"usage": task.usage, "spent": task.spent}
    if task.tries:
        rest["tries"] = [attempt._asdict() for attempt in task.tries]
    for name in ("asks", "answers"):
        if events := getattr(task, name):
            rest[name] = [event._asdict() for event in events]
    for name in ("open_attempt", "passed", "held", "landed", "planned", "kept", "waived"):
        noun = getattr(task, name)
        if noun is not None:
            rest[name] = fields_of_tuple(noun)
    return rest


def _tasks(
    rows: list[list[Any]], proofs: list[bytes], findings: list[bytes]
) -> Iterator[tuple[str, TaskState]]:
    for row, proved, found in zip(rows, proofs, findings, strict=True):
        task = _task(row, proved, found)
        rest = row[-1]
        yield task.id, task._replace(**_read_rest(rest)) if rest else task


def _task(row: list[Any], proved: bytes, found: bytes) -> TaskState:
    spec = Spec(*row[3]) if row[3] else None
    return TaskState(
        id=row[0],
        status=_STATUS[row[1]],
        note=row[2],
        spec=spec,
        commit=row[4],
        tree=row[5],
        verified=row[6],
        tried=spec if row[8] else row[7] and Spec(*row[7]),
        last_attempt=row[9],
        base=row[10],
        last_tree=row[11],
        coverage=row[12] and Coverage(*row[12]),
        patterns=tuple(row[13]),
        durations=tuple(row[14]),
        draft=row[15],
        published=row[16] and _STATUS[row[16]],
        done_at=row[17],
        cause=row[18],
        origin=row[19],
        proven=row[20] and _BY[row[20]],
        proofs=Stored(proved, _PROOF) if proved else (),
        findings=Stored(found, _FINDING) if found else (),
    )


def _read_rest(rest: dict[str, Any]) -> dict[str, Any]:
    return {name: _REST[name](value) for name, value in rest.items()}


_REST: dict[str, Callable[[Any], object]] = {
    "reason": Reason,
    "changed": tuple,
    "culprit": str,
    "approved": bool,
    "reuse": bool,
    "via": str,
    "cut_off": str,
    "usage": partial(read_noun, Usage),
    "spent": partial(read_noun, Usage),
    "tries": lambda tries: tuple(read_noun(Try, attempt) for attempt in tries),
    "asks": lambda asks: tuple(PermissionAsked(**ask) for ask in asks),
    "answers": lambda answers: tuple(PermissionAnswered(**answer) for answer in answers),
    "open_attempt": partial(read_noun, Open),
    "passed": partial(read_noun, AttemptFinished),
    "held": partial(read_noun, Held),
    "landed": partial(read_noun, Landed),
    "planned": partial(read_noun, Planned),
    "plans_refused": int,
    "aside": float,
    "kept": partial(read_noun, Kept),
    "unproven": str,
    "waived": partial(read_noun, Waived),
}
