"""The output of a command: redacted as it streams, bounded, stored in a file.

It gives the new lines, all or the last of very many. The end is redacted even where the bytes
before it are gone.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from runner import effects
from runner.lazy_pattern import regex
from runner.secrets.redact import StreamRedactor

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from runner.model import Digest


TAIL = 4096
"""Bytes of the end of the output that findings contain."""


class Output:
    """The output of one command as it arrives; an open resource until `finish`.

    Everything that is kept, digested or shown has gone through the redactor first, which
    carries over what may be the beginning of a key split between two reads. Once the first half
    of what is kept is there, the rest waits as it came, and only its end is ever redacted.
    """

    def __init__(self, log: Path | None, kept: int, known_secrets: Collection[str] = ()) -> None:
        self._known_secrets = known_secrets
        self._redactor: StreamRedactor | None = None
        self._digest = hashlib.sha256()
        self._tail = b""
        self._log = BoundedLog(log, kept) if log else None
        self._first, self._half = kept - kept // 2, kept // 2
        self._digest_of_first = self._digest
        self._second = TailBuffer(self._half)
        self._rest: TailBuffer | None = None
        """Output after the first half, not redacted yet."""
        self._fresh, self._much = LineBatch(), False
        self._shown = ""
        self._came = 0
        """Bytes received."""
        self.size = 0
        """Bytes of the whole output, redacted; unredacted if not all of it is stored."""

    def take(self, chunk: bytes) -> None:
        """Add bytes as they were read."""
        if not chunk:
            return
        self._came += len(chunk)
        if self._rest is not None:
            self._rest.add(chunk)
            self._fresh.skip(chunk)
            return
        if self._redactor is None:  # created at the first output to save time
            self._redactor = StreamRedactor(self._known_secrets)
        self._store(self._redactor.feed(chunk))
        if self.size >= self._first:
            self._rest, self._much = TailBuffer(self._half + LEAD), True

    def finish(self) -> None:
        """Write the remaining output and close the log."""
        rest = self._rest.trim() if self._rest else ()
        if self._rest and self._rest.lost:
            # the redactor's pending text precedes the lost part: it is not shown
            window = b"".join(rest)
            known = self._known_secrets
            self._keep_ends(redact_end(window, len(window) - LEAD, known, whole=True))
        # The output is complete, so redact it as one stream: a key across both halves would be
        # recognised in neither.
        elif self._redactor:
            for block in rest:
                self._store(self._redactor.feed(bytes(block)))
            self._store(self._redactor.finish())
            if self.size > self._first + self._half:
                self._keep_ends(b"".join(self._second.trim()))
        self._rest = None
        if self._log:
            self._log.finish()

    def _keep_ends(self, clean: bytes) -> None:
        """Keep the first half and the end of the output, with a notice of the bytes left out."""
        last = clean[len(clean) - min(self._half, len(clean)) :]
        lost = self._came - self._first - len(last)
        self._digest = self._digest_of_first
        self._digest.update(notice(lost) + last)
        self.size, self._tail = self._came, clean[-TAIL:] or self._tail
        if self._log:
            self._log.leave_out(lost)
            self._log.write(last)

    def _store(self, clean: bytes) -> None:
        if not clean:
            return
        room = max(0, self._first - self.size)
        self.size += len(clean)
        self._digest.update(clean[:room])
        if room:
            # A hash cannot be rewound: if the middle is lost, continue from here.
            self._digest_of_first = self._digest.copy()
        self._digest.update(clean[room:])
        if clean[room:]:
            self._second.add(clean[room:])
        self._fresh.add(clean)
        self._tail = clean[-TAIL:] if len(clean) >= TAIL else (self._tail + clean)[-TAIL:]
        if self._log:
            self._log.write(clean)

    @property
    def log(self) -> Path | None:
        """The log file; `None` when there was no output, or the disk was full."""
        kept = self._log
        return kept.path if kept and not (kept.broken or kept.empty) else None

    @property
    def digest(self) -> Digest:
        """The digest of all redacted output; of what is kept where that is not all."""
        return "sha256:" + self._digest.hexdigest()

    @property
    def tail(self) -> str:
        """The last lines, at most `TAIL` bytes of UTF-8."""
        return tail_of(self._tail, cut=self.size > len(self._tail))

    def fresh(self, *, whole: bool = False) -> str:
        """Return the complete lines since the last call, with a note on omitted lines.

        `whole` says that nothing follows. Of what is not redacted any more, the last line alone.
        """
        lines, lost = self._fresh.take(whole=whole)
        if not self._much:
            return join_lines(lines, lost)
        last = self.last_line
        lost += len(lines) - (last != self._shown)
        lines, self._shown = ([last] if last != self._shown else []), last
        return join_lines(lines, max(0, lost))

    @property
    def last_line(self) -> str:
        """The last line that is not empty; "" when there is none."""
        tail = self._tail
        if self._rest is not None:
            window = self._rest.end(LEAD + TAIL)
            # The rest may start with the end of a key from the first half.
            shown = min(TAIL, max(0, len(window) - LEAD))
            tail = redact_end(window, shown, self._known_secrets, whole=False) or tail
        lines = tail.rstrip().splitlines()
        return lines[-1].decode("utf-8", "replace").strip() if lines else ""


def tail_of(content: bytes, *, cut: bool = False) -> str:
    """Return the last `TAIL` bytes of text; if cut, it starts at a line start."""
    text = content.decode("utf-8", "replace")
    while len(encoded := text.encode()) > TAIL:
        # Each invalid byte became three; this cut may again split a character.
        text, cut = encoded[-TAIL:].decode("utf-8", "ignore"), True
    if not cut:
        return text
    _, newline, rest = text.partition("\n")
    # A line longer than the tail has no start in it; its first bytes may be the rest of a split
    # character.
    return rest if newline and rest else text.lstrip("\ufffd")


def notice(lost: int) -> bytes:
    """Return the line that replaces omitted bytes."""
    return b"\n[... %d bytes left out ...]\n" % lost


class BoundedLog:
    """A file that holds the first and the last half of a stream, whatever its length.

    The last half waits in memory: a file that is rewritten in circles could not be followed.
    """

    def __init__(self, path: Path, kept: int) -> None:
        self.path = path
        self.broken = False
        self.empty = True
        """Whether there was no output: then there is no file, for making one costs as much as a
        trivial command."""
        self._room = kept - kept // 2
        self._last = TailBuffer(kept // 2)
        self._descriptor = -1

    def write(self, content: bytes) -> None:
        """Add to the stream."""
        self._write(content[: self._room])
        rest = content[self._room :]
        self._room -= len(content) - len(rest)
        if rest:
            self._last.add(rest)

    def leave_out(self, count: int) -> None:
        """Record that `count` bytes are missing, including those that wait to be written."""
        self._last.leave_out(count - self._last.held)

    def finish(self) -> None:
        """Write the last half, with a line that says what is missing before it."""
        blocks = self._last.trim()
        if self._last.lost:
            self._write(notice(self._last.lost))
        for block in blocks:
            self._write(block)
        if self._descriptor >= 0:
            os.close(self._descriptor)
        elif self.empty:
            self._remove_older()

    def _remove_older(self) -> None:
        """Remove the output of an earlier command under this name."""
        with suppress(OSError):
            if stat.S_ISREG(os.lstat(self.path).st_mode):
                effects.unlink(self.path)

    def _open(self) -> None:
        """Open the file, its folders made."""
        self.empty = False
        # Logs are in the work tree, where a clone may contain a link of this name.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            effects.make_folder(self.path.parent)
            # Reported once: how often a stream is written depends on timing and is not guaranteed.
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


# --- line batch -----------------------------------------------------------------------


MOST = 1_000
"""Lines of one message, preceded by the number of omitted lines."""
_ROOM = 64 << 10


class LineBatch:
    """Redacted output that waits to be shown, line by line; bounded however much comes."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._lost = 0

    def add(self, clean: bytes) -> None:
        """Add to the end; of very much only the last lines are kept."""
        self._held += clean
        if len(self._held) > 2 * _ROOM:
            cut = self._held.find(b"\n", len(self._held) - _ROOM) + 1
            self._drop(cut or len(self._held) - _ROOM)

    def skip(self, chunk: bytes) -> None:
        """Drop the held lines and these bytes; only their number is kept."""
        self._drop(len(self._held))
        self._lost += chunk.count(b"\n")

    def take(self, *, whole: bool = False) -> tuple[list[str], int]:
        """Take the complete lines, and the number of lines dropped before them.

        `whole` says that nothing follows: then the last one need not have an end.
        """
        end = len(self._held)
        if not whole:
            # A carriage return also ends a line: a progress bar writes nothing else, and would be
            # shown only at its end.
            end = max(self._held.rfind(b"\n"), self._held.rfind(b"\r")) + 1
        text = self._held[:end].decode("utf-8", "replace")
        del self._held[:end]
        lines = text.removesuffix("\n").split("\n") if text else []
        lost, self._lost = self._lost + max(0, len(lines) - MOST), 0
        # A terminal returns to the start of a line at every carriage return.
        return [line.rstrip("\r").rpartition("\r")[2] for line in lines[-MOST:]], lost

    def _drop(self, count: int) -> None:
        self._lost += self._held.count(b"\n", 0, count)
        del self._held[:count]


