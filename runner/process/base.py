"""A command to run, its place and sandbox, and the result of a run.

An allow-list names the environment variables that a command gets, so that it gets no credential by
accident.
"""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from fnmatch import fnmatchcase
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from runner.errors import ExitCode, RunnerError
from runner.model import Digest, Network
from runner.process.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from runner.process.egress.server import EgressServer


# Submodules are not compared: they change with the tree.
_compared = attrgetter("tree", "shown", "box", "objects", "shares", "start", "beside")


class Place(Struct, frozen=True):
    """The folders a command works in."""

    tree: Path
    """Scratch tree on disk."""
    shown: Path
    """Path of the repository, at which a sandbox shows the scratch tree."""
    box: Path
    """Writable folder outside the tree, with the same path inside and outside."""
    objects: Path | None = None
    """Git objects of the repository, which the scratch tree borrows."""
    shares: tuple[str, ...] = ()
    """Installed dependencies in the repository (`.venv`), which a sandbox shows read-only."""
    submodules: dict[str, Path] = field(default_factory=dict)
    """Folders at submodule paths in the current tree, which commands may write."""
    start: str = ""
    """Start folder of commands, relative to the tree: the project's, empty or `sub/`."""
    beside: str = ""
    """Digest of what the tree has in addition to its commit (copied ignored files)."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and _compared(self) == _compared(other)

    def __hash__(self) -> int:
        return hash(_compared(self))

    @property
    def links(self) -> Path:
        """The folder of what takes the place of shared folders where nothing is mounted."""
        return self.box.with_name("links")

    def has_folder(self, path: str) -> bool:
        """Return whether the tree has this folder without a link on its path."""
        at = str(self.tree)
        for name in path.split("/") if path else ():
            at = f"{at}/{name}"
            if os.path.islink(at) or not os.path.isdir(at):  # noqa: PTH112, PTH114 - a hot path
                return False
        return True

    @property
    def folders(self) -> tuple[Path, ...]:
        """The tree and each folder on the way to the project's, up to one that is a link now.

        What runs in the tree may put a link there; whoever follows it leaves the sandbox.
        """
        found = [self.tree]
        for name in self.start.strip("/").split("/") if self.start else ():
            if (folder := found[-1] / name).is_symlink():
                break
            found.append(folder)
        return tuple(found)

    @property
    def project(self) -> Path:
        """The project's folder in the tree. Raises RunnerError where a link leads away from it."""
        if (folder := self.folders[-1]) != self.tree / self.start:
            raise RunnerError(
                "the project's folder is a symbolic link in the scratch tree",
                where=self.start,
                hint="remove the link: the runner does not follow links",
                code=ExitCode.CONFLICT,
            )
        return folder


class Command(Struct, frozen=True):
    """A command to run: a `str` by `/bin/sh -c`, a tuple unchanged."""

    line: str | tuple[str, ...]
    place: Place
    environment: Mapping[str, str]
    """All its environment variables; see `environment.command_environment`."""
    stdin: bytes = b""
    network: Network = Network.NO
    """`LOOPBACK` is as `NO` in a sandbox: each has a loopback of its own. `REGISTRIES` is what
    `limits.registries` says; without a sandbox it is as `YES`, and the run reports that."""
    limits: Limits = field(default_factory=Limits)
    log: Path | None = None
    """File of its redacted output, limited by `limits.output`; none without output."""
    known_secrets: tuple[str, ...] = ()
    folder: str = ""
    """Start folder, relative to `place.start`."""
    reads_only: bool = False
    """Whether the scratch tree is read-only; only an enclosing sandbox can enforce it."""

    @property
    def argv(self) -> tuple[str, ...]:
        """The program with its arguments."""
        return ("/bin/sh", "-c", self.line) if isinstance(self.line, str) else self.line


class Ended(StrEnum):
    """The reason why a command ended."""

    EXITED = "exited"
    IDLE = "idle"
    HARD = "hard"
    CANCELLED = "cancelled"
    COULD_NOT_START = "could-not-start"


class Ran(Struct, frozen=True):
    """The result of a command; all its processes have ended."""

    exit: int
    """As in a shell: 128 + n if signal n ended it, 126 or 127 if it did not start."""
    seconds: float
    ended: Ended
    output: Digest
    """Of all its output (both streams as they came), redacted; where it was more than is kept, of
    the log as it is kept."""
    size: int
    """Bytes of output, redacted; unredacted if it exceeds the limit."""
    tail: str
    """The last lines, redacted, at most 4 KB."""
    log: Path | None = None
    """File of the output; `None` if there was none, or no space for it."""
    left_behind: int = 0
    """Number of processes that outlived the command's first one and were ended."""
    processor: float = 0.0
    """Seconds of a processor that it and what it waited for took; as long as it ran where the
    kernel cannot say."""
    queued: float = 0.0
    """Seconds that it waited for a processor, if `Limits.queue` asked for them."""

    @property
    def passed(self) -> bool:
        """Whether it came to its own end with success."""
        return self.ended is Ended.EXITED and self.exit == 0


