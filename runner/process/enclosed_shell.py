"""Run a shell line where nothing but the shell exists: no program, no file, no network.

Bubblewrap encloses it in an empty folder. Without bubblewrap nothing is run.
"""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from runner.process.base import Command, Ended, Place
from runner.process.limits import Limits
from runner.process.sandbox import NoSandbox
from runner.process.supervise import run
from runner.process.tools import which

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SECONDS = 2.0
"""Of the clock; a line that computes for one second is ended before."""
_SHELLS = ("sh", "dash", "zsh", "ksh")
_HARMLESS = ("true", "false")
"""Programs that `exec` finds: it starts no built-in."""
_LIBRARIES = ("/usr/lib", "/usr/lib64", "/lib", "/lib64")
_BOUNDS = Limits(hard=SECONDS, processes=64)
"""Processes by a cgroup where one can be made: `ulimit -u` does not hold for root."""
_LIMITS = "ulimit -u 64 -v 1000000 -t 1 -f 2048"
_START = f'{_LIMITS} && exec /bin/bash -c "$1" >/dev/null 2>&1 </dev/null'
_ROOT = Path("/")
_PROBE = 97
_BY_SIGNAL = 128


def run_enclosed(line: str, environment: Mapping[str, str], files: Mapping[str, str]) -> int | None:
    """Return the exit of a line that bash runs alone; None where it cannot run or finish.

    `files` are scripts by their path in the empty folder. A command without a slash that bash does
    not know calls the function `command_not_found_handle`, if `environment` has one.
    """
    if not _encloses():
        return None
    if not files:
        return _run(line, environment, ())
    with tempfile.TemporaryDirectory(prefix="runner-line-") as folder:
        mounts = [*_write(files, Path(folder))]
        return _run(line, environment, mounts)


@cache
def _encloses() -> bool:
    return _run(f"exit {_PROBE}", {}, ()) == _PROBE


def _write(files: Mapping[str, str], folder: Path) -> Iterator[str]:
    for number, (path, text) in enumerate(files.items()):
        copy = folder / str(number)
        copy.write_text(text, "utf-8", "surrogateescape")
        copy.chmod(0o755)
        yield from ("--ro-bind", str(copy), f"/line/{path}")


def _run(line: str, environment: Mapping[str, str], mounts: list[str] | tuple[()]) -> int | None:
    enclosed = _argv_before()
    if not enclosed:
        return None
    variables = [word for name, value in environment.items() for word in ("--setenv", name, value)]
    argv = [*enclosed, *variables, *mounts, "/bin/bash", "-c", _START, "bash", line]
    command = Command(tuple(argv), Place(_ROOT, _ROOT, _ROOT), {"PATH": os.defpath}, limits=_BOUNDS)
    ran = run(command, NoSandbox())
    return ran.exit if ran.ended is Ended.EXITED and ran.exit <= _BY_SIGNAL else None


@cache
def _argv_before() -> tuple[str, ...]:
    """The words of bubblewrap and its mounts; none where a part is missing."""
    search = {"PATH": os.defpath}
    bubblewrap, bash = which("bwrap", search), which("bash", search)
    if bubblewrap is None or bash is None:
        return ()
    programs = [("bash", bash), *((name, which(name, search)) for name in _HARMLESS)]
    return (
        *(str(bubblewrap), "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"),
        *("--setenv", "PATH", "/bin"),
        *(word for path in _LIBRARIES if Path(path).exists() for word in ("--ro-bind", path, path)),
        *(
            word
            for name, path in programs
            if path
            for word in ("--ro-bind", str(path), f"/bin/{name}")
        ),
        *(word for name in _SHELLS for word in ("--symlink", "bash", f"/bin/{name}")),
        *("--dev", "/dev", "--proc", "/proc", "--tmpfs", "/line", "--chdir", "/line"),
    )
