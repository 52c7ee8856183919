"""The file system inside bubblewrap, as bubblewrap's options.

Later options win, so the order is: the machine read-only, what is personal hidden, the tools
shown again, and at last the folders the command works in.

Sandboxes that cannot mount use the same lists of readable paths, and give each command a HOME and a
temporary folder of its own.
"""

from __future__ import annotations

import itertools
import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

from runner import effects
from runner.process.environments import MODULES
from runner.process.limits import MEGABYTE
from runner.process.other_trees import other_trees
from runner.process.tools import homes, tool_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from runner.process.base import Place

TMP = "/tmp"  # noqa: S108 - inside, /tmp is the command's own
OBJECTS = f"{TMP}/.objects"
_ROOM = 2048 * MEGABYTE
"""Bytes that may be written to each of HOME, /tmp and similar: they use memory."""
_HIDDEN = (TMP, "/var/tmp", "/run", "/home", "/root")  # noqa: S108 - they are hidden
MASKED = (
    # A file's owner reads it without any capability: this matters for root.
    *("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers"),
    *("/etc/sudoers.d", "/etc/ssh", "/etc/ssl/private", "/var/log", "/var/backups"),
    *("/var/spool", "/var/lib/docker", "/var/lib/containerd", "/var/lib/kubelet"),
    # Triggers that root may use without capabilities, like the controls below.
    *("/proc/sysrq-trigger", "/proc/acpi"),
)
"""Paths that no command can read."""
_CONTROLS = ("/proc/sys", "/proc/fs", "/proc/irq", "/proc/bus")
"""Controls of the kernel. bubblewrap 0.8 leaves /proc/sys writable for a root without
capabilities, and with kernel/core_pattern the whole machine."""

_BORROWED = 5
_CACHES = {"vite": (".vite", ".vite-temp")} | dict.fromkeys(
    ("nyc", "ava", "prettier", "find-cache-dir", "find-cache-directory"), (".cache",)
)
"""Folders in `node_modules` that a package writes, by package."""
_STORES = ("", ".pnpm/node_modules")
"""Folders in `node_modules` with all packages."""


