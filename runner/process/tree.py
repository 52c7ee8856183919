"""The processes a command has started: found whole and ended whole, whoever adopted them.

A process group is not enough: `setsid` leaves it. So this process adopts the orphans of its
descendants (`platform.adopt_orphans`), and each command carries a mark in its
environment that its children inherit: what shows up here as an orphan can be recognised even
while other commands run in other threads.

Where orphans cannot be adopted (macOS), they go to the system's first process, among everybody's:
those of a command are recognised by session, mark, or by having been seen below it before.
"""

from __future__ import annotations

import atexit
import itertools
import os
import signal
import threading
import time
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

from runner.process import platform
from runner.process.platform import (
    descendants,
    environment,
    everyone,
    process,
    seconds_queued,
    ticks,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path
    from subprocess import Popen

    from runner.process.platform import Process


MARK = "RUNNER_COMMAND"
"""The variable that says which command a process belongs to; nested runners append theirs."""

_APART = "apart"
"""The mark of what is nobody's leftover."""
_KILLING = 5.0
"""Seconds that processes which keep forking are hunted for."""
_FIRST = 1
"""The system's first process."""
_LOOK = 0.25
"""Seconds between two looks at what is below a command, where orphans are not adopted."""
_BLUR = 200
"""Ticks by which start times differ where they are of a clock that is set."""

# What this process has running is a fact about the process, hence not passed around. The lock
# is held while a child starts, so that no other thread sees one that is not yet written down.
_lock = threading.Lock()
_running: dict[int, ProcessTree] = {}
_begun: dict[Path | None, int] = {}
_unended: set[str] = set()
"""Marks of commands that were started, or are about to be, and are not known to have ended."""
_signalled: set[int] = set()
_wrappers: set[str] = set()
_numbers = itertools.count(1)
_adopting = 0
_adopts = True


def new_mark() -> str:
    """A mark no other command on this machine carries."""
    return f"{own_prefix()}{next(_numbers)}"


def own_prefix() -> str:
    """What all marks of this process begin with; recorded, it lets a later run clean up."""
    return _prefix(os.getpid(), os.environ.get(MARK))


@lru_cache(maxsize=1)
def _prefix(pid: int, outer: str | None) -> str:
    # A number is given out again, a number with its start is not: proc(5), starttime.
    own = process(pid)
    started = own.started if own else 0
    return f"{outer}/{pid}.{started}." if outer else f"{pid}.{started}."


class ProcessTree:
    """A command's first process with all its descendants; open until `close`."""

    def __init__(
        self,
        mark: str,
        first: Popen[bytes],
        started: int,
        wrapper: str = "",
        within: Path | None = None,
    ) -> None:
        self.mark = mark
        self.within = within
        self.first = first
        self._wrapper = wrapper
        self._started = started  # the moment before it was, in clock ticks
        self.processor: float | None = None
        """Seconds of a processor that it and what it waited for took; known once it is closed."""
        self._seen: dict[int, int] = {}
        """What was below it, by number, each with its start; only where nothing is adopted."""
        self._looked = 0.0

    def survivors(self) -> list[Process]:
        """The command's live processes that were orphaned; fetches those that died."""
        if not _adopts:
            return self._astray()
        with _lock:
            orphans = [orphan for orphan in _orphans() if self._owns(orphan)]
        below = [pid for orphan in orphans for pid in descendants(orphan.pid)]
        return orphans + _alive(below)

    def members(self) -> list[Process]:
        """All live processes of the command, parents first."""
        below = _alive([self.first.pid, *descendants(self.first.pid)])
        if not _adopts:
            self._seen.update((each.pid, each.started) for each in below)
        return [*below, *self.survivors()]

    @property
    def queued(self) -> float:
        """Seconds that the process which waited longest for a processor did so."""
        return max((seconds_queued(each.pid) for each in self.members()), default=0.0)

    def terminate(self) -> None:
        """Ask all to end but a sandbox's own processes, whose end would kill the others."""
        asked = (each for each in self.members() if each.name != self._wrapper)
        _signal(asked, signal.SIGTERM)

    def kill(self) -> None:
        """End all, those too that fork while being ended."""
        until = time.monotonic() + _KILLING
        while members := self.members():
            with suppress(ProcessLookupError, PermissionError):
                # One call ends all of the group, those too that were forked after `members` looked
                # (kill(2)).
                os.killpg(self.first.pid, signal.SIGKILL)
            _signal(members, signal.SIGKILL)
            if time.monotonic() > until:
                return
            time.sleep(0.002)

    def close(self) -> None:
        """Fetch the first process and forget the command. Its number may be used again then."""
        self._fetch_first()
        with _lock:
            _running.pop(self.first.pid, None)
            _unended.discard(self.mark)

    def _fetch_first(self) -> None:
        if self.first.returncode is not None:
            return
        try:
            # Of this child alone: RUSAGE_CHILDREN of getrusage(2) adds up all commands of this
            # process, and several run at once.
            _, status, used = os.wait4(self.first.pid, 0)
        except ChildProcessError:  # somebody fetched it: Popen knows what to say then
            self.first.wait()
            return
        self.first.returncode = os.waitstatus_to_exitcode(status)
        self.processor = used.ru_utime + used.ru_stime

    def look(self) -> None:
        """Remember what is below the first process now, where orphans come to nobody we know."""
        if not _adopts and time.monotonic() - self._looked > _LOOK:
            self._looked = time.monotonic()
            self.members()

    def _astray(self) -> list[Process]:
        """The same as `survivors`, found among the children of the system's first process."""
        since = self._started - _BLUR
        orphans = [
            each
            for each in _alive(platform.children(_FIRST))
            if each.started >= since and self._is_mine(each)
        ]
        below = [pid for orphan in orphans for pid in descendants(orphan.pid)]
        found = orphans + _alive(below)
        self._seen.update((each.pid, each.started) for each in found)
        return found

    def _is_mine(self, orphan: Process) -> bool:
        if orphan.session == self.first.pid or self._seen.get(orphan.pid) == orphan.started:
            return True
        mark = _mark_of(orphan.pid)
        return bool(mark) and (_within(mark, self.mark) or _is_leftover(mark))

    def _owns(self, orphan: Process) -> bool:
        if orphan.session == self.first.pid:
            return True
        mark = _mark_of(orphan.pid)
        if mark:
            return _within(mark, self.mark) or _is_leftover(mark)
        # It wiped its environment. It is ours when no other command can have started it; where
        # several can, the last of them to end takes it.
        others = (tree for tree in _running.values() if tree is not self)
        return self._started <= orphan.started and all(
            tree._started > orphan.started  # noqa: SLF001 - the same class
            for tree in others
        )


def plant(
    mark: str,
    start: Callable[[], Popen[bytes]],
    wrapper: str = "",
    within: Path | None = None,
) -> ProcessTree:
    """Start a command's first process, which must begin a session. Raises what `start` raises.

    `wrapper` is the name of a sandbox's own processes, "" where there is none; `within` the one
    scratch tree that it can write to, None where nothing holds it.
    """
    _adopt_orphans()
    with _lock:
        if wrapper:
            _wrappers.add(wrapper)
        # Before the start: ticks are coarse (10 ms as a rule), and a child that began in the same
        # one must not count as older than its command.
        started = ticks()
        _begun[within] = _begun.get(within, 0) + 1
        _unended.add(mark)
        tree = ProcessTree(mark, start(), started, wrapper, within)
        _running[tree.first.pid] = tree
    return tree


def count_visits(tree: Path) -> int | None:
    """How many commands may have written to a scratch tree; None as long as one still may.

    So it is once anything ran outside a sandbox: it may have others work for it (cron, a daemon),
    and no end of it says that they ended.
    """
    with _lock:
        if None in _begun or any(one.within == tree for one in _running.values()):
            return None
        return _begun.get(tree, 0)


def plant_apart(
    env: Mapping[str, str], start: Callable[[dict[str, str]], Popen[bytes]]
) -> Popen[bytes]:
    """Start what begins a session though it is no command: whoever does so waits for it alone.

    It carries a mark that is no command's: it shows up among our children as an orphan of one
    would, and the next to end would end it. Raises what `start` raises.
    """
    outer = os.environ.get(MARK)
    mark = f"{outer}/{_APART}" if outer else _APART
    with _lock:
        return start({**env, MARK: mark})


@atexit.register
def _end_unended() -> None:
    """End what an interrupt between the start of a command and the wait for it left running."""
    if _unended:
        end_marked(own_prefix())


def end_marked(prefix: str) -> int:
    """End every process whose mark begins with `prefix`: what a killed run left; how many.

    For `prefix` see `own_prefix`. Only for a run that is known to be dead, or ends.
    """
    ended: set[int] = set()
    until = time.monotonic() + _KILLING
    while time.monotonic() < until:
        # Looked for again until none is left: what is about to be ended may fork first.
        found = _alive(pid for pid in everyone() if _mark_of(pid).startswith(prefix))
        if not found:
            break
        ended.update(each.pid for each in found)
        _signal(found, signal.SIGKILL)
        time.sleep(0.002)
    return len(ended)


def _adopt_orphans() -> None:
    """Become the parent of orphaned descendants; where that is refused, groups must do."""
    global _adopting, _adopts  # noqa: PLW0603 - set once per process, and again after a fork
    # PR_SET_CHILD_SUBREAPER is not inherited over fork(2), prctl(2): a process that was forked has
    # to ask for it again.
    if _adopting != os.getpid():
        _adopts = platform.adopt_orphans()
        _adopting = os.getpid()


def _orphans() -> list[Process]:
    """Live children of this process that no one here has started.

    Every command begins a session, so a child in our own session was started by other code
    of this process, which waits for it itself.
    """
    own = os.getsid(0)
    found = []
    for pid in platform.find_adopted():
        # Only a look, never waitpid(-1): that would fetch children of other threads, whose exit
        # codes are then lost to them.
        child = None if pid in _running else process(pid)
        if child is None or child.session == own:
            continue
        if child.alive:
            found.append(child)
        elif _nobodys(child):
            _fetch(child.pid)
    return found


def _nobodys(dead: Process) -> bool:
    """Whether no one else can be waiting for this dead child.

    One that leads a session of its own may have been started so by other code here: unless we
    ended it, or it was a sandbox's, it is left to that code.
    """
    return dead.session != dead.pid or dead.pid in _signalled or dead.name in _wrappers


def _fetch(pid: int) -> None:
    """Take a dead orphan out of the process table."""
    _signalled.discard(pid)
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _alive(pids: Iterable[int]) -> list[Process]:
    found = (process(pid) for pid in pids)
    return [each for each in found if each and each.alive]


def _signal(processes: Iterable[Process], number: signal.Signals) -> None:
    for each in processes:
        # Noted first: another thread may look at it, dead, before this call is back.
        _signalled.add(each.pid)
        with suppress(ProcessLookupError, PermissionError):
            os.kill(each.pid, number)


def _mark_of(pid: int) -> str:
    # What it was started with, not what it set since (proc(5), environ): so a child's mark is its
    # parent's, and only execve(2) with another environment takes it off.
    variables = b"\0" + environment(pid)
    _, found, rest = variables.partition(f"\0{MARK}=".encode())
    return rest.partition(b"\0")[0].decode("utf-8", "replace") if found else ""


def _within(mark: str, outer: str) -> bool:
    return mark == outer or mark.startswith(outer + "/")


def _is_leftover(mark: str) -> bool:
    """Whether the mark is of a command of this process that is no longer running."""
    running = (tree.mark for tree in _running.values())
    return mark.startswith(own_prefix()) and not any(_within(mark, each) for each in running)
