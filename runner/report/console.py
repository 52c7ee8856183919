"""Print a run's progress as plain lines on standard error."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock, get_ident
from typing import TYPE_CHECKING, TextIO

from runner.journal.events import AttemptFinished, AttemptStarted, GateCompleted, GateStarted
from runner.lazy_module import lazy_module
from runner.model import Status
from runner.text.wording import attempt_folder, without_repeated_hints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Self

    from runner.journal.events import Record
    from runner.journal.state import RunState
    from runner.report import event_lines
    from runner.report.event_lines import Paint
    from runner.report.status_line import StatusWork
    from runner.run import worker_setup
else:
    event_lines = lazy_module("runner.report.event_lines")
    worker_setup = lazy_module("runner.run.worker_setup")

QUIET, NORMAL, VERBOSE = 0, 1, 2
_NOBODY = -1
"""No thread has this number."""
_LOG_BYTES = 16_384
"""Bytes of one command's log shown with its task; a note counts the rest."""


def wants_colour(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Return whether to use colours: on a terminal without NO_COLOR (no-color.org)."""
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def wants_live(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Return whether to show a live view: on a capable terminal outside CI."""
    ci = environ.get("CI", "").lower() == "true"
    return stream.isatty() and environ.get("TERM", "dumb") != "dumb" and not ci


def painter(colour: bool) -> Paint:  # noqa: FBT001 - the one thing it is asked
    """Return a function that colours texts, or leaves them unchanged."""
    if not colour:
        return lambda _colour, text: text
    return lambda name, text: f"\x1b[{event_lines.COLOURS[name]}m{text}\x1b[0m"


class Console:
    """Hears every event of a run and says those a person wants to follow; safe for any thread.

    `grouped` keeps the lines of a task until it ends and says them together, with what its
    commands printed (their logs are looked for below `root`).
    """

    def __init__(
        self,
        *,
        level: int,
        colour: bool,
        stream: TextIO | None = None,
        grouped: bool = False,
        root: Path | None = None,
    ) -> None:
        self._level = level
        self._colour = colour
        self.paint = painter(colour)
        self._stream = stream or sys.stderr
        self._root = root or Path()
        self._lock = RLock()
        self._groups: dict[str, list[str]] | None = {} if grouped else None
        self._unheard: dict[str, str] = {}
        """Log of each task's implementer, until it has been shown."""
        self._hints: set[str] = set()
        """Hints already shown."""
        self._pauser = 0
        self._held: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def colour(self) -> bool:
        """Whether colours are welcome."""
        return self._colour

    # --- what is heard ----------------------------------------------------------------

    def expect(self, work: Callable[[], StatusWork]) -> None:
        """Ignore the work of the run, which plain lines do not need."""

    def say(self, text: str, *, at: int = NORMAL) -> None:
        """Show a text, if the level is high enough."""
        if self._level >= at:
            self._write(text)

    def announce(self, text: str) -> None:
        """Write a message from a signal handler, without locks."""
        with suppress(OSError, ValueError):
            # Bypasses the stream's buffer: a handler that interrupts a write may not write to it
            # again (CPython, io, "Reentrancy").
            os.write(self._stream.fileno(), f"{text}\n".encode())

    def progress(self, task: str, lines: str) -> None:
        """Show the next output lines of a task's command, only in verbose mode."""
        if self._level >= VERBOSE and self._groups is None:
            self._write_all(
                [event_lines.output_line(task, line, self.paint) for line in lines.split("\n")]
            )

    def hear(self, record: Record, state: RunState) -> None:
        """Print the lines that describe an event."""
        if self._level < NORMAL:
            return
        all_lines = event_lines.event_lines(record, state, self.paint)
        lines = without_repeated_hints(all_lines, self._hints)
        if self._groups is None:
            self._write_all(lines)
        else:
            self._collect(record, state, lines)

    def _collect(self, record: Record, state: RunState, lines: list[str]) -> None:
        event, task = record.event, record.task
        with self._lock:
            groups = self._groups if self._groups is not None else {}
            if isinstance(event, AttemptStarted):
                groups.setdefault(task, [])
                self._unheard[task] = _implementers_log(record)
            if isinstance(event, GateStarted | AttemptFinished) and task in self._unheard:
                lines[:0] = self._read_printed(task, self._unheard.pop(task))
            if isinstance(event, GateCompleted):
                lines += self._read_printed(task, event.proof.log)
            group = groups.get(task)
            if group is None:
                self._write_all(lines)
                return
            group += lines
            if lines and state.task(task).status is not Status.IN_PROGRESS:
                self._write_all(groups.pop(task))

    def _read_printed(self, task: str, log: str) -> list[str]:
        """Read the output of a command from its log; only the end of a long one."""
        try:
            content = (self._root / log).read_bytes() if log else b""
        except OSError:
            return []
        text = content[-_LOG_BYTES:].decode("utf-8", "replace")
        lines = text.splitlines()
        if len(content) > _LOG_BYTES:
            lines[:1] = [f"… {len(content)} bytes in total, see {log}"]
        return [event_lines.output_line(task, line, self.paint) for line in lines]

    # --- what is shown ----------------------------------------------------------------

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Hold back other output during a prompt; it is printed afterwards.

        Nobody waits meanwhile: a worker that shows a line goes on at once.
        """
        with self._lock:
            before, self._pauser = self._pauser, get_ident()
            self._clear()
        try:
            yield
        finally:
            with self._lock:
                self._pauser = before
                held, self._held = self._held, []
                self._write_all(held)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold back the prompts of this block; other output is shown afterwards."""
        with self._lock:
            before, self._pauser = self._pauser, _NOBODY
        try:
            yield
        finally:
            with self._lock:
                self._pauser = before

    def close(self) -> None:
        """Print the output that was held back; repeated calls have no effect."""
        with self._lock:
            for lines in (self._groups or {}).values():
                self._write_all(lines)
            if self._groups:
                self._groups.clear()

    def _write_all(self, lines: list[str]) -> None:
        if lines:
            self._write("\n".join(lines))

    def _write(self, text: str) -> None:
        with self._lock:
            if self._pauser not in (0, get_ident()):
                self._held.append(text)
            else:
                self._put(text)

    def _put(self, text: str) -> None:
        """Write a text to the stream; the caller holds the lock."""
        self._stream.write(f"{text}\n")  # at once: an unbuffered stream would write its end apart
        self._stream.flush()

    def _clear(self) -> None:
        """Do nothing, since plain lines never obstruct a prompt."""


def _implementers_log(record: Record) -> str:
    """Return the path of an implementer's output; "" for an attempt that only proves."""
    alone = isinstance(record.event, AttemptStarted) and record.event.mode == "prove"
    return (
        ""
        if alone
        else f"{worker_setup.LOGS}/{record.task}/{attempt_folder(record.attempt)}/implementer.log"
    )