@lru_cache(maxsize=8)
def floor(home: str, *, sized: bool) -> tuple[str, ...]:
    """Return the mounts of the base system: read-only, with home folders hidden."""
    size = ("--size", str(_ROOM)) if sized else ()
    options = ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
    # `--dev` makes a tmpfs without a limit: files next to its nodes would use memory.
    options += [*size, "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]  # noqa: S108 - its own
    for path in filter(os.path.exists, _CONTROLS):
        options += ["--ro-bind", path, path]
    # A command with our rights cannot access what we can't read or write: mount only over
    # accessible paths.
    for path in filter(_readable, MASKED):
        options += ["--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", os.devnull, path]  # noqa: PTH112 - text
    roots = find_hidden_folders(home)
    for root in roots:
        options += [*size, "--tmpfs", root]
    if home not in roots and _below(home, roots):
        options += ["--dir", home]
    return tuple(options)


@lru_cache(maxsize=8)
def find_hidden_folders(home: str) -> tuple[str, ...]:
    """Return the real paths of the folders that are hidden, none within another.

    Where this process keeps temporary files, keys and sockets lie, too.
    """
    places = (*_HIDDEN, gettempdir(), home)
    wanted = {os.path.realpath(path) for path in places if path.startswith("/")} - {"/"}
    there = sorted(path for path in wanted if os.path.isdir(path))  # noqa: PTH112 - text
    return tuple(path for path in there if not _below(path, set(there) - {path}))


def others(
    shown: str, where: frozenset[tuple[str, str]], read: tuple[Path, ...], *, sized: bool
) -> tuple[str, ...]:
    """Return options that hide other repositories and homes which are not hidden already."""
    roots = find_hidden_folders(dict(where).get("HOME", ""))
    options: list[str] = []
    for path in other_trees(shown, where, read):
        known = path in roots or _below(path, roots)
        if not known and os.path.isdir(path):  # noqa: PTH112 - text; it may have gone since
            options += [*(("--size", str(MEGABYTE)) if sized else ()), "--tmpfs", path]
    return tuple(options)


@lru_cache(maxsize=32)
def tools(where: frozenset[tuple[str, str]], read: tuple[Path, ...]) -> tuple[str, ...]:
    """Return the mounts that show the tool chain read-only where it is hidden.

    What holds a hidden folder whole is not shown, unless a person asked for it in `read`.
    """
    return tuple(_bind("--ro-bind", _shown_again(where, read)))


def let_go_trim(read: tuple[Path, ...]) -> tuple[str, ...]:
    """Return options that let Go use a build cache that a person shows in `read`.

    Go fails where it cannot write `trim.txt`, or keep an index of packages that it made
    (cmd/go/internal/cache and modindex).
    """
    files = [str(each / "trim.txt") for each in read if each.name == "go-build"]
    shown = [file for file in files if os.path.isfile(file)]  # noqa: PTH113 - text
    options = [word for file in shown for word in ("--dev-bind", os.devnull, file)]
    return (*options, "--setenv", "GODEBUG", "goindex=0") if options else ()


def mask(
    hidden: tuple[Path, ...], read: tuple[Path, ...], box: Path, *, sized: bool
) -> tuple[str, ...]:
    """Return options that mount empty folders over the hidden ones, at each visible path.

    A command that runs with held-out files has its own `box` in one of them.
    """
    options: list[str] = []
    for folder in hidden:
        at = real(folder)
        names = {
            at,
            *(each / at.relative_to(real(each)) for each in read if at.is_relative_to(real(each))),
        }
        for name in sorted(names):
            if name.is_dir():
                options += [*(("--size", str(MEGABYTE)) if sized else ()), "--tmpfs", str(name)]
                if box.is_relative_to(name):
                    options += ["--bind", str(box), str(box)]
                options += ["--remount-ro", str(name)]
    return tuple(options)


def files_but(paths: Iterable[str], hidden: tuple[Path, ...]) -> Iterator[str]:
    """Yield the paths, with one that contains a hidden folder replaced by its visible entries."""
    closed = frozenset(str(real(folder)) for folder in hidden)
    for path in paths:
        if any(folder.startswith(path.rstrip("/") + "/") for folder in closed):
            yield from _open_in(path, closed)
        elif path not in closed and not _below(path, closed):
            yield path


def hides(path: str, where: frozenset[tuple[str, str]], read: tuple[Path, ...]) -> bool:
    """Return whether a path exists on the machine but is hidden from commands.

    The folders a command works in are not looked at.
    """
    found = os.path.realpath(path)
    if not os.path.lexists(found) or not _below(
        found, find_hidden_folders(dict(where).get("HOME", ""))
    ):
        return False
    shown = [str(each) for each in _shown_again(where, read)]
    return found not in shown and not _below(found, shown)


def _shown_again(where: frozenset[tuple[str, str]], read: tuple[Path, ...]) -> list[Path]:
    """Return the visible paths inside hidden folders, none within another."""
    environ = dict(where)
    roots = find_hidden_folders(environ.get("HOME", ""))
    home = real(Path(environ.get("HOME", "/nonexistent")))
    found = {path for tool in tool_paths(environ) for path in _spellings(tool)} - {home}
    asked = {path for each in read if each.exists() for path in _spellings(each)}
    shown = {path for path in found if _below(str(path), roots)} | asked
    return [path for path in sorted(shown) if shown.isdisjoint(path.parents)]


def resolver() -> tuple[str, ...]:
    """Return options that show the target of /etc/resolv.conf, which systemd keeps in /run."""
    target = os.path.realpath("/etc/resolv.conf")
    # A bind of the link itself would show a link: its target must exist, in a /run that is
    # otherwise empty.
    return ("--ro-bind-try", target, target) if target.startswith("/run/") else ()


def context(place: Place, *, reads_only: bool = False) -> tuple[str, ...]:
    """Return the mounts of the scratch tree, its shared folders, objects and box."""
    shown = real(place.shown)
    shares = [
        name
        for name in place.shares
        if (shown / name).exists() and place.has_folder(os.path.dirname(name))  # noqa: PTH120 - text
    ]
    options = ["--ro-bind" if reads_only else "--bind", str(place.tree), str(shown)]
    written = find_caches(shown, shares)
    for name in shares:
        there = os.path.realpath(shown / name)
        options += ["--ro-bind", there, str(shown / name)]
        if name.endswith(MODULES) and _make_folders(there, written):
            for cache in written:
                options += ["--tmpfs", str(shown / name / cache)]
    for name, folder in place.submodules.items():
        if place.has_folder(os.path.dirname(name)):  # noqa: PTH120 - text
            options += ["--ro-bind" if reads_only else "--bind", str(folder), str(shown / name)]
    if folders := object_folders(place):
        # Read-only: writes there would go to the user's own repository.
        options += ["--ro-bind", str(folders[0]), OBJECTS]
        options += _bind("--ro-bind", folders[1:])
    return (*options, "--bind", str(place.box), str(place.box))


def find_caches(shown: Path, shares: Iterable[str]) -> list[str]:
    """Return the folders in `node_modules` where installed tools keep what they made.

    Vite and nyc end with an error where they cannot write there; inside they are the command's
    own. A tool of one folder may write in another one: Vite does in that of each package.
    """
    stores = [
        shown / share / store for share in shares if share.endswith(MODULES) for store in _STORES
    ]
    tools = (names for tool, names in _CACHES.items() if any((at / tool).is_dir() for at in stores))
    return list(dict.fromkeys(name for names in tools for name in names))


def _make_folders(packages: str, names: Iterable[str]) -> bool:
    """Create empty folders as mount points; False if that fails."""
    try:
        for name in names:
            if not os.path.isdir(f"{packages}/{name}"):  # noqa: PTH112 - a hot path
                effects.make_folder(Path(packages, name))
    except OSError:
        return False
    return True


def object_folders(place: Place) -> list[Path]:
    """Return the repository's object folder and its alternates; empty for a suspicious link."""
    if place.objects is None or not _is_called_objects(real(place.objects)):
        return []
    return [place.objects, *alternates(place.objects)]


def _is_called_objects(folder: Path) -> bool:
    # `.git` may come from an unpacked clone: instead of objects it could name a folder of keys. Git
    # always calls a folder of objects this (gitrepository-layout(5)).
    return folder.name == "objects" and folder.is_dir()


def real(path: Path) -> Path:
    """Return the path with symbolic links resolved."""
    return Path(os.path.realpath(path))


def alternates(objects: Path) -> list[Path]:
    """Return all object folders that a repository borrows, directly or indirectly.

    Git follows them to a depth of five (object-file.c, link_alt_odb_entries).
    """
    found: dict[Path, None] = {}
    last = [real(objects)]
    for _ in range(_BORROWED):
        last = [
            path
            for folder in last
            for path in _borrowed(folder)
            if path not in found and path != real(objects)
        ]
        found.update(dict.fromkeys(last))
    return list(found)


def _borrowed(objects: Path) -> list[Path]:
    """Return the object folders that one folder borrows (gitrepository-layout(5))."""
    try:
        lines = os.fsdecode((objects / "info" / "alternates").read_bytes()).splitlines()
    except OSError:
        return []
    named = (line for line in lines if line and not line.startswith("#") and "\0" not in line)
    return [path for line in named if _is_called_objects(path := real(objects / line))]


def _spellings(path: Path) -> set[Path]:
    """Return the path as given and with links resolved."""
    return {path, real(path)}


def _bind(option: str, paths: Iterable[Path]) -> Iterable[str]:
    for path in paths:
        yield from (option, str(path), str(path))


def _below(path: str, roots: Iterable[str]) -> bool:
    return any(path.startswith(root.rstrip("/") + "/") for root in roots)


def _readable(path: str) -> bool:
    # /proc/sysrq-trigger is writable but not readable: checking only one right would miss it.
    return os.access(path, os.R_OK) or os.access(path, os.W_OK)


# --- readable paths -------------------------------------------------------------------


_UNREAD = ("/dev", "/boot", "/lost+found")


@lru_cache(maxsize=8)
def files_below(home: str, shown: str, others: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the outermost paths of the machine that contain no personal files.

    A rule of Landlock holds for all below it, so a folder that holds something closed is
    given by its entries. `shown` is closed: the repository's own files are no part of a proof;
    and so are `others`, work trees of other repositories.
    """
    named = (*find_hidden_folders(home), *MASKED, *_UNREAD, shown, *others)
    closed = {os.path.realpath(path) for path in named}
    # /proc is allowed whole: its entries change, and closed ones there need privileges.
    closed = {path for path in closed if not path.startswith("/proc/")}
    return tuple(_open_in("/", frozenset(closed - {"/"})))


def _open_in(folder: str, closed: frozenset[str]) -> list[str]:
    found = []
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return []
    for entry in entries:
        # A rule applies to a link's target, so a link in an open folder would open closed paths;
        # the target is allowed at its own place, if at all.
        if entry.is_symlink() or entry.path in closed:
            continue
        if any(path.startswith(entry.path + "/") for path in closed):
            found += _open_in(entry.path, closed)
        else:
            found.append(entry.path)
    return found


# --- home and temporary folder --------------------------------------------------------


_numbers = itertools.count(1)


def own_folder(place: Place) -> Path:
    """Create empty HOME and temporary folders for one command."""
    own = place.box / f".own-{os.getpid()}-{next(_numbers)}"
    effects.step("mkdir", own)
    for path in (own, own / "home", own / "tmp"):
        path.mkdir(mode=0o700)
    return own


def take_away(own: Path) -> None:
    """Remove it, when nothing of the command is alive."""
    effects.step("remove", own)
    with suppress(OSError):  # what resists goes with the slot
        effects.remove_tree(own)


def inner_environment(environ: Mapping[str, str], own: Path) -> dict[str, str]:
    """Return the environment with an empty HOME, and variables for tools usually found below it."""
    return {**homes(environ), **environ, "HOME": str(own / "home"), "TMPDIR": str(own / "tmp")}
