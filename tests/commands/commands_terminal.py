"""A real terminal for the tests: a pseudo-terminal with a program on it."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>()][A-Z0-9]?|[\x00-\x09\x0b-\x1a]")


class Terminal:
    """Starts a program on a terminal of its own and hears what it says."""

    def __init__(self, words, *, columns=80, rows=24, cwd=None, **environ):
        self.raw = ""
        self.code = None
        self._pid, self._descriptor = pty.fork()
        if self._pid == 0:  # the child: nothing of pytest may run here
            try:
                if cwd:
                    os.chdir(cwd)
                os.execvpe(words[0], list(words), {**os.environ, "TERM": "xterm", **environ})
            finally:
                os._exit(127)
        self.resize(columns, rows)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.code is None:
            os.kill(self._pid, signal.SIGKILL)
            self.wait()
        os.close(self._descriptor)

    @property
    def said(self):
        """All that came, without the terminal's commands."""
        return _CODES.sub("", self.raw)

    def resize(self, columns, rows):
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, size)

    def send(self, text):
        os.write(self._descriptor, text.encode())

    def hear(self, seconds=0.05):
        """Take what comes within a while."""
        until = time.monotonic() + seconds
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        while (left := until - time.monotonic()) > 0:
            if not poll.poll(left * 1000):
                return
            try:
                self.raw += os.read(self._descriptor, 65536).decode("utf-8", "replace")
            except OSError:  # the program has closed its side
                return

    def until(self, text, *, after=0, seconds=90.0):
        """Hear until a text has come; how much had come by then."""
        until = time.monotonic() + seconds
        while text not in self.said[after:]:
            assert time.monotonic() < until, f"{text!r} did not come:\n{self.said[after:]}"
            self.hear()
        return len(self.said)

    def wait(self, seconds=90.0):
        """The exit code, once the program has ended by itself; minus the signal that ended it."""
        until = time.monotonic() + seconds
        while self.code is None:
            self.hear()
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
            assert time.monotonic() < until, f"it goes on and on:\n{self.said}"
        self.hear()
        return self.code
