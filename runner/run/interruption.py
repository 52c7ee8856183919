"""Stop a run, or one of its tasks, at a person's request.

Ctrl-C and SIGTERM take effect only where the journal is whole. Another process stops one task's
attempt by a file named after the task, in the repository's folder of the user's cache. The run
looks there a few times a second. A signal could reach a process that is no run any more, or kill a
run of an older version.
"""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager, suppress
from threading import Event, Thread, Timer
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner import effects
from runner.errors import ExitCode
from runner.process.platform import descendants
from runner.run.review import Answer, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from runner.model import Change, Task
    from runner.run.review import Asker, Spot


FOLDER = "cancel"
"""Folder in the user's cache folder of the repository."""
_PAUSE = 0.25
"""Seconds between two checks."""


def ask_to_cancel(cache: Path, task: str) -> Path:
    """Ask the run that is going on to end a task's attempt; the file is gone once it has heard."""
    folder = cache / FOLDER
    effects.make_folder(folder)
    effects.write_file(folder / task, b"")
    return folder / task


class Cancellations(Struct):
    """Hears, in a thread of its own, what is to be cancelled, and has it ended."""

    cache: Path
    end: Callable[[str], object]
    """Ends the attempt at a task; called from that thread."""
    _stop: Event = field(default_factory=Event)
    _thread: Thread | None = None

    def listen(self) -> None:
        """Drop old requests and start to listen."""
        # A request for an earlier run must not end the same task of this one.
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
        """Return the newly cancelled tasks and remove their request files."""
        try:
            # A name with a dot is a temporary file still being written (`effects.write_file`).
            files = [one for one in (self.cache / FOLDER).iterdir() if one.name[0] != "."]
        except OSError:  # nobody has ever cancelled anything here
            return []
        for file in files:
            # Remove before acting: a file that appears again in between is a new request, and not
            # lost.
            effects.unlink(file)
        return [file.name for file in files]


_SIGNALS = (signal.SIGINT, signal.SIGTERM)
LONGEST = 4.5
"""Seconds from the signal until the process ends whatever it still does. Killing it at any
instant loses nothing, so what is lost is a draft at most."""
_GAVE_UP = b"\nrunner: it did not stop in time and was killed; run again to continue\n"
ENDING = "stopping and saving state; press Ctrl-C again to quit now"


class Interruption:
    """Remembers that a person wants the run to end, and wakes the coordinator.

    An exception raised between any two instructions could come between a commit and its record, or
    leave a worker that nobody waits for. Only while a person is asked is it raised at once, since
    reading their answer would go on otherwise.
    """

    def __init__(self, say: Callable[[str], None] = lambda _text: None) -> None:
        """`say` is called from a signal's handler: it must take no lock and use no buffer."""
        self.heard = False
        self._say = say
        self._asking = False
        self._wake: Callable[[], None] | None = None
        self._insists = False
        self._watchdog: Timer | None = None

    def insist(self) -> None:
        """End the process `LONGEST` seconds after a signal, unless `relent` is called."""
        self._insists = True

    def relent(self) -> None:
        """Cancel the forced end, since the work has ended by itself."""
        self._insists = False
        if self._watchdog is not None:
            self._watchdog.cancel()

    def wakes(self, wake: Callable[[], None]) -> None:
        """Register a function to be called at a signal, or at once if one has already come."""
        self._wake = wake
        if self.heard:
            wake()

    @contextmanager
    def listen(self) -> Iterator[None]:
        """Handle signals during the block; the second one ends the process at once."""
        try:
            before = [(number, signal.signal(number, self._hear)) for number in _SIGNALS]
        except ValueError:  # not in the main thread: whoever embeds us handles signals
            yield
            return
        try:
            yield
        finally:
            for number, handler in before:
                signal.signal(number, handler)

    def wrap_asker(self, asker: Asker) -> Asker:
        """Wrap an asker so that a signal answers its questions with `wait`."""
        return _Interruptible(asker, self)

    def _hear(self, number: int, _frame: object) -> None:
        if self.heard:
            # By the signal, not an exit code: a shell then sees the interrupt and ends its own
            # script as well (wait(2), WIFSIGNALED).
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self.heard = True
        if self._insists:
            self._watchdog = Timer(LONGEST, _end_process)
            self._watchdog.daemon = True
            self._watchdog.start()
        self._say(ENDING)
        if self._wake is not None:
            self._wake()
        if self._asking:
            raise KeyboardInterrupt

    @contextmanager
    def _raise_inside(self) -> Iterator[None]:
        self._asking = True
        try:
            if self.heard:
                raise KeyboardInterrupt
            yield
        finally:
            self._asking = False

    @contextmanager
    def _wait_until_done(self) -> Iterator[None]:
        """Delay the effect of a signal until the end of the block."""
        before, self._asking = self._asking, False
        try:
            yield
        finally:
            self._asking = before
        if self.heard:
            raise KeyboardInterrupt


def _end_process() -> None:
    """Kill all child processes and exit, from a thread that cannot be blocked."""
    # Bypasses `sys.stderr`: the hanging thread may hold the lock of that stream.
    with suppress(OSError):
        os.write(2, _GAVE_UP)
    with suppress(OSError):
        for child in descendants(os.getpid()):
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
    # sys.exit would raise only in this thread, and the interpreter would then wait for the others.
    os._exit(ExitCode.INTERRUPTED)


class _Interruptible:
    def __init__(self, asker: Asker, interruption: Interruption) -> None:
        self._asker = asker
        self._interruption = interruption

    def ask(self, task: Task, change: Change, before: bytes | None, spot: Spot) -> Reply:
        """Return the person's answer; after a signal the change waits."""
        try:
            with self._interruption._raise_inside():  # noqa: SLF001 - the two are one
                return self._asker.ask(task, change, before, self._calm(spot))
        except KeyboardInterrupt:
            return Reply(Answer.WAITS)

    def _calm(self, spot: Spot) -> Spot:
        """Return the prompt with background work that signals do not interrupt."""
        if (going_on := spot.meanwhile) is None:
            return spot

        def go_on() -> None:
            with self._interruption._wait_until_done():  # noqa: SLF001 - as above
                going_on()

        return replace(spot, meanwhile=go_on)

    def choose(self, text: str, question: str) -> str:
        """Ask the question and return the answer; a signal raises KeyboardInterrupt."""
        with self._interruption._raise_inside():  # noqa: SLF001 - as above
            return self._asker.choose(text, question)
