"""Supervise one command from start to end: stream its output, enforce its timeouts.

A command that fails because its disk is full is no failed check.
"""

from __future__ import annotations

import errno
import os
import re
import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner import effects
from runner.errors import ExitCode, RunnerError, refusal_of
from runner.lazy_pattern import regex
from runner.model import Network
from runner.process.base import Command, Ended, Ran
from runner.process.cgroups import group_for
from runner.process.child import Child
from runner.process.limits import with_device
from runner.process.output import Output
from runner.process.tools import explain_missing

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from pathlib import Path

    from runner.process.base import Place, Sandbox


GRACE = 3.0
"""Seconds between SIGTERM and SIGKILL after a timeout."""
_GRACE_LEFT_BEHIND = 0.5
"""The same for processes that a command left running when it ended."""
_POLL = 0.1
_TELL_EVERY = 0.25
_NOT_HELD = b"runner: without a sandbox, `Network: registries` gives full network access\n"
_PAUSES = (0.05, 0.2, 0.5)
"""Seconds between attempts to start a command after a system error."""
# Other errors of execve(2) and fork(2) are temporary or the machine's: EAGAIN (too many processes),
# ENOMEM, EMFILE and ENFILE, ETXTBSY for a program still being written.
_ITS_OWN = frozenset(
    {
        *(errno.ENOENT, errno.EACCES, errno.E2BIG, errno.ENOEXEC, errno.ENOTDIR, errno.ELOOP),
        *(errno.ENAMETOOLONG, errno.EINVAL, errno.EISDIR, errno.EPERM),
    }
)
"""Errors of a command that cannot start on any similar machine."""
# As in a shell: found but not executable, not found (POSIX, Shell Command Language, 2.8.2).
CANNOT_RUN = 126
NOT_FOUND = 127


def run(
    command: Command,
    sandbox: Sandbox,
    *,
    tell: Callable[[str], None] | None = None,
    cancelled: threading.Event | None = None,
) -> Ran:
    """Run a command to its end, and end all it started.

    `tell` hears the lines of output as they come, some at a time, joined by line ends (of very
    much the last ones, with how many were left out), and once that the command still runs after
    `limits.soft`; what it hears is redacted but not made safe for a terminal. Setting `cancelled`
    ends the command. A command that fails or cannot start is a value, too; what this machine is to
    blame for (it starts nothing, its disk is full) is a RunnerError.
    """
    began = effects.monotonic()
    output = Output(command.log, command.limits.output, command.known_secrets)
    missing = explain_missing(command)
    if missing:
        return _not_started(output, began, missing, NOT_FOUND)
    try:
        child = _start(command, sandbox, output, cancelled)
    except (OSError, ValueError) as problem:
        return _not_started(output, began, _why(problem, command), CANNOT_RUN)
    if command.network is Network.REGISTRIES and not sandbox.encloses:
        output.take(_NOT_HELD)
    return _RunningCommand(command, child, output, tell, cancelled, began).wait()


def _start(
    command: Command, sandbox: Sandbox, output: Output, cancelled: threading.Event | None
) -> Child:
    """Start the command; retry system failures. Raises OSError, ValueError or RunnerError.

    Raises OSError and ValueError for what is the command's own, and RunnerError where the system
    starts nothing: that says nothing of the work, so it must not become a failed check.
    """
    for pause in (*_PAUSES, 0.0):
        try:
            group = group_for(with_device(command.limits, command.place.tree))
            return Child(sandbox.enclose(command), command.stdin, output, group)
        except OSError as problem:
            gone = not command.place.tree.is_dir()
            if problem.errno in _ITS_OWN and not gone:
                raise
            if gone or not pause or (cancelled is not None and cancelled.is_set()):
                raise _cannot_start(problem, gone=gone) from problem
            time.sleep(pause)
    raise AssertionError


