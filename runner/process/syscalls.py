"""Linux system calls: those that Python lacks, and a filter for those that no command needs.

Privileges, filters and Landlock bind the calling thread alone, and what it starts: see
capabilities(7), seccomp(2), landlock(7). Each raises OSError where the kernel refuses.

The filter is a program of classic BPF as seccomp(2) takes it. Calls of the list fail with EPERM; a
few that a filter cannot look into fail with ENOSYS, so that programs take the older way. Their
numbers are those of the kernel's own tables: arch/x86/entry/syscalls/syscall_64.tbl, and
include/uapi/asm-generic/unistd.h for aarch64.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

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
    """Install a BPF program (`seccomp_filter`) that filters system calls."""
    code = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog has native alignment: padding precedes the pointer, hence "@".
    filter_ = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    words = ctypes.create_string_buffer(filter_, len(filter_))
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, words, "seccomp")


@lru_cache(maxsize=1)
def landlock_version() -> int:
    """Return the Landlock version of the kernel; 0 if it is not available."""
    return max(_syscall(_CREATE_RULESET, None, 0, _CREATE_RULESET_VERSION), 0)


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


_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""AUDIT_ARCH_* of linux/audit.h."""
_DENIED: tuple[tuple[str, int, int], ...] = (
    # call, x86_64, aarch64; -1: the architecture lacks it
    *(("mount", 165, 40), ("umount2", 166, 39), ("pivot_root", 155, 41), ("chroot", 161, 51)),
    *(("open_tree", 428, 428), ("move_mount", 429, 429), ("fsopen", 430, 430)),
    *(("fsconfig", 431, 431), ("fsmount", 432, 432), ("fspick", 433, 433)),
    *(("mount_setattr", 442, 442), ("open_tree_attr", 467, 467)),
    *(("setns", 308, 268), ("open_by_handle_at", 304, 265)),
    *(("bpf", 321, 280), ("perf_event_open", 298, 241), ("userfaultfd", 323, 282)),
    *(("keyctl", 250, 219), ("add_key", 248, 217), ("request_key", 249, 218)),
    *(("init_module", 175, 105), ("finit_module", 313, 273), ("delete_module", 176, 106)),
    *(("kexec_load", 246, 104), ("kexec_file_load", 320, 294), ("reboot", 169, 142)),
    *(("swapon", 167, 224), ("swapoff", 168, 225), ("acct", 163, 89)),
    *(("settimeofday", 164, 170), ("clock_settime", 227, 112), ("clock_adjtime", 305, 266)),
    *(("sethostname", 170, 161), ("setdomainname", 171, 162), ("syslog", 103, 116)),
    *(("iopl", 172, -1), ("ioperm", 173, -1), ("quotactl", 179, 60), ("quotactl_fd", 443, 443)),
    *(("lookup_dcookie", 212, 18), ("fanotify_init", 300, 262), ("vhangup", 153, 58)),
)
_ABSENT: tuple[tuple[str, int, int], ...] = (
    # clone3 has its flags in memory; io_uring opens sockets that a filter does not see
    # ENOSYS and not EPERM: glibc since 2.34 goes back to clone(2) only where the kernel seems not
    # to have clone3, and else starts no thread (moby 42680).
    *(("clone3", 435, 435), ("io_uring_setup", 425, 425)),
    *(("io_uring_enter", 426, 426), ("io_uring_register", 427, 427)),
)
_CLONE, _UNSHARE, _IOCTL, _SOCKET, _PRLIMIT = (56, 220), (272, 97), (16, 29), (41, 198), (302, 261)
_NAMESPACES = 0x7E020000
"""All CLONE_NEW* flags of clone(2)."""
# CLONE_NEWTIME overlaps clone(2)'s exit signal, so only unshare(2) and clone3 accept it.
_NEW_TIME = 0x80
_TTY = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: they inject terminal input as if from the user."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
"""BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_JMP|JGE|K, BPF_JMP|JSET|K, BPF_RET|K."""
# Classic BPF loads 32 bits at a time, and both architectures are little-endian: the low half of a
# 64-bit argument comes first (seccomp(2)).
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
"""Offsets in struct seccomp_data; for arguments, of their low halves."""
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_X32 = 0x40000000


class Sockets(Enum):
    """The socket families that a command may open."""

    NONE = "none"
    """Not even AF_UNIX: pairs of socketpair(2) can't reach outside and still work."""
    LOCAL = "local"
    """No AF_VSOCK, which reaches a host whatever the network namespace; no raw packets."""
    ANY = "any"


