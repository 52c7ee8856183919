"""A person's own command that says a secret: its output is never kept, shown or written."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

from runner import effects
from runner.lazy_dataclass import dataclass
from runner.process.tree import plant_apart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

SECONDS = 30.0
"""Who has not answered by then waits for a person, a network, or for ever."""
_POLL = 0.2
_MOST = 64 << 10
"""Bytes of a secret."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What it came to; neither is shown by its representation."""

    value: str = ""
    trouble: str = ""
    """Why there is no value, in words that hold nothing of it."""

    def __repr__(self) -> str:
        return "Answer(…)"


def ask_for_secret(
    line: str,
    root: Path,
    environ: Mapping[str, str],
    cancelled: Callable[[], bool] = lambda: False,
    seconds: float = SECONDS,
) -> Answer:
    """What a shell line says on its standard output, without the line end.

    It runs with the person's own rights and environment, as they would type it, without a
    terminal. What it says on standard error is dropped: a chatty tool may say the value there.
    """
    effects.step("spawn", "/bin/sh")
    try:
        asked = plant_apart(environ, lambda env: _start(line, root, env))
    except OSError as error:
        return Answer(trouble=f"it cannot start: {error.strerror}")
    until = effects.monotonic() + seconds
    while True:
        try:
            # Called again after a timeout it goes on without losing output (the subprocess module
            # promises that); so a cancel is seen between.
            said, _ = asked.communicate(timeout=_POLL)
        except subprocess.TimeoutExpired:
            if cancelled() or effects.monotonic() > until:
                _end(asked)
                return Answer(trouble="it was ended" if cancelled() else _late(seconds))
        else:
            return _read(said, asked.returncode)


def _start(line: str, root: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ("/bin/sh", "-c", line),
        cwd=root,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _late(seconds: float) -> str:
    return f"it said nothing in {seconds:g} s"


def _end(asked: subprocess.Popen[bytes]) -> None:
    """All of its session: a child of it may hold the pipe open for ever."""
    with suppress(ProcessLookupError):
        os.killpg(asked.pid, signal.SIGKILL)
    if asked.stdout:
        asked.stdout.close()
    asked.wait()


def _read(said: bytes, code: int) -> Answer:
    if code:
        return Answer(trouble=f"it ended with exit code {code}")
    if len(said) > _MOST:
        return Answer(trouble="it said more than 64 kB")
    try:
        value = said.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        return Answer(trouble="it said no text in UTF-8")
    if "\0" in value:
        return Answer(trouble="it said a NUL byte, which no variable can hold")
    if len(value.strip()) < 4:  # noqa: PLR2004  what redaction would blot out ordinary text by
        return Answer(trouble="it said less than 4 characters, too few to be hidden")
    return Answer(value)
