"""What a worker keeps of a repository: objects by their names, in its own cache folder.

A bare git repository without a single ref, shared by all workers of one user on one machine:
an object is named by its content, so nothing that is there can be wrong. A tree that was once
seen to be whole is remembered in `whole/`.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from runner import effects
from runner.model.codec import ShapeError
from runner.repo.git import Git, ObjectReader, raw
from runner.repo.trees import EMPTY
from runner.run.executors.message import OBJECT, PLAIN

if TYPE_CHECKING:
    from pathlib import Path

    from runner.run.executors.message import Ground, Pack, Part

_MOST_TREES = 8
"""How many trees a worker names when it lacks one: the newest are the nearest."""
_REMEMBERED = 256
_MANY_PACKS = 60
# Without a ref every object is unreachable: one automatic gc would prune them all (git-gc(1)).
_BARE = "[core]\n\trepositoryformatversion = {}\n\tbare = true\n[gc]\n\tauto = 0\n"
_SHA256 = "[extensions]\n\tobjectFormat = sha256\n"


class Store:
    """The objects of one repository; an open resource until `close`."""

    def __init__(self, cache: Path, ground: Ground) -> None:
        if not PLAIN.fullmatch(ground.key) or ground.object_format not in EMPTY:
            raise ShapeError("no such repository")
        self.folder = cache / "cluster" / ground.key
        self.format = ground.object_format
        self._git_folder = self.folder / f"objects-{self.format}.git"
        self._whole = self._git_folder / "whole"  # with the objects: who deletes both forgets both
        self._incoming = self.folder / "incoming"
        self._lay_out()
        named = {"GIT_DIR": str(self._git_folder)}
        self._git = Git(self._git_folder, named, alone=True)
        self._reader = ObjectReader(self._git)

    @property
    def objects(self) -> Path:
        """Where its objects are."""
        return self._git_folder / "objects"

    def close(self) -> None:
        """End the process that reads objects."""
        self._reader.close()

    # --- what is there ----------------------------------------------------------------

    def has(self, tree: str) -> bool:
        """Whether a tree is here with all that lies below it."""
        return tree == EMPTY[self.format] or (self._whole / _check_name(tree)).is_file()

    def trees(self) -> tuple[str, ...]:
        """The newest trees that are whole, the newest first."""
        return tuple(self._load_remembered()[:_MOST_TREES])

    def blob(self, tree: str, path: str) -> bytes | None:
        """The bytes of a file of a tree; None where there is none."""
        found = self._reader.read(f"{tree}:{path}") if "\n" not in path else None
        return found[1] if found and found[0] == "blob" else None

    # --- what comes -------------------------------------------------------------------

    def take(self, pack: Pack) -> None:
        """Keep a pack and look whether the tree is whole with it. Raises GitError, OSError."""
        effects.step("git", "index-pack")
        # --strict looks at each object as fsck does (git-index-pack(1)): a tree with `.git` or `..`
        # in it never gets in, whoever sent it.
        self._git.run("index-pack", "--stdin", "--strict", stdin=pack.data)
        self._vouch(pack.makes)

    def take_part(self, part: Part) -> bool:
        """Keep a piece of a pack; whether it was the last one, with which all is there."""
        if not PLAIN.fullmatch(part.pack) or not 0 <= part.number < part.count:
            raise ShapeError("no piece of a pack")
        effects.make_folder(self._incoming)
        # One at a time: of two last pieces at once both would be found whole, and each would take
        # them from under the other.
        with effects.wait_lock(self.folder / "incoming.lock"):
            return self._add_part(part)

    def _add_part(self, part: Part) -> bool:
        effects.write_file(self._incoming / f"{part.pack}.{part.number}", part.data)
        pieces = [self._incoming / f"{part.pack}.{number}" for number in range(part.count)]
        if not all(piece.is_file() for piece in pieces):
            return False
        data = b"".join(piece.read_bytes() for piece in pieces)
        try:
            self._git.run("index-pack", "--stdin", "--strict", stdin=data)
        finally:
            for piece in pieces:
                effects.unlink(piece)
        self._vouch(part.makes)
        return True

    def _vouch(self, tree: str) -> None:
        """Remember a tree, once git has found everything below it."""
        # It walks to the last blob and fails where one is missing: a pack may be whole and the tree
        # not.
        self._git.run("rev-list", "--objects", "--quiet", _check_name(tree))
        effects.step("write", self._whole / tree)
        (self._whole / tree).touch()
        for old in self._load_remembered()[_REMEMBERED:]:
            effects.unlink(self._whole / old)
        self._tidy()

    def _load_remembered(self) -> list[str]:
        with os.scandir(self._whole) as entries:
            found = []
            for entry in entries:
                with suppress(FileNotFoundError):  # another worker forgot it just now
                    found.append((entry.stat().st_mtime_ns, entry.name))
        return [name for _, name in sorted(found, reverse=True) if OBJECT.fullmatch(name)]

    def _tidy(self) -> None:
        """Many packs make every look-up slow: put them into one now and then."""
        packs = sum(1 for _ in (self.objects / "pack").glob("*.pack"))
        if packs > _MANY_PACKS:
            # With -k (git-repack(1), --keep-unreachable), since nothing here is reachable: without
            # it the new pack would be empty and the old ones gone.
            self._git.ask("repack", "-a", "-d", "-k", "-q")  # nothing is lost where it fails

    def _lay_out(self) -> None:
        """A bare repository, made without a process; what is there stays."""
        for folder in (self._whole, self.objects / "info", self.objects / "pack"):
            effects.make_folder(folder, mode=0o700)
        effects.make_folder(self._git_folder / "refs")
        sha256 = self.format == "sha256"
        config = _BARE.format(int(sha256)) + (_SHA256 if sha256 else "")
        for name, text in (("config", config), ("HEAD", "ref: refs/heads/none\n")):
            if not (self._git_folder / name).is_file():
                effects.write_file(self._git_folder / name, raw(text))


def _check_name(tree: str) -> str:
    if not OBJECT.fullmatch(tree):
        raise ShapeError("no name of a tree")
    return tree
