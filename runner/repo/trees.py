"""Read git trees and compare two of them.

A `Prefix` converts paths between the project and its repository. A `Stamp` is what stat(2) returned
for a file that was equal to the one in a git tree.
"""

from __future__ import annotations

import os
import posixpath
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from msgspec import Struct, field

from runner.model import Action, Change, digest_of
from runner.repo.git import raw, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.repo.git import Git, ObjectReader

TICK = 0.02
"""Seconds within which a change may leave a file's times unchanged: a coarse clock's step."""

GITLINK = 0o160000
SYMLINK = 0o120000
FOLDER = 0o040000
EMPTY = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
"""Names of the empty tree, which git knows without an object (object-file.c)."""

# NUL ends every path: without -z git quotes names by core.quotePath (git-diff(1)), and a line end
# in a name would start a new entry.
_RAW = ("-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv")
_ARGUMENTS = 100_000
"""Characters of paths for one process; Linux allows 2 MB in all."""


class WrittenChange(Protocol):
    """The part of a change that a commit needs; `runner.model.Change` has it."""

    @property
    def path(self) -> str:
        """Path relative to the project."""

    @property
    def mode(self) -> int:
        """Mode as git records it."""

    @property
    def content(self) -> bytes | None:
        """The bytes, or None for a deletion."""


class TreeEntry(Struct, frozen=True):
    """The content of a tree at a path."""

    mode: int
    sha: str

    @property
    def is_file(self) -> bool:
        """Whether it is a plain file, executable or not."""
        return self.mode in {0o100644, 0o100755}


class TreeChange(Struct, frozen=True):
    """A path that differs between two trees; mode 0 and zeros where it is not there."""

    path: str
    old_mode: int
    new_mode: int
    old_sha: str
    new_sha: str

    @property
    def entry(self) -> TreeEntry | None:
        """Entry in the new tree; None if there is none."""
        return TreeEntry(self.new_mode, self.new_sha) if self.new_mode else None


def tree_entries(
    git: Git, prefix: Prefix, treeish: str | None, paths: Sequence[str]
) -> dict[str, TreeEntry]:
    """Return mode and object of these paths that exist in the tree; empty without a tree."""
    found: dict[str, TreeEntry] = {}
    wanted = set(paths)
    for some in batches([prefix.whole(path) for path in paths]) if treeish else ():
        listed = git.run("ls-tree", "-z", "-t", "--full-tree", str(treeish), "--", *some)
        for line in text(listed).split("\0")[:-1]:
            head, _, whole = line.partition("\t")
            mode, _, sha = head.split(" ")
            path = prefix.inside(whole)
            if path in wanted:  # `-t` shows the folders above as well
                found[path] = TreeEntry(int(mode, 8), sha)
    return found


def diff_trees(
    git: Git, prefix: Prefix, old: str, new: str, paths: Sequence[str] = ()
) -> tuple[TreeChange, ...]:
    """Return the changes between two commits or trees; renames become delete and create."""
    words = ("diff-tree", "-r", *_RAW)
    groups = batches([prefix.whole(path) for path in paths]) if paths else [[]]
    return tuple(
        change
        for some in groups
        for change in _changes(git.run(*words, old, new, "--", *some), prefix)
    )


def diff_index(git: Git, prefix: Prefix, old: str) -> tuple[TreeChange, ...]:
    """Return the changes between a commit or tree and the index."""
    listed = git.run("diff-index", "--cached", *_RAW, "--ignore-submodules=none", old, "--")
    return tuple(_changes(listed, prefix))


def _changes(out: bytes, prefix: Prefix) -> Iterator[TreeChange]:
    """Parse changes from `--raw -z` output (git-diff(1), raw output format)."""
    fields = text(out).split("\0")
    for head, path in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, old, new, _ = head.removeprefix(":").split(" ")
        yield TreeChange(prefix.inside(path), int(old_mode, 8), int(new_mode, 8), old, new)


def batches(paths: Sequence[str]) -> Iterator[list[str]]:
    """Yield paths in groups that fit on one command line."""
    group: list[str] = []
    size = 0
    for path in paths:
        if size > _ARGUMENTS:
            yield group
            group, size = [], 0
        group.append(path)
        size += len(path) + 1
    if group:
        yield group


# --- prefix ---------------------------------------------------------------------------


class Prefix(Struct, frozen=True):
    """The project's folder relative to the repository's top: empty, or `sub/`."""

    value: str = ""

    def whole(self, path: str) -> str:
        """Return a project path relative to the repository."""
        return (
            posixpath.normpath(self.value + path) if path.startswith("../") else self.value + path
        )

    def inside(self, path: str) -> str:
        """Return a repository path relative to the project; `../` for paths outside it."""
        if path.startswith(self.value):
            return path.removeprefix(self.value)
        return posixpath.relpath(path, self.value)


# --- as changes -----------------------------------------------------------------------


class Snapshot(Struct, frozen=True):
    """The differences of a work tree from its base."""

    tree: str
    changes: tuple[Change, ...]

    @classmethod
    def of(cls, tree: str, changes: Iterable[Change]) -> Self:
        """Create a snapshot with the changes in path order."""
        return cls(tree, tuple(sorted(changes, key=lambda change: change.path)))


