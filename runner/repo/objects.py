"""Git objects made without a process: blobs, trees and commits, written loose and durably.

Formats as in "Git Internals - Git Objects" and gitrepository-layout(5). A task's commit has a
handful of objects; git-fast-import(1) makes the same ones in two processes.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from runner import effects
from runner.lazy_dataclass import dataclass
from runner.repo.git import GitError, raw, text
from runner.repo.trees import FOLDER, TreeEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from runner.repo.git import ObjectReader

# As git writes them: what bears its content's digest as its name must never be edited in place.
_MODE = 0o444
_MOST_ENTRIES = 200_000
"""Names in trees that are remembered: about 40 MB."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC

_MOST_LOOKED_AT = 400_000
"""Files of which slots know what they look like: about 110 MB."""

Entries: TypeAlias = "dict[bytes, TreeEntry]"
"""What one tree holds, by name."""
Difference: TypeAlias = "tuple[bytes, TreeEntry | None, TreeEntry | None]"
"""A path with what the old and the new tree hold there."""


@dataclass(slots=True)
class TreeMemory:
    """Trees that were read before, for all slots of a run: none of them asks git for the same one.

    What bears a name never changes; that it bears it rightly is looked at when it is taken up.
    """

    trees: dict[str, Entries] = field(default_factory=dict)
    commits: dict[str, str] = field(default_factory=dict)
    """The tree of each commit."""
    _held: int = 0
    _looked_at: dict[int, int] = field(default_factory=dict)

    def admit(self, slot: int, files: int) -> bool:
        """Whether all slots together may know what so many files of this one look like."""
        self._looked_at[slot] = 0
        if sum(self._looked_at.values()) + files > _MOST_LOOKED_AT:
            return False
        self._looked_at[slot] = files
        return True

    def has(self, name: str) -> bool:
        """Whether the tree of this name, or of the commit of this name, was read or written."""
        return self.commits.get(name, name) in self.trees

    def keep(self, tree: str, entries: Entries) -> None:
        """Remember a tree; where much is known already, all of that is forgotten."""
        self._held += len(entries)
        if self._held > _MOST_ENTRIES:
            self.trees.clear()
            self._held = len(entries)
        self.trees[tree] = dict(entries)


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of a repository: read through git, written beside git's own."""

    folder: Path
    """Where the repository keeps its objects."""
    object_format: str
    reader: ObjectReader
    memory: TreeMemory | None = None

    # --- trees ------------------------------------------------------------------------

    def entry(self, tree: str | None, path: str) -> TreeEntry | None:
        """What a commit or tree holds at a path; None for nothing."""
        found = TreeEntry(FOLDER, tree) if tree else None
        for name in raw(path).split(b"/"):
            found = self.entries(found.sha).get(name) if found and found.mode == FOLDER else None
        return found

    def entries(self, tree: str) -> Entries:
        """What a tree (or the tree of a commit) holds. Raises GitError where it is not there."""
        if self.memory is not None:
            tree = self.memory.commits.get(tree, tree)
            known = self.memory.trees.get(tree)
            if known is not None:
                return dict(known)
        found = self.reader.read(tree)
        if found is None or found[0] not in ("commit", "tree"):
            found = self.reader.read_anew(tree)
        kind, content = found or ("", b"")
        if kind == "commit":
            said = _tree_said(content)
            if self.memory is not None and self.name(kind, content) == tree:
                self.memory.commits[tree] = said
            return self.entries(said)
        if kind != "tree":
            raise GitError("cat-file", f"{tree} is no tree that is here", 1)
        # A tree is entries without separators: mode, blank, name, NUL, and then the raw digest,
        # whose bytes may be anything; only its width tells where the next one begins.
        width = hashlib.new(self.object_format).digest_size
        listed: Entries = {}
        at = 0
        while at < len(content):
            space = content.index(b" ", at)
            end = content.index(b"\0", space)
            sha = content[end + 1 : end + 1 + width].hex()
            listed[content[space + 1 : end]] = TreeEntry(int(content[at:space], 8), sha)
            at = end + 1 + width
        if self.memory is not None and self.name(kind, content) == tree:
            self.memory.keep(tree, listed)
        return listed

    def tree_of(self, commit: str) -> str:
        """The tree of a commit or tree."""
        if self.memory is not None and commit in self.memory.commits:
            return self.memory.commits[commit]
        kind, content = self.reader.read(commit) or ("", b"")
        return _tree_said(content) if kind == "commit" else commit

    def find_differing(self, old: str | None, new: str | None) -> Iterator[Difference]:
        """The files that differ between two commits or trees; only folders that do are read.

        Folder by folder, in no order: a clone may hold some thousand within each other.
        """
        pending: list[tuple[bytes, str | None, str | None]] = [(b"", old, new)]
        while pending:
            above, *trees = pending.pop()
            before, after = (self.entries(tree) if tree else {} for tree in trees)
            for name in before.keys() | after.keys():
                one, other = before.get(name), after.get(name)
                if one == other:
                    continue
                if _file(one) or _file(other):
                    yield above + name, _file(one), _file(other)
                if _folder(one) or _folder(other):
                    pending.append((b"%b%b/" % (above, name), _folder(one), _folder(other)))

    def list_folders(self, tree: str, most: int) -> set[str]:
        """Return the folders of a tree, "" for the tree itself; the uppermost where there are more.

        Raises GitError where a tree is not there.
        """
        found = {"": tree}
        level = dict(found)
        while level and len(found) < most:
            level = {
                f"{above}/{text(name)}" if above else text(name): entry.sha
                for above, sha in level.items()
                for name, entry in self.entries(sha).items()
                if entry.mode == FOLDER
            }
            found |= level
        return set(found)

    def with_files(
        self, tree: str | None, files: Mapping[str, TreeEntry | None], *, written: bool = True
    ) -> str:
        """The name of a tree with these files in it, None for a file that is to go.

        It is written with the trees below it, or only named.
        """
        there = self.entries(tree) if tree else {}
        split = [(raw(path).split(b"/"), entry) for path, entry in files.items()]
        keep = self._write_tree if written else self._name_tree
        self._edit_tree(there, split, keep)
        return keep(there)

    def _edit_tree(
        self,
        there: Entries,
        files: Iterable[tuple[list[bytes], TreeEntry | None]],
        keep: Callable[[Entries], str],
    ) -> None:
        """Put files into a tree, and keep what changed below it; the tree itself is not yet."""
        below: dict[bytes, list[tuple[list[bytes], TreeEntry | None]]] = {}
        for (name, *rest), entry in files:
            if rest:
                below.setdefault(name, []).append((rest, entry))
            elif entry is None:
                there.pop(name, None)
            else:
                there[name] = entry
        for name, inner in below.items():
            old = there.get(name)
            folder = self.entries(old.sha) if old and old.mode == FOLDER else {}
            if not folder and all(entry is None for _, entry in inner):
                continue  # nothing is there that could go
            self._edit_tree(folder, inner, keep)
            if folder:
                there[name] = TreeEntry(FOLDER, keep(folder))
            else:  # git holds no empty folder, nor a tree of one that nothing refers to
                there.pop(name, None)

    def _name_tree(self, entries: Entries) -> str:
        return self.name("tree", _tree_content(entries))

    def _write_tree(self, entries: Entries) -> str:
        name = self.write("tree", _tree_content(entries))
        if self.memory is not None:
            self.memory.keep(name, entries)
        return name

    def blob(self, name: str) -> bytes | None:
        """Bytes of a blob; None when there is none."""
        found = self.reader.read(name)
        return found[1] if found and found[0] == "blob" else None

    # --- writing ----------------------------------------------------------------------

    def name(self, kind: str, content: bytes) -> str:
        """What git calls an object with this content."""
        hasher = hashlib.new(self.object_format, _header(kind, content))
        hasher.update(content)
        return hasher.hexdigest()

    def write(self, kind: str, content: bytes) -> str:
        """Write an object as durably as git does, unless it is there; its name. Raises OSError.

        That is: synced before it gets its name. What makes the name durable is the sync of the
        ref that follows, as with git's own `core.fsync=all`.
        """
        name = self.name(kind, content)
        folder = f"{self.folder}/{name[:2]}"
        path = f"{folder}/{name[2:]}"
        with suppress(FileNotFoundError):
            os.utime(path)  # as git does, so that a prune that runs now leaves it
            return name
        beside = f"{folder}/tmp_obj_{os.getpid()}_{name[2:10]}"  # noqa: S108 - `git gc` removes what is left
        try:
            # The header is compressed with the content ("Git Internals - Git Objects"); the name is
            # the digest of both before that, so any level of compression gives the same object.
            packer = zlib.compressobj(1)
            # one after the other: joined, a text of megabytes would be in memory once more
            parts = (packer.compress(_header(kind, content)), packer.compress(content))
            _write(_begin(beside), beside, b"".join((*parts, packer.flush())))
            effects.step("replace", path)
            os.replace(beside, path)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(beside)  # noqa: PTH108 - text
            raise
        return name


