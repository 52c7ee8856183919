"""One task of a run that is going on is ended on a person's word, from another process.

The word is a file named after the task, in the user's cache folder of the repository. The run looks
there a few times a second: a signal could reach a process that is no run any more, or an older one
that ends of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TYPE_CHECKING

from runner import effects

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FOLDER = "cancel"
"""Below the user's cache folder of the repository."""
_PAUSE = 0.25
"""Seconds between two looks."""


def ask_to_cancel(cache: Path, task: str) -> Path:
    """Ask the run that is going on to end a task's attempt; the file is gone once it has heard."""
    folder = cache / FOLDER
    effects.make_folder(folder)
    effects.write_file(folder / task, b"")
    return folder / task


@dataclass(slots=True)
class Cancellations:
    """Hears, in a thread of its own, what is to be cancelled, and has it ended."""

    cache: Path
    end: Callable[[str], object]
    """Ends the attempt at a task; called from that thread."""
    _stop: Event = field(default_factory=Event)
    _thread: Thread | None = None

    def listen(self) -> None:
        """Forget what nobody heard in time, and begin to listen."""
        for _ in self._read_requests():
            pass
        self._thread = Thread(target=self._listen, name="cancellations", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _listen(self) -> None:
        while not self._stop.wait(_PAUSE):
            for task in self._read_requests():
                self.end(task)

    def _read_requests(self) -> list[str]:
        """The tasks that were named since the last look; each is told once."""
        try:
            files = [one for one in (self.cache / FOLDER).iterdir() if one.name[0] != "."]
        except OSError:  # nobody has ever cancelled anything here
            return []
        for file in files:
            effects.unlink(file)
        return [file.name for file in files]