def _cannot_start(problem: OSError, *, gone: bool) -> RunnerError:
    if gone:
        message = "the scratch tree is missing: something removed it before a command started"
    else:
        message = f"this machine cannot start commands: {problem.strerror}"
    hint, where = "this is not the task's fault; run again to continue", str(problem.filename or "")
    return RunnerError(message, where=where, hint=hint, code=ExitCode.CONFLICT)


class _RunningCommand:
    """One running command with the patience it is met with; open until it is waited for."""

    def __init__(
        self,
        command: Command,
        child: Child,
        output: Output,
        tell: Callable[[str], None] | None,
        cancelled: threading.Event | None,
        began: float,
    ) -> None:
        self._asked = began
        self._place = command.place
        self._limits = command.limits
        self._child = child
        self._output = output
        self._tell = tell or (lambda _lines: None)
        self._cancelled = cancelled
        self._began = self._last_report = effects.monotonic()
        self._soft = False
        self._queued = 0.0  # seconds for which the machine was busy with others

    def wait(self) -> Ran:
        """Wait for the end of the command and kill all its processes."""
        try:
            ended = self.attend()
        # Also on an interrupt: a session leader gets no Ctrl-C from the terminal (setsid(2),
        # credentials(7)), so nothing else would end it.
        except BaseException:
            self._child.kill()
            self._child.close()
            self._output.finish()
            raise
        return self._close(ended, self._bury(ended))

    def attend(self) -> Ended:
        """Process the output until the first process exits or is ended by a limit."""
        while not self._child.exited:
            self._child.pump(self._pause())
            self._speak()
            ended = self._verdict()
            if ended:
                self._end(GRACE)
                return ended
        return Ended.EXITED

    def _close(self, ended: Ended, left: int) -> Ran:
        """Return the result after all processes have ended."""
        ran = self._result(ended, left)
        if ended is Ended.EXITED:
            require_room(self._place, ran)
        return ran

    def _result(self, ended: Ended, left: int) -> Ran:
        began = self._asked
        # First of all: it waits for the proxy's threads and reads the groups' counters, which
        # `reached` and `processor` then contain.
        code = self._child.close()
        spent = self._child.processor if ended is Ended.EXITED else None
        report = self._child.report
        if ended is Ended.EXITED and report.refusal:
            return _not_started(self._output, began, report.refusal, CANNOT_RUN)
        if ended is Ended.EXITED:
            self._output.take(report.words)
        self._output.take(self._child.reached.encode())
        self._output.finish()
        self._report_lines(self._output.fresh(whole=True))
        ran = _ran(self._output, began, ended, code, left + report.left_behind)
        spent = report.processor if spent is None else spent
        return replace(
            ran, queued=self._queued, processor=ran.processor if spent is None else spent
        )

    def _bury(self, ended: Ended) -> int:
        """Kill the processes that outlived the first one, and return their number.

        A sandbox counts them itself, and the kernel ends them with it: the end of the output
        comes when they are gone.
        """
        if self._child.enclosed:
            self._child.drain()
            self._child.kill()
            return 0
        left = len(self._child.survivors()) if ended is Ended.EXITED else 0
        if left:
            self._end(_GRACE_LEFT_BEHIND)
        self._child.drain()
        return left

    def _verdict(self) -> Ended | None:
        """Return why the command must end now; None if it may continue."""
        if self._child.exited:
            return None
        now = effects.monotonic()
        if self._cancelled is not None and self._cancelled.is_set():
            return Ended.CANCELLED
        if self._limits.hard and self._is_late(now - self._began - self._limits.hard):
            return Ended.HARD
        if self._limits.idle and self._is_late(now - self._child.heard - self._limits.idle):
            return Ended.IDLE
        return None

    def _is_late(self, past: float) -> bool:
        """Return whether a limit is exceeded by `past` seconds, not counting queueing time.

        What it waited before it was last heard counts for its silence too: at most `queue` again.
        """
        # As late as possible: the value is read from /proc for every process of the command.
        if self._limits.queue and past >= self._queued:
            self._queued = self._child.queued
        return past >= min(self._queued, self._limits.queue)

    def _pause(self) -> float:
        """Return the seconds until the next deadline of a silent command."""
        now = effects.monotonic()
        waited = min(self._queued, self._limits.queue)
        due = [self._began + self._limits.hard + waited] if self._limits.hard else []
        due += [self._child.heard + self._limits.idle + waited] if self._limits.idle else []
        due += [] if self._soft or not self._limits.soft else [self._began + self._limits.soft]
        due += [now + _POLL] if self._limits.disk or self._cancelled else []
        due += [self._last_report + _TELL_EVERY] if self._child.heard > self._last_report else []
        return max(0.0, min(due, default=now + 60.0) - now)

    def _speak(self) -> None:
        """Report new lines at a limited rate, and once that the command takes long."""
        now = effects.monotonic()
        if self._child.heard > self._last_report and now - self._last_report >= _TELL_EVERY:
            self._last_report = now
            self._report_lines(self._output.fresh())
        if not self._soft and self._limits.soft and now - self._began >= self._limits.soft:
            self._soft = True
            self._tell(f"still running after {self._limits.soft:g} seconds")

    def _report_lines(self, lines: str) -> None:
        if lines.strip():
            self._tell(lines)

    def _end(self, grace: float) -> None:
        """Ask every process to end, give them time to, then end them."""
        self._child.terminate()
        until = effects.monotonic() + grace
        while effects.monotonic() < until and self._child.busy:
            self._child.pump(0.01)
        self._child.kill()


