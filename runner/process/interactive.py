"""Long-lived processes with a line-by-line conversation.

One kind is a command in its sandbox. Another is a child for our own code, with our rights and no
sandbox. In this process that code would take turns with all else: one interpreter runs one thread
at a time.
"""

from __future__ import annotations

import os
import select
import subprocess
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from runner import effects
from runner.process import child
from runner.process.cgroups import group_for
from runner.process.limits import with_device

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from runner.process.base import Command, Sandbox

# --- in its sandbox -------------------------------------------------------------------


def run_on_terminal(command: Command, sandbox: Sandbox) -> int:
    """Run a command with our own input and output, such as a shell for a person; its exit code.

    Place, environment, sandbox and network hold as for any other; its time limits do not. Raises
    OSError or ValueError where it cannot be started.
    """
    prepared = sandbox.enclose(command)
    group = group_for(with_device(command.limits, command.place.tree))
    try:
        started = child.plant(prepared, group, piped=False, on_terminal=True)
        try:
            return started.first.wait()
        finally:
            if group:
                group.kill()
            started.kill()
            started.close()
            if started.first.stderr:
                started.first.stderr.close()
    finally:
        for end in (prepared.leave, prepared.door and prepared.door.close, group and group.close):
            if end:
                end()


LONGEST_LINE = 16 << 20
"""Bytes of one line; a program that sends a longer one is not read further."""
_CHUNK = 1 << 16
_LOOK = 0.1
_GRACE = 1.0


class InteractiveProcessOver(Exception):  # noqa: N818 - the word for what happened
    """The other side is gone, says too much, or says nothing for too long; the text says which."""


class InteractiveProcess:
    """The running command; an open resource until `close`. It ends when its input does.

    The place, environment, network and limits of the command hold as for any other; its time
    limits do not, since it stays for as long as it is needed. Raises OSError or ValueError
    where it cannot be started.
    """

    def __init__(
        self, command: Command, sandbox: Sandbox, cancelled: threading.Event | None = None
    ) -> None:
        self._cancelled = cancelled
        self._prepared = sandbox.enclose(command)
        self._group = group_for(with_device(command.limits, command.place.tree))
        try:
            self._tree = child.plant(self._prepared, self._group, piped=True)
        except BaseException:
            self._tidy()
            raise
        first = self._tree.first
        assert first.stdin is not None  # both are pipes, as asked for
        assert first.stdout is not None
        self._input, self._output = first.stdin.fileno(), first.stdout.fileno()
        # poll(2) guarantees space for a byte, not a line: a blocking write would deadlock with a
        # program waiting for us to read, and no cancel would be seen.
        os.set_blocking(self._input, False)
        self._heard = bytearray()

    def say(self, line: bytes, seconds: float) -> None:
        """Write one line, without its line break. Raises InteractiveProcessOver."""
        left = memoryview(line + b"\n")
        until = effects.monotonic() + seconds
        while left:
            self._wait(self._input, select.POLLOUT, until)
            with suppress(BlockingIOError):
                try:
                    left = left[os.write(self._input, left) :]
                except BrokenPipeError as error:
                    raise InteractiveProcessOver(self._why()) from error

    def hear(self, seconds: float) -> bytes:
        """Return the next line without its end. Raises InteractiveProcessOver."""
        until = effects.monotonic() + seconds
        while b"\n" not in self._heard:
            if len(self._heard) > LONGEST_LINE:
                raise InteractiveProcessOver("printed a line that is too long")
            self._wait(self._output, select.POLLIN, until)
            chunk = os.read(self._output, _CHUNK)
            if not chunk:
                raise InteractiveProcessOver(self._why())
            self._heard += chunk
        line, _, rest = bytes(self._heard).partition(b"\n")
        self._heard[:] = rest
        return line

    def close(self) -> None:
        """Close the input and kill the process tree if it does not end."""
        first = self._tree.first
        try:
            if first.stdin:
                first.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                first.wait(_GRACE)
        finally:
            if self._group:
                self._group.kill()
            self._tree.kill()
            self._tree.close()
            for pipe in (first.stdout, first.stderr):
                if pipe:
                    pipe.close()
            self._tidy()

    def _why(self) -> str:
        """Return why the process ended, with the sandbox's own error if it failed to start."""
        report = self._tree.first.stderr
        if report is None:
            return "ended"
        # Its children may still hold the pipe open: reading to the end would wait for all of them
        # (pipe(7)).
        os.set_blocking(report.fileno(), False)
        lines = (report.read(_CHUNK) or b"").decode("utf-8", "replace").splitlines()
        refused = next((line for line in lines if line.startswith("bwrap: ")), "")
        return f"could not be put into the sandbox: {refused}" if refused else "ended"

    def _wait(self, descriptor: int, event: int, until: float) -> None:
        """Wait until the pipe is ready. Raises InteractiveProcessOver after a timeout."""
        poll = select.poll()  # select() knows no descriptor above 1,023
        poll.register(descriptor, event)
        # In short slices: a threading event is no descriptor, so setting it does not wake poll(2).
        # Checked before each slice: with constant output poll(2) never times out.
        while True:
            if self._cancelled is not None and self._cancelled.is_set():
                raise InteractiveProcessOver("was cancelled")
            if effects.monotonic() > until:
                raise InteractiveProcessOver("did not answer in time")
            if poll.poll(_LOOK * 1000):
                return

    def _tidy(self) -> None:
        if self._group:
            self._group.close()
        if self._prepared.door:
            self._prepared.door.close()
        if self._prepared.leave:
            self._prepared.leave()


