"""What a command can reach: the choice of a sandbox, and the one that is none."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Protocol

from runner.errors import ExitCode, RunnerError
from runner.process.limits import ulimits

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from runner.process.command import Command, Place
    from runner.process.door import Door

WORDS = ("auto", "bubblewrap", "landlock", "none")
_HINTS = {
    "bubblewrap": "apt-get install bubblewrap, or set sandbox = none in your own settings",
    "landlock": "apt-get install bubblewrap and set sandbox = auto in your own settings",
}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A command made ready to start by a sandbox."""

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: Path
    options: tuple[str, ...] = ()
    """Arguments handed over in a file, as `--args FD` after the first: nobody's `ps` sees them."""
    reports: bool = False
    """Whether standard error is the sandbox's own, not the command's (that joins its output)."""
    seccomp: bytes = b""
    """A filter of system calls, handed over as `--seccomp FD`; none when empty."""
    enter: Callable[[], None] | None = None
    """What restricts the thread that starts the command, and so the command."""
    leave: Callable[[], None] | None = None
    """What takes away what was made for it, when nothing of it is alive."""
    door: Door | None = None
    """The way to registries, whose inner end the first process is given."""


class Sandbox(Protocol):
    """Encloses commands."""

    @property
    def name(self) -> str:
        """The word of the settings."""

    @property
    def reason(self) -> str:
        """Why there is no better one; "" when there is nothing to say."""

    @property
    def contains(self) -> bool:
        """Whether the scratch tree stands at the repository's own path, and all else is apart."""

    @property
    def encloses(self) -> bool:
        """Whether what runs in it can neither read what is personal nor write outside."""

    @property
    def gaps(self) -> tuple[str, ...]:
        """What it does not hold on this machine, in words."""

    def enclose(self, command: Command) -> Prepared:
        """Make the command ready to start."""

    def sees(self, place: Place, path: Path) -> Path:
        """The path under which the command finds a path of ours."""


@dataclass(frozen=True, slots=True)
class NoSandbox:
    """Runs a command with the person's own rights, in the scratch tree; only limits hold."""

    reason: str = ""
    name = "none"
    contains = False
    encloses = False
    gaps: ClassVar[tuple[str, ...]] = ()

    def enclose(self, command: Command) -> Prepared:
        """Start the shell that sets the limits in the scratch tree itself."""
        limits = ulimits(command.limits)
        argv: tuple[str, ...]
        if isinstance(command.line, str):
            argv = ("/bin/sh", "-c", f"{limits}; {command.line}")
        else:
            argv = ("/bin/sh", "-c", f'{limits}; exec "$@"', "sh", *command.line)
        folder = command.place.tree / command.place.start / command.folder
        return Prepared(argv, dict(command.environment), folder)

    def sees(self, place: Place, path: Path) -> Path:  # noqa: ARG002 - the protocol's shape
        """The same path."""
        return path


def choose_sandbox(wanted: str, read: tuple[Path, ...] = ()) -> Sandbox:
    """The sandbox a person's settings ask for, known to work: a process was started in it.

    `auto` is bubblewrap, else none, which says whether Landlock would work: that has neither a
    loopback nor a /tmp of a command's own, so tests that start a server or write to /tmp fail in
    it, and it is a person's choice. `read` are further paths that a sandbox shows read-only.
    Raises RunnerError when the word is unknown, or what it names does not work here.
    """
    if wanted not in WORDS:
        raise RunnerError(f'"{wanted}" is no sandbox', hint=f"one of {', '.join(WORDS)}")
    if wanted == "none":
        return NoSandbox("the settings say so")
    found = _probed(wanted, read)
    if isinstance(found, str):
        raise RunnerError(
            f"{wanted} does not work here: {found}", hint=_HINTS[wanted], code=ExitCode.PERSON
        )
    return found


@lru_cache(maxsize=8)
def _probed(wanted: str, read: tuple[Path, ...]) -> Sandbox | str:
    """What was found to work, or why it does not; for `auto` the best that does."""
    if wanted == "bubblewrap":
        from runner.process import bubblewrap

        return bubblewrap.probe(read)
    if wanted == "landlock":
        from runner.process import landlock

        return landlock.probe(read)
    found = _probed("bubblewrap", read)
    if not isinstance(found, str):
        return found
    works = not isinstance(_probed("landlock", read), str)
    return NoSandbox(f'{found}; sandbox = "landlock" works here' if works else found)
