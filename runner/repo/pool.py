"""Slots for scratch trees in the user's cache folder, each held by one process at a time."""

from __future__ import annotations

import fcntl
import os
from dataclasses import field
from typing import TYPE_CHECKING, Self

from runner import effects
from runner.errors import RunnerError
from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from pathlib import Path

_MOST = 1000


@dataclass(slots=True)
class Slot:
    """One slot this process holds; its lock ends with `release`, or with the process."""

    number: int
    folder: Path
    _lock: int = field(repr=False)
    _held: set[int] = field(repr=False)
    """Numbers of the slots that its pool holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Let another process have the slot; doing so twice is fine."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
            self._held.discard(self.number)


class Pool:
    """The slots of one repository: `<folder>/slots/0`, `1` and so on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "slots"
        self._held: set[int] = set()

    def take(self) -> Slot:
        """The first slot that no process holds; made when there is none."""
        # The trees of private repositories lie there, on a machine that others may use.
        effects.make_folder(self.folder, mode=0o700)
        for number in range(_MOST):
            # Not asked for what is ours: each of 64 slots would ask for all before it.
            lock = None if number in self._held else self._lock(number)
            if lock is not None:
                self._held.add(number)
                folder = self.folder / str(number)
                effects.make_folder(folder, mode=0o700)
                return Slot(number, folder, lock, self._held)
        raise RunnerError("every scratch slot is in use by another process", where=str(self.folder))

    def _lock(self, number: int) -> int | None:
        """The open lock of a slot, or None when it is held (flock(2): a dead owner loses it)."""
        path = self.folder / f"{number}.lock"
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        return lock
