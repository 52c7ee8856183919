"""The ways in which a run is cut off at one of its effects: each is a watch for `House.run`."""

import errno
import os
from pathlib import Path

STOPPED = 137
"""What a child says that was stopped; SIGKILL looks the same to a shell."""


def stop_at(k):
    """Ends the child right before its k-th effect, as a power switch would."""

    def watch(number, _kind, _target):
        if number == k:
            os._exit(STOPPED)

    return watch


def stop_behind(meant, times):
    """Ends the child right before what follows, once `meant` said yes so many times."""
    left = times

    def watch(_number, kind, target):
        nonlocal left
        if not left:
            os._exit(STOPPED)
        left -= meant(kind, target)

    return watch


def stop_before(meant, times):
    """Ends the child right before the effect that `meant` says yes to so many times."""
    seen = 0

    def watch(_number, kind, target):
        nonlocal seen
        seen += meant(kind, target)
        if seen == times:
            os._exit(STOPPED)

    return watch


def stop_after(moved, times):
    """Ends the child right after the effect that `moved` says yes to so many times."""
    seen = 0

    def watch(_number, kind, target):
        nonlocal seen
        if seen == times:
            os._exit(STOPPED)
        seen += moved(kind, target)

    return watch


def fail_at(k, code, *, stays=False):
    """Has the k-th effect fail, or with `stays` every one from there on."""

    def watch(number, _kind, target):
        if number == k or (stays and number > k):
            raise OSError(code, os.strerror(code), target)

    return watch


APPENDED = ("journal.jsonl", "CHECKPOINT.md", "DECISIONS.md", "WRITE_LOG.jsonl")


def power_cut_at(k, repo, torn=0):
    """Ends the child before its k-th effect, and appended files lose what no fsync had reached.

    `torn` bytes of what is lost are there all the same. References are git's, which syncs them.
    """
    sure = {}
    syncing = []

    def watch(number, kind, target):
        for path in syncing:
            sure[path] = path.stat().st_size
        syncing.clear()
        path = Path(repo, target)
        if path.name in APPENDED:
            sure.setdefault(path, path.stat().st_size if path.exists() else 0)
            if kind == "fsync":
                syncing.append(path)
        if number == k:
            for path, size in sure.items():
                if path.exists():
                    os.truncate(path, min(size + torn, path.stat().st_size))
            os._exit(STOPPED)

    return watch


FULL, BROKEN = errno.ENOSPC, errno.EIO
