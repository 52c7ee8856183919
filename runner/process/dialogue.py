"""A program that is talked with line by line, within the process group that we are in ourselves.

For what already runs enclosed and bounded: whoever ends the group ends both.
"""

from __future__ import annotations

import subprocess
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LONGEST_LINE = 8 << 20
"""Bytes of one line; the rest of a longer one is passed over with it."""
_LAST = 20
_GRACE = 2.0


class Dialogue:
    """The program; an open resource until `end`. Raises OSError where it cannot start."""

    def __init__(self, argv: Sequence[str], cwd: str, tell: Callable[[str], None]) -> None:
        self._process = subprocess.Popen(
            argv, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._tell = tell
        self._errors: deque[str] = deque(maxlen=_LAST)
        # Standard error is read all the time: a program that fills that pipe (64 KiB, pipe(7))
        # stops in the middle of its answer on the other one.
        self._hearing = threading.Thread(target=self._hear, name="dialogue", daemon=True)
        self._hearing.start()

    def say(self, line: bytes) -> bool:
        """Send one line; False where it no longer listens."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError):
            return False
        return True

    def read(self) -> bytes | None:
        """Its next line; empty for one that is too long, None where it says no more."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline(LONGEST_LINE)
        if not line:
            return None
        if len(line) < LONGEST_LINE or line.endswith(b"\n"):
            return line.rstrip(b"\r\n")
        while (rest := self._process.stdout.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
            pass
        return b""

    def end(self) -> int:
        """End it: by the end of what it hears, then by force. Gives its exit code."""
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):
            self._process.stdin.close()
        for ask in (self._process.terminate, self._process.kill):
            try:
                return self._process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                ask()
        return self._process.wait()

    @property
    def last_errors(self) -> str:
        """The last lines that it wrote to standard error."""
        self._hearing.join(_GRACE)
        return "\n".join(self._errors)

    def _hear(self) -> None:
        assert self._process.stderr is not None
        while line := self._process.stderr.readline(LONGEST_LINE):
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            self._errors.append(text)
            self._tell(text)