def join_lines(lines: list[str], lost: int) -> str:
    """Return the lines as one text, with a note on omitted lines first."""
    gap = [f"[... {lost} lines left out ...]"] if lost else []
    return "\n".join((*gap, *lines))


# --- tail buffer ----------------------------------------------------------------------


LEAD = (1 << 17) + (1 << 13)
"""Bytes that are read before the first one that is shown: more than the longest private key that
is swallowed (64 kB) with an unfinished line before it (64 kB)."""
_BLOCK = 65536
_TOKEN = regex(rb"[A-Za-z0-9+/=_.~-]*+")


class TailBuffer:
    """The last bytes of a stream, in blocks: many tiny writes must not cost many objects."""

    def __init__(self, room: int) -> None:
        self.lost = 0
        self._room = room
        self.held = 0
        """Number of buffered bytes."""
        self._blocks: deque[bytearray] = deque()

    def add(self, chunk: bytes) -> None:
        """Add to the end; whole blocks that no longer fit are lost at the beginning."""
        if not self._blocks or len(self._blocks[-1]) >= _BLOCK:
            self._blocks.append(bytearray())
        self._blocks[-1] += chunk
        self.held += len(chunk)
        while self.held - len(self._blocks[0]) > self._room:
            self._lose(len(self._blocks.popleft()))

    def trim(self) -> deque[bytearray]:
        """Trim the oldest block to the size limit and return the blocks."""
        # All of it is in the first block: `add` has dropped every block that was not needed to fill
        # the limit.
        surplus = max(0, self.held - self._room)
        if surplus:
            del self._blocks[0][:surplus]
            self._lose(surplus)
        return self._blocks

    def _lose(self, count: int) -> None:
        self.lost += count
        self.held -= count

    def leave_out(self, count: int) -> None:
        """Drop the held bytes and record `count` more as lost."""
        self.lost += self.held + count
        self.held = 0
        self._blocks.clear()

    def end(self, count: int) -> bytes:
        """Return the last bytes, at most `count`."""
        found: list[bytearray] = []
        held = 0
        for block in reversed(self._blocks):
            found.append(block)
            held += len(block)
            if held >= count:
                break
        return b"".join(reversed(found))[-count:]


def redact_end(window: bytes, shown: int, known: Collection[str], *, whole: bool) -> bytes:
    """Redact the last `shown` bytes of a window, using the bytes before them as context.

    What the window begins in the middle of may be the rest of a key: it is dropped up to the
    first byte that belongs to none. `whole` says that nothing follows the window; otherwise its
    last line, if it is unfinished, is left out.
    """
    begin = _TOKEN.match(window)
    start = begin.end() if begin else 0
    first = max(start, len(window) - shown)
    redactor = StreamRedactor(known)
    redactor.feed(window[start:first])
    clean = redactor.feed(window[first:])
    return clean + redactor.finish() if whole else clean
