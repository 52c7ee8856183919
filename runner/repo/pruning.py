"""Another git's garbage collection, which takes what nothing refers to yet.

A commit that was made and is on no branch is such a thing, and so is all that it consists of. Git
spares what is younger than two weeks, but for `git gc --prune=now` and for who set
`gc.pruneExpire`: builtin/gc.c looks at the refs once, and then deletes what they did not reach.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runner.repo.read import Repository

_PATIENCE = 60.0
"""Seconds: of a collection that takes longer what is there in the end decides all the same."""
_PAUSE = 0.02


def is_there(repo: Repository, commit: str) -> bool:
    """Whether a commit exists, whatever was known of it before."""
    loose = repo.folders.objects / commit[:2] / commit[2:]
    return loose.is_file() or repo.git.ask("cat-file", "-e", f"{commit}^{{commit}}").exit == 0


def wait_for_pruning(repo: Repository) -> bool:
    """Wait until no other git deletes objects; whether one did."""
    until = time.monotonic() + _PATIENCE
    waited = False
    while is_pruning(repo) and time.monotonic() < until:
        waited = True
        time.sleep(_PAUSE)
    return waited


def is_pruning(repo: Repository) -> bool:
    """Whether a `git gc` goes on that deletes young objects, too."""
    try:
        pid, _, host = (repo.folders.common / "gc.pid").read_text().strip().partition(" ")
        number = int(pid)
        with suppress(PermissionError):  # it is there, and another person's (kill(2), EPERM)
            os.kill(number, 0)
    # There is none, or who made it is gone: git goes by that as well.
    except (OSError, ValueError, OverflowError):
        return False
    if host != os.uname().nodename:
        return False
    with suppress(OSError):
        words = Path(f"/proc/{number}/cmdline").read_bytes()
        spares = b"--prune" not in words
        return not spares or repo.configuration().value("gc.pruneexpire") is not None
    return True
