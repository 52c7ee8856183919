"""System calls that Python does not offer: privileges, filters, Landlock, inotify.

All but the last bind the calling thread alone, and what it starts: see capabilities(7), seccomp(2),
landlock(7). Each raises OSError where the kernel refuses.
"""

from __future__ import annotations

import ctypes
import os
import struct
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_PR_SET_NO_NEW_PRIVS, _PR_CAPBSET_DROP, _PR_SET_SECCOMP = 38, 24, 22
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
_SECCOMP_MODE_FILTER = 2
# _LINUX_CAPABILITY_VERSION_3 of capget(2): two rows of three 32-bit words, the 24 bytes below.
_CAPABILITY_VERSION = 0x20080522
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""Call numbers, equal on all architectures except alpha."""
_CREATE_RULESET_VERSION = 1
_PATH_BENEATH = 1


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    # Otherwise errno belongs to the interpreter's last call; with it ctypes keeps a copy for each
    # thread, taken directly after the call.
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), what)
    return result


def _prctl(option: int, first: int, second: object, what: str) -> None:
    # prctl(2) is variadic, and several options require zero in unused arguments: a plain int of
    # ctypes leaves the upper half of a register unchanged.
    words = (ctypes.c_ulong(first), second, ctypes.c_ulong(0), ctypes.c_ulong(0))
    _check(_libc().prctl(option, *words), what)


def _syscall(number: int, *arguments: object) -> int:
    wide = (ctypes.c_long(each) if isinstance(each, int) else each for each in arguments)
    return int(_libc().syscall(ctypes.c_long(number), *wide))


# --- privileges -----------------------------------------------------------------------


def drop_privileges() -> None:
    """Drop all capabilities, including any that executed programs would gain."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1, ctypes.c_ulong(0), "no_new_privs")
    # Dropping from the bounding set needs CAP_SETPCAP, which the last line here drops; a user other
    # than root lacks it and has nothing to drop: capabilities(7).
    if os.geteuid() == 0:
        # Ask the kernel, not a header: a number above its last is EINVAL, and an omitted lower one
        # would stay (prctl(2), PR_CAPBSET_DROP).
        for number in range(_last_capability() + 1):
            _prctl(_PR_CAPBSET_DROP, number, ctypes.c_ulong(0), "capability bounding set")
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, ctypes.c_ulong(0), "ambient set")
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    _check(_libc().capset(header, bytes(24)), "capabilities")


@lru_cache(maxsize=1)
def _last_capability() -> int:
    with open("/proc/sys/kernel/cap_last_cap", encoding="ascii") as file:  # noqa: PTH123 - one line
        return int(file.read())


def filter_calls(program: bytes) -> None:
    """Install a BPF program (`seccomp.program`) that filters system calls."""
    code = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog has native alignment: padding precedes the pointer, hence "@".
    filter_ = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    words = ctypes.create_string_buffer(filter_, len(filter_))
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, words, "seccomp")


# --- landlock -------------------------------------------------------------------------


@lru_cache(maxsize=1)
def landlock_version() -> int:
    """Return the Landlock version of the kernel; 0 if it is not available."""
    found = _syscall(_CREATE_RULESET, None, 0, _CREATE_RULESET_VERSION)
    return max(found, 0)


def new_ruleset(files: int, ports: int, scope: int, version: int) -> int:
    """Create a ruleset that denies these accesses by default, and return its descriptor."""
    # The kernel accepts a longer structure than it knows only if the rest is zero, else E2BIG:
    # landlock_create_ruleset(2). Ports came with ABI 4, the scope with 6.
    sizes = {1: 8, 2: 8, 3: 8, 4: 16, 5: 16}
    attributes = struct.pack("=QQQ", files, ports, scope)[: sizes.get(version, 24)]
    return _check(_syscall(_CREATE_RULESET, attributes, len(attributes), 0), "landlock")


def allow(ruleset: int, path: int, access: int) -> None:
    """Allow this access at and below what a descriptor stands for."""
    # struct landlock_path_beneath_attr is packed: twelve bytes, no padding after the descriptor.
    rule = struct.pack("=Qi", access, path)
    _check(_syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0), "landlock rule")


def restrict_self(ruleset: int) -> None:
    """Bind this thread and what it starts to the rules, for ever."""
    _check(_syscall(_RESTRICT_SELF, ruleset, 0), "landlock")


# --- opened files ---------------------------------------------------------------------

_IN_OPEN, _IN_DONT_FOLLOW, _IN_ONESHOT, _IN_Q_OVERFLOW = 0x20, 0x02000000, 0x80000000, 0x4000
_EVENT = struct.Struct("=iIII")
"""struct inotify_event without the name, which is empty for a watched file."""


def watch_opens(files: Iterable[str]) -> tuple[int, dict[int, list[str]]]:
    """Return a descriptor that tells of the first open of each file, and files by watch."""
    descriptor = _check(_libc().inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC), "inotify")
    watches: dict[int, list[str]] = {}
    mask = _IN_OPEN | _IN_DONT_FOLLOW | _IN_ONESHOT
    try:
        for file in files:
            added = _libc().inotify_add_watch(descriptor, os.fsencode(file), ctypes.c_uint32(mask))
            watches.setdefault(_check(added, "inotify watch"), []).append(file)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor, watches


def read_opened(descriptor: int) -> set[int] | None:
    """Return the watches whose files were opened; None where the kernel lost some: inotify(7)."""
    found: set[int] = set()
    while True:
        try:
            content = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return found
        at = 0
        while at < len(content):
            watch, mask, _, length = _EVENT.unpack_from(content, at)
            if mask & _IN_Q_OVERFLOW:
                return None
            if mask & _IN_OPEN:
                found.add(watch)
            at += _EVENT.size + length
