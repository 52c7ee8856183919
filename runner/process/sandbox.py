"""Choose the sandbox of a command, or run it without one."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from runner.config.paths import Places, expand_home
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.model import Network
from runner.process import mounts, syscalls
from runner.process.base import Prepared
from runner.process.limits import ulimits
from runner.process.mounts import real
from runner.process.syscalls import Sockets
from runner.process.tools import NAMES, capture, fetch_environment, which

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.config.settings import Settings
    from runner.process import landlock, seatbelt
    from runner.process.base import Command, Place, Sandbox
    from runner.process.egress import server
else:
    landlock = lazy_module("runner.process.landlock")
    seatbelt = lazy_module("runner.process.seatbelt")
    server = lazy_module("runner.process.egress.server")


WORDS = ("auto", "bubblewrap", "landlock", "seatbelt", "none")
_HINTS = {
    "bubblewrap": ', or set sandbox.kind = "none" in your own settings',
    "seatbelt": 'seatbelt exists only on macOS; set sandbox.kind = "auto" in your own settings',
    "landlock": ' and set sandbox.kind = "auto" in your own settings',
}
# user_namespaces(7) and Documentation/admin-guide/sysctl of the kernel; the first is Ubuntu's and
# Debian's, whose AppArmor requires a profile with `userns` for programs that make one.
_CLOSED = (
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        (
            "AppArmor blocks user namespaces; to allow them for bwrap only, write "
            "`abi <abi/4.0>, profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }` to "
            "/etc/apparmor.d/bwrap and load it with `apparmor_parser -r /etc/apparmor.d/bwrap`"
        ),
    ),
    (
        "kernel/unprivileged_userns_clone",
        "0",
        "user namespaces are disabled; enable: `sysctl kernel.unprivileged_userns_clone=1`",
    ),
    (
        "user/max_user_namespaces",
        "0",
        "user namespaces are disabled; enable: `sysctl user.max_user_namespaces=10000`",
    ),
)
"""A file below /proc/sys, its value that disables bubblewrap, and how to enable it."""


class NoSandbox(Struct, frozen=True):
    """Runs a command with the person's own rights, in the scratch tree; only limits hold."""

    reason: str = ""
    name = "none"
    contains = False
    encloses = False
    hidden = ()
    gaps: ClassVar[tuple[str, ...]] = ()

    def enclose(self, command: Command) -> Prepared:
        """Start the shell that sets the limits in the scratch tree itself."""
        limits = ulimits(command.limits)
        argv: tuple[str, ...]
        if isinstance(command.line, str):
            # Without `exec`: a line may have several commands, and only the first would run.
            argv = ("/bin/sh", "-c", f"{limits}; {command.line}")
        else:
            argv = ("/bin/sh", "-c", f'{limits}; exec "$@"', "sh", *command.line)
        folder = command.place.tree / command.place.start / command.folder
        return Prepared(argv, dict(command.environment), folder)

    def sees(self, place: Place, path: Path) -> Path:  # noqa: ARG002 - the protocol's shape
        """Return the path unchanged."""
        return path


class ReadOnly(Struct, frozen=True):
    """A sandbox whose commands see the scratch tree read-only, whatever they ask for."""

    sandbox: Sandbox

    @property
    def name(self) -> str:
        """The word of the settings."""
        return self.sandbox.name

    @property
    def reason(self) -> str:
        """Reason why no stronger sandbox is used."""
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
    def hidden(self) -> tuple[Path, ...]:
        """The folders that it never shows."""
        return self.sandbox.hidden

    @property
    def gaps(self) -> tuple[str, ...]:
        """Protections that it lacks on this machine."""
        return self.sandbox.gaps

    def enclose(self, command: Command) -> Prepared:
        """Prepare a command without write access to the tree."""
        return self.sandbox.enclose(replace(command, reads_only=True))

    def sees(self, place: Place, path: Path) -> Path:
        """Return the path at which a sandboxed command finds a host path."""
        return self.sandbox.sees(place, path)


def sandbox_of(settings: Settings, environ: Mapping[str, str]) -> Sandbox:
    """Return what encloses commands, by the person's settings; it never shows held-out files.

    Raises RunnerError where it cannot.
    """
    held_out, own = settings.proof.held_out_dir, settings.sandbox
    hidden = (Places.of(environ).held_out, *map(expand_home, filter(None, (held_out,))))
    return choose_sandbox(own.kind, tuple(map(expand_home, own.read)), hidden)


