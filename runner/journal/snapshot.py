"""Cache the folded state, so that only the journal's new records are folded.

A file of lines: a header that says which journal it is of and how far it went, one JSON object
with the run, then some hundred tasks at a time: their fields, and behind these a line for each
task that has proofs and one for each that has findings, which stay text until somebody looks.
Whatever does not fit is ignored, and the whole journal folded.

A sequence that stays JSON text until somebody looks into it.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, overload
from zlib import crc32

from msgspec.structs import asdict, replace

from runner import model
from runner.journal import events, session_events, task_state
from runner.journal.events import Record, WriteRejected, WriteReviewed
from runner.journal.journal_cache import WORTH_SAVING, Cursor
from runner.journal.records import Mark, decode, dump, encode, read_places
from runner.journal.state import FOLDED, Folding, PersistentMap, ReviewKey, RunState
from runner.journal.task_state import TaskState
from runner.model import Finding, Proof
from runner.model.codec import Codec, encode_json, to_json

if TYPE_CHECKING:
    from pathlib import Path


FORMAT = 4
_SHAPE = crc32(repr((RunState.__struct_fields__, TaskState.__struct_fields__)).encode())
"""Prevents reading an old state that lacks a new field."""


def load_state(journal: Path, cache: Path) -> RunState:
    """Load the state of a journal; empty if it does not exist. Raises RunnerError.

    Raises RunnerError where the journal is damaged behind the snapshot.
    """
    with pause_collections():
        return _load(journal, cache)


def _load(journal: Path, cache: Path) -> RunState:
    start = _read_snapshot(journal, cache)
    state, place = start or (RunState.empty(), Mark())
    folding = Folding(state)
    begun = place.seq
    for record, reached in read_places(journal, place, wanted=FOLDED):
        folding.take(record)
        place = reached
    state = folding.finish()
    if place.seq - begun >= WORTH_SAVING:
        save_state(journal, cache, state, place)
    return state


def save_state(journal: Path, cache: Path, state: RunState, place: Mark) -> None:
    """Save the state folded up to `place`; errors of the cache are ignored."""
    # A state saved for the wrong position would be used by every later run as if it were right.
    if state.seq != place.seq or place.seq == 0:
        return
    _cursor(journal, cache).save(write_state(state), place)


def _read_snapshot(journal: Path, cache: Path) -> tuple[RunState, Mark] | None:
    found = _cursor(journal, cache).read()
    try:
        return found and (read_state(found[0]), found[1])
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return None  # made by another hand: the journal says it all anyway


def _cursor(journal: Path, cache: Path) -> Cursor:
    return Cursor(journal, cache, "snapshot", [FORMAT, _SHAPE])


@contextmanager
def pause_collections() -> Iterator[None]:
    """Disable cyclic garbage collection, which takes up to half the time for many tasks."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _vocabulary() -> dict[str, object]:
    names = {"Mapping": Mapping, "Sequence": Sequence, "Record": Record, "Review": WriteReviewed}
    return {**vars(model), **vars(events), **vars(session_events), **vars(task_state), **names}


_CODEC = Codec(_vocabulary)


_APART = ("landing", "tasks", "reviews")
_AT_ONCE = 512
"""Tasks whose fields are written together."""
_TEXTS: dict[str, Callable[[bytes], tuple[Any, ...]]] = {
    "proofs": lambda text: _CODEC.decode(tuple[Proof, ...], text),
    "findings": lambda text: _CODEC.decode(tuple[Finding, ...], text),
}
"""Fields that stay text, and what reads it."""


def write_state(state: RunState) -> bytes:
    """Encode a complete state."""
    tasks = list(state.tasks.values())
    run = asdict(state)
    hot = {
        "run": {name: to_json(one) for name, one in run.items() if name not in _APART},
        "landing": encode(state.landing).decode() if state.landing else "",
        "reviews": [
            [list(key), type(review).__name__, to_json(review)]
            for key, review in state.reviews.items()
        ],
        "tasks": len(tasks),
    }
    lines = [encode_json(hot)]
    for at in range(0, len(tasks), _AT_ONCE):
        lines += _lines_of(tasks[at : at + _AT_ONCE])
    return b"\n".join(lines)


def read_state(body: bytes) -> RunState:
    """Parse a state from `write_state`; raises ValueError, KeyError, TypeError, IndexError."""
    lines = iter(body.split(b"\n"))
    hot = json.loads(next(lines))
    tasks = PersistentMap((task.id, task) for task in _tasks(lines))
    if len(tasks) != hot["tasks"]:
        raise ValueError("tasks are missing")
    return RunState(
        **_CODEC.read_fields(RunState, hot["run"]),
        landing=decode(hot["landing"].encode()) if hot["landing"] else None,
        tasks=tasks,
        reviews=PersistentMap(
            (ReviewKey(*key), _read_review(kind, row)) for key, kind, row in hot["reviews"]
        ),
    )


def _read_review(kind: str, row: object) -> WriteReviewed | WriteRejected:
    if kind == WriteReviewed.__name__:
        return _CODEC.read(WriteReviewed, row)
    return _CODEC.read(WriteRejected, row)


def _text(items: Sequence[object]) -> bytes:
    if isinstance(items, Stored):
        # Unread columns are written back unchanged: at ten thousand tasks, parsing and writing them
        # would be most of the work.
        return items.text
    return dump(items).encode("utf-8", "backslashreplace") if items else b""


def _lines_of(tasks: Sequence[TaskState]) -> list[bytes]:
    """Return some tasks as lines: their fields, then the values stored as text."""
    plain = [replace(task, **dict.fromkeys(_TEXTS, ())) for task in tasks]
    having = {name: [at for at, task in enumerate(tasks) if getattr(task, name)] for name in _TEXTS}
    texts = (_text(getattr(tasks[at], name)) for name, some in having.items() for at in some)
    return [encode_json([plain, having]), *texts]


def _tasks(lines: Iterator[bytes]) -> Iterator[TaskState]:
    for line in lines:
        tasks, having = _CODEC.decode(tuple[list[TaskState], dict[str, list[int]]], line)
        for name, some in having.items():
            for at in some:
                stored = Stored(next(lines, b""), _TEXTS[name])
                tasks[at] = replace(tasks[at], **{name: stored})
        yield from tasks


T = TypeVar("T")


class Stored(Sequence[T]):
    """Equal to the tuple it stands for. `read` makes that of the text.

    Reading raises ValueError, TypeError or KeyError for text nobody of ours wrote.
    """

    __slots__ = ("_items", "_read", "text")

    def __init__(self, text: bytes, read: Callable[[bytes], tuple[T, ...]]) -> None:
        if not text:
            raise ValueError("lines are missing")
        self.text = text
        self._read = read
        self._items: tuple[T, ...] | None = None

    def _all(self) -> tuple[T, ...]:
        if self._items is None:
            self._items = self._read(self.text)
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