def change_of(reader: ObjectReader, at: TreeChange, content: bytes | None = None) -> Change:
    """Return a tree difference with its file's bytes, read from git if not given."""
    before = _bytes(reader, at.old_mode, at.old_sha)
    old = digest_of(before) if before is not None else None
    if not at.new_mode:
        return Change(at.path, Action.DELETE, 0, old, None, None)
    if content is None:
        content = _bytes(reader, at.new_mode, at.new_sha) or b""
    action = Action.MODIFY if at.old_mode else Action.CREATE
    return Change(at.path, action, at.new_mode, old, digest_of(content), content)


def _bytes(reader: ObjectReader, mode: int, sha: str) -> bytes | None:
    """Return a blob's bytes; None for a missing object or a submodule."""
    found = reader.read(sha) if mode and mode != GITLINK else None
    return found[1] if found else None


# --- submodules -----------------------------------------------------------------------


def leave_out_gitlinks(git: Git, tree: Path, paths: Iterable[str]) -> None:
    """Make git skip nested repositories, which are never part of a change."""
    listed = list(paths)
    if not listed:
        return
    names = b"".join(raw(path) + b"\0" for path in listed)
    git.run("update-index", "-z", "--skip-worktree", "--stdin", stdin=names)
    for path in listed:
        with suppress(OSError):
            (tree / path).rmdir()  # git makes a folder for each


def stage_base_gitlinks(git: Git, gitlinks: Mapping[str, str]) -> None:
    """Stage repositories inside as the base has them."""
    lines = (f"160000 {sha} 0\t{path}\0" for path, sha in gitlinks.items())
    if gitlinks:
        git.run("update-index", "-z", "--index-info", stdin=raw("".join(lines)))


# --- stamps ---------------------------------------------------------------------------


class Stamp(NamedTuple):
    """A file or folder as stat(2) shows it; an equal one is unchanged where this is `settled`."""

    # Not the mtime, which utimensat(2) can set: tar, cp -p and compiler caches do so.
    changed: int
    inode: int
    mode: int
    size: int
    settled: bool
    """Whether it had its change time for longer than a clock's tick when it was looked at: else
    another change could have left it the same (git calls such a file racily clean)."""


_SECOND = 1_000_000_000
_COARSE = 2.0
"""Seconds in which a file system with whole seconds may hide a change; others are finer."""


def stamp_of(found: os.stat_result, before: int) -> Stamp:
    """Return the stamp of a file that was examined after `before` (nanoseconds since the epoch)."""
    changed = found.st_ctime_ns
    tick = _COARSE if changed % _SECOND == 0 else TICK
    settled = changed < before - tick * _SECOND
    return Stamp(changed, found.st_ino, found.st_mode, found.st_size, settled)


def status_in(name: bytes, folder: int) -> os.stat_result:
    """Return stat(2) of a name in an open folder without following links. Raises OSError."""
    return os.stat(name, dir_fd=folder, follow_symlinks=False)


def is_unchanged(stamp: Stamp, found: os.stat_result) -> bool:
    """Return whether a file's status certainly equals the recorded one."""
    # By index, for speed: a hundred thousand of them are checked at once.
    return (
        stamp[4]
        and found.st_ctime_ns == stamp[0]
        and found.st_ino == stamp[1]
        and found.st_mode == stamp[2]
        and found.st_size == stamp[3]
    )


class KnownFolder(Struct):
    """The base's content in one folder, by name."""

    files: dict[bytes, Stamp] = field(default_factory=dict)
    folders: set[bytes] = field(default_factory=set)
    row: Stamp | None = None
    """The folder itself when it held these names and no other: whatever comes, goes or is put in
    the place of another moves its change time."""


def split_path(path: bytes) -> tuple[bytes, bytes]:
    """Split a path into its folder, with a final slash unless empty, and its name."""
    above, slash, name = path.rpartition(b"/")
    return above + slash, name


def add_path(folders: dict[bytes, KnownFolder], path: bytes) -> tuple[bytes, bytes]:
    """Add a path's folders and return its folder and name."""
    above, name = split_path(path)
    at, new = above, []
    while at not in folders:
        folders[at] = KnownFolder()
        new.append(at)
        at = split_path(at[:-1])[0]
    for at in new:
        outer, inner = split_path(at[:-1])
        folders[outer].folders.add(inner)
    return above, name


def files_below(folders: Mapping[bytes, KnownFolder], path: bytes) -> Iterator[bytes]:
    """Yield all files below a folder."""
    pending = [path]
    while pending:
        above = pending.pop()
        yield from (above + name for name in folders[above].files)
        pending += [b"%b%b/" % (above, name) for name in folders[above].folders]


def drop_path(folders: dict[bytes, KnownFolder], path: bytes) -> int:
    """Remove a file and its empty folders from the index; returns the number of files removed."""
    above, name = split_path(path)
    if above not in folders or folders[above].files.pop(name, None) is None:
        return 0
    while above and not (folders[above].files or folders[above].folders):
        del folders[above]
        above, name = split_path(above[:-1])
        folders[above].folders.discard(name)
    return 1