def choose_sandbox(
    wanted: str, read: tuple[Path, ...] = (), hidden: tuple[Path, ...] = ()
) -> Sandbox:
    """Return the sandbox of the settings after a successful trial. Raises RunnerError.

    `auto` is bubblewrap, else none, which says whether Landlock (macOS: seatbelt) would work: that
    has neither a loopback nor a /tmp of a command's own, so tests that start a server or write to
    /tmp fail in it, and it is a person's choice. `read` are further paths that a sandbox shows
    read-only, `hidden` are folders that it never shows.
    Raises RunnerError when the word is unknown, or what it names does not work here.
    """
    if wanted not in WORDS:
        raise RunnerError(f'unknown sandbox.kind "{wanted}"', hint=f"one of {', '.join(WORDS)}")
    if wanted == "none":
        return NoSandbox('sandbox.kind = "none"')
    found = _probe(wanted, read, hidden)
    if isinstance(found, str):
        raise RunnerError(
            f"{wanted} does not work here: {found}",
            hint=_HINTS[wanted] if wanted == "seatbelt" else f"{explain_opening()}{_HINTS[wanted]}",
            code=ExitCode.PERSON,
        )
    return found


def explain_opening(settings: Path = Path("/proc/sys")) -> str:
    """Return how a person can make bubblewrap work on this machine."""
    if sys.platform == "darwin":
        return 'set sandbox.kind = "seatbelt" in your own settings'
    if which("bwrap", os.environ) is None:
        return "apt-get install bubblewrap"
    for name, closed, opening in _CLOSED:
        try:
            value = (settings / name).read_text(encoding="ascii", errors="replace")
        except OSError:
            continue
        if value.strip() == closed:
            return opening
    return "allow user namespaces in the settings of this container or virtual machine"


def landlock_gaps(read: tuple[Path, ...] = ()) -> tuple[str, ...]:
    """Return the protections that Landlock lacks here; also empty if Landlock does not work."""
    found = _probe("landlock", read)
    return () if isinstance(found, str) else found.gaps


@lru_cache(maxsize=8)
def _probe(wanted: str, read: tuple[Path, ...], hidden: tuple[Path, ...] = ()) -> Sandbox | str:
    """Return the sandbox that works, or why it does not; for `auto` the best one."""
    if wanted == "bubblewrap":
        return probe(read, hidden)
    if wanted == "landlock":
        return landlock.probe(read, hidden)
    if wanted == "seatbelt":
        return seatbelt.probe(read, hidden=hidden)
    found = _probe("bubblewrap", read, hidden)
    if not isinstance(found, str):
        return found
    second = "seatbelt" if sys.platform == "darwin" else "landlock"
    works = not isinstance(_probe(second, read), str)
    return NoSandbox(f'{found}; sandbox.kind = "{second}" works here' if works else found)


# A zombie has no readable `exe` (proc(5)), and does not count as left behind.
_SHELL = """%s; trap : TERM; "$@" 2>&1; code=$?; left=0
for each in /proc/[0-9]*; do
  case $each in /proc/1|/proc/$$) ;; *) [ -e "$each/exe" ] && left=$((left+1)) ;; esac
done
times >&2; echo "left $left" >&2; exit $code"""
"""Sets limits, outlives SIGTERM so that the command may end in peace, counts what it left.
What it took of a processor only this shell can say: bubblewrap waits for none of it."""
_OPTIONAL = ("--size", "--disable-userns")
"""Options that older versions lack."""
_PATIENCE = 10.0


