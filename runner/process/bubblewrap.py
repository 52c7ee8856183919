"""The sandbox that bubblewrap(1) builds: the scratch tree in the repository's place, little else.

What a command sees: the machine's file system read-only; HOME, /tmp and their like empty but
for the tool chain; no other process; no network unless it is asked for; no capabilities.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.model import Network
from runner.process import mounts, seccomp
from runner.process.base import Prepared
from runner.process.limits import ulimits
from runner.process.mounts import real
from runner.process.seccomp import Sockets
from runner.process.tools import NAMES, capture, fetch_environment, which

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.process.base import Command, Place
    from runner.process.egress import server
else:
    server = lazy_module("runner.process.egress.server")

# A process that is dead but not fetched has no `exe` to read (proc(5)), and was left by nobody.
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


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """Runs a command in namespaces of its own."""

    program: Path
    features: frozenset[str]
    """Options this version has and this machine allows."""
    read: tuple[Path, ...] = ()
    reason: str = ""
    name = "bubblewrap"
    contains = True
    encloses = True

    def enclose(self, command: Command) -> Prepared:
        """Put bubblewrap and the shell that sets the limits before the command.

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
        filter_ = seccomp.program(_sockets(command.network))
        return Prepared(argv, {}, Path("/"), options, reports=True, seccomp=filter_, door=door)

    def sees(self, place: Place, path: Path) -> Path:
        """What lies in the scratch tree is seen in the repository's own place."""
        if path.is_relative_to(place.tree):
            return real(place.shown) / path.relative_to(place.tree)
        return path

    def trial(self) -> list[str]:
        """A whole command line that ends with 0 where this sandbox works."""
        home = os.environ.get("HOME", "")
        floor = mounts.floor(home, sized="--size" in self.features)
        return [str(self.program), *self._walls(Network.NO), *floor, "--", "/bin/sh", "-c", ":"]

    @property
    def gaps(self) -> tuple[str, ...]:
        """What this version, on this machine, does not hold."""
        lacking = {
            "no bound on what is written to HOME and /tmp": "--size" not in self.features,
            f"no filter of system calls for {seccomp.machine()}": not seccomp.program(Sockets.ANY),
        }
        return tuple(text for text, lacks in lacking.items() if lacks)

    def _walls(self, network: Network) -> tuple[str, ...]:
        """Namespaces, capabilities, and an end that comes with our own."""
        # The pid namespace is what ends everything: the kernel kills all of it with its first
        # process, pid_namespaces(7), however often a command forks or calls setsid.
        walls = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
        # die-with-parent is PR_SET_PDEATHSIG, whose parent is the thread that forked and not the
        # process, prctl(2): the thread that starts a command has to attend to it until its end.
        # new-session: on our own terminal a command could type into it (TIOCSTI, CVE-2017-5226).
        walls += ["--die-with-parent", "--new-session", "--cap-drop", "ALL"]
        walls += ["--hostname", "sandbox"]
        if "--disable-userns" in self.features:
            # In a user namespace of its own a command would have all capabilities again,
            # user_namespaces(7), and reach code of the kernel that is written for root.
            walls += ["--unshare-user", "--disable-userns"]
        if network is not Network.YES:
            walls += ["--unshare-net"]
        return tuple(walls)

    def _view(self, command: Command) -> tuple[str, ...]:
        """The file system: the floor first, what is shown on it afterwards."""
        environ, place = command.environment, command.place
        home = environ.get("HOME", "")
        where = frozenset((name, environ[name]) for name in NAMES if name in environ)
        return (
            *mounts.floor(home, sized="--size" in self.features),
            *mounts.others(str(place.shown), where, self.read, sized="--size" in self.features),
            *mounts.tools(where, self.read),
            *(mounts.resolver() if command.network is Network.YES else ()),
            *mounts.desk(place, reads_only=command.reads_only),
        )


def _door(command: Command) -> server.EgressServer | None:
    """The way to registries, where the command asks for that."""
    if command.network is not Network.REGISTRIES:
        return None
    return server.EgressServer(command.limits.registries)


def _sockets(network: Network) -> Sockets:
    """The network namespace holds all families but those that reach the machine's host."""
    return Sockets.ANY if network is Network.YES else Sockets.LOCAL


def inner_environment(
    environ: Mapping[str, str], place: Place, network: Network = Network.NO
) -> dict[str, str]:
    """The command's variables, with the paths as they are inside."""
    inner = {**environ, "TMPDIR": mounts.TMP}
    if network in (Network.REGISTRIES, Network.YES):
        inner |= fetch_environment(mounts.TMP)
    if place.objects:
        # The tree's `info/alternates` names the repository's own path, where in here the tree
        # itself stands; git(1) looks in these folders, too.
        inner["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = os.pathsep.join(mounts.object_paths(place))
    return inner


def _variables(environ: Mapping[str, str]) -> Iterable[str]:
    for name, value in environ.items():
        yield from ("--setenv", name, value)


def probe(read: tuple[Path, ...]) -> Bubblewrap | str:
    """Find bubblewrap as it works on this machine, or the reason why it does not."""
    program = which("bwrap", os.environ)
    if program is None:
        return "bubblewrap is not installed"
    _, text = capture([str(program), "--help"], Path("/"), {}, _PATIENCE)
    offered = frozenset(word for word in _OPTIONAL if word in text.decode("utf-8", "replace"))
    said = b""
    # A kernel that lets us make user namespaces may still refuse to bound them (no write to
    # /proc/sys/user there), so less is tried before bubblewrap is given up.
    for features in dict.fromkeys((offered, offered - {"--disable-userns"})):
        found = Bubblewrap(program, features, read)
        code, said = capture(found.trial(), Path("/"), {}, _PATIENCE)
        if code == 0:
            return found
    return said.decode("utf-8", "replace").strip() or "it ended without a word"