def _why(problem: OSError | ValueError, command: Command) -> str:
    if isinstance(problem, OSError):
        if problem.errno == errno.E2BIG:
            return "the command line is longer than this system allows"
        return f"{problem.filename or command.argv[0]}: {problem.strerror}"
    return f"the command cannot be started: {problem}"


def _not_started(output: Output, began: float, why: str, code: int) -> Ran:
    output.take(why.encode("utf-8", "replace") + b"\n")
    output.finish()
    return _ran(output, began, Ended.COULD_NOT_START, code, 0)


def _ran(output: Output, began: float, ended: Ended, code: int, left: int) -> Ran:
    seconds = effects.monotonic() - began
    return Ran(
        exit=code,
        seconds=seconds,
        ended=ended,
        output=output.digest,
        size=output.size,
        tail=output.tail,
        log=output.log,
        left_behind=left,
        processor=seconds,
    )


# --- disk room ------------------------------------------------------------------------


_NONE = 1 << 20
"""Free bytes with which no command can work."""
_LITTLE = 64 << 20
"""Free bytes below which a command may have filled the disk and freed space on failure."""
_DISK_FULL = regex(
    r"No space left on device|Disk quota exceeded|\bENOSPC\b|\bEDQUOT\b|disk is full", re.IGNORECASE
)


def require_room(place: Place, ran: Ran) -> None:
    """Raise RunnerError where a command failed on a disk that is full.

    What it says is believed only where the disk agrees: a test may print such words, too.
    """
    if ran.passed:
        return
    for folder in (place.tree, place.box):
        room = _room(folder)
        if room < _NONE or (room < _LITTLE and _DISK_FULL.search(ran.tail)):
            refusal = refusal_of(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder)))
            if refusal:
                raise refusal


def _room(folder: Path) -> int:
    """Return the free bytes on a disk; a large default if the system does not report them."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return _LITTLE
    if not disk.f_blocks:
        return _LITTLE
    # A disk may run out of inodes before bytes; file systems without a fixed number report 0 of 0:
    # statvfs(3).
    if disk.f_files and not disk.f_ffree:
        return 0
    # blocks reserved for root are available to root
    return disk.f_frsize * (disk.f_bavail if os.geteuid() else disk.f_bfree)
