"""Which bound of the sandbox, or of the limits, a failed command ran into, by what it printed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.config.sizes import format_size
from runner.lazy_dataclass import dataclass
from runner.lazy_pattern import regex
from runner.model import Network

if TYPE_CHECKING:
    from collections.abc import Callable

_KILLED, _TOO_LARGE = 128 + 9, 128 + 25
"""Ends of a process by SIGKILL and by SIGXFSZ."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What held a command while it ran."""

    enclosed: bool = False
    """Whether a sandbox did; the limits hold without one, too."""
    network: Network = Network.NO
    asked: Network = Network.NO
    """What was asked for it: more than `network` where the person's settings hold it back."""
    gate: str = ""
    """The gate's name; empty for what is none."""
    home: str = ""
    own: tuple[str, ...] = ()
    """The folders it works in, where nothing is hidden from it."""
    others: tuple[str, ...] = ()
    """Work trees of other repositories, which are hidden from it."""
    memory: int | None = None
    processes: int | None = None
    file_size: int | None = None


def find_met_bound(tail: str, code: int, bounds: Bounds) -> str:
    """What held the command, and the one line that loosens it; empty where nothing shows that."""
    # The kernel stops by SIGKILL what outgrows its cgroup, by SIGXFSZ what writes a file beyond its
    # limit (setrlimit(2)); without a bound neither says so much.
    if code == _KILLED and (said := _memory(bounds)):
        return said
    if code == _TOO_LARGE and (said := _file_size(bounds)):
        return said
    table = (*_OF_SANDBOXES, *_OF_LIMITS) if bounds.enclosed else _OF_LIMITS
    found = (words(bounds) for pattern, words in table if pattern.search(tail))
    return next(filter(None, found), "") or (_paths(tail, bounds) if bounds.enclosed else "")


# --- limits ---------------------------------------------------------------------------


def _memory(bounds: Bounds) -> str:
    if not bounds.memory:
        return ""
    held = f"it is held to {format_size(bounds.memory)} of memory"
    return f"{held}; more: Uses: memory 4GB in the task, or memory in your own settings"


def _processes(bounds: Bounds) -> str:
    if not bounds.processes:
        return ""
    held = f"it is held to {bounds.processes} processes and threads"
    return f"{held}; more: processes in your own settings"


def _file_size(bounds: Bounds) -> str:
    if not bounds.file_size:
        return ""
    held = f"it is held to files of {format_size(bounds.file_size)}"
    return f"{held}; larger: file_size in your own settings"


# --- the sandbox ----------------------------------------------------------------------


def _network(bounds: Bounds) -> str:
    if bounds.network is Network.YES:
        return ""
    if bounds.asked is not bounds.network:
        held = f"it asks for network {bounds.asked}, and your own settings allow {bounds.network}"
        return f'{held}; if it is to have it: network = "{bounds.asked}" there'
    held = f"the sandbox holds it to network {bounds.network}"
    if not bounds.gate:
        return f"{held}; if it needs more: Network: yes in the task"
    own = f"{bounds.gate} (network): … in the task"
    return f'{held}; if it needs more: {own}, or network = "yes" in [gates.{bounds.gate}]'


def _describe_writable(_bounds: Bounds) -> str:
    return (
        "the sandbox lets it write in the project's folder, $HOME and $TMPDIR alone; "
        'elsewhere only with sandbox = "none" in your own settings'
    )


def _room(_bounds: Bounds) -> str:
    return "HOME and /tmp are small in the sandbox: write what is large in the project's folder"


def _paths(tail: str, bounds: Bounds) -> str:
    """Words for a path that the sandbox keeps to itself; nothing for the project's own."""
    for other in bounds.others:
        if re.search(rf"(?<![\w/.-]){re.escape(other)}(?![\w.-])", tail):
            shown = f'to let it be read: sandbox_read = ["{other}"] in your own settings'
            return f"the sandbox hides {other}, which is another repository's or person's; {shown}"
    for denied, path in _find_denied_paths(tail, bounds.home):
        personal = bounds.home and _is_below(path, bounds.home)
        if any(_is_below(path, own) for own in bounds.own) or not (denied or personal):
            continue
        if not personal and any(_is_below(path, each) for each in _SHARED):
            return f"the sandbox closes {path} by that name: write in $TMPDIR"
        shown = f'to read it: sandbox_read = ["{path}"] in your own settings'
        return f"the sandbox hides {path} or keeps it as it is; {shown}"
    return ""


def _find_denied_paths(tail: str, home: str) -> list[tuple[bool, str]]:
    """Paths that could not be opened: whether that was denied, and each as a whole path."""
    found = []
    for line in tail.splitlines():
        if not (kind := _UNOPENED.search(line)):
            continue
        for name in _PATH.findall(line):
            path = f"{home}{name[1:]}" if name.startswith("~") else name
            found.append((kind["denied"] is not None, path))
    return found


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


_SHARED = ("/tmp", "/var/tmp")  # noqa: S108 - only named
_UNOPENED = regex(
    r"(?P<denied>Permission denied|Operation not permitted|EACCES|EPERM)"
    r"|No such file or directory|ENOENT"
)
_PATH = regex(r"(?<![\w./~-])(~?/[^\s'\"`:,;<>()]+)")
_LOOPBACK = r"(?:localhost|127\.|\[?::1)"

Row = tuple[re.Pattern[str], "Callable[[Bounds], str]"]

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
