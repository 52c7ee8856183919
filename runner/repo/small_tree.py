"""A slot's tree of few files, looked at and put back without a process of git.

Git takes five milliseconds to begin and to end, which is longer than it takes here to look at two
thousand files. Only what git would certainly say in the same way is said: everything else, and
every tree that is larger, raises UnusualError, and git is asked.
"""

# ruff: noqa: PTH118 - names are bytes, as git has them

from __future__ import annotations

import os
import stat
import time
from typing import TYPE_CHECKING, NamedTuple

from runner.repo.change_times import TICK, tells_changes
from runner.repo.exclude_rules import ExcludeRules
from runner.repo.git import text
from runner.repo.index_file import read_index
from runner.repo.lock_files import UnusualError
from runner.repo.tree_files import put, read_regular
from runner.repo.trees import TreeEntry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from runner.repo.objects import Objects

_MOST = 2_000
"""Files; from about so many on git is quicker."""
_SEEN = 10 * _MOST
"""Names that are looked at: what a command left is no tree of few files any more."""
_FEW = 100
"""Files that are written here; more are git's."""
_RULES = b".gitignore"
_LARGE = 1 << 16
"""Bytes of rules that nobody wrote by hand."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class _Row(NamedTuple):
    """A file as stat(2) shows it; an equal one is unchanged where this is `settled`."""

    inode: int
    mode: int
    size: int
    # Not the mtime, which utimensat(2) sets to anything.
    changed: int
    settled: bool
    """Whether it had its change time for longer than a clock's tick when it was looked at: else
    another change could have left it the same (git calls such a file racily clean)."""


class SmallTree:
    """The files of a tree as they looked when they were certainly those of a base.

    An object belongs to the thread that its slot belongs to.
    """

    def __init__(self, tree: Path, index: Path, objects: Objects) -> None:
        self.objects = objects
        self._tree = tree
        self._top = os.fsencode(tree)
        self._index = index
        self._base: str | None = None
        self._rows: dict[bytes, _Row] | None = None
        self._indexed = b""
        self._clock = (0, 0)

    def forget(self) -> None:
        """Know nothing: the next look is git's."""
        self._rows = None

    def learn(self, base: str | None, paths: frozenset[bytes]) -> None:
        """Remember a tree that git has just made: exactly `base`, which holds these files."""
        self._base, self._rows = base, None
        if len(paths) > _MOST:
            return
        try:
            self._set_clock()
            self._indexed = self._index.read_bytes()
            self._rows = {path: self._look(path) for path in paths}
        except OSError:  # a name too long to be opened from here
            self._rows = None

    # --- what is there --------------------------------------------------------------------

    def find_differing(self, exclude: bytes) -> list[bytes]:
        """Files that are new, changed or gone, as `git ls-files --others --modified` names them.

        `exclude` are the rules beside those of the tree's own `.gitignore` files. Raises
        UnusualError where only git can tell.
        """
        rows = self._require()
        found, others, rules = [], [], ExcludeRules(exclude)
        there: set[bytes] = set()
        try:
            for path, entry in self._walk():
                if path.endswith(_RULES) and path.rpartition(b"/")[2] == _RULES:
                    rules.add(_read(entry), at_top=path == _RULES)
                if path not in rows:
                    others.append((path, entry))
                    if len(others) > _MOST:
                        raise UnusualError
                    continue
                there.add(path)
                if not self._holds(rows, path, entry.stat(follow_symlinks=False)):
                    found.append(path)
        except OSError as error:
            raise UnusualError from error
        # Not asked by path: behind a folder that is a link now stands a file of somebody else.
        gone = rows.keys() - there
        return [*_find_new(others, rules), *found, *gone]

    def _walk(self) -> Iterator[tuple[bytes, os.DirEntry[bytes]]]:
        """All that is no folder, following no link; the tree's own git folder is left out."""
        if not stat.S_ISDIR(os.lstat(self._top).st_mode):
            raise UnusualError
        pending, seen = [b""], 0
        while pending:
            below = pending.pop()
            with os.scandir(self._at(below)) as entries:
                for entry in entries:
                    seen += 1
                    path = below + entry.name
                    if seen > _SEEN:
                        raise UnusualError
                    # A repository inside is one name to git, whatever it holds, and of another
                    # spelling one that it refuses.
                    if entry.name.lower() == b".git":
                        if path != b".git":
                            raise UnusualError
                    elif entry.is_dir(follow_symlinks=False):
                        pending.append(path + b"/")
                    else:
                        yield path, entry

    # --- put back -------------------------------------------------------------------------

    def restore(
        self,
        bases: tuple[str | None, str | None],
        come: Mapping[bytes, TreeEntry | None],
    ) -> None:
        """Make the tree the second of two bases, where it was made of the first.

        `come` is what the two differ in, None for a file that is gone; whatever neither names has
        been swept away. Raises UnusualError, or what a path in the way raises, where git has to:
        then nothing is known any more.
        """
        rows = self._require()
        self._rows = None
        if self._base != bases[0] or self._index.read_bytes() != self._indexed:
            raise UnusualError
        there = [path for path in rows if path not in come]
        wanted = [path for path in there if self._differs(rows, path)]
        wanted += [path for path, entry in come.items() if entry]
        if len(wanted) > _FEW:
            raise UnusualError
        for path in wanted:
            self._write(bases[1], path)
        if come:
            self._patch(come)
        for path in come:
            rows.pop(path, None)
        rows.update((path, self._look(path)) for path in wanted)
        if len(rows) <= _MOST:
            self._base, self._rows = bases[1], rows

    def _differs(self, rows: dict[bytes, _Row], path: bytes) -> bool:
        try:
            return not self._holds(rows, path, os.lstat(self._at(path)))
        except (FileNotFoundError, NotADirectoryError, UnusualError):
            return True  # what cannot be compared is written anew

    def _patch(self, come: Mapping[bytes, TreeEntry | None]) -> None:
        """The index of the new base: entries that came say nothing of times, so git reads them."""
        content = read_index(self._index).with_entries(come)
        beside = self._index.with_name("index.lock")
        with os.fdopen(os.open(beside, _NEW, 0o666), "wb") as file:
            file.write(content)
        beside.replace(self._index)
        self._set_clock()
        self._indexed = content

    # --- one file -------------------------------------------------------------------------

    def _holds(self, rows: dict[bytes, _Row], path: bytes, found: os.stat_result) -> bool:
        """Whether a file is as it was; what stat(2) cannot tell is told by its content."""
        before, known = self._now(), rows[path]
        same = known.settled and _row(found, 0)[:_TIMED] == known[:_TIMED]
        if same and tells_changes(self._index.parent):
            return True
        # Of another size it is another file, which may be too large to be read.
        if found.st_size != known.size or not self._is_same(path):
            return False
        rows[path] = _row(found, before)
        return True

    def _is_same(self, path: bytes) -> bool:
        """Whether a file has the mode and the bytes of the base's."""
        mode, content = read_regular(self._tree, path)
        entry = TreeEntry(mode, self.objects.name("blob", content))
        return self.objects.entry(self._base, text(path)) == entry

    def _write(self, base: str | None, path: bytes) -> None:
        entry = self.objects.entry(base, text(path))
        kind, content = (entry and self.objects.reader.read(entry.sha)) or ("", b"")
        if entry is None or kind != "blob":
            raise UnusualError
        put(self._tree, text(path), entry.mode, content)

    def _look(self, path: bytes) -> _Row:
        before = self._now()
        return _row(os.lstat(self._at(path)), before)

    def _set_clock(self) -> None:
        """The time of the file system, by the index that was just written to it."""
        self._clock = self._index.stat().st_ctime_ns, time.monotonic_ns()

    def _now(self) -> int:
        """Not after now by the clock that files are stamped with, which may be a server's."""
        stamped, read = self._clock
        return stamped + time.monotonic_ns() - read

    def _at(self, path: bytes) -> bytes:
        return os.path.join(self._top, path)

    def _require(self) -> dict[bytes, _Row]:
        if self._rows is None:
            raise UnusualError
        return self._rows


_SECOND = 1_000_000_000
_COARSE = 2.0
"""Seconds in which file systems that keep whole seconds may hide a change; others say parts."""
_TIMED = 4
"""Fields of a row that stat(2) gives."""


def _row(found: os.stat_result, before: int) -> _Row:
    """A file that was looked at, and perhaps read, after `before` (ns since the epoch)."""
    changed = found.st_ctime_ns
    tick = _COARSE if changed % _SECOND == 0 else TICK
    settled = changed < before - tick * _SECOND
    return _Row(found.st_ino, found.st_mode, found.st_size, changed, settled)


def _read(entry: os.DirEntry[bytes]) -> bytes:
    if not entry.is_file(follow_symlinks=False) or entry.stat().st_size > _LARGE:
        raise UnusualError
    with open(entry.path, "rb") as file:  # noqa: PTH123
        return file.read()


def _find_new(
    others: list[tuple[bytes, os.DirEntry[bytes]]], rules: ExcludeRules
) -> Iterator[bytes]:
    for path, entry in others:
        ignored = rules.judge(path)
        if ignored is None or not (ignored or entry.is_file(follow_symlinks=False)):
            raise UnusualError
        if not ignored:
            yield path
