"""Read and durably write a repository's objects through long-lived git processes.

git-cat-file(1) and git-hash-object(1): an object costs no process.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from runner import effects
from runner.repo.git import BatchProcess, GitError, quote_path, raw, read_line, text
from runner.repo.trees import FOLDER, TreeEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from runner.repo.git import Git, ObjectReader

DURABLE = ("core.fsync", "all")
"""By default git syncs no loose object and no ref (core.fsync in git-config(1))."""
_MOST_ENTRIES = 200_000
"""Cached tree entries: about 40 MB."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC

_MOST_LOOKED_AT = 400_000
"""Files whose stat data slots cache: about 110 MB."""

Entries: TypeAlias = "dict[bytes, TreeEntry]"
"""Entries of one tree, by name."""
Difference: TypeAlias = "tuple[bytes, TreeEntry | None, TreeEntry | None]"
"""A path with its entries in the old and the new tree."""


class TreeMemory(Struct):
    """Trees that were read before, for all slots of a run: none of them asks git for the same one.

    What bears a name never changes; that it bears it rightly is looked at when it is taken up.
    """

    trees: dict[str, Entries] = field(default_factory=dict)
    commits: dict[str, str] = field(default_factory=dict)
    """Tree of each commit."""
    _held: int = 0
    _looked_at: dict[int, int] = field(default_factory=dict)

    def admit(self, slot: int, files: int) -> bool:
        """Return whether the memory limit of all slots permits caching `files` of this slot."""
        self._looked_at[slot] = 0
        if sum(self._looked_at.values()) + files > _MOST_LOOKED_AT:
            return False
        self._looked_at[slot] = files
        return True

    def has(self, name: str) -> bool:
        """Return whether a tree, or the tree of a commit, is in memory."""
        return self.commits.get(name, name) in self.trees

    def keep(self, tree: str, entries: Entries) -> None:
        """Cache a tree; if the cache is full, it is cleared first."""
        self._held += len(entries)
        if self._held > _MOST_ENTRIES:
            self.trees.clear()
            self._held = len(entries)
        self.trees[tree] = dict(entries)


class ObjectWriter:
    """Writes the objects of one repository by git, each synced before it has its name.

    Not by git-mktree(1): it reads no configuration, so it syncs nothing (git 2.39). Safe for
    threads.
    """

    def __init__(self, git: Git, folder: Path) -> None:
        words = ("hash-object", "-w", "--no-filters", "--stdin-paths")
        # Newer git checks trees and commits like `fsck --strict`, and would reject a tree for an
        # existing entry, such as a link named .gitignore.
        plain = ("--literally", "-t")
        self._helpers = {
            kind: BatchProcess(git, *words, *plain, kind) for kind in ("tree", "commit")
        }
        self._helpers["blob"] = BatchProcess(git, *words)
        self._folder = folder

    def write(self, kind: str, content: bytes) -> str:
        """Write an object; its name. Raises GitError, and OSError of a disk."""
        # Git removes files of this name after a kill (git-prune(1), `tmp_`).
        path = f"{self._folder}/tmp_obj_runner_{effects.new_id()}"  # noqa: S108 - in git's own folder
        effects.step("object", kind)
        try:
            _write(path, content)
            return self._helpers[kind].ask(quote_path(path) + b"\n", read_line).decode()
        finally:
            with suppress(FileNotFoundError):
                os.unlink(path)  # noqa: PTH108 - text

    def close(self) -> None:
        """Stop the processes; they are restarted when needed."""
        for helper in self._helpers.values():
            helper.close()


