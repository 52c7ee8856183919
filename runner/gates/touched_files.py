"""Find the files of the tree that a command changed, by their change times, or opened.

Opened files are seen by inotify(7), also inside a sandbox. Git is not asked.
"""

from __future__ import annotations

import os
import posixpath
import stat
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from runner import effects
from runner.errors import RunnerError
from runner.model import Finding, Severity
from runner.process import syscalls
from runner.repo.tree_files import tells_changes
from runner.repo.trees import TICK, Prefix, Stamp, is_unchanged, stamp_of
from runner.text.ignore_rules import ignore_rules
from runner.text.wording import join_few
from runner.writes.safe_io import open_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from typing import TypeAlias

    from runner.gates.base import GateContext

    Names: TypeAlias = frozenset[str]
    Listing: TypeAlias = Mapping[str, Names]
    """File names by folder, whose path ends in a slash; the tree's own path is empty."""
    Seen: TypeAlias = tuple[Listing, float]
    """Files and the time of their listing, in seconds since the epoch."""
    from collections.abc import Iterable
    from typing import Self

    from runner.process.base import Place


_BY_PRODUCTS_WORDS = """
__pycache__ .git .hypothesis .mypy_cache .nox .pytest_cache .ruff_cache .tox .venv node_modules
target .gradle .terraform .DS_Store
"""
_BY_PRODUCTS = frozenset(_BY_PRODUCTS_WORDS.split())
_ENDS = (".pyc", ".egg-info")
_SHOWN = 5
_LARGEST = 1024 * 1024
"""Maximum bytes of ignore rules."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_listed: dict[
    tuple[str, frozenset[str]], dict[str, tuple[Stamp, frozenset[str], tuple[str, ...]]]
] = {}
"""Last listings of folders, by tree and its shared files; each thread has its own tree."""


class TouchedFiles(Struct, frozen=True):
    """The effect of a command on the tree's files, by project paths."""

    changed: tuple[str, ...] = ()
    """Files whose bytes differ from the proposal, including deleted ones."""
    made: tuple[str, ...] = ()
    left: bool = False
    """Whether the tree changed: ignored files count, by-products do not."""

    def findings(self, check: str) -> tuple[Finding, ...]:
        """Return a note on the files that a check modified, which are discarded."""
        paths = (*self.changed, *self.made)
        if not paths:
            return ()
        return (
            Finding(
                check=check,
                message=f"the gate modified files (discarded): {join_few(paths, _SHOWN)}",
                severity=Severity.NOTE,
                hint="files that a check writes are not part of the task: have it write elsewhere",
            ),
        )


def files(context: GateContext) -> Seen:
    """Return the files of the scratch tree without by-products, and the time."""
    # The kernel stamps files with the time of its last tick, which may precede a clock read
    # earlier.
    began = effects.now().timestamp() - TICK
    return {above: names for above, _, names in _walk(context)}, began


def _walk(context: GateContext) -> Iterator[tuple[str, int, Names]]:
    """Yield each folder of the tree: its path, a descriptor, and its file names.

    A folder is listed again only where its change time moved: names cannot come or go without
    that. So most of a large tree costs one fstat(2) a folder.
    """
    tree, shares = os.fspath(context.place.tree), frozenset(context.place.shares)
    known, seen, pending = _listed.get((tree, shares), {}), {}, [""]
    while pending:
        above = pending.pop()
        before = time.time_ns()
        with suppress(OSError):  # another process may have removed it
            folder = os.open(os.path.join(tree, above), _FOLDER)  # noqa: PTH118 - text
            try:
                found, one = os.fstat(folder), known.get(above)
                if one is None or not is_unchanged(one[0], found):
                    one = (stamp_of(found, before), *_list(folder, above, shares))
                seen[above] = one
                yield above, folder, one[1]
                pending += one[2]
            finally:
                os.close(folder)
    _listed[tree, shares] = seen


def _list(folder: int, above: str, shares: frozenset[str]) -> tuple[Names, tuple[str, ...]]:
    """Return the names of a folder's files and the paths of its folders."""
    names, below = set(), []
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name in _BY_PRODUCTS or name.endswith(_ENDS) or name.startswith(".coverage"):
                continue
            if above + name in shares:
                continue
            if entry.is_dir(follow_symlinks=False):
                below.append(f"{above}{name}/")
            else:
                names.add(name)
    return frozenset(names), tuple(below)


