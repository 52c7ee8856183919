"""A child of ours that stays: a line is asked, a line is answered, until it is closed.

For work of our own that would else take turns with everything in this process: one interpreter
runs one thread at a time. No sandbox and no command of anybody's: it is our code, with our rights.
"""

from __future__ import annotations

import os
import select
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

from runner import effects

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CHUNK = 1 << 16
_PATIENCE = 5.0


class WorkerProcessGone(Exception):  # noqa: N818 - the word for what happened
    """It ended, or took too long and was ended."""


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
            # A pipe that nobody reads is full after 64 KiB, and the child stops there (pipe(7)).
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
        """Whether it has begun to listen; does not wait. Raises CompanionGone."""
        if not self._ready and self._waits(0):
            self._line(_PATIENCE)
            self._ready = True
        return self._ready

    def ask(self, question: bytes, seconds: float) -> bytes:
        """The answer to one line, neither with its line end. Raises CompanionGone."""
        try:
            self._questions.write(question + b"\n")
            self._questions.flush()
        except OSError as error:
            self._end()
            raise WorkerProcessGone("it ended") from error
        return self._line(seconds)

    def close(self) -> None:
        """Let it end, or end it; doing so twice is fine."""
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
        """Whether something of it can be read, or it is gone; after so long at most."""
        poll = select.poll()  # select() knows no descriptor above 1,023
        poll.register(self._answers, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
