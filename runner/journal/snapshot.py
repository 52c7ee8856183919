"""Cache the folded state, so that only the journal's new records are folded.

A file of lines: a header that says which journal it is of and how far it went, one JSON object
with the run, then some hundred tasks at a time: their fields by columns, and behind these a line
for each task that has proofs and one for each that has findings, which stay text until somebody
looks. Whatever does not fit is ignored, and the whole journal folded.

A column of which all values are the same has one: most tasks of a long plan differ in few fields,
and ten thousand are written or read in some 20 ms.

A sequence that stays JSON text until somebody looks into it.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any, TypeVar, overload
from zlib import crc32

from runner import model
from runner.journal import events, session_events, task_state
from runner.journal.cursor import WORTH_SAVING, Cursor
from runner.journal.events import Record, WriteRejected, WriteReviewed
from runner.journal.records import Mark, decode, dump, encode, read_noun, read_places, to_text
from runner.journal.state import FOLDED, Folding, PersistentMap, ReviewKey, RunState
from runner.journal.task_state import TaskState
from runner.model import Finding, Proof
from runner.model.codec import Codec, Shape
from runner.model.columns import new_tuple, read_each, write_once

if TYPE_CHECKING:
    from pathlib import Path


FORMAT = 3
_SHAPE = crc32(repr((RunState._fields, TaskState._fields)).encode())
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


# --- state rows -----------------------------------------------------------------------


_APART = ("landing", "tasks", "reviews")
_AT_ONCE = 512
"""Tasks whose fields are written together."""
_TEXTS: dict[str, Callable[[Any], Any]] = {
    "proofs": lambda fields: read_noun(Proof, fields),
    "findings": lambda fields: read_noun(Finding, fields),
}
"""Fields stored as text, with the reader of one item; their column says which rows have any."""
_LIKE = {"tried": "spec", "origin": "cause"}
"""Fields that mostly equal an earlier one, and are then stored as `_SAME`."""
_SAME = 0


def _vocabulary() -> dict[str, object]:
    names = {"Mapping": Mapping, "Sequence": Sequence, "Record": Record, "Review": WriteReviewed}
    return {**vars(model), **vars(events), **vars(session_events), **vars(task_state), **names}


_ROWS = Codec(Shape.ROW, _vocabulary)


def write_state(state: RunState) -> bytes:
    """Encode a complete state."""
    run = state._asdict()
    tasks = list(state.tasks.values())
    hot = {
        "run": {name: _ROWS.to_json(run[name]) for name in run if name not in _APART},
        "landing": encode(state.landing).decode() if state.landing else "",
        "reviews": [
            [list(key), type(review).__name__, _ROWS.to_json(review)]
            for key, review in state.reviews.items()
        ],
        "tasks": len(tasks),
    }
    lines = [_line(hot)]
    for at in range(0, len(tasks), _AT_ONCE):
        lines += _lines_of(tasks[at : at + _AT_ONCE])
    return b"\n".join(lines)


def _line(values: object) -> bytes:
    return to_text(values).encode("utf-8", "backslashreplace")


def read_state(body: bytes) -> RunState:
    """Parse a state from `write_state`; raises ValueError, KeyError, TypeError, IndexError."""
    lines = iter(body.split(b"\n"))
    hot = json.loads(next(lines))
    tasks = PersistentMap((task.id, task) for task in _tasks(lines))
    if len(tasks) != hot["tasks"]:
        raise ValueError("tasks are missing")
    return RunState(
        **_ROWS.read_fields(RunState, hot["run"]),
        landing=decode(hot["landing"].encode()) if hot["landing"] else None,
        tasks=tasks,
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
        # Unread columns are written back unchanged: at ten thousand tasks, parsing and writing them
        # would be most of the work.
        return items.text
    return dump(items).encode("utf-8", "backslashreplace") if items else b""


def _lines_of(tasks: Sequence[TaskState]) -> list[bytes]:
    """Return some tasks as lines: their columns, then the values stored as text."""
    fields = dict(zip(TaskState._fields, zip(*tasks, strict=True), strict=True))
    columns = {name: _write_column(name, fields) for name in fields}
    present = {name: column for name, column in columns.items() if column is not None}
    texts = (_text(items) for name in _TEXTS for items in fields[name] if items)
    return [_line([len(tasks), present]), *texts]


def _write_column(name: str, fields: Mapping[str, Sequence[Any]]) -> Sequence[Any] | None:
    """Return a column's values; one value if all are equal, None for the default."""
    values, usual = fields[name], TaskState._field_defaults
    if name in _TEXTS:
        return write_once([1 if items else 0 for items in values])
    if name in _LIKE:
        pairs = zip(values, fields[_LIKE[name]], strict=True)
        return write_once([_SAME if own == other else _ROWS.to_json(own) for own, other in pairs])
    first = values[0]
    if values.count(first) < len(values):
        return list(map(_ROWS.to_json, values))
    return None if name in usual and first == usual[name] else [_ROWS.to_json(first)]


def _tasks(lines: Iterator[bytes]) -> Iterator[TaskState]:
    for line in lines:
        count, columns = json.loads(line)
        fields: dict[str, Iterable[Any]] = {}
        for name in TaskState._fields:
            fields[name] = _read_column(name, columns, fields, count)
        for name, read in _TEXTS.items():
            fields[name] = _stored(list(fields[name]), lines, read)
        yield from map(new_tuple, repeat(TaskState), zip(*fields.values(), strict=True))


def _stored(
    flags: Sequence[int], lines: Iterator[bytes], read: Callable[[Any], Any]
) -> list[Sequence[Any]]:
    """Return the values stored as text from the next lines, for tasks that have any."""
    texts = list(islice(lines, sum(flags)))
    if len(texts) < sum(flags):
        raise ValueError("lines are missing")
    stored = (Stored(text, read) for text in texts)
    return [next(stored) if one else () for one in flags]


def _read_column(
    name: str, columns: Mapping[str, list[Any]], done: Mapping[str, Iterable[Any]], count: int
) -> Sequence[Any]:
    """Decode a column for `count` tasks; `done` are the columns decoded before."""
    if name not in columns:
        return read_each([TaskState._field_defaults[name]], count, _AT_ONCE)
    read = _readers().get(name, _believe)
    column = columns[name]
    if len(column) == 1 and column != [_SAME]:
        return read_each([read(column[0], ())], count, _AT_ONCE)
    column = read_each(column, count, _AT_ONCE)
    if name in _LIKE:
        pairs = zip(column, done[_LIKE[name]], strict=True)
        return [other if own == _SAME else read(own, ()) for own, other in pairs]
    return column if read is _believe else [read(one, ()) for one in column]


def _believe(value: Any, _: object) -> Any:
    return value


@cache
def _readers() -> dict[str, Callable[[Any, tuple[bytes, ...]], Any]]:
    """Return the readers of fields whose JSON values need a conversion."""
    hints = _ROWS.hints(TaskState).items()
    return {
        name: _ROWS.reader(hint)
        for name, hint in hints
        if name not in _TEXTS and hint not in (str, int, float, bool)
    }


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