def find_touched(before: Seen, context: GateContext) -> TouchedFiles:
    """Return the files that changed since `before`; rewriting the same bytes is no change.

    A file's change time cannot be set back by a program, so what was written since then shows;
    where the file system does not tell, each file is read.
    """
    known, began = before
    by_time = tells_changes(context.place.tree.parent)
    left = dict(known)
    made: list[str] = []
    written: list[str] = []
    for above, folder, names in _walk(context):
        were = left.pop(above, frozenset())
        if names is not were:
            made += [above + name for name in names - were]
            left[above] = were - names
        written += [
            above + name
            for name in names & were
            if not by_time or _is_changed_since(name, folder, began)
        ]
    gone = {above + name for above, names in left.items() for name in names}
    inside = Prefix(context.place.start).inside
    # The earlier content of files outside the proposal is unknown: a previous check made them.
    proposed = {path: context.after(inside(path)) for path in (*written, *gone)}
    changed = [
        path
        for path, content in proposed.items()
        if content is not None and (path in gone or not _holds(context.place.tree, path, content))
    ]
    seen = _not_ignored(sorted(made), context.place.tree) if made else ()
    return TouchedFiles(
        tuple(sorted(map(inside, changed))),
        tuple(sorted(map(inside, seen))),
        left=bool(made or changed),
    )


def _is_changed_since(name: str, folder: int, began: float) -> bool:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_ctime >= began
    except OSError:
        return True


def _holds(tree: Path, path: str, content: bytes) -> bool:
    """Return whether a file or link has this content; pipes are not read."""
    try:
        if (tree / path).is_symlink():
            return os.fsencode((tree / path).readlink()) == content
        return _read(tree, path, len(content)) == content
    except (OSError, RunnerError):
        return False


def _read(tree: Path, path: str, size: int) -> bytes:
    """Read at most `size` + 1 bytes of a regular file. Raises OSError and RunnerError."""
    with os.fdopen(open_below(tree, path, os.O_RDONLY), "rb") as file:
        return file.read(size + 1)


def _not_ignored(paths: list[str], tree: Path) -> Iterator[str]:
    """Yield the paths that the tree's .gitignore files do not exclude."""
    known: dict[str, Callable[[str], bool]] = {}
    for path in paths:
        parts = path.split("/")
        places = ("".join(f"{part}/" for part in parts[:depth]) for depth in range(len(parts)))
        for place in places:
            if place not in known:
                known[place] = _rules(tree, f"{place}.gitignore")
            if known[place](path.removeprefix(place)):
                break
        else:
            yield path


def _rules(tree: Path, path: str) -> Callable[[str], bool]:
    try:
        return ignore_rules(_read(tree, path, _LARGEST).decode("utf-8", "replace").splitlines())
    except (OSError, RunnerError):
        return ignore_rules(())


_MOST_WATCHED = 8000
"""Files watched at once: the kernel queues two events for each, 16,384 in all."""


class OpenWatch:
    """Watches some paths of a tree while entered.

    By their inodes, so that a mount or another name of the same file counts.
    """

    def __init__(self, paths: Iterable[str], place: Place) -> None:
        named = paths if sys.platform == "linux" else ()
        found = [path for path in named if _is_plain(f"{place.tree}/{path}")]
        self._inside = Prefix(place.start).inside
        self._files = {f"{place.tree}/{path}": path for path in found}
        self._watched: tuple[int, dict[int, list[str]]] | None = None
        self.unopened: tuple[str, ...] = ()
        """Files that no process opened; empty if unknown."""
        self.kinds: tuple[str, ...] = ()
        """Kinds of files of which no process opened any."""

    def __enter__(self) -> Self:
        if 0 < len(self._files) <= _MOST_WATCHED:
            try:
                self._watched = syscalls.watch_opens(self._files)
            except OSError:  # too many watches on this machine, or a file that is gone
                self._watched = None
        return self

    def __exit__(self, *_: object) -> None:
        if self._watched is None:
            return
        descriptor, watches = self._watched
        try:
            numbers = syscalls.read_opened(descriptor)
        finally:
            os.close(descriptor)
        if numbers is None:
            return
        opened = {self._files[name] for number in numbers for name in watches.get(number, ())}
        opened |= {path for file, path in self._files.items() if _has_bytecode(file)}
        left = [path for path in self._files.values() if path not in opened]
        used = {kind_of(self._inside(path)) for path in opened}
        self.unopened = tuple(sorted(map(self._inside, left)))
        self.kinds = tuple(sorted({kind_of(path) for path in self.unopened} - used))


def kind_of(path: str) -> str:
    """Return the folder and the ending of a file, `docs/*.md`: what a pattern finds it by."""
    folder, name = posixpath.split(path)
    return f"{folder}/*{posixpath.splitext(name)[1].casefold() or name}"


def _has_bytecode(file: str) -> bool:
    """Return whether Python may have imported a file from its cached byte code."""
    folder, name = posixpath.split(file)
    if not name.endswith(".py"):
        return False
    # As `importlib.util.cache_from_source` names it: module.cpython-311.pyc.
    stem, cached = f"{name.removesuffix('.py')}.", posixpath.join(folder, "__pycache__")
    try:
        with os.scandir(cached) as entries:
            return any(entry.name.startswith(stem) for entry in entries)
    except OSError:
        return False


def _is_plain(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False
