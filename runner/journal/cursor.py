"""Cache a result derived from a journal together with the position that it covers.

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
