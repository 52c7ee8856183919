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
    """Ends the child before its k-th effect, and what no fsync had reached is gone.

    Appended files lose their ends, of which `torn` bytes are there all the same. A file that got
    its name before its content was synced is empty, as a file system that writes names first
    leaves it. References are git's, which syncs them.
    """
    appended, replaced = {}, _Replaced()
    syncing = []

    def watch(number, kind, target):
        for path in syncing:
            appended[path] = path.stat().st_size
        syncing.clear()
        if number == k:
            for path, size in appended.items():
                if path.exists():
                    os.truncate(path, min(size + torn, path.stat().st_size))
            replaced.lose()
            os._exit(STOPPED)
        path = Path(repo, target)
        if path.name not in APPENDED:
            replaced.follow(kind, path)
        else:
            appended.setdefault(path, path.stat().st_size if path.exists() else 0)
            if kind == "fsync":
                syncing.append(path)

    return watch


class _Replaced:
    """Files that got a name, and whether their content was durable by then.

    A name may be meant in another folder, such as a scratch tree: only what is another file
    afterwards has been replaced.
    """

    def __init__(self):
        self.synced, self.unsure, self.before = set(), set(), {}

    def follow(self, kind, path):
        """A sync tells the name that a file will have, or has beside it: both are remembered."""
        self._look()
        if kind == "fsync":
            self.synced |= {path, *self._numbers(path)}
        elif kind in ("open", "write"):
            self.synced.discard(path)
        elif kind == "replace":
            self.before[path] = (self._numbers(path), path in self.synced)

    def lose(self):
        """Empty what was replaced by what no sync had reached."""
        self._look()
        for path in self.unsure:
            if path.is_file() and self.synced.isdisjoint(self._numbers(path)):
                path.chmod(0o644)  # objects are read-only
                os.truncate(path, 0)

    def _look(self):
        for path, (numbers, is_synced) in self.before.items():
            if numbers != self._numbers(path):
                (self.unsure.discard if is_synced else self.unsure.add)(path)
        self.before.clear()

    @staticmethod
    def _numbers(path):
        return [path.stat().st_ino] if path.is_file() else []


FULL, BROKEN = errno.ENOSPC, errno.EIO
