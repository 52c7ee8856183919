"""What git trees hold, and how two of them differ.

Where the project lies in its repository, and paths turned between the two.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Protocol, Self

from runner.lazy_dataclass import dataclass
from runner.model import Action, Change, digest_of
from runner.repo.git import text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runner.repo.git import Git, ObjectReader


GITLINK = 0o160000
SYMLINK = 0o120000
FOLDER = 0o040000
EMPTY = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
"""Names of the empty tree, which git knows without an object (object-file.c)."""

# NUL ends every path: without -z git quotes names as core.quotePath says (git-diff(1)), and a line
# end in a name would be a new entry.
_RAW = ("-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv")
_ARGUMENTS = 100_000
"""Characters of paths given to one process; Linux allows 2 MB in all."""


class Written(Protocol):
    """What a commit needs to know of a change; `runner.model.Change` is one."""

    @property
    def path(self) -> str:
        """Path relative to the project."""

    @property
    def mode(self) -> int:
        """Mode as git records it."""

    @property
    def content(self) -> bytes | None:
        """The bytes, or None for a deletion."""


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """What a tree holds at a path."""

    mode: int
    sha: str

    @property
    def is_file(self) -> bool:
        """Whether it is a plain file, executable or not."""
        return self.mode in {0o100644, 0o100755}


@dataclass(frozen=True, slots=True)
class TreeChange:
    """A path that differs between two trees; mode 0 and zeros where it is not there."""

    path: str
    old_mode: int
    new_mode: int
    old_sha: str
    new_sha: str


def tree_entries(
    git: Git, prefix: Prefix, treeish: str | None, paths: Sequence[str]
) -> dict[str, TreeEntry]:
    """Mode and object at each of these paths that the tree holds; none for no tree."""
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
    """Paths that differ between two commits or trees; a rename is a deletion and a creation."""
    words = ("diff-tree", "-r", *_RAW)
    groups = batches([prefix.whole(path) for path in paths]) if paths else [[]]
    return tuple(
        change
        for some in groups
        for change in _changes(git.run(*words, old, new, "--", *some), prefix)
    )


def diff_index(git: Git, prefix: Prefix, old: str) -> tuple[TreeChange, ...]:
    """The same between a commit or tree and the index."""
    said = git.run("diff-index", "--cached", *_RAW, "--ignore-submodules=none", old, "--")
    return tuple(_changes(said, prefix))


def _changes(out: bytes, prefix: Prefix) -> Iterator[TreeChange]:
    """Changes from `--raw -z` (git-diff(1), raw output format)."""
    fields = text(out).split("\0")
    for head, path in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, old, new, _ = head.removeprefix(":").split(" ")
        yield TreeChange(prefix.inside(path), int(old_mode, 8), int(new_mode, 8), old, new)


def batches(paths: Sequence[str]) -> Iterator[list[str]]:
    """Paths in groups that fit on one command line; no group for no paths."""
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


@dataclass(frozen=True, slots=True)
class Prefix:
    """The project's folder relative to the repository's top: empty, or `sub/`."""

    value: str = ""

    def whole(self, path: str) -> str:
        """A path of the project as the repository's trees know it."""
        return (
            posixpath.normpath(self.value + path) if path.startswith("../") else self.value + path
        )

    def inside(self, path: str) -> str:
        """A path of the repository as the project knows it; outside of it begins with `../`."""
        if path.startswith(self.value):
            return path.removeprefix(self.value)
        return posixpath.relpath(path, self.value)


# --- as changes -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a work tree holds against its base."""

    tree: str
    changes: tuple[Change, ...]

    @classmethod
    def of(cls, tree: str, changes: Iterable[Change]) -> Self:
        """The same with the changes in the order of their paths."""
        return cls(tree, tuple(sorted(changes, key=lambda change: change.path)))


def change_of(reader: ObjectReader, at: TreeChange, content: bytes | None = None) -> Change:
    """A difference of two trees with the bytes of its file, where they are not given."""
    before = _bytes(reader, at.old_mode, at.old_sha)
    old = digest_of(before) if before is not None else None
    if not at.new_mode:
        return Change(at.path, Action.DELETE, 0, old, None, None)
    if content is None:
        content = _bytes(reader, at.new_mode, at.new_sha) or b""
    action = Action.MODIFY if at.old_mode else Action.CREATE
    return Change(at.path, action, at.new_mode, old, digest_of(content), content)


def _bytes(reader: ObjectReader, mode: int, sha: str) -> bytes | None:
    """A blob's bytes; None for what has none: nothing, or another repository's commit."""
    found = reader.read(sha) if mode and mode != GITLINK else None
    return found[1] if found else None
