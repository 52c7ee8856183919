"""What the tests of the pipeline's commands share: keys made up at run time, and terminals."""

import os
import pty
import re
import select
import signal
import string
import sys
import time

LETTERS = string.ascii_letters + string.digits
TERMINAL = re.compile(r"\x1b\[[0-9;]*m")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


def a_key(seed=7):
    """A key of a shape that the scan knows; no two seeds give the same."""
    return "sk-" + "proj-" + "".join(LETTERS[(n * seed + seed) % 62] for n in range(80))


def is_safe(text):
    """Whether a terminal would do nothing for this text but show it."""
    return CONTROL.search(text) is None


class AtTerminal:
    """A real command at a real terminal, driven by what it asks."""

    def __init__(self, folder, *words, lines=24, **variables):
        environ = {**os.environ, "TERM": "xterm", "PAGER": "cat", **variables}
        environ.pop("NO_COLOR", None)
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:  # the command itself
            os.chdir(folder)
            os.execve(sys.executable, [sys.executable, "-m", "runner", *words], environ)
        import fcntl
        import struct
        import termios

        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, 80, 0, 0))
        self.said = ""

    def until(self, words, seconds=30):
        """Read until it has said these words once more; what it said on the way."""
        start = len(self.said)
        end = time.monotonic() + seconds
        while words not in self.said[start:]:
            ready = self._waits(max(0, end - time.monotonic()))
            more = self._read() if ready else b""
            if not more:
                raise AssertionError(f"never said {words!r}, but {self.said!r}")
            self.said += more.decode("utf-8", "replace").replace("\r\n", "\n")
        return self.said[start:]

    def _waits(self, seconds):
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        return poll.poll(seconds * 1000)

    def type(self, line):
        os.write(self.descriptor, line.encode() + b"\n")

    def end(self, seconds=30):
        """Wait for its end; the exit code."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            ready = self._waits(0.5)
            more = self._read() if ready else None
            if more == b"":
                break
            if more:
                self.said += more.decode("utf-8", "replace").replace("\r\n", "\n")
        else:
            os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.descriptor)
        return os.waitstatus_to_exitcode(status)

    def _read(self):
        try:
            return os.read(self.descriptor, 65536)
        except OSError:  # the other end is closed
            return b""