class Bubblewrap(Struct, frozen=True):
    """Runs a command in namespaces of its own."""

    program: Path
    features: frozenset[str]
    """Options that this version supports and this machine allows."""
    read: tuple[Path, ...] = ()
    reason: str = ""
    hidden: tuple[Path, ...] = ()
    """Folders that are empty for every command, whatever else is visible."""
    name = "bubblewrap"
    contains = True
    encloses = True

    def enclose(self, command: Command) -> Prepared:
        """Prefix the command with bubblewrap and a shell that sets the limits.

        bubblewrap starts with next to no environment of its own: what it starts with can be
        read through /proc/1/environ. Its options come in a file, since they hold variables.
        """
        place = command.place
        options = (
            *self._walls(command.network),
            *self._view(command),
            *_variables(inner_environment(command.environment, place, command.network)),
            *("--chdir", str(real(place.shown) / place.start / command.folder)),
        )
        door = _door(command)
        shell = ("/bin/sh", "-c", _SHELL % ulimits(command.limits), "sh")
        inner = door.before(command.argv) if door else command.argv
        argv = (str(self.program), "--", *shell, *inner)
        # The network namespace covers all families except those that reach the machine's host.
        is_open = command.network is Network.YES
        filter_ = syscalls.seccomp_filter(Sockets.ANY if is_open else Sockets.LOCAL)
        return Prepared(
            argv,
            {},
            Path("/"),
            options,
            reports=True,
            seccomp=filter_,
            door=door,
            within=place.tree,
        )

    def sees(self, place: Place, path: Path) -> Path:
        """Return the path in the sandbox, where the tree is at the repository's path."""
        if path.is_relative_to(place.tree):
            return real(place.shown) / path.relative_to(place.tree)
        return path

    def trial(self) -> list[str]:
        """Return a command line that exits with 0 if this sandbox works."""
        home = os.environ.get("HOME", "")
        floor = mounts.floor(home, sized="--size" in self.features)
        return [str(self.program), *self._walls(Network.NO), *floor, "--", "/bin/sh", "-c", ":"]

    @property
    def gaps(self) -> tuple[str, ...]:
        """Protections that this version lacks on this machine."""
        lacking = {
            "no size limit on HOME and /tmp": "--size" not in self.features,
            f"no filter of system calls for {syscalls.machine()}": not syscalls.seccomp_filter(
                Sockets.ANY
            ),
        }
        return tuple(text for text, lacks in lacking.items() if lacks)

    def _walls(self, network: Network) -> tuple[str, ...]:
        """Return the options for namespaces, capabilities and an end with the parent process."""
        # The pid namespace ends everything: the kernel kills it with its first process,
        # pid_namespaces(7), however often a command forks or calls setsid.
        walls = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
        # die-with-parent is PR_SET_PDEATHSIG, whose parent is the forking thread, not the process,
        # prctl(2): the thread that starts a command must stay until its end. new-session: on our
        # terminal a command could inject input (TIOCSTI, CVE-2017-5226).
        walls += ["--die-with-parent", "--new-session", "--cap-drop", "ALL"]
        walls += ["--hostname", "sandbox"]
        if "--disable-userns" in self.features:
            # In its own user namespace a command would regain all capabilities, user_namespaces(7),
            # and reach kernel code intended for root.
            walls += ["--unshare-user", "--disable-userns"]
        if network is not Network.YES:
            walls += ["--unshare-net"]
        return tuple(walls)

    def _view(self, command: Command) -> tuple[str, ...]:
        """Return the mount options of a command, the base file system first."""
        environ, place = command.environment, command.place
        home = environ.get("HOME", "")
        where = frozenset((name, environ[name]) for name in NAMES if name in environ)
        return (
            *mounts.floor(home, sized="--size" in self.features),
            *mounts.others(str(place.shown), where, self.read, sized="--size" in self.features),
            *mounts.tools(where, self.read),
            *mounts.let_go_trim(self.read),
            *(mounts.resolver() if command.network is Network.YES else ()),
            *mounts.context(place, reads_only=command.reads_only),
            *mounts.mask(self.hidden, self.read, place.box, sized="--size" in self.features),
        )


def _door(command: Command) -> server.EgressServer | None:
    """Create the proxy to registries if the command needs it, else return None."""
    if command.network is not Network.REGISTRIES:
        return None
    return server.EgressServer(command.limits.registries)


def inner_environment(
    environ: Mapping[str, str], place: Place, network: Network = Network.NO
) -> dict[str, str]:
    """Return the command's variables with the paths inside the sandbox."""
    inner = {**environ, "TMPDIR": mounts.TMP}
    if network in (Network.REGISTRIES, Network.YES):
        inner |= fetch_environment(mounts.TMP)
    if place.objects:
        # The tree's `info/alternates` names the repository's own path, but in here that path is the
        # tree itself; git(1) also searches these folders.
        inner["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = os.pathsep.join(
            (mounts.OBJECTS, *map(str, mounts.object_folders(place)[1:]))
        )
    return inner


def _variables(environ: Mapping[str, str]) -> Iterable[str]:
    for name, value in environ.items():
        yield from ("--setenv", name, value)


def probe(read: tuple[Path, ...], hidden: tuple[Path, ...] = ()) -> Bubblewrap | str:
    """Find bubblewrap as it works on this machine, or the reason why it does not."""
    program = which("bwrap", os.environ)
    if program is None:
        return "bubblewrap is not installed"
    found = Bubblewrap(program, frozenset(_OPTIONAL), read, hidden=hidden)
    code, output = capture(found.trial(), Path("/"), {}, _PATIENCE)
    if code == 0:  # as nearly everywhere: nobody need ask what this version knows
        return found
    _, text = capture([str(program), "--help"], Path("/"), {}, _PATIENCE)
    offered = frozenset(word for word in _OPTIONAL if word in text.decode("utf-8", "replace"))
    # A kernel that allows user namespaces may still refuse to limit them (no write to
    # /proc/sys/user there), so try less before giving up bubblewrap.
    less = dict.fromkeys((offered, offered - {"--disable-userns"}))
    for features in (one for one in less if one != found.features):
        found = Bubblewrap(program, features, read, hidden=hidden)
        code, output = capture(found.trial(), Path("/"), {}, _PATIENCE)
        if code == 0:
            return found
    return output.decode("utf-8", "replace").strip() or "bubblewrap failed without output"
