"""A program's output read while it runs, from the log that is kept of it.

The log is what is left when keys are redacted, so nothing that comes of it can hold one.
"""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING

from runner import effects
from runner.implementers.agents.output_parsers import hear
from runner.implementers.agents.preset import Dialect
from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from runner.implementers.agents.transcript import Transcript
    from runner.implementers.base import Allowance
    from runner.secrets import redact
else:
    redact = lazy_module("runner.secrets.redact")

_EVERY = 0.1
_QUIET = 8.0
"""Seconds of silence after which a person sees the program's last line."""
SILENCE_OF_ACP = 10.0
"""The same where every update is an event, so that silence within the work is reported, too."""
_CHUNK = 1 << 20
_LONGEST_LINE = 8 << 20


@dataclass(frozen=True, slots=True)
class SessionBounds:
    """What ends a session from outside."""

    left: Allowance
    cancelled: threading.Event
    """Set by others: the attempt is to end."""

    def find_exceeded(self, transcript: Transcript) -> str:
        """Which limit the session has reached, by its name in `Allowance`; empty for none."""
        used, left = transcript.usage, self.left
        reached = {
            "tokens": left.tokens is not None and used.tokens >= left.tokens,
            "dollars": left.dollars is not None and used.dollars >= left.dollars,
            "tool_calls": left.tool_calls is not None and used.tool_calls >= left.tool_calls,
        }
        return next((name for name, is_reached in reached.items() if is_reached), "")


class Following:
    """A thread that reads the log's new lines; entered before the program starts.

    `ended` is set when the program must end: by others, in a loop, or at the limit in `why`.
    """

    def __init__(
        self,
        log: Path,
        dialect: Dialect,
        transcript: Transcript,
        bounds: SessionBounds,
        known: tuple[str, ...] = (),
    ) -> None:
        self.ended = threading.Event()
        self.why = ""
        self._log = log
        self._dialect = dialect
        self._transcript = transcript
        self._bounds = bounds
        self._known = known
        self._read = 0
        self._last = ""
        """Its last line in words."""
        self._rest = b""
        self._over = threading.Event()
        self._is_acp = dialect is Dialect.ACP
        self._patience = SILENCE_OF_ACP if self._is_acp else _QUIET
        self._quiet_since: float | None = effects.monotonic()
        """None once the current silence was reported, or where silence means work."""
        self._thread = threading.Thread(target=self._follow, name="agent-log", daemon=True)

    def __enter__(self) -> Self:
        """Begin to read."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Read to the end."""
        self._over.set()
        self._thread.join()
        # What was written since the thread's last look is read here, where it is gone.
        if kind is None:
            self._take()
            self._hear(self._rest)

    def _follow(self) -> None:
        while not self._over.wait(_EVERY):
            if self._bounds.cancelled.is_set():
                self.ended.set()
            self._take()
            self._judge()
            self._tell_silence()

    def _tell_silence(self) -> None:
        """Pass on what a program waits with that has not begun to work: a login, the network."""
        since = self._quiet_since
        if since is None or effects.monotonic() - since < self._patience:
            return
        self._quiet_since = None
        rest = self._rest.decode("utf-8", "replace").strip()
        last = rest if rest and not rest.startswith("{") else self._last
        note = f"last output: {last}" if last else "it may be waiting for the network or a login"
        self._transcript.tell(f"no output for {self._patience:g} s; {note}")

    def _judge(self) -> None:
        """End the program where it is in a circle, hopeless, or has used up what it may."""
        transcript = self._transcript
        if transcript.ended or self.ended.is_set():
            return
        self.why = self._bounds.find_exceeded(transcript)
        if self.why or transcript.circle or transcript.hopeless:
            self.ended.set()

    def _take(self) -> None:
        """Hear every line that is whole by now."""
        for chunk in _chunks(self._log, self._read):
            self._read += len(chunk)
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            for line in lines:
                self._hear(line)
            # A line without an end may not fill the memory.
            if len(self._rest) > _LONGEST_LINE:
                self._rest = b""

    def _hear(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").rstrip("\r")
        if text.startswith("{"):  # an event: it works, and thinking is silent
            self._quiet_since = effects.monotonic() if self._is_acp else None
        elif text.strip():
            self._last, self._quiet_since = text.strip(), effects.monotonic()
        hear(self._dialect, unescape_secrets(text, self._known), self._transcript)


def _chunks(log: Path, start: int) -> list[bytes]:
    """What the log holds from `start`; nothing while it is not there."""
    try:
        descriptor = os.open(log, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return []
    found: list[bytes] = []
    try:
        while chunk := os.pread(descriptor, _CHUNK, start):
            found.append(chunk)
            start += len(chunk)
    finally:
        os.close(descriptor)
    return found


def unescape_secrets(line: str, known: tuple[str, ...]) -> str:
    """A line of JSON without a key that it spells by escapes, which the log's own redaction missed.

    Only a key in one piece: what a session's messages come to is looked at once more at its end.
    """
    if not line.startswith("{") or not ("\\u" in line or "\\/" in line):
        return line
    try:
        plain = json.dumps(json.loads(line), ensure_ascii=False)
    except (ValueError, RecursionError):
        return line
    return redact.redact(plain, known)


def make_redacting(tell: Callable[[str], None], known: tuple[str, ...]) -> Callable[[str], None]:
    """What tells a line without any key in it."""
    return lambda line: tell(redact.redact(line, known))
