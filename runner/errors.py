"""The base class of all errors, and the exit codes."""

from __future__ import annotations

import errno
import os
from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of the process; `worst` chooses among several."""

    OK = 0
    FAILED = 1
    USAGE = 2
    PERSON = 3
    REGRESSION = 4
    STOPPED = 5
    CONFLICT = 6
    BUG = 70
    INTERRUPTED = 130


_GRAVEST_FIRST = (
    ExitCode.INTERRUPTED,
    ExitCode.BUG,
    ExitCode.USAGE,
    ExitCode.CONFLICT,
    ExitCode.REGRESSION,
    ExitCode.STOPPED,
    ExitCode.FAILED,
    ExitCode.PERSON,
    ExitCode.OK,
)


def worst(codes: set[ExitCode]) -> ExitCode:
    """Return the most severe of several exit codes; `OK` for none."""
    return next((code for code in _GRAVEST_FIRST if code in codes), ExitCode.OK)


class RunnerError(Exception):
    """We cannot go on: what, where, and a hint. Caught once, in `cli`.

    `where` is a place a person can open (`TASK-GRAPH.md:12:3`, a path, a setting's name).
    `detail` is shown as it stands, on lines of its own between message and hint.
    """

    def __init__(
        self,
        message: str,
        *,
        where: str = "",
        hint: str = "",
        detail: str = "",
        code: ExitCode = ExitCode.USAGE,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint
        self.detail = detail
        self.code = code


class MachineError(RunnerError):
    """The machine failed: no plan and no proposal is wrong, and running again goes on."""

    def __init__(
        self, message: str, where: str, hint: str, code: ExitCode = ExitCode.CONFLICT
    ) -> None:
        super().__init__(message, where=where, hint=hint, code=code)


class DiskFullError(MachineError):
    """A disk has no room: a person has to free some before another run can go on."""

    def __init__(self, where: str, hint: str) -> None:
        super().__init__("the disk is full", where, hint, ExitCode.USAGE)


_FULL = frozenset((errno.ENOSPC, errno.EDQUOT))
_ROOM = 1 << 20
"""Bytes; with less free space a disk counts as full."""
_DENIED = frozenset((errno.EACCES, errno.EPERM, errno.EROFS))
_IN_THE_WAY = frozenset((errno.ENOTDIR, errno.EISDIR, errno.EEXIST))
_EXHAUSTED = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN))


def refusal_of(error: OSError) -> RunnerError | None:
    """Return the RunnerError for an OSError of the environment, or None if it is a bug.

    What is to be set right is USAGE; where the machine failed meanwhile it is CONFLICT, as where a
    command could not be started: nothing of the plan is wrong, and running again goes on.
    """
    where = str(error.filename or "")
    if error.errno in _FULL:
        hint = "free some space and run again"
        where = where or _find_full_folder()
        if disk := _mount_of(where):
            hint = f"free some space on the file system at {disk} and run again"
        return DiskFullError(where, hint)
    if error.errno in _DENIED:
        hint = "check the owner and the write permission of this path"
        return RunnerError(f"path cannot be used: {error.strerror}", where=where, hint=hint)
    if error.errno in _IN_THE_WAY and error.filename:
        hint = "move it away and run again"
        return RunnerError(
            f"another file or folder is in the way: {error.strerror}", where=where, hint=hint
        )
    if error.errno in _EXHAUSTED:
        hint = "close other programs or raise the limit, and run again"
        return MachineError(f"this machine is out of resources: {error.strerror}", where, hint)
    if error.errno == errno.ENOENT:
        hint = "something removed or moved it during the run; run again to continue"
        return MachineError("a file or folder of this run has disappeared", where, hint)
    if error.errno == errno.EIO:
        hint = "check the disk (dmesg), then run again; the journal lists what is saved"
        return MachineError("the disk reported an I/O error", where, hint)
    return None


def _find_full_folder() -> str:
    """Return a full folder among those that the runner writes to; empty if all have space.

    An error of a file that is written through a buffer does not name it.
    """
    names = ("XDG_CACHE_HOME", "HOME", "TMPDIR")
    for folder in (os.curdir, *filter(None, map(os.environ.get, names)), "/tmp"):  # noqa: S108 - looked at
        try:
            disk = os.statvfs(folder)
        except OSError:
            continue
        # a file system without a fixed number of inodes reports 0 of 0: statvfs(3)
        if disk.f_bavail * disk.f_frsize < _ROOM or (disk.f_files and not disk.f_ffree):
            return os.path.realpath(folder)
    return ""


def _mount_of(path: str) -> str:
    """Return the mount point of a path; empty if it is unknown."""
    at = os.path.realpath(path) if path else ""
    try:
        while at and not os.path.lexists(at):
            at = os.path.dirname(at)  # noqa: PTH120 - text: pathlib is not needed for this alone
        while at and not os.path.ismount(at):
            at = os.path.dirname(at)  # noqa: PTH120 - as above
    except (OSError, ValueError):
        return ""
    return at
