"""Cache what was derived from a journal: a result and its position, and the place of each record.

A header line says of which journal it is and how far it went; the rest is the caller's. Whatever
does not fit is ignored: the caller reads the whole journal then.
"""

from __future__ import annotations

import json
import os
from array import array
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from runner import __version__, effects
from runner.journal.records import (
    BadRecordError,
    Mark,
    NewerRecordError,
    UnfitRecordError,
    damage,
    decode,
    dump,
    newer,
    read_lines,
    to_text,
)

if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from pathlib import Path

    from runner.journal.events import Record

WORTH_SAVING = 500
"""Records that must be read again before a file is rewritten."""
# End of a record: `,"crc":"01234567"}` and its line end (`codec.encode`).
_CRC_BYTES = 19


class Cursor(NamedTuple):
    """One derived file of a journal."""

    journal: Path
    cache: Path
    kind: str
    """Suffix of the file name, such as `snapshot`."""
    format: object
    """JSON value; a file with another one is ignored."""

    @property
    def path(self) -> Path:
        """Path of the file."""
        key = sha256(os.fsencode(os.path.realpath(self.journal))).hexdigest()[:16]
        return self.cache / f"journal-{key}.{self.kind}"

    def read(self) -> tuple[bytes, Mark] | None:
        """Return the cached body and its journal position; None if it is not valid."""
        try:
            content = self.path.read_bytes()
            head, _, body = content.partition(b"\n")
            header = json.loads(head)
            if header.pop("crc") != _crc(header, body):
                return None
            offset, seq = header.pop("offset"), header.pop("seq")
            if header != self._identity(offset) or not header["last"]:
                return None
            return body, Mark(offset, -1, seq)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None  # made by another hand or half written: the journal says it all anyway

    def save(self, body: bytes, place: Mark) -> None:
        """Save a body derived up to `place`; errors of the cache are ignored."""
        try:
            identity = self._identity(place.offset)
            if not identity["last"]:
                return
            header = {**identity, "offset": place.offset, "seq": place.seq}
            header["crc"] = _crc(header, body)
            effects.make_folder(self.cache)
            content = dump(header).encode() + b"\n" + body
            # Without fsync: a file torn by a power failure has a wrong checksum, and the whole
            # journal is read.
            effects.write_file(self.path, content, mode=0o600, durable=False)
        except OSError:
            return

    def _identity(self, offset: int) -> dict[str, Any]:  # JSON, compared as a whole
        """Return values that identify this journal and the unchanged start of it."""
        with self.journal.open("rb") as file:
            first = file.readline()
            file.seek(max(offset - _CRC_BYTES, 0))
            last = file.read(min(_CRC_BYTES, offset))
            return {
                "format": self.format,
                "runner": __version__,
                # Inode and first record detect a replaced journal. The last bytes before the offset
                # (the last record's checksum) detect one rewritten up to there. None of this
                # prevents forgery; the file is in the user's own cache, where a clone cannot put
                # one.
                "inode": os.fstat(file.fileno()).st_ino,
                "first": crc32(first),
                "last": last.decode("ascii", "replace") if last.endswith(b"}\n") else "",
            }


def _crc(header: dict[str, Any], body: bytes) -> int:
    return crc32(body, crc32(dump(header).encode()))


FORMAT = 1


class RecordIndex:
    """Offset, type and task of every record, in their order."""

    def __init__(self) -> None:
        self.types: dict[str, int] = {}
        self.tasks: dict[str, int] = {}
        self.offsets, self.kinds, self.owners = array("Q"), array("H"), array("I")
        self.end = Mark()

    @classmethod
    def load(cls, journal: Path, cache: Path) -> RecordIndex:
        """Load the index of a journal. Raises RunnerError if new records are damaged."""
        cursor = Cursor(journal, cache, "index", FORMAT)
        index = cls()
        kept = cursor.read()
        if kept is not None:
            try:
                index._read(*kept)
            except (ValueError, KeyError, TypeError):
                index = cls()
        begun = index.end.seq
        for line, record, place in read_lines(journal, index.end, wanted=()):
            index.offsets.append(place.offset - len(line))
            index.kinds.append(index.types.setdefault(record.type, len(index.types)))
            index.owners.append(index.tasks.setdefault(record.task, len(index.tasks)))
            index.end = place
        if index.end.seq - begun >= WORTH_SAVING:
            cursor.save(index._body(), index.end)
        return index

    def find(
        self, types: Container[str] | None, tasks: Container[str] | None, after: int = 0
    ) -> Iterator[int]:
        """Yield the offsets of the records of these types and tasks with a number above `after`."""
        kinds = {at for name, at in self.types.items() if types is None or name in types}
        owners = {at for name, at in self.tasks.items() if tasks is None or name in tasks}
        every = zip(self.offsets, self.kinds, self.owners, strict=True)
        for offset, kind, owner in islice(every, max(0, after), None):
            if owner in owners and kind in kinds:
                yield offset

    def _body(self) -> bytes:
        head = to_text([len(self.offsets), list(self.types), list(self.tasks)])
        columns = (self.offsets, self.kinds, self.owners)
        return head.encode("utf-8", "backslashreplace") + b"\n" + b"".join(map(bytes, columns))

    def _read(self, body: bytes, place: Mark) -> None:
        head, _, rest = body.partition(b"\n")
        count, types, tasks = json.loads(head)
        for column in (self.offsets, self.kinds, self.owners):
            size = count * column.itemsize
            column.frombytes(rest[:size])
            rest = rest[size:]
        if {len(self.offsets), len(self.kinds), len(self.owners)} != {count} or rest:
            raise ValueError("the columns differ in length")
        self.types = {name: at for at, name in enumerate(types)}
        self.tasks = {name: at for at, name in enumerate(tasks)}
        self.end = place


def select_records(
    journal: Path,
    cache: Path,
    *,
    types: Container[str] | None = None,
    tasks: Container[str] | None = None,
    after: int = 0,
) -> Iterator[Record]:
    """Yield the records of these types and tasks after a number; None means all.

    Raises RunnerError where the journal is damaged behind the kept index, or in a record itself.
    """
    index = RecordIndex.load(journal, cache)
    yield from read_at(journal, index.find(types, tasks, after))


def read_at(journal: Path, offsets: Iterator[int]) -> Iterator[Record]:
    """Yield the records at these byte offsets."""
    try:
        file = journal.open("rb")
    except FileNotFoundError:
        return
    with file:
        for offset in offsets:
            file.seek(offset)
            try:
                yield decode(file.readline())
            except NewerRecordError as error:
                raise newer(journal, Mark(offset, -1), error) from error
            except (BadRecordError, UnfitRecordError) as error:
                raise damage(journal, Mark(offset, -1), str(error)) from error
