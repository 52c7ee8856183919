"""What psutil says of processes, for systems without /proc. Only `platform` asks."""

from __future__ import annotations

import os

import psutil

_STATES = {psutil.STATUS_ZOMBIE: "Z", psutil.STATUS_DEAD: "X"}


def words_of(pid: int) -> tuple[int, str, str, int, int, float] | None:
    """Number, name, state as proc(5) writes it, parent, session, seconds since 1970; or None."""
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
    """All processes that can be seen, each with its parent."""
    found = {}
    for each in psutil.process_iter():
        try:
            found[each.pid] = each.ppid()
        except (psutil.Error, OSError):
            continue
    return found


def environment(pid: int) -> bytes:
    """The environment it was started with, NUL-separated; empty where the system keeps it back."""
    try:
        given = psutil.Process(pid).environ()
    except (psutil.Error, OSError, ValueError):
        return b""
    return b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in given.items())
