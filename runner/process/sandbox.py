"""What a command can reach: the choice of a sandbox, and the one that is none."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from runner.errors import ExitCode, RunnerError
from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.process.base import Prepared
from runner.process.limits import ulimits
from runner.process.tools import which

if TYPE_CHECKING:
    from runner.process import bubblewrap, landlock, seatbelt
    from runner.process.base import Command, Place, Sandbox
else:
    bubblewrap = lazy_module("runner.process.bubblewrap")
    landlock = lazy_module("runner.process.landlock")
    seatbelt = lazy_module("runner.process.seatbelt")

WORDS = ("auto", "bubblewrap", "landlock", "seatbelt", "none")
_HINTS = {
    "bubblewrap": ", or set sandbox = none in your own settings",
    "seatbelt": "it is a part of macOS alone; set sandbox = auto in your own settings",
    "landlock": " and set sandbox = auto in your own settings",
}
# user_namespaces(7) and Documentation/admin-guide/sysctl of the kernel; the first one is Ubuntu's
# and Debian's, whose AppArmor wants a profile with `userns` of each program that makes one.
_CLOSED = (
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        (
            "AppArmor closes user namespaces here; to open them for bwrap alone, write "
            "`abi <abi/4.0>, profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }` to "
            "/etc/apparmor.d/bwrap and load it by `apparmor_parser -r /etc/apparmor.d/bwrap`"
        ),
    ),
    (
        "kernel/unprivileged_userns_clone",
        "0",
        "the kernel closes user namespaces; `sysctl kernel.unprivileged_userns_clone=1` opens them",
    ),
    (
        "user/max_user_namespaces",
        "0",
        "the kernel allows no user namespace; `sysctl user.max_user_namespaces=10000` allows some",
    ),
)
"""A file below /proc/sys, what it says where it closes bubblewrap's door, and what opens it."""


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
            # Without `exec`: a line may be several commands, and only its first would run.
            argv = ("/bin/sh", "-c", f"{limits}; {command.line}")
        else:
            argv = ("/bin/sh", "-c", f'{limits}; exec "$@"', "sh", *command.line)
        folder = command.place.tree / command.place.start / command.folder
        return Prepared(argv, dict(command.environment), folder)

    def sees(self, place: Place, path: Path) -> Path:  # noqa: ARG002 - the protocol's shape
        """The same path."""
        return path


@dataclass(frozen=True, slots=True)
class ReadOnly:
    """A sandbox whose commands see the scratch tree read-only, whatever they ask for."""

    sandbox: Sandbox

    @property
    def name(self) -> str:
        """The word of the settings."""
        return self.sandbox.name

    @property
    def reason(self) -> str:
        """Why there is no better one."""
        return self.sandbox.reason

    @property
    def contains(self) -> bool:
        """Whether the tree stands at the repository's own path."""
        return self.sandbox.contains

    @property
    def encloses(self) -> bool:
        """Whether what runs in it is kept apart; without that only the tree is asked."""
        return self.sandbox.encloses

    @property
    def gaps(self) -> tuple[str, ...]:
        """What it does not hold on this machine."""
        return self.sandbox.gaps

    def enclose(self, command: Command) -> Prepared:
        """Make the command ready to start, without the right to write in the tree."""
        return self.sandbox.enclose(replace(command, reads_only=True))

    def sees(self, place: Place, path: Path) -> Path:
        """The path under which the command finds a path of ours."""
        return self.sandbox.sees(place, path)


def choose_sandbox(wanted: str, read: tuple[Path, ...] = ()) -> Sandbox:
    """The sandbox a person's settings ask for, known to work: a process was started in it.

    `auto` is bubblewrap, else none, which says whether Landlock (macOS: seatbelt) would work: that
    has neither a loopback nor a /tmp of a command's own, so tests that start a server or write to
    /tmp fail in it, and it is a person's choice. `read` are further paths that a sandbox shows
    read-only.
    Raises RunnerError when the word is unknown, or what it names does not work here.
    """
    if wanted not in WORDS:
        raise RunnerError(f'"{wanted}" is no sandbox', hint=f"one of {', '.join(WORDS)}")
    if wanted == "none":
        return NoSandbox("the settings say so")
    found = _probe(wanted, read)
    if isinstance(found, str):
        raise RunnerError(
            f"{wanted} does not work here: {found}",
            hint=_HINTS[wanted] if wanted == "seatbelt" else f"{explain_opening()}{_HINTS[wanted]}",
            code=ExitCode.PERSON,
        )
    return found


def explain_opening(settings: Path = Path("/proc/sys")) -> str:
    """What a person may do so that bubblewrap works on this machine."""
    if sys.platform == "darwin":
        return 'sandbox = "seatbelt" in your own settings'
    if which("bwrap", os.environ) is None:
        return "apt-get install bubblewrap"
    for name, closed, opening in _CLOSED:
        try:
            said = (settings / name).read_text(encoding="ascii", errors="replace")
        except OSError:
            continue
        if said.strip() == closed:
            return opening
    return "start this machine or container so that user namespaces are allowed in it"


def landlock_gaps(read: tuple[Path, ...] = ()) -> tuple[str, ...]:
    """What Landlock would not hold here; empty where it does not work, too."""
    found = _probe("landlock", read)
    return () if isinstance(found, str) else found.gaps


@lru_cache(maxsize=8)
def _probe(wanted: str, read: tuple[Path, ...]) -> Sandbox | str:
    """What was found to work, or why it does not; for `auto` the best that does."""
    if wanted == "bubblewrap":
        return bubblewrap.probe(read)
    if wanted == "landlock":
        return landlock.probe(read)
    if wanted == "seatbelt":
        return seatbelt.probe(read)
    found = _probe("bubblewrap", read)
    if not isinstance(found, str):
        return found
    second = "seatbelt" if sys.platform == "darwin" else "landlock"
    works = not isinstance(_probe(second, read), str)
    return NoSandbox(f'{found}; sandbox = "{second}" works here' if works else found)
