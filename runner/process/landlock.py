"""The sandbox without bubblewrap: Landlock and seccomp, without privileges.

landlock(7) only takes rights away, from the thread that asks and from what it starts. So a thread
of ours is restricted, starts the command and ends; no launcher stands between. Nothing is mounted:
the command works in the scratch tree where it lies, and HOME and the temporary folder are
empty folders of its own.

What it does not do, and bubblewrap does: hide that a file exists, or other processes' command
lines; keep mode, times and attributes of the person's own files; tell a loopback from other
addresses (`Network: loopback` is nearly as `yes`); give /dev/shm, pseudo-terminals or a loopback
of its own. With `Network: no` there are no sockets but pairs: those in the file system lead out,
to a container engine or a session bus.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.lazy_module import lazy_module
from runner.model import Network
from runner.process import syscalls
from runner.process.base import Prepared
from runner.process.limits import ulimits
from runner.process.mounts import (
    files_below,
    files_but,
    find_hidden_folders,
    inner_environment,
    object_folders,
    own_folder,
    real,
    take_away,
)
from runner.process.other_trees import other_trees
from runner.process.syscalls import Sockets
from runner.process.tools import NAMES, capture, tool_paths

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from runner.process.base import Command, Place
else:
    threading = lazy_module("threading")

OLDEST = 3
"""Before Linux 6.2, Landlock allowed truncating any file and no moves between folders."""
# Bits from <linux/landlock.h>. _EVERYTHING includes REFER (1 << 13, since ABI 2): without it all
# links and renames between folders fail with EXDEV, landlock(7).
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_FILE, _MAKE_REG, _TRUNCATE, _IOCTL_DEV = 1 << 5, 1 << 8, 1 << 14, 1 << 15
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_READ = _EXECUTE | _READ_FILE | _READ_DIR
# A rule about a file with a right of folders fails with EINVAL: landlock_add_rule(2), and
# landlock_append_fs_rule in security/landlock/fs.c.
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
# Making device nodes is handled and never allowed: with a disk's node (mknod(2)) root could bypass
# every other rule.
_EVERYTHING = (1 << 16) - 1 & ~(_MAKE_CHAR | _MAKE_BLOCK)
_OF_DEVICES = _READ_FILE | _WRITE_FILE | _READ_DIR | _IOCTL_DEV
_OF_SHARED_MEMORY = _READ_FILE | _WRITE_FILE | _MAKE_REG | _REMOVE_FILE | _TRUNCATE
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - semaphores of processes lie there
_BIND_AND_CONNECT = 0b11
_ABSTRACT_AND_SIGNALS = 0b11
_WITH_DEVICES, _WITH_PORTS, _WITH_SCOPE = 5, 4, 6
"""First ABI versions that support each feature."""
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_SOCKETS = {
    Network.NO: Sockets.NONE,
    Network.LOOPBACK: Sockets.LOCAL,
    Network.REGISTRIES: Sockets.NONE,
    Network.YES: Sockets.ANY,
}
_NEVER = (
    "network loopback allows all, like yes; network no has no private loopback",
    "commands can change modes and times of your own files, and cannot write to /tmp",
)


class Landlock(Struct, frozen=True):
    """Runs a command with fewer rights than the person has."""

    version: int
    read: tuple[Path, ...] = ()
    reason: str = ""
    hidden: tuple[Path, ...] = ()
    """Folders that no rule opens, whatever else is visible."""
    name = "landlock"
    contains = False
    encloses = True

    def enclose(self, command: Command) -> Prepared:
        """Return the restricted command, which starts in the scratch tree with its limits set."""
        place = command.place
        if command.network is Network.REGISTRIES:
            raise ValueError("landlock cannot limit the network to registries; bubblewrap can")
        own = own_folder(place)
        environ = inner_environment(command.environment, own)
        shell = ("/bin/sh", "-c", f'{ulimits(command.limits)}; exec "$@"', "sh")
        folder = place.tree / place.start / command.folder
        return Prepared(
            (*shell, *command.argv),
            environ,
            folder,
            enter=partial(self._restrict, command, own),
            leave=partial(take_away, own),
        )

    def sees(self, place: Place, path: Path) -> Path:  # noqa: ARG002 - the protocol's shape
        """Return the path unchanged."""
        return path

    @property
    def gaps(self) -> tuple[str, ...]:
        """Protections that it lacks, some of them on this kernel version."""
        lacking = {
            "TCP is limited only by the system call filter": _WITH_PORTS,
            "device controls (ioctl) are not blocked": _WITH_DEVICES,
            "signals to your other processes are not blocked": _WITH_SCOPE,
        }
        gaps = [*_NEVER, *(text for text, since in lacking.items() if self.version < since)]
        if not syscalls.seccomp_filter(Sockets.NONE):
            gaps.append(f"no filter of system calls for {syscalls.machine()}")
        return tuple(gaps)

    def _restrict(self, command: Command, own: Path) -> None:
        """Bind this thread; raises OSError where the kernel refuses."""
        syscalls.drop_privileges()
        # No new privileges first: without that, or CAP_SYS_ADMIN, landlock_restrict_self(2) and
        # seccomp(2) both fail with EPERM. The filter comes last, since it checks every call after
        # it.
        ruleset = self._ruleset(command, own)
        try:
            syscalls.restrict_self(ruleset)
        finally:
            os.close(ruleset)
        program = syscalls.seccomp_filter(_SOCKETS[command.network])
        if program:
            syscalls.filter_calls(program)

    def _ruleset(self, command: Command, own: Path) -> int:
        # A ruleset with a right unknown to this kernel fails (EINVAL), and a known one that is not
        # handled is not enforced: so each version gets exactly its own bits. Bit 15, controls of
        # devices, came with ABI 5.
        known = (1 << (16 if self.version >= _WITH_DEVICES else 15)) - 1
        # Landlock handles only bind and connect of TCP; UDP, raw and other families are left to the
        # call filter, which is why both are needed: landlock(7), "Network flags".
        closed = command.network is Network.NO and self.version >= _WITH_PORTS
        scope = _ABSTRACT_AND_SIGNALS if self.version >= _WITH_SCOPE else 0
        ports = _BIND_AND_CONNECT if closed else 0
        ruleset = syscalls.new_ruleset(known, ports, scope, self.version)
        try:
            for path, access in self._rules(command, own):
                _allow(ruleset, path, access & known)
        except OSError:
            os.close(ruleset)
            raise
        return ruleset

    def _rules(self, command: Command, own: Path) -> Iterator[tuple[str, int]]:
        """Yield paths with the permitted access at and below them."""
        # Rules only add: no rule removes a right below an allowed folder, so closed paths must not
        # be below anything that is yielded here.
        environ, place = command.environment, command.place
        shown = real(place.shown)
        access = _READ if command.reads_only else _EVERYTHING
        yield from ((str(path), access) for path in (place.tree, *place.submodules.values()))
        yield from ((str(path), _EVERYTHING) for path in (place.box, own))
        shares = (place.links, *(shown / name for name in place.shares))
        yield from ((str(real(path)), _READ) for path in (*shares, *object_folders(place)))
        where = frozenset((name, environ[name]) for name in NAMES if name in environ)
        machine = _of_the_machine(where, str(shown), self.read, self.hidden)
        # A command with held-out files must leave nothing that another command could read.
        private = any(real(place.box).is_relative_to(real(one)) for one in self.hidden)
        yield from (rule for rule in machine if not (private and rule[0] == _SHARED_MEMORY))
        if command.network is not Network.NO:
            # With systemd-resolved this is a link into /run, which is hidden entirely.
            yield os.path.realpath("/etc/resolv.conf"), _READ


@lru_cache(maxsize=32)
def _of_the_machine(
    where: frozenset[tuple[str, str]],
    shown: str,
    read: tuple[Path, ...],
    hidden: tuple[Path, ...],
) -> tuple[tuple[str, int], ...]:
    """Return the access rules that are the same for all commands with these variables."""
    environ = dict(where)
    home = environ.get("HOME", "")
    closed = {home, *find_hidden_folders(home), "/", shown}
    tools = {str(real(path)) for path in tool_paths(environ)} - closed
    asked = {str(real(path)) for path in read}
    others = other_trees(shown, where, read)
    outermost = files_but((*files_below(home, shown, others), *tools, *asked), hidden)
    return (
        *((path, _READ) for path in outermost),
        *((f"/dev/{name}", _OF_DEVICES) for name in _DEVICES),
        (_SHARED_MEMORY, _OF_SHARED_MEMORY),
    )


def _allow(ruleset: int, path: str, access: int) -> None:
    """Allow it, where the path is there: a link that dangles or a tool that went is no matter."""
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), path)
    try:
        # O_PATH opens unreadable files too. The rule then applies to the inode, not the name:
        # renaming or replacing the path later grants nothing.
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError as problem:
        if problem.errno in {errno.ENOENT, errno.EACCES, errno.ENOTDIR, errno.ELOOP}:
            return
        raise
    try:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        syscalls.allow(ruleset, descriptor, access if is_folder else access & _OF_FILES)
    finally:
        os.close(descriptor)


def probe(read: tuple[Path, ...], hidden: tuple[Path, ...] = ()) -> Landlock | str:
    """Return Landlock as it works on this machine, or why it does not; starts a process."""
    if sys.platform != "linux":
        return "Landlock exists only on Linux"  # elsewhere the same numbers are other system calls
    version = syscalls.landlock_version()
    if version < OLDEST:
        return f"the kernel has Landlock version {version}; the runner needs {OLDEST} (Linux 6.2)"
    problems: list[str] = []

    def attempt() -> None:
        try:
            syscalls.drop_privileges()
            ruleset = syscalls.new_ruleset(_WRITE_FILE, 0, 0, version)
            syscalls.restrict_self(ruleset)
            os.close(ruleset)
            # Opening this device for writing has no effect and succeeds for any user without rules:
            # so a failure is Landlock's.
            code, words = capture(["/bin/sh", "-c", "true >/dev/full"], Path("/"), {}, 10.0)
            problems.append("" if code else f"Landlock did not block a write: {words!r}")
        except OSError as problem:
            problems.append(f"{problem.filename}: {problem.strerror}")

    # A restriction applies to one thread and is permanent, so it is tested in a thread that ends.
    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return problems[0] if problems and problems[0] else Landlock(version, read, hidden=hidden)
