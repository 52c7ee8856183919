"""Whether a command can have been typed by a person: not in a run, a hook, an agent or CI."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_OF_A_RUN = ("RUNNER_TASK", "RUNNER_ATTEMPT", "RUNNER_BRIEF", "RUNNER_SLOT")
"""Variables that commands of a run are given."""
_OF_A_HOOK = ("GIT_INDEX_FILE", "GIT_QUARANTINE_PATH", "GIT_PUSH_OPTION_COUNT")
"""Variables that git gives its hooks (githooks(5)) and no terminal has."""
_OF_AN_AGENT = ("CLAUDECODE", "CLAUDE_PROJECT_DIR", "CODEX_SANDBOX", "GEMINI_CLI", "CURSOR_AGENT")
"""Variables that agent programs give what they start."""
_DEEPEST = 64
"""Processes above this one that are looked at."""


class Why(NamedTuple):
    """Why no person can have typed it."""

    text: str
    ci: bool = False


def why_no_person(environ: Mapping[str, str]) -> Why | None:
    """What tells that a program runs this; None where nothing does.

    A command can take a variable out of its own environment, but not out of the processes that
    started it: their first one is read from the kernel (proc(5), /proc/PID/environ).
    """
    if _has(environ, _OF_A_RUN) or any(map(_is_of_a_run, _ancestors())):
        return Why("this is a command of a run, in its sandbox")
    if _has(environ, _OF_A_HOOK):
        return Why("this is a hook of git")
    if _has(environ, _OF_AN_AGENT):
        return Why("an agent program runs this")
    if environ.get("CI", "").casefold() == "true":
        return Why("CI=true, so no person is here", ci=True)
    return None


def _has(environ: Mapping[str, str], names: tuple[str, ...]) -> bool:
    return any(environ.get(name) for name in names)


def _ancestors() -> Iterator[int]:
    """Ids of the processes above this one, the nearest first; none where there is no /proc."""
    pid = os.getppid()
    for _ in range(_DEEPEST):
        if pid <= 1:
            return
        yield pid
        try:
            said = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
        except OSError:
            return
        # the name, in brackets, may hold blanks and brackets itself
        pid = int(said.rpartition(")")[2].split()[1])


def _is_of_a_run(pid: int) -> bool:
    process = Path(f"/proc/{pid}")
    try:
        given = (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return False  # another user's process
    names = {entry.partition(b"=")[0].decode("utf-8", "replace") for entry in given}
    return "RUNNER_TASK" in names and "RUNNER_SLOT" in names
