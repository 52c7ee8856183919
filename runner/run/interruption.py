"""How a person stops a run, or one task of it.

Ctrl-C and SIGTERM take effect only where the journal is whole. Another process stops one task's
attempt by a file named after the task, in the repository's folder of the user's cache. The run
looks there a few times a second. A signal could reach a process that is no run any more, or kill a
run of an older version.
"""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from threading import Event, Thread, Timer
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import ExitCode
from runner.lazy_dataclass import dataclass
from runner.process.platform import descendants
from runner.run.review import Answer, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from runner.model import Change, Task
    from runner.run.review import Asker, Spot


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
        # A request for a run that has ended by now must not end the same task of this one.
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
        """The tasks that were named since the last look; each is returned once."""
        try:
            # A name with a dot is still being written beside (`effects.write_file`).
            files = [one for one in (self.cache / FOLDER).iterdir() if one.name[0] != "."]
        except OSError:  # nobody has ever cancelled anything here
            return []
        for file in files:
            # Taken away before it is acted on: a file that came back in between is another request,
            # and not lost.
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
        """From now on a signal ends the process within `LONGEST` seconds, unless `relent` comes."""
        self._insists = True

    def relent(self) -> None:
        """What a signal was to end has ended by itself."""
        self._insists = False
        if self._watchdog is not None:
            self._watchdog.cancel()

    def wakes(self, wake: Callable[[], None]) -> None:
        """Have `wake` called when a signal comes, or at once when one has come already."""
        self._wake = wake
        if self.heard:
            wake()

    @contextmanager
    def listen(self) -> Iterator[None]:
        """Hear signals in here; the second one ends the process at once."""
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
        """The same asker, whose questions a signal answers with `wait`."""
        return _Interruptible(asker, self)

    def _hear(self, number: int, _frame: object) -> None:
        if self.heard:
            # By the signal itself and not by an exit code: a shell then knows that it was
            # interrupted, and ends its own script as well (wait(2), WIFSIGNALED).
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
        """A signal in here is acted on at the end of it."""
        before, self._asking = self._asking, False
        try:
            yield
        finally:
            self._asking = before
        if self.heard:
            raise KeyboardInterrupt


def _end_process() -> None:
    """End all that was started here, and this process, from a thread that nothing holds up."""
    # Past `sys.stderr`: the thread that does not end may hold the lock of that stream.
    with suppress(OSError):
        os.write(2, _GAVE_UP)
    with suppress(OSError):
        for child in descendants(os.getpid()):
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
    # sys.exit would raise in this thread alone, and the interpreter would then wait for the others
    # at its end.
    os._exit(ExitCode.INTERRUPTED)


class _Interruptible:
    def __init__(self, asker: Asker, interruption: Interruption) -> None:
        self._asker = asker
        self._interruption = interruption

    def ask(self, task: Task, change: Change, before: bytes | None, spot: Spot) -> Reply:
        """The person's answer; a signal means that the change waits for another run."""
        try:
            with self._interruption._raise_inside():  # noqa: SLF001 - the two are one
                return self._asker.ask(task, change, before, self._calm(spot))
        except KeyboardInterrupt:
            return Reply(Answer.WAITS)

    def _calm(self, spot: Spot) -> Spot:
        """The spot, where a signal breaks into nothing that goes on meanwhile."""
        if (going_on := spot.meanwhile) is None:
            return spot

        def go_on() -> None:
            with self._interruption._wait_until_done():  # noqa: SLF001 - as above
                going_on()

        return replace(spot, meanwhile=go_on)

    def choose(self, text: str, question: str) -> str:
        """What is typed; a signal is raised as KeyboardInterrupt."""
        with self._interruption._raise_inside():  # noqa: SLF001 - as above
            return self._asker.choose(text, question)
