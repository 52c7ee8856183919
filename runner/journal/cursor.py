"""What was derived from a journal, kept in the user's cache with the place up to which it goes.

A header line says of which journal it is and how far it went; the rest is the caller's. Whatever
does not fit is ignored: the caller reads the whole journal then.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from runner import __version__, effects
from runner.journal.records import Mark, dump

if TYPE_CHECKING:
    from pathlib import Path

WORTH_SAVING = 500
"""Records that must be read anew before a file is written again."""
# What a record ends in: `,"crc":"01234567"}` and its line end (`codec.encode`).
_CRC_BYTES = 19


class Cursor(NamedTuple):
    """One derived file of a journal."""

    journal: Path
    cache: Path
    kind: str
    """The end of the file's name, such as `snapshot`."""
    format: object
    """A JSON value; a file with another one is ignored."""

    @property
    def path(self) -> Path:
        """Where the file lies."""
        key = sha256(os.fsencode(os.path.realpath(self.journal))).hexdigest()[:16]
        return self.cache / f"journal-{key}.{self.kind}"

    def read(self) -> tuple[bytes, Mark] | None:
        """The body and how far it goes; None where there is none of this journal."""
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
        """Keep a body that goes up to `place`; a cache that cannot be written is no failure."""
        try:
            identity = self._identity(place.offset)
            if not identity["last"]:
                return
            header = {**identity, "offset": place.offset, "seq": place.seq}
            header["crc"] = _crc(header, body)
            effects.make_folder(self.cache)
            content = dump(header).encode() + b"\n" + body
            # Without fsync: what a power cut leaves of it has a wrong sum, and the whole journal
            # is read.
            effects.write_file(self.path, content, mode=0o600, durable=False)
        except OSError:
            return

    def _identity(self, offset: int) -> dict[str, Any]:  # JSON, compared as a whole
        """What tells that a file is of this journal, and that its beginning is what it was."""
        with self.journal.open("rb") as file:
            first = file.readline()
            file.seek(max(offset - _CRC_BYTES, 0))
            last = file.read(min(_CRC_BYTES, offset))
            return {
                "format": self.format,
                "runner": __version__,
                # Inode and first record: a journal that was replaced by another. The last bytes
                # before the offset (the last record's sum): one that was rewritten up to there.
                # Nothing of it is proof against forgery; the file lies in the user's own cache,
                # where a clone cannot put one.
                "inode": os.fstat(file.fileno()).st_ino,
                "first": crc32(first),
                "last": last.decode("ascii", "replace") if last.endswith(b"}\n") else "",
            }


def _crc(header: dict[str, Any], body: bytes) -> int:
    return crc32(body, crc32(dump(header).encode()))
