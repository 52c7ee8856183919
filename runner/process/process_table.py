"""Process information by psutil for systems without /proc; only `platform` imports it."""

from __future__ import annotations

import os

import psutil

_STATES = {psutil.STATUS_ZOMBIE: "Z", psutil.STATUS_DEAD: "X"}


def words_of(pid: int) -> tuple[int, str, str, int, int, float] | None:
    """Return number, name, state as in proc(5), parent, session and start time; or None."""
    try:
        found = psutil.Process(pid)
        state = _STATES.get(found.status(), "S")
        parent, started = found.ppid(), found.create_time()
    except (psutil.Error, OSError, ValueError, OverflowError):
        return None
    try:
        name = found.name()
    except (psutil.Error, OSError):
        name = ""  # a zombie's, or another person's
    return pid, name, state, parent, _session(pid), started


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:  # a zombie's on some systems
        return -1


def parents() -> dict[int, int]:
    """Return the parent of each visible process."""
    found = {}
    for each in psutil.process_iter():
        try:
            found[each.pid] = each.ppid()
        except (psutil.Error, OSError):
            continue
    return found


def environment(pid: int) -> bytes:
    """Return the initial environment of a process, NUL-separated; empty if not readable."""
    try:
        given = psutil.Process(pid).environ()
    except (psutil.Error, OSError, ValueError):
        return b""
    return b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in given.items())
