"""Small questions to trusted tools, and the one program a person talks to: their editor."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from runner import effects

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NOT_FOUND = 127
TIMED_OUT = 124


def which(name: str, environ: Mapping[str, str]) -> Path | None:
    """The executable that `name` means on this PATH; relative entries do not count."""
    if os.sep in name:
        return Path(name) if _executable(name) else None
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        path = f"{folder}/{name}"
        if folder.startswith("/") and _executable(path):
            return Path(path)
    return None


def _executable(path: str) -> bool:
    return os.access(path, os.X_OK) and not os.path.isdir(path)  # noqa: PTH112 - a hot path


def capture(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], timeout: float
) -> tuple[int, bytes]:
    """Exit code and output (both streams) of a small trusted command, as for a version.

    Nothing from content may be among its options. 127 when it cannot start, 124 when it took
    longer than `timeout` seconds.
    """
    effects.step("spawn", argv[0])
    try:
        done = subprocess.run(
            argv,
            cwd=cwd,
            env=dict(env),
            timeout=timeout,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    except subprocess.TimeoutExpired as late:
        return TIMED_OUT, late.output or b""
    except OSError as problem:
        return NOT_FOUND, str(problem).encode()
    return done.returncode, done.stdout


def run_interactive(argv: Sequence[str], cwd: Path) -> int:
    """Run a program on the person's own terminal, such as `$EDITOR`; its exit code.

    It is the person's program with the person's rights: no sandbox, no limits.
    """
    effects.step("spawn", argv[0])
    try:
        return subprocess.run(argv, cwd=cwd, check=False).returncode
    except OSError:
        return NOT_FOUND