_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
"""AF_* constants of linux/socket.h."""
_FAMILIES = {
    Sockets.NONE: (_NETLINK,),
    Sockets.LOCAL: (_NETLINK, _UNIX, _INET, _INET6),
    Sockets.ANY: (),
}


class _Step(Struct, frozen=True):
    """One instruction; `to` is the end it jumps to when true, else it goes on."""

    code: int
    value: int
    to: str = ""
    otherwise: str = ""


def machine() -> str:
    """Return the machine architecture, with a suffix for 32-bit processes."""
    name = os.uname().machine
    return name if sys.maxsize > 1 << 32 else f"{name}, 32 bit"


@lru_cache(maxsize=4)
def seccomp_filter(sockets: Sockets) -> bytes:
    """Return the seccomp filter as an array of struct sock_filter; empty if not supported."""
    if machine() not in _ARCHITECTURES:
        return b""
    return _assemble(_steps(tuple(_ARCHITECTURES).index(machine()), sockets))


def _steps(column: int, sockets: Sockets) -> list[_Step]:
    """Return the filter's steps: architecture first, then call number, then arguments."""
    architecture = tuple(_ARCHITECTURES.values())[column]
    steps = [
        # Call numbers depend on the architecture, and x86-64 kernels also run i386 programs:
        # seccomp(2) warns of filters that don't check it first.
        _Step(_LOAD, _ARCHITECTURE),
        _Step(_EQUAL, architecture, "", "absent"),
        _Step(_LOAD, _NUMBER),
    ]
    # x32 calls have the architecture of x86-64 and bit 30 in their number: otherwise each denied
    # call would have a second number.
    steps += [_Step(_AT_LEAST, _X32, "absent")] if column == 0 else []
    for calls, end in ((_ABSENT, "absent"), (_DENIED, "denied")):
        numbers = (call[1:][column] for call in calls)
        steps += [_Step(_EQUAL, number, end) for number in numbers if number > 0]
    steps += _by_argument(_CLONE[column], _FIRST, [_Step(_ANY_BIT, _NAMESPACES, "denied")])
    steps += _by_argument(
        _UNSHARE[column], _FIRST, [_Step(_ANY_BIT, _NAMESPACES | _NEW_TIME, "denied")]
    )
    # Compare only the low half, as the kernel does: a filter that compared 64 bits let TIOCSTI pass
    # with a high bit set (CVE-2019-10063, flatpak).
    steps += _by_argument(_IOCTL[column], _SECOND, [_Step(_EQUAL, each, "denied") for each in _TTY])
    # prlimit(2) changes limits of any process of the same user, including ours: allow only the
    # caller itself, which is 0.
    itself, another = _Step(_EQUAL, 0, "allowed"), _Step(_AT_LEAST, 0, "denied")
    steps += _by_argument(_PRLIMIT[column], _FIRST, [itself, another])
    families = [_Step(_EQUAL, family, "allowed") for family in _FAMILIES[sockets]]
    if families:
        closed = _Step(_AT_LEAST, 0, "closed")
        steps += _by_argument(_SOCKET[column], _FIRST, [*families, closed])
    return steps


def _by_argument(call: int, argument: int, tests: list[_Step]) -> list[_Step]:
    """Return steps that test one argument of a system call and reload the call's number."""
    skipped = _Step(_EQUAL, call, "", f"+{len(tests) + 2}")
    return [skipped, _Step(_LOAD, argument), *tests, _Step(_LOAD, _NUMBER)]


def _assemble(steps: list[_Step]) -> bytes:
    """Assemble the filter; its ends follow the steps, since jumps are at most 255 long."""
    ends = {
        "allowed": _ALLOW,
        "denied": _ERRNO | errno.EPERM,
        # The error of socket(2) itself for a forbidden family.
        "closed": _ERRNO | errno.EACCES,
        "absent": _ERRNO | errno.ENOSYS,
    }
    places = {name: len(steps) + index for index, name in enumerate(ends)}

    def distance(at: int, to: str) -> int:
        if to.startswith("+"):
            return int(to)
        return places[to] - at - 1 if to else 0

    code = [
        struct.pack(
            "=HBBI", step.code, distance(at, step.to), distance(at, step.otherwise), step.value
        )
        for at, step in enumerate(steps)
    ]
    code += [struct.pack("=HBBI", _RETURN, 0, 0, value) for value in ends.values()]
    return b"".join(code)