class Prepared(Struct, frozen=True):
    """A command made ready to start by a sandbox."""

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: Path
    options: tuple[str, ...] = ()
    """Arguments passed in a file, as `--args FD` after the first: hidden from `ps`."""
    reports: bool = False
    """Whether standard error belongs to the sandbox; the command's is merged into its output."""
    seccomp: bytes = b""
    """System call filter, passed as `--seccomp FD`; empty: none."""
    enter: Callable[[], None] | None = None
    """Restricts the thread that starts the command, and so the command."""
    leave: Callable[[], None] | None = None
    """Removes what was made for it, once all its processes are gone."""
    door: EgressServer | None = None
    """Connection to registries, whose inner end the first process gets."""
    within: Path | None = None
    """Only scratch tree that its processes can ever write to; None if unknown."""


class Sandbox(Protocol):
    """Encloses commands."""

    @property
    def name(self) -> str:
        """The word of the settings."""

    @property
    def reason(self) -> str:
        """Reason why no stronger sandbox is used; "" if there is none."""

    @property
    def contains(self) -> bool:
        """Whether the scratch tree stands at the repository's own path, and all else is apart."""

    @property
    def encloses(self) -> bool:
        """Whether what runs in it can neither read what is personal nor write outside."""

    @property
    def hidden(self) -> tuple[Path, ...]:
        """The folders that it never shows: those of held-out files."""

    @property
    def gaps(self) -> tuple[str, ...]:
        """Protections that it lacks on this machine, as text."""

    def enclose(self, command: Command) -> Prepared:
        """Prepare a command for a start inside the sandbox."""

    def sees(self, place: Place, path: Path) -> Path:
        """Return the path at which a sandboxed command finds a host path."""


class RunCommand(Protocol):
    """Runs a command in the scratch tree, through the one door, within the caller's limits."""

    def __call__(self, line: str | tuple[str, ...], *, stdin: bytes = b"", folder: str = "") -> Ran:
        """Run a shell line or an argv in a folder of the tree; failure is a value."""
        ...


# --- environment ----------------------------------------------------------------------


_PERSON = "HOME USER LOGNAME SHELL LANG LANGUAGE LC_* TZ TERM"
_BUILD = (
    "CI NO_COLOR SOURCE_DATE_EPOCH PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING "
    "PYTHONUNBUFFERED PYTHONUTF8"
)
_TOOLS = (
    "VIRTUAL_ENV CONDA_PREFIX PYENV_ROOT PYENV_VERSION NVM_DIR NVM_BIN VOLTA_HOME "
    "PNPM_HOME PRE_COMMIT_HOME BUN_INSTALL DENO_INSTALL CARGO_HOME RUSTUP_HOME "
    "RUSTUP_TOOLCHAIN GOPATH GOROOT JAVA_HOME DOTNET_ROOT SDKMAN_DIR RBENV_ROOT "
    "ASDF_DATA_DIR GEM_HOME npm_config_cache"
)
_CERTIFICATES = (
    "SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS "
    "GIT_SSL_CAINFO PIP_CERT"
)
ALLOWED = tuple(f"{_PERSON} {_BUILD} {_TOOLS} {_CERTIFICATES}".split())
"""Names and globs that are passed on. PATH is handled separately."""
_NAMES = frozenset(one for one in ALLOWED if "*" not in one)
_GLOBS = tuple(one for one in ALLOWED if "*" in one)

# The dynamic linker (ld.so(8)), an interpreter at startup, and a non-interactive shell (BASH_ENV:
# bash(1), INVOCATION) read these before the first line of the command: a glob such as `*` does not
# name them, so it is no consent.
_NEVER_BY_GLOB = ("LD_*", "DYLD_*", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "BASH_ENV", "ENV")
"""Variables that load code: passed on only if the user names one exactly."""


def command_environment(
    environ: Mapping[str, str],
    *,
    pass_env: Iterable[str] = (),
    extra: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the full environment of a command.

    `sandbox.pass_env` are further names and globs from the person's settings; `extra` are the
    variables of the task, which win.
    """
    wanted = tuple(pass_env)
    kept = {name: value for name, value in environ.items() if _passes(name, wanted)}
    return {**kept, "PATH": search_path(environ.get("PATH", "")), **(extra or {})}


def git_identity(name: str, email: str) -> dict[str, str]:
    """Return the variables that set git's author and committer without a configuration."""
    roles = ("AUTHOR", "COMMITTER")
    return {
        f"GIT_{role}_{what}": value
        for role in roles
        for what, value in (("NAME", name), ("EMAIL", email))
    }


def search_path(path: str) -> str:
    """Return PATH without relative folders, followed by the running interpreter's folder.

    A relative entry would run programs from the repository; the last entry lets `python` and
    `pytest` be found where the project has no environment and that of the runner is not activated.
    """
    # An empty entry means the working folder (POSIX, XBD 8.3), which here is a model-written tree.
    folders = [folder for folder in path.split(os.pathsep) if os.path.isabs(folder)]  # noqa: PTH117 - text
    folders = folders or os.defpath.split(os.pathsep)
    own = str(Path(sys.executable).parent)
    return os.pathsep.join(dict.fromkeys([*folders, own]))


def _passes(name: str, wanted: tuple[str, ...]) -> bool:
    if name in wanted:
        return True
    if any(fnmatchcase(name, pattern) for pattern in _NEVER_BY_GLOB):
        return False
    return name in _NAMES or any(fnmatchcase(name, pattern) for pattern in (*_GLOBS, *wanted))
