"""The live view of a run on a terminal: running tasks below the finished lines.

Drawn ten times a second at most by a thread of its own, in one write each: workers only leave
their last line, so a command that prints a million lines costs nothing here. The cursor stays
visible, so that nothing has to be mended when the process is killed.

Written with the terminal's own few commands (ECMA-48: CR, CUU, EL, SGR; DECAWM) rather than with
rich's Live, which counts the lines it has to take back by the width they were drawn for: in a
window made narrower it leaves its old lines standing.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from threading import Event, RLock, Thread
from typing import TYPE_CHECKING, TextIO

from msgspec import Struct

from runner.journal.events import (
    AttemptFinished,
    AttemptStarted,
    GateStarted,
    TaskLanding,
)
from runner.model import Ending, Status
from runner.report.console import VERBOSE, Console
from runner.report.event_lines import IN_PASSING
from runner.report.status_line import seconds_left
from runner.report.summary import duration
from runner.text.display import columns, cut, display, pad

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runner.journal.events import Record
    from runner.journal.state import RunState
    from runner.report.status_line import StatusWork

_BEAT = 0.1
"""Seconds between two redraws."""
_RECKON = 1.0
"""Seconds between two estimates."""
_BAR = 24
_ROWS_LEFT = 4
"""Rows of the terminal reserved for lines above and the bar below."""
_MINUTE = 60
_NARROWEST = 20
_UNWRAPPED, _WRAPPED = "\x1b[?7l", "\x1b[?7h"
"""A window that just became narrower truncates a line instead of wrapping it."""


class _Running(Struct):
    """A task that is being worked on."""

    step: str
    began: float
    line: str = ""


class LiveConsole(Console):
    """The console of a person who watches; `close` leaves only the lines."""

    def __init__(self, *, level: int, colour: bool, stream: TextIO | None = None) -> None:
        super().__init__(level=level, colour=colour, stream=stream)
        encoding = (self._stream.encoding or "").lower().replace("-", "")
        self._full, self._empty = ("━", "─") if encoding == "utf8" else ("#", ".")
        self._work: StatusWork | None = None
        self._statuses: dict[str, Status] = {}
        self._seconds: dict[str, float] = {}
        self._running: dict[str, _Running] = {}
        self._above: list[str] = []
        self._drawn: list[int] = []
        """Width of each line of the view on the terminal, from the top."""
        self._left: float | None = None
        self._reckoned = 0.0
        self._pen = RLock()  # taken before the other lock, held while the terminal takes a text
        self._ended = Event()
        self._thread: Thread | None = None

    # --- what is heard ----------------------------------------------------------------

    def expect(self, work: Callable[[], StatusWork]) -> None:
        """Set the work of the run: the length of the bar, and past durations of its tasks."""
        with self._lock:
            self._work = work()

    def progress(self, task: str, lines: str) -> None:
        """Save the last output line of a task's command for the next drawing."""
        with self._lock:
            running = self._running.get(task)
            if running is not None:
                running.line = lines.rstrip().rpartition("\n")[2]
        super().progress(task, lines)

    def announce(self, text: str) -> None:
        """Show a message above the view at the next drawing."""
        if self._thread is None or self._ended.is_set() or self._pauser:
            super().announce(text)
        else:
            self._above.append(text)  # no lock: this thread may hold it halfway through

    def hear(self, record: Record, state: RunState) -> None:
        """Follow what runs; say what ended."""
        with self._lock:
            if not self._statuses and self._work is not None:
                self._statuses = {id_: state.task(id_).status for id_ in self._work.needs}
            self._follow(record, state)
        if self._level >= VERBOSE or not isinstance(record.event, IN_PASSING):
            super().hear(record, state)
        if self._thread is None and self._running:
            self._begin()

    def _follow(self, record: Record, state: RunState) -> None:
        event, task = record.event, record.task
        status = state.task(task).status if task else None
        if task in self._statuses and status is not None:
            self._statuses[task] = status
        match event:
            case AttemptStarted(mode=mode):
                step = {"prove": "proving", "plan": "planning"}.get(mode, "building")
                self._running[task] = _Running(step, time.monotonic())
            case GateStarted(gate=gate) if task in self._running:
                self._running[task].step = gate
            case AttemptFinished(ending=Ending.PASSED) if task in self._running:
                self._running[task].step = "passed"
            case TaskLanding() if task in self._running:
                self._running[task].step = "landing"
        if task in self._running and status is not Status.IN_PROGRESS:
            del self._running[task]
            if status is Status.DONE:
                self._seconds[task] = state.task(task).seconds

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Remove the view during a prompt."""
        with self._pen, super().pause():
            yield

    # --- the thread that draws --------------------------------------------------------

    def _begin(self) -> None:
        self._thread = Thread(target=self._beat, name="live-view", daemon=True)
        self._thread.start()

    def _beat(self) -> None:
        while not self._ended.wait(_BEAT):
            self._draw()

    def close(self) -> None:
        """Remove the view and leave the lines."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        super().close()
        with self._pen, self._lock:
            self._running.clear()
            self._clear()

    def _put(self, text: str) -> None:
        """Queue a text to be shown above the view; the caller holds the lock."""
        if self._thread is None or self._ended.is_set() or self._pauser:
            super()._put(text)
        else:
            self._above.append(text)

    def _clear(self) -> None:
        """Remove the view from the terminal, and print the pending lines."""
        text = self._erasure() + "".join(f"{line}\n" for line in self._above)
        self._above.clear()
        self._drawn = []
        self._send(text)

    def _draw(self) -> None:
        with self._pen:
            with self._lock:
                if self._pauser:
                    return
                erasure = self._erasure()
                above = "".join(f"{line}\n" for line in self._above)
                self._above.clear()
                view = self._view(*self._size())
                self._drawn = [columns(plain) for plain, _ in view]
            # Write without the lock: a stopped terminal (Ctrl-S) blocks only this thread, not
            # workers that have output.
            picture = "\n".join(painted for _, painted in view)
            self._send(f"{erasure}{above}{_UNWRAPPED}{picture}{_WRAPPED}")

    def _send(self, text: str) -> None:
        if not text:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._ended.set()  # the terminal has gone; the run has not

    def _erasure(self) -> str:
        """Back to the first column of the view's first row, as wide as the terminal is now."""
        if not self._drawn:
            return ""
        wide = self._size()[0]
        # If the window became narrower, the terminal has wrapped old lines into more rows.
        rows = sum(max(1, -(-used // wide)) for used in self._drawn)
        return "\r\x1b[K" + "\x1b[A\x1b[K" * (rows - 1)  # ED at the top would fill the scrollback

    def _size(self) -> tuple[int, int]:
        """Return the current columns and rows of the terminal."""
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            return 80, 24
        return max(size.columns, _NARROWEST), max(size.lines, _ROWS_LEFT + 1)

    # --- the picture ------------------------------------------------------------------

    def _view(self, wide: int, high: int) -> list[tuple[str, str]]:
        """Return the lines without and with colours; one column stays free to avoid wrapping."""
        now = time.monotonic()
        room = high - _ROWS_LEFT
        shown = list(self._running.items())
        hidden = len(shown) - room if len(shown) > room else 0
        rows = [
            (display(id_), display(one.step), _clock(now - one.began), display(one.line))
            for id_, one in shown[: len(shown) - hidden]
        ]
        widths = [max((columns(row[place]) for row in rows), default=0) for place in range(3)]
        view = [self._row(row, widths, wide - 1) for row in rows]
        if hidden:
            view.append(self._plain(f"… and {hidden} more", wide - 1))
        return [*view, self._foot(wide - 1, now)]

    def _row(self, row: tuple[str, str, str, str], widths: list[int], wide: int) -> tuple[str, str]:
        name, step, clock, line = row
        head = (
            f"{pad(name, widths[0])}  {pad(step, widths[1])}  {pad(clock, widths[2], right=True)}"
        )
        plain = cut(f"{head}  {line}".rstrip(), wide)
        if columns(head) >= wide or not plain.startswith(name):
            return plain, plain
        rest = plain[len(head) :]
        painted = self.paint("bold", name) + head[len(name) :]
        return plain, painted + (self.paint("dim", rest) if rest else "")

    def _foot(self, wide: int, now: float) -> tuple[str, str]:
        statuses = list(self._statuses.values())
        done, total = statuses.count(Status.DONE), len(statuses)
        full = _BAR * done // total if total else 0
        parts = [f"{done}/{total} done", f"{len(self._running)} running"]
        parts += [
            f"{number} {status}"
            for status in (Status.BLOCKED, Status.STALE)
            if (number := statuses.count(status))
        ]
        left = self._estimate(now)
        parts += [f"about {duration(left)} left"] if left else []
        words = " " + " · ".join(parts)
        bar = self._full * full + self._empty * (_BAR - full)
        plain = cut(bar + words, wide)
        if len(plain) <= _BAR:
            return plain, plain
        painted = self.paint("green", bar[:full]) + self.paint("dim", bar[full:])
        return plain, painted + plain[_BAR:]

    def _plain(self, text: str, wide: int) -> tuple[str, str]:
        text = cut(text, wide)
        return text, self.paint("dim", text)

    def _estimate(self, now: float) -> float | None:
        """Return the estimated seconds left, updated once a second, or None."""
        if self._work is None:
            return None
        if not self._reckoned or now - self._reckoned >= _RECKON:
            self._reckoned = now
            elapsed = {id_: now - one.began for id_, one in self._running.items()}
            self._left = seconds_left(self._work, self._statuses, self._seconds, elapsed)
        return self._left


def _clock(seconds: float) -> str:
    """Format seconds as `4 s`, `1:07` or `62:05`."""
    whole = int(seconds)
    return f"{whole} s" if whole < _MINUTE else f"{whole // _MINUTE}:{whole % _MINUTE:02d}"
