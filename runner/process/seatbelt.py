"""The macOS sandbox: a sandbox-exec(1) profile that denies by default.

Built for macOS and not yet run there: what is tested is which profile is written, and that one
which does not hold is refused. A command runs in the scratch tree where it lies, with a HOME and
a temporary folder of its own; it reads the system and the tool chain, and writes the tree, the
box and its own folder. The last rule that matches wins, so what is denied by name stands last.

What it does not do, and bubblewrap does: show the proposal at the repository's own path, hide
other processes, give a loopback of its own.
"""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from runner import effects
from runner.model import Network
from runner.process.base import Command, Place, Prepared, command_environment
from runner.process.limits import ulimits
from runner.process.mounts import (
    find_hidden_folders,
    inner_environment,
    object_folders,
    own_folder,
    real,
    take_away,
)
from runner.process.other_trees import other_trees
from runner.process.tools import NAMES, capture, tool_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


PROGRAM = Path("/usr/bin/sandbox-exec")
"""The system's own program; one found through PATH may be anything."""
_SYSTEM = (
    # Written as /private/…: /etc, /tmp and /var are links on macOS, and a profile is compared with
    # the resolved path.
    *("/usr", "/bin", "/sbin", "/System", "/opt", "/Library/Developer", "/Library/Frameworks"),
    *("/Library/Apple", "/Library/Java", "/Applications/Xcode.app", "/private/etc"),
    *("/private/var/db/dyld", "/private/var/db/timezone", "/private/var/db/xcode_select_link"),
    *("/private/var/select", "/nix/store"),
)
"""Readable paths: programs, libraries, system settings; no user data."""
_CLOSED = (
    *("/private/etc/master.passwd", "/private/etc/krb5.keytab", "/private/etc/ssh"),
    *("/private/etc/sudoers", "/private/etc/sudoers.d", "/private/etc/security"),
)
"""Keys and settings of the machine that belong to root, whoever runs this."""
_DEVICES = ("null", "zero", "random", "urandom", "tty", "fd", "stdin", "stdout", "stderr")
_SPOKEN_TO = ("com.apple.system.opendirectoryd.libinfo", "com.apple.system.logger")
"""System services that programs need for user names and logging."""
_OF_A_NETWORK = ("com.apple.SystemConfiguration.configd", "com.apple.trustd")
_RESOLVER = "/private/var/run/mDNSResponder"
_HERE = '"localhost:*"'
_NEVER = (
    "network loopback is shared with other programs of this machine",
    "the proposal is not at the repository's own path; other processes are visible",
)
_PATIENCE = 10.0


class Seatbelt(Struct, frozen=True):
    """Runs a command by a profile that denies by default."""

    read: tuple[Path, ...] = ()
    program: Path = PROGRAM
    reason: str = ""
    hidden: tuple[Path, ...] = ()
    """Folders that the profile closes last, whatever else is visible."""
    name = "seatbelt"
    contains = False
    encloses = True
    gaps = _NEVER

    def enclose(self, command: Command) -> Prepared:
        """Return the shell below sandbox-exec with limits in the tree. Raises ValueError.

        Raises ValueError for a path that no profile can name, and for a network that is held to
        registries.
        """
        place = command.place
        if command.network is Network.REGISTRIES:
            raise ValueError("seatbelt cannot limit the network to registries; bubblewrap can")
        own = own_folder(place)
        try:
            profile = write_profile(command, own, self.read, self.hidden)
        except BaseException:
            take_away(own)
            raise
        shell = ("/bin/sh", "-c", f'{ulimits(command.limits)}; exec "$@"', "sh")
        return Prepared(
            (str(self.program), "-p", profile, *shell, *command.argv),
            inner_environment(command.environment, own),
            place.tree / place.start / command.folder,
            leave=partial(take_away, own),
        )

    def sees(self, place: Place, path: Path) -> Path:  # noqa: ARG002 - the protocol's shape
        """Return the path unchanged."""
        return path


# --- the profile ----------------------------------------------------------------------


def write_profile(
    command: Command, own: Path, read: tuple[Path, ...] = (), hidden: tuple[Path, ...] = ()
) -> str:
    """Return the sandbox profile of a command. Raises ValueError for an unsupported path."""
    place, environ = command.place, command.environment
    home = environ.get("HOME", "")
    shown = str(real(place.shown))
    closed = {home, *find_hidden_folders(home), shown}
    tools = {
        path
        for path in (str(real(each)) for each in tool_paths(environ))
        if not _holds(path, closed)
    }
    where = frozenset((name, environ[name]) for name in NAMES if name in environ)
    denied = [*_CLOSED, *other_trees(shown, where, read)]
    asked = {str(real(path)) for path in read}
    shares = {str(real(place.shown / name)) for name in place.shares}
    shares |= {str(real(place.links))} if shares else set()
    borrowed = {str(real(path)) for path in object_folders(place)}
    tree, box = str(real(place.tree)), str(real(place.box))
    trees = [tree, *(str(real(path)) for path in place.submodules.values())]
    written = [box, str(real(own)), *([] if command.reads_only else trees)]
    seen = [*_SYSTEM, *sorted(tools | asked | shares | borrowed), *trees, box, str(real(own))]
    lines = [
        *_floor(),
        _rule("allow", "file-read*", _folders(seen)),
        _rule("deny", "file-read*", _folders(denied)),
        _rule("allow", "file-read-metadata", _files(_above(seen))),
        _rule("allow", "file-write*", _folders(written)),
        *_network(command.network),
    ]
    if command.reads_only:
        lines.append(_rule("deny", "file-write*", _folders(trees)))
    if hidden:
        closed_last = _folders(sorted(str(real(path)) for path in hidden))
        lines += [_rule("deny", what, closed_last) for what in ("file-read*", "file-write*")]
        # A command with held-out files has its own tree and box in there.
        own_ones = [path for path in written if _is_below(path, hidden)]
        rules = ("file-read*", "file-write*") if own_ones else ()
        lines += [_rule("allow", what, _folders(own_ones)) for what in rules]
    return "\n".join(lines) + "\n"