def _begin(path: str) -> int:
    """A new file; what a process of our number left there is taken away."""
    with suppress(FileExistsError):
        try:
            return os.open(path, _NEW, _MODE)
        except FileNotFoundError:
            with suppress(FileExistsError):
                os.mkdir(os.path.dirname(path))  # noqa: PTH102, PTH120 - text
            return os.open(path, _NEW, _MODE)
    os.unlink(path)  # noqa: PTH108 - text
    return os.open(path, _NEW, _MODE)


def _write(descriptor: int, path: str, content: bytes) -> None:
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        effects.fsync(descriptor, path)
    except OSError as error:
        effects.add_path(error, path)
        raise
    finally:
        os.close(descriptor)


def _folder(entry: TreeEntry | None) -> str | None:
    return entry.sha if entry and entry.mode == FOLDER else None


def _file(entry: TreeEntry | None) -> TreeEntry | None:
    return entry if entry and entry.mode != FOLDER else None


def _tree_said(commit: bytes) -> str:
    return commit[len(b"tree ") : commit.index(b"\n")].decode()


def _header(kind: str, content: bytes) -> bytes:
    """What stands before the content of every object."""
    return b"%b %d\0" % (kind.encode(), len(content))


def _tree_content(entries: Entries) -> bytes:
    """A tree's content: its entries in git's order, in which a folder's name ends with a slash."""
    return b"".join(
        b"%o %b\0%b" % (entry.mode, name, bytes.fromhex(entry.sha))
        for name, entry in sorted(entries.items(), key=_place)
    )


def _place(item: tuple[bytes, TreeEntry]) -> bytes:
    name, entry = item
    # As base_name_compare in git's read-cache.c: in another order `git fsck` says treeNotSorted,
    # and a look-up by halving passes a name by.
    return name + b"/" if entry.mode == FOLDER else name
