"""A file of the plan cache: JSON rows, keyed by the digest of their source.

A plan of a hundred thousand sections has as many rows. They are read one by one as they are asked
for, and written one by one: the whole of them is never in memory as values, nor a second time as
text. Nothing here is durable or trusted: each row has a sum, and one that does not fit is none.
"""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from runner import effects, model
from runner.model import Spec, Status, Task
from runner.model.codec import Codec, encode_json
from runner.plan.source import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from io import BufferedReader
    from pathlib import Path
    from typing import Self

    from runner.plan.outline import Found, OutlineTask
    from runner.plan.sections import Section

    T = TypeVar("T")

_SUM = 9
"""Characters of a row's checksum and the blank after it."""


class CacheFile:
    """Rows by their keys, asked for in the order in which they are to stand next time.

    That is the order of the file, but where the plan was edited. Use it as a context.
    """

    def __init__(self, folder: Path | None, name: str, stamp: list[object]) -> None:
        self._path = folder / name if folder else None
        self._head = json.dumps(stamp).encode() + b"\n"
        self._file: BufferedReader | None = None
        self._here = self._at = 0
        """Offset of the row read last, and of the next one."""
        self._passed: dict[bytes, int] = {}
        """Offsets of rows read on the way to others."""
        self._order = array("q")
        """Offsets of the found rows, in request order; negative for those in `_new`."""
        self._new = bytearray(self._head)
        """New lines after the head: one piece, returned as a whole."""
        self._differs = False

    def __enter__(self) -> Self:
        """Open it; one that is missing, or of something else, has no rows."""
        try:
            self._file = self._path.open("rb") if self._path else None
        except OSError:
            return self
        if self._file is not None and self._file.readline() != self._head:
            self._file.close()
            self._file = None
        self._at = len(self._head)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def take(self, key: str, read: Callable[[bytes], T | None]) -> T | None:
        """Return the result of `read` for the row of this key; None if it is missing or invalid."""
        if self._file is None:
            return None
        wanted = key.encode()
        at = self._passed.get(wanted, -1)
        row = self._read_on(wanted) if at < 0 else self._row_at(at)
        self._differs = self._differs or at >= 0
        made = None if row is None else read(row)
        if made is not None:
            self._order.append(at if at >= 0 else self._here)
        return made

    def put(self, key: str, row: bytes) -> None:
        """Add a new row, or one that replaces an invalid row."""
        self._order.append(-len(self._new))
        self._new += _line(key, row)

    def texts(self) -> Iterator[tuple[str, bytes]]:
        """Yield keys and rows as written, in file order."""
        while (found := self._next()) is not None:
            yield found[0].decode("ascii", "replace"), found[1]

    def keep(self) -> None:
        """Write it anew where other rows were asked for than stand in it."""
        is_new = len(self._new) > len(self._head)
        if not (is_new or self._differs or self._next() is not None):
            return
        if all(at < 0 for at in self._order):
            self._put(self._new)
        else:
            self._write(self._lines())

    def replace(self, rows: Iterable[tuple[str, bytes]]) -> None:
        """Write these rows by their keys in place of all."""
        self._write(_line(key, row) for key, row in rows)

    def _write(self, lines: Iterable[bytes]) -> None:
        if self._path is None:
            return
        content = bytearray(self._head)
        try:
            for line in lines:
                content += line
        except OSError:
            return
        self._put(content)

    def _put(self, content: bytearray) -> None:
        """Write it whole; a folder that cannot be written keeps nothing."""
        if self._path is None:
            return
        try:
            effects.make_folder(self._path.parent)
            effects.write_file(self._path, content, mode=0o600, durable=False)
        except OSError:
            return  # the next run parses again; nothing else is lost

    def _read_on(self, wanted: bytes) -> bytes | None:
        while (found := self._next()) is not None:
            key, row = found
            if key == wanted:
                return row
            self._differs = True
            self._passed.setdefault(key, self._here)
        return None

    def _next(self) -> tuple[bytes, bytes] | None:
        """Return key and text of the next valid row; None at the end."""
        found = None
        while found is None and self._file is not None and (line := self._file.readline()):
            found = _whole(line)
            self._here, self._at = self._at, self._at + len(line)
            self._differs = self._differs or found is None
        return found

    def _row_at(self, at: int) -> bytes | None:
        """Return an earlier row without changing the read position."""
        found = _whole(self._line_at(at))
        if self._file is not None:
            self._file.seek(self._at)
        return found[1] if found else None

    def _line_at(self, at: int) -> bytes:
        if self._file is None:
            return b""
        self._file.seek(at)
        return self._file.readline()

    def _lines(self) -> Iterator[bytes]:
        for at in self._order:
            if at < 0:
                yield bytes(self._new[-at : self._new.index(b"\n", -at) + 1])
            else:
                yield self._line_at(at)