def _is_below(path: str, folders: Iterable[Path]) -> bool:
    return any(Path(path).is_relative_to(real(folder)) for folder in folders)


def _holds(folder: str, paths: Iterable[str]) -> bool:
    """Return whether one of these paths is the folder or inside it."""
    return any(path and (path + "/").startswith(folder.rstrip("/") + "/") for path in paths)


def _floor() -> Iterator[str]:
    yield "(version 1)"
    yield "(deny default)"
    yield from ("(allow process-fork)", "(allow process-exec)", "(allow sysctl-read)")
    yield "(allow signal (target same-sandbox))"
    yield "(allow process-info* (target same-sandbox))"
    yield "(allow ipc-posix-sem)"
    yield _rule("allow", "mach-lookup", (f"(global-name {_quote(name)})" for name in _SPOKEN_TO))
    devices = [f"/dev/{name}" for name in _DEVICES]
    yield _rule("allow", "file-read*", _files(["/", "/dev", *devices]))
    yield _rule("allow", "file-write-data", _files(devices))


def _network(network: Network) -> Iterator[str]:
    """Yield the network rules; `no` allows nothing, since Unix sockets could lead out as well."""
    if network is Network.LOOPBACK:
        yield f"(allow network-bind (local ip {_HERE}))"
        yield f"(allow network-inbound (local ip {_HERE}))"
        yield f"(allow network-outbound (remote ip {_HERE}))"
    if network is Network.YES:
        yield '(allow network-bind (local ip "*:*"))'
        yield '(allow network-inbound (local ip "*:*"))'
        yield '(allow network-outbound (remote ip "*:*"))'
        yield _rule("allow", "network-outbound", _files([_RESOLVER]))
        names = (f"(global-name {_quote(name)})" for name in _OF_A_NETWORK)
        yield _rule("allow", "mach-lookup", names)


def _rule(word: str, operation: str, filters: Iterable[str]) -> str:
    return f"({word} {operation} {' '.join(filters)})"


def _folders(paths: Iterable[str]) -> list[str]:
    return [f"(subpath {_quote(path)})" for path in dict.fromkeys(paths)]


def _files(paths: Iterable[str]) -> list[str]:
    return [f"(literal {_quote(path)})" for path in dict.fromkeys(paths)]


def _above(paths: Iterable[str]) -> list[str]:
    """Return the parent folders of these paths, which programs inspect."""
    above = {str(folder) for path in paths for folder in Path(path).parents}
    return sorted(above | {"/tmp", "/var", "/etc"})  # noqa: S108 - links of macOS


def _quote(text: str) -> str:
    """Quote a text for a sandbox profile. Raises ValueError for unsupported characters."""
    if not text or any(letter < " " or letter == "\x7f" for letter in text):
        raise ValueError(f"a sandbox profile cannot contain this path: {text!r}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"a sandbox profile cannot contain this path: {text!r}") from error
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# --- whether it holds -----------------------------------------------------------------


_TRY = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5)"


def probe(
    read: tuple[Path, ...] = (), program: Path = PROGRAM, hidden: tuple[Path, ...] = ()
) -> Seatbelt | str:
    """Return Seatbelt if all its restrictions work here, else why not.

    It fails closed: a profile that the system takes and does not hold is no sandbox.
    """
    if not os.access(program, os.X_OK):
        return f"{program} not found"
    with tempfile.TemporaryDirectory(prefix="runner-") as folder, socket.socket() as open_port:
        open_port.bind(("127.0.0.1", 0))
        open_port.listen()
        top = Path(os.path.realpath(folder))
        for name in ("tree", "box", "out"):
            effects.make_folder(top / name)
        secret = top / "out" / "secret"
        effects.write_file(secret, b"secret")
        return _try_all(Seatbelt(read, program, hidden=hidden), top, open_port.getsockname()[1])


def _try_all(found: Seatbelt, top: Path, port: int) -> Seatbelt | str:
    out = top / "out"
    trials = (
        # command, whether it must succeed, message otherwise
        (("/bin/sh", "-c", ": > inside && cat inside"), True, "it cannot run a command"),
        (("/bin/sh", "-c", ': > "$1"', "sh", str(out / "new")), False, "it did not block a write"),
        (("/bin/cat", str(out / "secret")), False, "it did not block a read"),
        ((sys.executable, "-I", "-S", "-c", "pass"), True, "it cannot run Python"),
        (
            (sys.executable, "-I", "-S", "-c", _TRY, str(port)),
            False,
            "it did not block a connection",
        ),
    )
    for argv, works, wrong in trials:
        code, output = _try_one(found, top, argv)
        if (code == 0) is not works or (out / "new").exists():
            words = output.decode("utf-8", "replace").strip()
            return f"{wrong}: {words}" if words else wrong
    return found


def _try_one(found: Seatbelt, top: Path, argv: tuple[str, ...]) -> tuple[int, bytes]:
    place = Place(top / "tree", top / "shown", top / "box")
    prepared = found.enclose(Command(argv, place, command_environment(os.environ)))
    try:
        return capture(prepared.argv, prepared.cwd, prepared.env, _PATIENCE)
    finally:
        if prepared.leave:
            prepared.leave()
