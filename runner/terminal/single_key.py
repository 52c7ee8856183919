"""Read one key without Enter at a terminal, or a line of input elsewhere.

The terminal leaves canonical mode for as long as a key is waited for and no longer: it is put back
after the key, on any exception, and on a signal before anybody else hears of it, so that neither
Ctrl-C nor Ctrl-Z leaves a shell that shows nothing (POSIX, chapter 11, General Terminal Interface).
"""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

_LOOK = 0.1
"""Seconds between two calls of the background work."""
_SEQUENCE = 0.05
"""Seconds for the rest of a terminal's escape sequence."""
# Outside of canonical mode Ctrl-D is no end of file: its byte is read like any other (POSIX, 11.1.9
# Special Characters).
_ESCAPE, _NOBODY, _ENTER = b"\x1b", (b"", b"\x04"), (b"\r", b"\n")
_LOCAL = 3
"""Index of the local modes in the result of tcgetattr(3)."""
_HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP)


def read_key(question: str, meanwhile: Callable[[], object] | None = None) -> str | None:
    """Prompt for one key, or for a line without a terminal; None at end of input.

    Enter alone is the empty text; None means that nobody is there any more. What was typed before
    the question stood there does not count, for it answers nothing that was read. `meanwhile` is
    called again and again until a key comes.
    """
    descriptor = _find_terminal()
    if descriptor is None:
        return read_line(question)
    with _Keys(descriptor, question).key_by_key():
        _put(question)
        key = _wait(descriptor, meanwhile)
    _put(f"{key or ''}\n")
    return key


def read_line(question: str) -> str | None:
    """Prompt for a line and return it without surrounding spaces; None at end of input."""
    _put(question)
    line = sys.stdin.readline()
    if not line:
        _put("\n")  # the next output begins a line
    return line.strip() if line else None


def _find_terminal() -> int | None:
    try:
        descriptor = sys.stdin.fileno()
    except (OSError, ValueError):
        return None
    return descriptor if os.isatty(descriptor) else None


def _put(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)


def _wait(descriptor: int, meanwhile: Callable[[], object] | None) -> str | None:
    while True:
        while not _has_input(descriptor, _LOOK if meanwhile else None):
            if meanwhile is not None:
                meanwhile()
        pressed = _read(descriptor, 1)
        if pressed in _NOBODY:
            return None
        if pressed == _ESCAPE:  # an arrow sends ESC [ A: its letters are no answers
            while _has_input(descriptor, _SEQUENCE) and _read(descriptor, 64):
                pass
            continue
        while _has_input(descriptor, 0) and _read(descriptor, 64):
            pass  # the rest of a word and its Enter answer nothing that is asked next
        return "" if pressed in _ENTER else pressed.decode("utf-8", "replace")


def _read(descriptor: int, most: int) -> bytes:
    """Read typed input; empty if the terminal is gone."""
    try:
        return os.read(descriptor, most)
    except OSError:
        return b""


def _has_input(descriptor: int, seconds: float | None) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(None if seconds is None else seconds * 1000))


class _Keys:
    """A terminal that gives keys as they are pressed, and is put back whatever happens."""

    def __init__(self, descriptor: int, question: str) -> None:
        self._descriptor = descriptor
        self._question = question
        self._before = termios.tcgetattr(descriptor)
        self._handlers: dict[signal.Signals, object] = {}

    @contextmanager
    def key_by_key(self) -> Iterator[None]:
        """Switch the terminal to single keys for the duration of the block."""
        for number in _HEARD:
            with suppress(ValueError):  # signals are heard in the main thread alone
                self._handlers[number] = signal.signal(number, self._hear)
        try:
            self._take(termios.TCSAFLUSH)
            yield
        finally:
            self._put_back()
            for number, handler in self._handlers.items():
                if signal.getsignal(number) == self._hear:
                    signal.signal(number, handler)  # type: ignore[arg-type]  # as it was given

    def _take(self, when: int) -> None:
        with suppress(termios.error):
            modes = termios.tcgetattr(self._descriptor)
            # ISIG stays on, so that Ctrl-C and Ctrl-Z remain signals (POSIX, 11.2.5 Local Modes).
            modes[_LOCAL] &= ~(termios.ICANON | termios.ECHO)
            termios.tcsetattr(self._descriptor, when, modes)

    def _put_back(self) -> None:
        with suppress(termios.error):  # it may have gone
            # Immediately: TCSADRAIN waits for output, which a terminal stopped by Ctrl-S blocks.
            termios.tcsetattr(self._descriptor, termios.TCSANOW, self._before)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        """Restore the terminal, then run the original handler of the signal."""
        before = self._handlers.get(signal.Signals(number))
        if before is signal.SIG_IGN:
            return
        self._put_back()
        if callable(before):
            before(number, frame)
            return
        # By the default action, not an exit code: only so does the shell see that a signal ended or
        # stopped us (POSIX, wait: WIFSIGNALED, WIFSTOPPED).
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, self._hear)  # it was stopped, and goes on
        self._take(termios.TCSAFLUSH)
        _put(f"\n{self._question}")