# --- within the group that we are in --------------------------------------------------

LONGEST_ANSWER = 8 << 20
"""Bytes of one line; the rest of a longer one is skipped."""
_LAST = 20
_LAST_WAIT = 2.0


class Dialogue:
    """The program; an open resource until `end`. Raises OSError where it cannot start."""

    def __init__(self, argv: Sequence[str], cwd: str, tell: Callable[[str], None]) -> None:
        self._process = subprocess.Popen(
            argv, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._tell = tell
        self._errors: deque[str] = deque(maxlen=_LAST)
        # Read standard error all the time: a program that fills that pipe (64 KiB, pipe(7)) stops
        # in the middle of its answer on the other one.
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
        """Read the next line; empty for one that is too long, None at the end."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline(LONGEST_ANSWER)
        if not line:
            return None
        if len(line) < LONGEST_ANSWER or line.endswith(b"\n"):
            return line.rstrip(b"\r\n")
        while (rest := self._process.stdout.readline(LONGEST_ANSWER)) and not rest.endswith(b"\n"):
            pass
        return b""

    def end(self) -> int:
        """Close the input, kill the program if it does not end, and return its exit code."""
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):
            self._process.stdin.close()
        for ask in (self._process.terminate, self._process.kill):
            try:
                return self._process.wait(_LAST_WAIT)
            except subprocess.TimeoutExpired:
                ask()
        return self._process.wait()

    @property
    def last_errors(self) -> str:
        """The last lines that it wrote to standard error."""
        self._hearing.join(_LAST_WAIT)
        return "\n".join(self._errors)

    def _hear(self) -> None:
        assert self._process.stderr is not None
        while line := self._process.stderr.readline(LONGEST_ANSWER):
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            self._errors.append(text)
            self._tell(text)


# --- a child of ours ------------------------------------------------------------------


_PATIENCE = 5.0


class WorkerProcessGone(Exception):  # noqa: N818 - the word for what happened
    """The process ended, or was ended because it took too long."""


class WorkerProcess:
    """The child; an open resource until `close`. It ends when its input does, so with us.

    It says one line when it is ready, then one for each line it is asked. In a process group of
    its own, so that a person's Ctrl-C means us alone. Raises OSError when it cannot start.
    """

    def __init__(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        effects.step("spawn", argv[0])
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # An unread pipe is full after 64 KiB, and the child blocks there (pipe(7)).
            stderr=subprocess.DEVNULL,
            env=dict(env),
            cwd="/",
            process_group=0,
        )
        assert self._process.stdin is not None  # both are pipes, as asked for
        assert self._process.stdout is not None
        self._questions = self._process.stdin
        self._answers = self._process.stdout.fileno()
        self._ready = False

    @property
    def pid(self) -> int:
        """Its process number."""
        return self._process.pid

    def ready(self) -> bool:
        """Return whether the worker is listening, without waiting. Raises WorkerProcessGone."""
        if not self._ready and self._waits(0):
            self._line(_PATIENCE)
            self._ready = True
        return self._ready

    def ask(self, question: bytes, seconds: float) -> bytes:
        """Send one line and return the answer line. Raises WorkerProcessGone."""
        try:
            self._questions.write(question + b"\n")
            self._questions.flush()
        except OSError as error:
            self._end()
            raise WorkerProcessGone("it ended") from error
        return self._line(seconds)

    def close(self) -> None:
        """Close the input and end the process; repeated calls have no effect."""
        with suppress(OSError):
            self._questions.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._end()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _line(self, seconds: float) -> bytes:
        until = effects.monotonic() + seconds
        read = bytearray()
        while not read.endswith(b"\n"):
            left = until - effects.monotonic()
            if left <= 0 or not self._waits(left):
                self._end()
                raise WorkerProcessGone("it took too long")
            chunk = os.read(self._answers, _CHUNK)
            if not chunk:
                self._end()
                raise WorkerProcessGone("it ended")
            read += chunk
        return bytes(read[:-1])

    def _waits(self, seconds: float) -> bool:
        """Wait up to `seconds` for output or exit; return whether there is any."""
        poll = select.poll()  # select() knows no descriptor above 1,023
        poll.register(self._answers, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
