"""The one error root and the exit codes."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the process says to its caller; where several hold, see `worst`."""

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
    """The one exit code that stands for several; `OK` for none."""
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