def _whole(line: bytes) -> tuple[bytes, bytes] | None:
    """Return key and row of a line whose checksum is valid; else None."""
    checksum, body = line[: _SUM - 1], line[_SUM:-1]
    if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(body):
        return None
    key, _, row = body.partition(b" ")
    return key, row


def _line(key: str, row: bytes) -> bytes:
    body = b"%b %b" % (key.encode(), row)
    return b"%08x %b\n" % (zlib.crc32(body), body)


# Whole sections as rows: lines count from the first, the outline has the statuses.

_CODEC = Codec(lambda: vars(model))
_OF_OUTLINE = {
    "id": "",
    "title": "",
    "line": 0,
    "spec": Spec("", ""),
    "status": Status.PENDING,
    "note": "",
    "type": "",
    "depends_on": (),
    "outputs": (),
}
"""Fields from the outline, or stored separately in a row, with stand-ins."""
_WITH_LINES = ("test_contracts", "contracts", "gates", "blocks")


def encode_section(section: Section) -> bytes:
    """Encode a section as JSON with relative lines and without statuses."""
    first = section.first_line
    return encode_json(
        [
            [task.spec for task in section.tasks],
            [replace(task, **_OF_OUTLINE, **_moved(task, -first)) for task in section.tasks],
            [replace(one, path="", line=one.line - first) for one in section.problems],
            [replace(one, line=one.line - first) for one in section.written],
        ]
    )


def _moved(task: Task, by: int) -> dict[str, Any]:
    """Return the parts of a task that have a line, with moved lines."""
    return {
        name: tuple([replace(one, line=one.line + by) if one.line else one for one in parts])
        for name in _WITH_LINES
        if (parts := getattr(task, name))
    }


def decode_spec(row: bytes) -> Spec | None:
    """Decode both digests of a section's only task; return None for an invalid row."""
    try:
        ((spec,), *_) = _CODEC.decode(tuple[list[Spec], Any, Any, Any], row)
    except ValueError:
        return None
    return spec


def section_from(row: bytes, found: Found, path: str) -> Section | None:
    """Decode a section from a row at its current place; return None for an invalid row."""
    from runner.plan.sections import PlanCommand, Section

    kinds: Any = tuple[list[Spec], list[Task], list[Problem], list[PlanCommand]]
    try:
        specs, tasks, problems, written = _CODEC.decode(kinds, row)
        rows = list(zip(tasks, found.tasks, specs, strict=True))
    except ValueError:
        return None
    first = found.first_line
    return Section(
        start=found.start,
        end=found.end,
        first_line=first,
        line_count=found.lines,
        level=found.level,
        title=found.title,
        tasks=tuple([_whole_task(task, light, spec, first) for task, light, spec in rows]),
        spans=tuple(task.span for task in found.tasks),
        problems=tuple(replace(one, path=path, line=one.line + first) for one in problems),
        written=tuple(replace(one, line=one.line + first) for one in written),
    )


def _whole_task(task: Task, light: OutlineTask, spec: Spec, first: int) -> Task:
    return replace(
        task,
        id=sys.intern(light.id),
        title=light.title,
        line=light.line,
        spec=spec,
        status=light.status,
        note=light.note,
        type=light.type,
        # Share one string for each ID: a long plan names each several times.
        depends_on=tuple(map(sys.intern, light.depends_on)),
        outputs=light.outputs,
        **_moved(task, first),
    )
