"""A command, where it runs, what encloses it, and how it ended.

Which variables a command sees: an allow-list, so that no credential comes along by chance.
"""

from __future__ import annotations

import os
import sys
from dataclasses import field
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from runner.errors import ExitCode, RunnerError
from runner.lazy_dataclass import dataclass
from runner.model import Digest, Network
from runner.process.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from runner.process.egress.server import EgressServer


@dataclass(frozen=True, slots=True)
class Place:
    """The folders a command works in."""

    tree: Path
    """The scratch tree on disk."""
    shown: Path
    """The repository's own path, which in a sandbox shows the scratch tree."""
    box: Path
    """A folder outside the tree, writable, at the same path inside and outside."""
    objects: Path | None = None
    """The repository's git objects, which the scratch tree borrows."""
    shares: tuple[str, ...] = ()
    """Installed dependencies in the repository (`.venv`), which a sandbox shows read-only."""
    submodules: dict[str, Path] = field(default_factory=dict, compare=False)
    """Folders that stand in the places of submodules in the tree now, which commands may write."""
    start: str = ""
    """Where commands start, relative to the tree: the project's folder, empty or `sub/`."""
    beside: str = ""
    """A digest of what the tree holds beside its commit (ignored files that are copied there)."""

    @property
    def links(self) -> Path:
        """The folder of what takes the place of shared folders where nothing is mounted."""
        return self.box.with_name("links")

    def has_folder(self, path: str) -> bool:
        """Whether the tree has this folder, and no link is on the way to it."""
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
                "a symbolic link is in place of the project's folder",
                where=self.start,
                hint="the runner never follows links",
                code=ExitCode.CONFLICT,
            )
        return folder


@dataclass(frozen=True, slots=True)
class Command:
    """What to run: a `str` by `/bin/sh -c`, a tuple as it stands."""

    line: str | tuple[str, ...]
    place: Place
    environment: Mapping[str, str]
    """All its variables; see `environment.command_environment`."""
    stdin: bytes = b""
    network: Network = Network.NO
    """`LOOPBACK` is as `NO` in a sandbox: each has a loopback of its own. `REGISTRIES` is what
    `limits.registries` says; without a sandbox it is as `YES`, and the run reports that."""
    limits: Limits = field(default_factory=Limits)
    log: Path | None = None
    """Where its redacted output is kept, bounded by `limits.output`; no file where it is silent."""
    known_secrets: tuple[str, ...] = ()
    folder: str = ""
    """Where it starts, relative to `place.start`."""
    reads_only: bool = False
    """Whether the scratch tree is shown read-only; only a sandbox that encloses can hold it."""

    @property
    def argv(self) -> tuple[str, ...]:
        """The program with its arguments."""
        return ("/bin/sh", "-c", self.line) if isinstance(self.line, str) else self.line


class Ended(StrEnum):
    """Why a command is over."""

    EXITED = "exited"
    IDLE = "idle"
    HARD = "hard"
    CANCELLED = "cancelled"
    COULD_NOT_START = "could-not-start"


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended; nothing of it is alive any more."""

    exit: int
    """As a shell says it: 128 + n when signal n ended it, 126 or 127 when it did not start."""
    seconds: float
    ended: Ended
    output: Digest
    """Of all its output (both streams as they came), redacted; where it was more than is kept, of
    the log as it is kept."""
    size: int
    """Bytes of output, redacted; as they came where it was more than is kept."""
    tail: str
    """The last lines, redacted, at most 4 KB."""
    log: Path | None = None
    """Where the output is kept; `None` where there was none, or no room for it."""
    left_behind: int = 0
    """Processes that outlived the command's first one and were ended."""
    processor: float = 0.0
    """Seconds of a processor that it and what it waited for took; as long as it ran where the
    kernel cannot say."""
    queued: float = 0.0
    """Seconds for which it waited for a processor, where `Limits.queue` asked for them."""

    @property
    def passed(self) -> bool:
        """Whether it came to its own end with success."""
        return self.ended is Ended.EXITED and self.exit == 0


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
    door: EgressServer | None = None
    """The way to registries, whose inner end the first process is given."""
    within: Path | None = None
    """The one scratch tree that any process of it can ever write to; None where nobody can say."""


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
    def hidden(self) -> tuple[Path, ...]:
        """The folders that it never shows: those of held-out files."""

    @property
    def gaps(self) -> tuple[str, ...]:
        """What it does not hold on this machine, in words."""

    def enclose(self, command: Command) -> Prepared:
        """Make the command ready to start."""

    def sees(self, place: Place, path: Path) -> Path:
        """The path under which the command finds a path of ours."""


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
"""Names and globs that are passed on. PATH is treated on its own."""
_NAMES = frozenset(one for one in ALLOWED if "*" not in one)
_GLOBS = tuple(one for one in ALLOWED if "*" in one)

# The dynamic linker (ld.so(8)), an interpreter at its start, and a shell that is not asked to
# (BASH_ENV: bash(1), INVOCATION) read these before the first line of the command: a glob such as
# `*` names no one of them, so it is no consent to that.
_NEVER_BY_GLOB = ("LD_*", "DYLD_*", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "BASH_ENV", "ENV")
"""Variables that load code: only a person who names one exactly passes it on."""


def command_environment(
    environ: Mapping[str, str],
    *,
    pass_env: Iterable[str] = (),
    extra: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The whole environment of a command.

    `sandbox.pass_env` are further names and globs from the person's settings; `extra` are the
    variables of the task, which win.
    """
    wanted = tuple(pass_env)
    kept = {name: value for name, value in environ.items() if _passes(name, wanted)}
    return {**kept, "PATH": search_path(environ.get("PATH", "")), **(extra or {})}


def git_identity(name: str, email: str) -> dict[str, str]:
    """Variables by which git commits as this person, where HOME has no configuration of theirs."""
    roles = ("AUTHOR", "COMMITTER")
    return {
        f"GIT_{role}_{what}": value
        for role in roles
        for what, value in (("NAME", name), ("EMAIL", email))
    }


def search_path(path: str) -> str:
    """PATH without relative folders, the running interpreter's own folder at its end.

    A relative entry would run programs from the repository; the last entry lets `python` and
    `pytest` be found where the runner's own environment was not activated.
    """
    # An empty entry means the working folder (POSIX, XBD 8.3), which here is a tree that a model
    # wrote.
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
