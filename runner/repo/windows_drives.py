"""A repository on a drive of Windows, as WSL shows it: no place for a build.

Through 9p (WSL 2) and drvfs (WSL 1) a lock of flock(2) is not seen by all, files have no modes of
their own, names differ by more than case, and a rename over an open file fails.
"""

from __future__ import annotations

import os
from pathlib import Path

from runner.errors import ExitCode, RunnerError

_MOUNTS = Path("/proc/self/mounts")


def require_no_windows_drive(folder: Path, mounts: Path = _MOUNTS) -> None:
    """Raise RunnerError where the folder lies on a drive of Windows."""
    try:
        text = mounts.read_text("utf-8", "replace")
    except OSError:
        return  # no Linux
    if at := find_windows_drive(os.path.realpath(folder), text):
        raise RunnerError(
            f"this folder is on a Windows drive ({at}), where files cannot be locked",
            where=str(folder),
            hint="clone it into WSL's own file system, such as ~/src, and run there",
            code=ExitCode.PERSON,
        )


def find_windows_drive(path: str, mounts: str) -> str:
    """Where the drive that holds a real path is mounted, by the text of proc(5), mounts; or ""."""
    best, drive = "", False
    for line in mounts.splitlines():
        words = line.split(" ")
        if len(words) < 4:  # noqa: PLR2004 - fstab(5)
            continue
        at = _plain(words[1])
        holds = path == at or path.startswith(at.rstrip("/") + "/")
        if holds and len(at) >= len(best):  # of two on one place the later one is seen
            best, drive = at, _is_drive(words[2], words[3])
    return best if drive else ""


def _is_drive(kind: str, options: str) -> bool:
    """Whether it is one of Windows; others use 9p, too, for the root of a small machine, say."""
    return kind == "drvfs" or (kind in {"9p", "virtiofs"} and "drvfs" in options)


def _plain(word: str) -> str:
    """A path as fstab(5) writes it, without its octal numbers."""
    for number, letter in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        word = word.replace(number, letter)
    return word
