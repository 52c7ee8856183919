"""Runs `runner` as if this were no Linux: its own calls taken away, /proc hidden."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
_HIDE = (
    'mount -t proc proc "$EMULATION_PROCESSES" && mount -t tmpfs -o mode=555 none /proc '
    '&& "$@"; exit $?'
)
"""The shell is the first process of the system that the command sees, so orphans come to it."""
_WAYS = (
    ("unshare", "--mount", "--pid", "--fork"),
    ("unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork"),
)


@cache
def way() -> tuple[str, ...]:
    """The words before a command that hide /proc from it; none where this kernel lets nobody."""
    for words in _WAYS if shutil.which("unshare") else ():
        trial = [*words, "sh", "-c", "mount -t tmpfs none /proc"]
        if subprocess.run(trial, capture_output=True, check=False).returncode == 0:
            return words
    return ()


def argv(*words: str) -> list[str]:
    """The command line of a program that finds no /proc."""
    return [*way(), "sh", "-c", _HIDE, "sh", *words]


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Its variables; the processes are mounted at `folder`, which is made."""
    folder.mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    return {**kept, "PYTHONPATH": str(HERE), "EMULATION_PROCESSES": str(folder), **more}


def python(*words: str) -> list[str]:
    """The command line of a Python without Linux's own calls."""
    return argv(sys.executable, *words)
