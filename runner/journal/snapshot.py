"""The state, kept in the user's cache, so that only the journal's tail is folded again.

A file of lines: a header that says which journal it is of and how far it went, one JSON object
with the run and a row a task, then for each task its proofs and for each its findings, which stay
text until somebody looks. Whatever does not fit is ignored, and the whole journal folded.

A state as lines of JSON and back, for the snapshot: ten thousand tasks in some 50 ms.

A sequence that stays JSON text until somebody looks into it.
"""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar, overload
from zlib import crc32

from runner import __version__, effects, model
from runner.journal import events, session_events, task_state
from runner.journal.events import Record, WriteRejected, WriteReviewed
from runner.journal.persistent import PersistentMap
from runner.journal.records import Place, decode, dump, encode, read_noun, read_places, to_text
from runner.journal.state import FOLDED, Folding, ReviewKey, RunState
from runner.journal.task_state import TaskState
from runner.model import Finding, Proof
from runner.model.codec import Codec, Shape

if TYPE_CHECKING:
    from pathlib import Path


FORMAT = 1
_SHAPE = crc32(repr((RunState._fields, TaskState._fields)).encode())
"""So that a state that gained a field is never read without it."""
WORTH_SAVING = 500
"""Records that must be folded anew before the snapshot is written again."""
# What a record ends in: `,"crc":"01234567"}` and its line end (`codec.encode`).
_CRC_BYTES = 19


def load_state(journal: Path, cache: Path) -> RunState:
    """The state of a journal; one that does not exist gives the empty state.

    Raises RunnerError where the journal is damaged behind the snapshot.
    """
    with pause_collections():
        return _load(journal, cache)


def _load(journal: Path, cache: Path) -> RunState:
    start = _read_snapshot(journal, cache)
    state, place = start or (RunState.empty(), Place())
    folding = Folding(state)
    begun = place.seq
    for record, reached in read_places(journal, place, wanted=FOLDED):
        folding.take(record)
        place = reached
    state = folding.finish()
    if place.seq - begun >= WORTH_SAVING:
        save_state(journal, cache, state, place)
    return state


def save_state(journal: Path, cache: Path, state: RunState, place: Place) -> None:
    """Keep the state folded up to `place`; a cache that cannot be written is no failure."""
    # A state beside the place of another one would be taken up by every later run as if it were
    # right.
    if state.seq != place.seq or place.seq == 0:
        return
    try:
        identity = _identity(journal, place.offset)
        if not identity["last"]:
            return
        body = write_state(state)
        header = {**identity, "offset": place.offset, "seq": place.seq}
        header["crc"] = _crc(header, body)
        effects.make_folder(cache)
        content = dump(header).encode() + b"\n" + body
        # Without fsync: what a power cut leaves of it has a wrong sum, and the whole journal is
        # folded.
        effects.write_file(_path(journal, cache), content, mode=0o600, durable=False)
    except OSError:
        return


def _read_snapshot(journal: Path, cache: Path) -> tuple[RunState, Place] | None:
    try:
        content = _path(journal, cache).read_bytes()
        head, _, body = content.partition(b"\n")
        header = json.loads(head)
        if header.pop("crc") != _crc(header, body):
            return None
        offset, seq = header.pop("offset"), header.pop("seq")
        if header != _identity(journal, offset) or not header["last"]:
            return None
        return read_state(body), Place(offset, -1, seq)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return None  # made by another hand or half written: the journal says it all anyway


def _identity(journal: Path, offset: int) -> dict[str, Any]:  # JSON, compared as a whole
    """What tells that a snapshot is of this journal, and that its beginning is what it was."""
    with journal.open("rb") as file:
        first = file.readline()
        file.seek(max(offset - _CRC_BYTES, 0))
        last = file.read(min(_CRC_BYTES, offset))
        return {
            "format": FORMAT,
            "runner": __version__,
            "shape": _SHAPE,
            # Inode and first record: a journal that was replaced by another. The last bytes before
            # the offset (the last record's sum): one that was rewritten up to there. Nothing of it
            # is proof against forgery; the snapshot lies in the user's own cache, where a clone
            # cannot put one.
            "inode": os.fstat(file.fileno()).st_ino,
            "first": crc32(first),
            "last": last.decode("ascii", "replace") if last.endswith(b"}\n") else "",
        }


def _crc(header: dict[str, Any], body: bytes) -> int:
    return crc32(body, crc32(dump(header).encode()))


def _path(journal: Path, cache: Path) -> Path:
    key = sha256(os.fsencode(os.path.realpath(journal))).hexdigest()[:16]
    return cache / f"journal-{key}.snapshot"


@contextmanager
def pause_collections() -> Iterator[None]:
    """Without cyclic collections: they walk every new task again and again, up to half the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


# --- state rows -----------------------------------------------------------------------


_APART = ("landing", "tasks", "reviews")
_SPEC, _TRIED, _PROOFS, _FINDINGS = map(
    TaskState._fields.index, ("spec", "tried", "proofs", "findings")
)
_AFTER = _TRIED + 1
_SAME = "spec"


def _vocabulary() -> dict[str, object]:
    names = {"Mapping": Mapping, "Sequence": Sequence, "Record": Record, "Review": WriteReviewed}
    return {**vars(model), **vars(events), **vars(session_events), **vars(task_state), **names}


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
        # What nobody looked into goes back as it came: at ten thousand tasks, reading and writing
        # it would be most of the work.
        return items.text
    return dump(items).encode("utf-8", "backslashreplace") if items else b""


def _row(task: TaskState) -> list[Any]:
    if task.proofs or task.findings:
        # an empty list is no default, so that the row reaches as far as these do
        proofs: Sequence[Proof] = [] if task.proofs else ()
        findings: Sequence[Finding] = [] if task.findings else ()
        task = task._replace(proofs=proofs, findings=findings)
    row: list[Any] = _ROWS.to_json(task)
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


# --- lazy json ------------------------------------------------------------------------


T = TypeVar("T")


class Stored(Sequence[T]):
    """Equal to the tuple it stands for. `read` makes one item of its JSON value.

    Reading raises ValueError, TypeError or KeyError for text nobody of ours wrote.
    """

    __slots__ = ("_items", "_read", "text")

    def __init__(self, text: bytes, read: Callable[[Any], T]) -> None:
        self.text = text
        self._read = read
        self._items: tuple[T, ...] | None = None

    def _all(self) -> tuple[T, ...]:
        if self._items is None:
            self._items = tuple(map(self._read, json.loads(self.text)))
        return self._items

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._all())

    def __bool__(self) -> bool:
        return self._items is None or bool(self._items)  # an empty one is never stored

    def __iter__(self) -> Iterator[T]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Stored):
            return self._all() == other._all()
        return self._all() == other

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())
