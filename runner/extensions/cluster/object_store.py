"""Transfer a repository's objects to workers, and track which objects each worker has.

What a worker keeps of a repository: objects by their names, in its own cache folder.

A bare git repository without a single ref, shared by all workers of one user on one machine:
an object is named by its content, so nothing that is there can be wrong. A tree that was once
seen to be whole is remembered in `whole/`.

The base on its way to workers: what each of them has is remembered, the rest is sent.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner import effects
from runner.errors import RunnerError
from runner.extensions.cluster.message import OBJECT, PLAIN, Pack, Part
from runner.model.codec import ShapeError
from runner.repo.git import Git, ObjectReader, raw
from runner.repo.trees import EMPTY

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from runner.extensions.cluster.message import Ground
    from runner.repo.read import Repository

# --- on a worker ----------------------------------------------------------------------


_MOST_TREES = 8
"""Trees that a worker names when it lacks one: the newest are the closest."""
_REMEMBERED = 256
_MANY_PACKS = 60
# Without a ref every object is unreachable: an automatic gc would prune them all (git-gc(1)).
_BARE = "[core]\n\trepositoryformatversion = {}\n\tbare = true\n[gc]\n\tauto = 0\n"
_SHA256 = "[extensions]\n\tobjectFormat = sha256\n"


class ObjectStore:
    """The objects of one repository; an open resource until `close`."""

    def __init__(self, cache: Path, ground: Ground) -> None:
        if not PLAIN.fullmatch(ground.key) or ground.object_format not in EMPTY:
            raise ShapeError("the repository key or object format is not valid")
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
        """Path of the repository's objects."""
        return self._git_folder / "objects"

    def close(self) -> None:
        """Stop the process that reads objects."""
        self._reader.close()

    # --- what is there ----------------------------------------------------------------

    def has(self, tree: str) -> bool:
        """Return whether the store has a tree with all of its objects."""
        return tree == EMPTY[self.format] or (self._whole / _check_name(tree)).is_file()

    def trees(self) -> tuple[str, ...]:
        """Return the newest complete trees, newest first."""
        return tuple(self._load_remembered()[:_MOST_TREES])

    def blob(self, tree: str, path: str) -> bytes | None:
        """Return the bytes of a file in a tree, or None."""
        found = self._reader.read(f"{tree}:{path}") if "\n" not in path else None
        return found[1] if found and found[0] == "blob" else None

    # --- what comes -------------------------------------------------------------------

    def take(self, pack: Pack) -> None:
        """Store a pack and check that the tree is complete. Raises GitError, OSError."""
        # One at a time: several workers on one machine share this and receive the same base.
        with effects.wait_lock(self.folder / "incoming.lock"):
            if not self.has(pack.makes):
                self._take(pack)

    def _take(self, pack: Pack) -> None:
        effects.step("git", "index-pack")
        # --strict checks each object like fsck (git-index-pack(1)): a tree with `.git` or `..`
        # never gets in, whoever sent it.
        self._git.run("index-pack", "--stdin", "--strict", stdin=pack.data)
        self._vouch(pack.makes)

    def take_part(self, part: Part) -> bool:
        """Store a piece of a pack; True if the pack is now complete."""
        if not PLAIN.fullmatch(part.pack) or not 0 <= part.number < part.count:
            raise ShapeError("the pack piece is not valid")
        effects.make_folder(self._incoming)
        # One at a time: with two last parts in parallel, both would see a complete pack and take
        # the parts from each other.
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
        """Record a tree as complete after git has found all its objects."""
        # It walks to the last blob and fails if one is missing: a pack may be complete and the tree
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
        """Repack if there are many packs, which slow down every lookup."""
        packs = sum(1 for _ in (self.objects / "pack").glob("*.pack"))
        if packs > _MANY_PACKS:
            # With -k (git-repack(1), --keep-unreachable), since nothing here is reachable: without
            # it the new pack would be empty and the old ones deleted.
            self._git.ask("repack", "-a", "-d", "-k", "-q")  # nothing is lost where it fails

    def _lay_out(self) -> None:
        """Create a bare repository without running git; existing files stay."""
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
        raise ShapeError("the tree ID is not valid")
    return tree


# --- at home --------------------------------------------------------------------------


PIECE = 8 << 20
"""Bytes of a pack in one message."""
_NEAREST = 4
"""Trees against which a pack is made: the newest are the closest."""
_WORKERS_REMEMBERED = 64


class ObjectTransfer(Struct):
    """Packs of trees, by what the other side has; called by the threads of many slots."""

    repository: Repository
    _trees: dict[str, str] = field(default_factory=dict)
    _held: dict[str, list[str]] = field(default_factory=dict)
    _packs: OrderedDict[tuple[str, ...], bytes] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tree_of(self, base: str) -> str:
        """Return the tree of a commit, or the empty tree without a commit."""
        with self._lock:
            known = self._trees.get(base)
        if known is None:
            # Outside the lock, since git is slow; parallel callers get the same answer.
            known = self.repository.tree_of(base or None)
            with self._lock:
                self._trees[base] = known
        return known

    def has(self, worker: str, tree: str) -> bool:
        """Return whether a worker is known to have a tree."""
        with self._lock:
            return tree in self._held.get(worker, ())

    def note(self, worker: str, trees: Iterable[str]) -> None:
        """Record the complete trees of a worker, newest last; invalid names are ignored."""
        with self._lock:
            held = self._held.setdefault(worker, [])
            for tree in trees:
                if OBJECT.fullmatch(tree) and tree not in held:
                    held.append(tree)
            del held[:-_WORKERS_REMEMBERED]

    def forget(self, worker: str) -> None:
        """Forget the trees of a worker that is gone or has fewer than recorded."""
        with self._lock:
            self._held.pop(worker, None)

    def knows(self, worker: str) -> bool:
        """Return whether any tree of a worker is known."""
        with self._lock:
            return worker in self._held

    def how_far(self, worker: str, tree: str) -> int:
        """Return the amount to send for a tree: 0 nothing, 1 the changes, 2 everything."""
        with self._lock:
            held = self._held.get(worker, ())
        return 0 if tree in held else 1 if held else 2

    def pack_for(self, worker: str, tree: str) -> bytes:
        """Return the pack that completes a tree on a worker. Raises RunnerError."""
        with self._lock:
            near = tuple(self._held.get(worker, ())[-_NEAREST:])
            found = self._packs.get((tree, *near))
        if found is None:
            found = self._pack(tree, near)
            with self._lock:
                self._packs[tree, *near] = found
                while sum(map(len, self._packs.values())) > 4 * PIECE and len(self._packs) > 1:
                    self._packs.popitem(last=False)
        return found

    def _pack(self, tree: str, near: tuple[str, ...]) -> bytes:
        """Pack the objects of a tree that the near trees lack; all of them if those are unknown."""
        words = ("pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset")
        lines = "".join(f"{line}\n" for line in (tree, *(f"^{one}" for one in near)))
        answer = self.repository.git.ask(*words, stdin=lines.encode())
        if answer.exit and near:
            return self._pack(tree, ())
        if answer.exit:
            raise RunnerError(
                "the base cannot be packed for a worker",
                detail=answer.stderr.strip(),
                hint="run git fsck to find missing objects; complete a partial clone first",
            )
        return answer.out


def in_parts(pack: Pack, name: str) -> tuple[Part, ...]:
    """Split a pack into parts that each fit into a message."""
    pieces = [pack.data[at : at + PIECE] for at in range(0, len(pack.data), PIECE)]
    return tuple(
        Part(name, number, len(pieces), piece, pack.makes) for number, piece in enumerate(pieces)
    )
