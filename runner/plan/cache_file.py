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
from dataclasses import replace
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from runner import effects, model
from runner.lazy_dataclass import other_than_usual
from runner.model import Block, Contract, GateSpec, Spec, Task, TestContract
from runner.model.codec import Codec, Shape, names_of, usual_values
from runner.plan.diagnostic import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from io import BufferedReader
    from pathlib import Path
    from typing import Self

    from runner.plan.outline import Found, OutlineTask
    from runner.plan.sections import PlanCommand, Section

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

    def take(self, key: str, read: Callable[[Any], T | None]) -> T | None:
        """Return the result of `read` for the row of this key; None if it is missing or invalid."""
        if self._file is None:
            return None
        wanted = key.encode()
        at = self._passed.get(wanted, -1)
        row = self._read_on(wanted) if at < 0 else self._row_at(at)
        self._differs = self._differs or at >= 0
        try:
            made = None if row is None else read(json.loads(row))
        except ValueError:
            made = None
        if made is not None:
            self._order.append(at if at >= 0 else self._here)
        return made

    def put(self, key: str, row: object) -> None:
        """Add a new row, or one that replaces an invalid row."""
        self._order.append(-len(self._new))
        self._new += _line(key, row)

    def values(self) -> Iterator[Any]:
        """Yield all rows in file order without keeping them in memory."""
        while (found := self._next()) is not None:
            yield json.loads(found[1])

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

    def replace(self, rows: Iterable[tuple[str, object]]) -> None:
        """Write these rows by their keys in place of all; bytes are rows as they are written."""
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

    # --- rows in the file -------------------------------------------------------------

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


# A plan may contain non-UTF-8 bytes: lone surrogates can only be written as escapes.
_to_text = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), check_circular=False).encode


def _line(key: str, row: object) -> bytes:
    if not isinstance(row, bytes):
        row = _to_text(row).encode()
    body = b"%b %b" % (key.encode(), row)
    return b"%08x %b\n" % (zlib.crc32(body), body)


# --- whole sections as rows: lines count from the first, the outline has the statuses ----------

_ODD = (TypeError, ValueError, KeyError, IndexError, AttributeError)
_OF_OUTLINE = frozenset(
    {"id", "title", "line", "spec", "status", "note", "type", "depends_on", "outputs"}
)
"""Fields from the outline, or stored separately in a row."""
_ROWS = Codec(Shape.ROW, lambda: vars(model))


def encode_section(section: Section) -> list[Any]:
    """Encode a section as JSON values with relative lines and without statuses."""
    first = section.first_line
    return [
        list(map(_write_spec, [task.spec for task in section.tasks])),
        [_plain_task(task, first) for task in section.tasks],
        [_ROWS.to_json(replace(one, path="", line=one.line - first)) for one in section.problems],
        [_ROWS.to_json(one._replace(line=one.line - first)) for one in section.written],
    ]


def _write_spec(spec: Spec) -> str | list[str]:
    return [spec.what, spec.proof] if spec.packed is None else spec.hex()


def read_spec(row: Any) -> Spec:
    """Decode both digests of a task from a row. Raises ValueError or TypeError."""
    return Spec.of_bytes(bytes.fromhex(row)) if isinstance(row, str) else Spec(*row)


def _plain_task(task: Task, first: int) -> dict[str, object]:
    """Return the fields of a task that differ from their defaults."""
    names, usual, values = _kept_fields()
    own = {
        name: value
        for name, value, default in zip(names, values(task), usual, strict=True)
        if value is not default and value != default
    }
    own |= {name: one for name, one in other_than_usual(task).items() if name not in _OF_OUTLINE}
    row = {
        name: value if type(value) is str else _ROWS.to_json(value) for name, value in own.items()
    }
    _move(row, -first)
    return row


def _move(row: dict[str, Any], by: int) -> None:
    """Move the lines of a task's parts; where a row is cut before its line, that is not known."""
    for name, at in _line_places().items():
        for one in row.get(name, ()):
            if len(one) > at:
                one[at] += by


@cache
def _line_places() -> dict[str, int]:
    """Return by field the index of the line number in a row of its parts."""
    kinds = {
        "test_contracts": TestContract,
        "contracts": Contract,
        "gates": GateSpec,
        "blocks": Block,
    }
    return {name: (names_of(kind) or ()).index("line") for name, kind in kinds.items()}


@cache
def _kept_fields() -> tuple[tuple[str, ...], tuple[object, ...], Callable[[Task], Any]]:
    """Return names, defaults and a getter of the task fields that a row can contain.

    But for those that share a slot, which says itself what differs.
    """
    apart = _OF_OUTLINE.union(Task.__seldom__)
    usual = {name: value for name, value in usual_values(Task).items() if name not in apart}
    return tuple(usual), tuple(usual.values()), attrgetter(*usual)


def section_from(row: object, found: Found, path: str) -> Section | None:
    """Decode a section from a row at its current place; return None for an invalid row."""
    try:
        return _section_from(row, found, path)
    except _ODD:
        return None


def _section_from(row: Any, found: Found, path: str) -> Section:
    from runner.plan.sections import PlanCommand, Section

    digests, tasks, problems, written = row
    first = found.first_line
    specs = map(read_spec, digests)
    return Section(
        start=found.start,
        end=found.end,
        first_line=first,
        line_count=found.lines,
        level=found.level,
        title=found.title,
        tasks=tuple(
            _task_from(plain, light, spec, first)
            for plain, light, spec in zip(tasks, found.tasks, specs, strict=True)
        ),
        spans=tuple(task.span for task in found.tasks),
        problems=tuple(_problem_from(_ROWS.read(Problem, one), path, first) for one in problems),
        written=tuple(_written(_ROWS.read(PlanCommand, one), first) for one in written),
    )


def _problem_from(problem: Problem, path: str, first: int) -> Problem:
    return replace(problem, path=path, line=problem.line + first)


def _written(line: PlanCommand, first: int) -> PlanCommand:
    return line._replace(line=line.line + first)


def _task_from(row: dict[str, Any], light: OutlineTask, spec: Spec, first: int) -> Task:
    _move(row, first)
    values = _ROWS.read_fields(Task, row)
    return Task(
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
        **values,
    )
