"""Find and end all processes that a command has started, reparented ones included.

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
"""Variable that names the command of a process; nested runners append theirs."""

_APART = "apart"
"""Mark of processes that count as nobody's leftover."""
_SEARCHES = 2
_KILLING = 5.0
"""Seconds for ending processes that keep forking."""
_FIRST = 1
"""The system's first process."""
_LOOK = 0.25
"""Seconds between two scans of a command's descendants, if orphans are not adopted."""
_BLUR = 200
"""Ticks by which start times may differ if they come from an adjustable clock."""

# Running children are a fact of the process, hence global. The lock is held while a child starts,
# so that no other thread sees an unregistered one.
_lock = threading.Lock()
_running: dict[int, ProcessTree] = {}
_begun: dict[Path | None, int] = {}
_unended: set[str] = set()
"""Marks of commands that are starting or running."""
_signalled: set[int] = set()
_wrappers: set[str] = set()
_numbers = itertools.count(1)
_adopting = 0
_adopts = True


def new_mark() -> str:
    """Return a process mark that is unique on this machine."""
    return f"{own_prefix()}{next(_numbers)}"


def own_prefix() -> str:
    """Return the prefix of all marks of this process; a later run uses it to clean up."""
    return _prefix(os.getpid(), os.environ.get(MARK))


@lru_cache(maxsize=1)
def _prefix(pid: int, outer: str | None) -> str:
    # Numbers are reused, but a number with its start time is unique: proc(5), starttime.
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
        """Processor seconds of it and of the children it waited for; known after `close`."""
        self._seen: dict[int, int] = {}
        """Descendants by number, each with its start; only if orphans are not adopted."""
        self._looked = 0.0

    def survivors(self) -> list[Process]:
        """Return the command's live orphaned processes, and reap dead ones."""
        if not _adopts:
            return self._astray()
        with _lock:
            orphans = [orphan for orphan in _orphans() if self._owns(orphan)]
        below = [pid for orphan in orphans for pid in descendants(orphan.pid)]
        return orphans + _alive(below)

    def members(self) -> list[Process]:
        """Return all live processes of the command, parents first."""
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
        """Kill all processes of the tree, including those that fork meanwhile."""
        until = time.monotonic() + _KILLING
        while members := self.members():
            with suppress(ProcessLookupError, PermissionError):
                # One call ends the whole group, including forks after the read of `members`
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
            # Only of this child: RUSAGE_CHILDREN of getrusage(2) sums all commands of this process,
            # and several run at once.
            _, status, used = os.wait4(self.first.pid, 0)
        except ChildProcessError:  # somebody fetched it: Popen knows what to say then
            self.first.wait()
            return
        self.first.returncode = os.waitstatus_to_exitcode(status)
        self.processor = used.ru_utime + used.ru_stime

    def look(self) -> None:
        """Record the current descendants, if orphans cannot be adopted on this system."""
        if not _adopts and time.monotonic() - self._looked > _LOOK:
            self._looked = time.monotonic()
            self.members()

    def _astray(self) -> list[Process]:
        """Return surviving processes found among the children of the init process."""
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
        # It cleared its environment. It belongs to us if no other command can have started it; if
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
        # Before the start: ticks are coarse (usually 10 ms), and a child started in the same tick
        # must not count as older than its command.
        started = ticks()
        _begun[within] = _begun.get(within, 0) + 1
        _unended.add(mark)
        tree = ProcessTree(mark, start(), started, wrapper, within)
        _running[tree.first.pid] = tree
    return tree


def count_visits(tree: Path) -> int | None:
    """Count the commands that may have written to a scratch tree; None while one still may.

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
    """Kill the commands left over by an interrupt between their start and the wait for them."""
    if _unended:
        end_marked(own_prefix())


def end_marked(prefix: str) -> int:
    """Kill every process whose mark starts with `prefix`, and return their number.

    For `prefix` see `own_prefix`. Only for a run that is known to be dead, or ends.
    """
    ended: set[int] = set()
    until, empty = time.monotonic() + _KILLING, 0
    while empty < _SEARCHES and time.monotonic() < until:
        # A process may fork before it is ended, and has no environment while it starts (execve).
        found = _alive(pid for pid in everyone() if _mark_of(pid).startswith(prefix))
        empty = 0 if found else empty + 1
        ended.update(each.pid for each in found)
        _signal(found, signal.SIGKILL)
        time.sleep(0.005)
    return len(ended)


def _adopt_orphans() -> None:
    """Make this process the parent of orphans; if refused, process groups are used."""
    global _adopting, _adopts  # noqa: PLW0603 - set once per process, and again after a fork
    # PR_SET_CHILD_SUBREAPER is not inherited over fork(2), prctl(2): a forked process must set it
    # again.
    if _adopting != os.getpid():
        _adopts = platform.adopt_orphans()
        _adopting = os.getpid()


def _orphans() -> list[Process]:
    """Return the live orphans that were adopted from commands.

    Every command begins a session, so a child in our own session was started by other code
    of this process, which waits for it itself.
    """
    own = os.getsid(0)
    found = []
    for pid in platform.find_adopted():
        # Only check, never waitpid(-1): that would reap children of other threads, which would lose
        # their exit codes.
        child = None if pid in _running else process(pid)
        if child is None or child.session == own:
            continue
        if child.alive:
            found.append(child)
        # One that leads a session of its own may have been started so by other code here: unless we
        # ended it, or it was a sandbox's, it is left to that code.
        elif child.session != child.pid or child.pid in _signalled or child.name in _wrappers:
            _fetch(child.pid)
    return found


def _fetch(pid: int) -> None:
    """Reap a dead orphan."""
    _signalled.discard(pid)
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _alive(pids: Iterable[int]) -> list[Process]:
    found = (process(pid) for pid in pids)
    return [each for each in found if each and each.alive]


def _signal(processes: Iterable[Process], number: signal.Signals) -> None:
    for each in processes:
        # Record first: another thread may see it dead before this call returns.
        _signalled.add(each.pid)
        with suppress(ProcessLookupError, PermissionError):
            os.kill(each.pid, number)


def _mark_of(pid: int) -> str:
    # Its initial environment, not later changes (proc(5), environ): so a child has its parent's
    # mark, and only execve(2) with another environment removes it.
    variables = b"\0" + environment(pid)
    _, found, rest = variables.partition(f"\0{MARK}=".encode())
    return rest.partition(b"\0")[0].decode("utf-8", "replace") if found else ""


def _within(mark: str, outer: str) -> bool:
    return mark == outer or mark.startswith(outer + "/")


def _is_leftover(mark: str) -> bool:
    """Return whether a mark belongs to an ended command of this process."""
    running = (tree.mark for tree in _running.values())
    return mark.startswith(own_prefix()) and not any(_within(mark, each) for each in running)
