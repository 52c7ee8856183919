"""What a command said: redacted while it streams, bounded, kept in a file, its end at hand."""

from __future__ import annotations

import hashlib
import os
import stat
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from runner import effects

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from runner.model import Digest
    from runner.secrets.redact import StreamRedactor

TAIL = 4096
"""Bytes of the tail that goes into findings."""
_BLOCK = 65536


class Output:
    """The output of one command as it arrives; an open resource until `finish`.

    Everything that is kept, digested or shown has gone through the redactor first, which
    carries over what may be the beginning of a key split between two reads.
    """

    def __init__(self, log: Path | None, kept: int, known_secrets: Collection[str] = ()) -> None:
        self._known_secrets = known_secrets
        self._redactor: StreamRedactor | None = None
        self._digest = hashlib.sha256()
        self._tail = b""
        self._log = KeptLog(log, kept) if log else None
        self.size = 0

    def take(self, chunk: bytes) -> None:
        """Add bytes as they were read."""
        if chunk:
            self._store(self._redactor_now().feed(chunk))

    def finish(self) -> None:
        """Let go of what was carried over and close the log."""
        if self._redactor:
            self._store(self._redactor.finish())
        if self._log:
            self._log.finish()

    def _redactor_now(self) -> StreamRedactor:
        """Made with the first bytes: a command that says nothing costs none."""
        if self._redactor is None:
            from runner.secrets.redact import StreamRedactor

            self._redactor = StreamRedactor(self._known_secrets)
        return self._redactor

    def _store(self, clean: bytes) -> None:
        if not clean:
            return
        self.size += len(clean)
        self._digest.update(clean)
        self._tail = clean[-TAIL:] if len(clean) >= TAIL else (self._tail + clean)[-TAIL:]
        if self._log:
            self._log.write(clean)

    @property
    def log(self) -> Path | None:
        """Where the output is kept; `None` when nowhere: nothing was said, or the disk was full."""
        kept = self._log
        return kept.path if kept and not (kept.broken or kept.empty) else None

    @property
    def digest(self) -> Digest:
        """The digest of all redacted output, kept or not."""
        return "sha256:" + self._digest.hexdigest()

    @property
    def tail(self) -> str:
        """The last lines, at most `TAIL` bytes of UTF-8."""
        return tail_of(self._tail, cut=self.size > len(self._tail))

    @property
    def last_line(self) -> str:
        """The last line that is not empty; "" when there is none."""
        lines = self._tail.rstrip().splitlines()
        return lines[-1].decode("utf-8", "replace").strip() if lines else ""


def tail_of(content: bytes, *, cut: bool = False) -> str:
    """Text of at most `TAIL` bytes that begins at a line start where it was cut."""
    text = content.decode("utf-8", "replace")
    while len(encoded := text.encode()) > TAIL:
        # Each invalid byte became three; what is cut now may fall inside a character again.
        text, cut = encoded[-TAIL:].decode("utf-8", "ignore"), True
    if not cut:
        return text
    _, newline, rest = text.partition("\n")
    return rest if newline and rest else text.lstrip("\ufffd")


class KeptLog:
    """A file that holds the first and the last half of a stream, whatever its length.

    The last half waits in memory: a file that is rewritten in circles could not be followed.
    """

    def __init__(self, path: Path, kept: int) -> None:
        self.path = path
        self.broken = False
        self.empty = True
        """Whether nothing was said: then there is no file, for making one costs as much as a
        trivial command."""
        self._room = kept - kept // 2
        self._last = _Last(kept // 2)
        self._descriptor = -1

    def write(self, content: bytes) -> None:
        """Add to the stream."""
        self._write(content[: self._room])
        rest = content[self._room :]
        self._room -= len(content) - len(rest)
        if rest:
            self._last.add(rest)

    def finish(self) -> None:
        """Write the last half, with a line that says what is missing before it."""
        blocks = self._last.trimmed()
        if self._last.lost:
            self._write(b"\n[... %d bytes left out ...]\n" % self._last.lost)
        for block in blocks:
            self._write(block)
        if self._descriptor >= 0:
            os.close(self._descriptor)
        elif self.empty:
            self._remove_older()

    def _remove_older(self) -> None:
        """What an earlier command said under this name is not what this one said."""
        with suppress(OSError):
            if stat.S_ISREG(os.lstat(self.path).st_mode):
                effects.unlink(self.path)

    def _open(self) -> None:
        """Open the file, its folders made."""
        self.empty = False
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            effects.make_folder(self.path.parent)
            # Said once: how often a stream is written depends on timing, no promise on a log.
            effects.step("open", self.path)
            self._descriptor = os.open(self.path, flags, 0o644)
        except OSError:
            self.broken = True

    def _write(self, content: bytes | bytearray) -> None:
        """Write all of it; a full disk costs the log, not the command."""
        if content and self.empty:
            self._open()
        view = memoryview(content)
        while view and not self.broken:
            try:
                view = view[os.write(self._descriptor, view) :]
            except OSError:
                self.broken = True


class _Last:
    """The last bytes of a stream, in blocks: many tiny writes must not cost many objects."""

    def __init__(self, room: int) -> None:
        self.lost = 0
        self._room = room
        self._held = 0
        self._blocks: deque[bytearray] = deque()

    def add(self, chunk: bytes) -> None:
        """Add to the end; whole blocks that no longer fit are lost at the beginning."""
        if not self._blocks or len(self._blocks[-1]) >= _BLOCK:
            self._blocks.append(bytearray())
        self._blocks[-1] += chunk
        self._held += len(chunk)
        while self._held - len(self._blocks[0]) > self._room:
            self._lose(len(self._blocks.popleft()))

    def trimmed(self) -> deque[bytearray]:
        """The blocks that are left when exactly what fits is kept."""
        surplus = max(0, self._held - self._room)
        if surplus:
            del self._blocks[0][:surplus]
            self._lose(surplus)
        return self._blocks

    def _lose(self, count: int) -> None:
        self.lost += count
        self._held -= count
