"""Find the sandbox rule or limit that a failed command hit, from its output."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.config.paths import expand_home
from runner.config.sizes import format_size
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.model import Network
from runner.process.tools import NAMES, find_installation, which

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from runner.config.settings import Settings
    from runner.process import mounts, other_trees
    from runner.process.base import Place, Sandbox
    from runner.process.limits import Limits
else:
    mounts = lazy_module("runner.process.mounts")
    other_trees = lazy_module("runner.process.other_trees")

IN_OWN_SETTINGS = "in ~/.config/runner/runner.toml"
_KILLED, _TOO_LARGE = 128 + 9, 128 + 25
"""Exit by SIGKILL and by SIGXFSZ."""


class CommandBounds(Struct, frozen=True):
    """The limits that applied to a command while it ran."""

    command: str = ""
    """Command that ran: it may silently fail at a path that it names, as `test -f` does."""
    network: Network = Network.NO
    asked: Network = Network.NO
    """Requested network access: more than `network` if the user's settings limit it."""
    gate: str = ""
    """Name of the gate; empty for other checks."""
    enclosed: bool = False
    """Whether it ran in a sandbox; limits also apply without one."""
    home: str = ""
    own: tuple[str, ...] = ()
    """Its working folders, in which nothing is hidden from it."""
    others: tuple[str, ...] = ()
    """Work trees of other repositories, which are hidden from it."""
    memory: int | None = None
    processes: int | None = None
    file_size: int | None = None
    hides: Callable[[str], bool] = lambda _path: False
    """Whether this path exists, but the sandbox shows something else in its place."""
    search: Mapping[str, str] = {}
    """The person's PATH, as an environment."""


def add_place(
    bounds: CommandBounds,
    place: Place,
    sandbox: Sandbox,
    environ: Mapping[str, str],
    settings: Settings,
    limits: Limits,
) -> CommandBounds:
    """Return the same with what holds a command that runs there."""
    where = frozenset((name, environ[name]) for name in NAMES if name in environ)
    read = tuple(map(expand_home, settings.sandbox.read))
    shown = str(place.shown)
    return replace(
        bounds,
        enclosed=sandbox.encloses,
        home=environ.get("HOME", ""),
        own=tuple(map(str, (place.tree, place.shown, place.shown.resolve(), place.box))),
        others=other_trees.other_trees(shown, where, read) if sandbox.encloses else (),
        memory=limits.together or limits.memory,
        processes=limits.processes,
        file_size=limits.file_size,
        hides=partial(mounts.hides, where=where, read=read) if sandbox.contains else bounds.hides,
        search={"PATH": environ.get("PATH", "")},
    )


def find_met_bound(tail: str, code: int, bounds: CommandBounds) -> str:
    """Return the limit that the command hit and how to raise it; empty if the output shows none."""
    # The kernel kills a process that exceeds its cgroup by SIGKILL, and one that exceeds the file
    # size by SIGXFSZ (setrlimit(2)); without a limit neither is conclusive.
    if code == _KILLED and (hint := _memory(bounds)):
        return hint
    if code == _TOO_LARGE and (hint := _file_size(bounds)):
        return hint
    table = (*_OF_SANDBOXES, *_OF_LIMITS) if bounds.enclosed else _OF_LIMITS
    found = (words(bounds) for pattern, words in table if pattern.search(tail))
    return next(filter(None, found), "") or (_paths(tail, bounds) if bounds.enclosed else "")


# --- limits ---------------------------------------------------------------------------


def _memory(bounds: CommandBounds) -> str:
    return _limit(
        bounds.memory and f"memory limit is {format_size(bounds.memory)}",
        f"limits.memory {IN_OWN_SETTINGS}, or Uses: memory 4GB in the task",
    )


def _processes(bounds: CommandBounds) -> str:
    held = bounds.processes and f"limit is {bounds.processes} processes and threads"
    return _limit(held, f"limits.processes {IN_OWN_SETTINGS}")


def _file_size(bounds: CommandBounds) -> str:
    held = bounds.file_size and f"file size limit is {format_size(bounds.file_size)}"
    return _limit(held, f"limits.file_size {IN_OWN_SETTINGS}")


def _limit(held: str | int | None, setting: str) -> str:
    return f"the {held}; to raise it, set {setting}" if held else ""


# --- the sandbox ----------------------------------------------------------------------


def _network(bounds: CommandBounds) -> str:
    if bounds.network is Network.YES:
        return ""
    if bounds.asked is not bounds.network:
        asked = f"the check asks for network {bounds.asked}"
        held = f"{asked}, but your own settings allow {bounds.network}"
        return f'{held}; to allow it, set network = "{bounds.asked}" there'
    held = f"the sandbox runs the command with network {bounds.network}"
    if not bounds.gate:
        return f"{held}; if it needs more, add Network: yes to the task"
    own = f"add {bounds.gate} (network): … to the task"
    return f'{held}; if it needs more, {own}, or set network = "yes" in [gates.{bounds.gate}]'


def _describe_writable(_bounds: CommandBounds) -> str:
    return (
        "the sandbox allows writes only in the project's folder, $HOME and $TMPDIR; "
        f'to write elsewhere, set sandbox.kind = "none" {IN_OWN_SETTINGS}'
    )


