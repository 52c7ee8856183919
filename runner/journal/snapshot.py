"""The state, kept in the user's cache, so that only the journal's tail is folded again.

A file of lines: a header that says which journal it is of and how far it went, one JSON object
with the run and a row a task, then for each task its proofs and for each its findings, which stay
text until somebody looks. Whatever does not fit is ignored, and the whole journal folded.
"""

from __future__ import annotations

import gc
import json
import os
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from zlib import crc32

from runner import __version__, effects
from runner.journal.codec import dump
from runner.journal.read_journal import Place, read_places
from runner.journal.state import FOLDED, Folding, RunState
from runner.journal.state_rows import read_state, write_state
from runner.journal.task_state import TaskState

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FORMAT = 1
_SHAPE = crc32(repr((RunState._fields, TaskState._fields)).encode())
"""So that a state that gained a field is never read without it."""
WORTH_SAVING = 500
"""Records that must be folded anew before the snapshot is written again."""
_CRC_BYTES = 19


def load_state(journal: Path, cache: Path) -> RunState:
    """The state of a journal; one that does not exist gives the empty state.

    Raises RunnerError where the journal is damaged behind the snapshot.
    """
    with _no_collections():
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
        effects.write_file(_path(journal, cache), dump(header).encode() + b"\n" + body, mode=0o600)
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
def _no_collections() -> Iterator[None]:
    """Without cyclic collections: they would walk every new task again and again, half the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