class Objects(Struct, frozen=True):
    """The objects of a repository."""

    object_format: str
    reader: ObjectReader
    writer: ObjectWriter | None = None
    memory: TreeMemory | None = None

    def entry(self, tree: str | None, path: str) -> TreeEntry | None:
        """Return the entry of a commit or tree at a path, or None."""
        found = TreeEntry(FOLDER, tree) if tree else None
        for name in raw(path).split(b"/"):
            found = self.entries(found.sha).get(name) if found and found.mode == FOLDER else None
        return found

    def entries(self, tree: str) -> Entries:
        """Return the entries of a tree or of a commit's tree. Raises GitError if it is missing."""
        if self.memory is not None:
            tree = self.memory.commits.get(tree, tree)
            known = self.memory.trees.get(tree)
            if known is not None:
                return dict(known)
        found = self.reader.read(tree)
        if found is None or found[0] not in ("commit", "tree"):
            found = self.reader.read_fresh(tree)
        kind, content = found or ("", b"")
        if kind == "commit":
            root = _tree_of_commit(content)
            if self.memory is not None and self.name(kind, content) == tree:
                self.memory.commits[tree] = root
            return self.entries(root)
        if kind != "tree":
            raise GitError("cat-file", f"{tree} is not a tree of this repository", 1)
        # A tree is a sequence of entries without separators: mode, blank, name, NUL, then the raw
        # digest of any bytes; only its length tells where the next one starts.
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
        """Return the tree of a commit or tree."""
        if self.memory is not None and commit in self.memory.commits:
            return self.memory.commits[commit]
        kind, content = self.reader.read(commit) or ("", b"")
        return _tree_of_commit(content) if kind == "commit" else commit

    def find_differing(self, old: str | None, new: str | None) -> Iterator[Difference]:
        """Yield the files that differ between two commits or trees.

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

    def with_files(self, tree: str | None, files: Mapping[str, TreeEntry | None]) -> str:
        """Return the name of a tree with these files set; None removes a file.

        It is written with the trees below it where there is a writer.
        """
        there = self.entries(tree) if tree else {}
        self._edit_tree(there, [(raw(path).split(b"/"), entry) for path, entry in files.items()])
        return self._keep_tree(there)

    def _edit_tree(
        self,
        there: Entries,
        files: Iterable[tuple[list[bytes], TreeEntry | None]],
    ) -> None:
        """Put files into a tree in memory, and write the changed trees below it."""
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
            self._edit_tree(folder, inner)
            if folder:
                there[name] = TreeEntry(FOLDER, self._keep_tree(folder))
            else:  # git holds no empty folder, nor a tree of one that nothing refers to
                there.pop(name, None)

    def _keep_tree(self, entries: Entries) -> str:
        content = _tree_content(entries)
        if self.writer is None:
            return self.name("tree", content)
        name = self.writer.write("tree", content)
        if self.memory is not None:
            self.memory.keep(name, entries)
        return name

    def blob(self, name: str) -> bytes | None:
        """Return the bytes of a blob, or None."""
        found = self.reader.read(name)
        return found[1] if found and found[0] == "blob" else None

    def name(self, kind: str, content: bytes) -> str:
        """Return git's name of an object with this content ("Git Internals - Git Objects")."""
        hasher = hashlib.new(self.object_format, b"%b %d\0" % (kind.encode(), len(content)))
        hasher.update(content)
        return hasher.hexdigest()


def _write(path: str, content: bytes) -> None:
    try:
        descriptor = os.open(path, _NEW, 0o600)
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(descriptor, view) :]
        finally:
            os.close(descriptor)
    except OSError as error:
        effects.add_path(error, path)
        raise


def _folder(entry: TreeEntry | None) -> str | None:
    return entry.sha if entry and entry.mode == FOLDER else None


def _file(entry: TreeEntry | None) -> TreeEntry | None:
    return entry if entry and entry.mode != FOLDER else None


def _tree_of_commit(commit: bytes) -> str:
    return commit[len(b"tree ") : commit.index(b"\n")].decode()


def _tree_content(entries: Entries) -> bytes:
    """Return a tree's content with entries in git's order (folders sort with a slash)."""
    return b"".join(
        b"%o %b\0%b" % (entry.mode, name, bytes.fromhex(entry.sha))
        for name, entry in sorted(entries.items(), key=_place)
    )


def _place(item: tuple[bytes, TreeEntry]) -> bytes:
    name, entry = item
    # Like base_name_compare in git's read-cache.c: otherwise `git fsck` reports treeNotSorted, and
    # a binary search misses a name.
    return name + b"/" if entry.mode == FOLDER else name