def _room(_bounds: CommandBounds) -> str:
    return "HOME and /tmp are small in the sandbox: write large files in the project's folder"


def _paths(tail: str, bounds: CommandBounds) -> str:
    """Return a hint on a path that the sandbox hides, or an empty string."""
    output = f"{tail}\n{bounds.command}"
    for other in bounds.others:
        if re.search(rf"(?<![\w/.-]){re.escape(other)}(?![\w.-])", output):
            shown = f'to read it, set sandbox.read = ["{other}"] {IN_OWN_SETTINGS}'
            return f"the sandbox hides {other}, a path of another repository or user; {shown}"
    for match in _ABSENT.finditer(tail):
        program = which(match["shell"] or match["named"], bounds.search)
        if program and bounds.hides(str(program)):
            folder = find_installation(program.resolve())
            shown = f'to show it: sandbox.read = ["{folder}"] {IN_OWN_SETTINGS}'
            return f"the sandbox hides {program}; {shown}"
    silent = not tail.strip() or _UNOPENED.search(tail)
    named = _paths_in(bounds.command, bounds.home) if silent else []
    found = (*_find_denied_paths(tail, bounds.home), *((_NAMED, path) for path in named))
    for kind, path in found:
        if any(_is_below(path, own) for own in bounds.own):
            continue
        personal = kind != _NAMED and bounds.home and _is_below(path, bounds.home)
        shown = f'to read it, set sandbox.read = ["{path}"] {IN_OWN_SETTINGS}'
        shared = "" if personal else next((one for one in _SHARED if _is_below(path, one)), "")
        if kind != "denied" and not personal and not bounds.hides(path):
            continue
        if shared and bounds.hides(path):
            return f"the sandbox has its own {shared}, which lacks {path}; {shown}"
        if shared:
            return f"the sandbox blocks writing {path}: write to $TMPDIR instead"
        return f"the sandbox hides {path} or makes it read-only; {shown}"
    return ""


def _find_denied_paths(tail: str, home: str) -> Iterator[tuple[str, str]]:
    """Yield the paths that could not be opened, and whether access was `denied`."""
    for line in tail.splitlines():
        if kind := _UNOPENED.search(line):
            for path in _paths_in(line, home):
                yield kind.lastgroup or "", path


def _paths_in(text: str, home: str) -> list[str]:
    names = _PATH.findall(text)
    return [f"{home}{name[1:]}" if name.startswith("~") else name for name in names]


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


_SHARED = ("/tmp", "/var/tmp")  # noqa: S108 - only named
_NAMED = "named"
"""For a path in the command but not in its output."""
_UNOPENED = regex(
    r"(?P<denied>[Pp]ermission denied|[Oo]peration not permitted|EACCES|EPERM)"
    # As libc, shells, Go, Node and others word it.
    r"|(?P<missing>[Nn]o such file or directory|ENOENT|not found|does not exist|[Cc]annot find"
    r"|MODULE_NOT_FOUND)"
)
_ABSENT = regex(
    r"(?<![\w./+-])(?P<shell>[\w.+-]+): (?:command )?not found\b"
    r"|\b(?:make|env): \W?(?P<named>[\w.+-]+)\W?: No such file or directory"
)
"""A program that a shell, make or env did not find."""
_PATH = regex(r"(?<![\w./~-])(~?/[^\s'\"`:,;<>()]+)")
_LOOPBACK = r"(?:localhost|127\.|\[?::1)"

Row = tuple[re.Pattern[str], "Callable[[CommandBounds], str]"]

_OF_SANDBOXES: tuple[Row, ...] = (
    (
        regex(
            r"name resolution|Name or service not known|nodename nor servname"
            r"|[Cc]ould not resolve|failed to lookup address|no such host|getaddrinfo"
            r"|EAI_AGAIN|ENOTFOUND|Network is unreachable|network is unreachable|ENETUNREACH"
        ),
        _network,
    ),
    (
        regex(
            rf"(?m)^(?!.*{_LOOPBACK})(?=.*(?:\d\.\d|https?://|\.[a-z]{{2,}}\b)).*"
            r"(?:[Cc]onnection refused|ECONNREFUSED)"
        ),
        _network,
    ),
    (  # no address can be reached where the filter of calls refuses sockets
        regex(
            r"(?m)(?:urlopen|socket|connect|listen|bind)\b[^\n/]*"
            r"(?:Permission denied|Operation not permitted|EACCES|EPERM)"
            r"|PermissionError: \[Errno 13\] Permission denied$"
        ),
        _network,
    ),
    (regex(r"[Rr]ead-only file system|EROFS"), _describe_writable),
    (regex(r"[Nn]o space left on device|ENOSPC"), _room),
)

_OF_LIMITS: tuple[Row, ...] = (
    (
        regex(
            r"MemoryError|[Cc]annot allocate memory|ENOMEM|bad_alloc"
            r"|OutOfMemory|[Oo]ut of memory|heap out of memory"
        ),
        _memory,
    ),
    (
        regex(
            r"Resource temporarily unavailable|resource temporarily unavailable"
            r"|can't start new thread|Cannot fork|EAGAIN"
        ),
        _processes,
    ),
    (regex(r"File size limit exceeded|File too large|file too large|EFBIG"), _file_size),
)
