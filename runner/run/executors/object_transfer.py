"""The base on its way to workers: what each of them has is remembered, the rest is sent."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import field
from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.lazy_dataclass import dataclass
from runner.run.executors.message import OBJECT, Pack, Part

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.repo.read import Repository

PIECE = 8 << 20
"""Bytes of a pack that go in one message."""
_NEAREST = 4
"""Trees that a pack is made against: the newest are the nearest."""
_REMEMBERED = 64


@dataclass(slots=True)
class ObjectTransfer:
    """Packs of trees, by what the other side has; called by the threads of many slots."""

    repository: Repository
    _trees: dict[str, str] = field(default_factory=dict)
    _held: dict[str, list[str]] = field(default_factory=dict)
    _packs: OrderedDict[tuple[str, ...], bytes] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tree_of(self, base: str) -> str:
        """The tree of a commit; the empty one before the first commit."""
        with self._lock:
            known = self._trees.get(base)
        if known is None:
            # Outside of the lock, since git takes its time; two that ask get the same answer.
            known = self.repository.tree_of(base or None)
            with self._lock:
                self._trees[base] = known
        return known

    def has(self, worker: str, tree: str) -> bool:
        """Whether a worker is known to have a tree."""
        with self._lock:
            return tree in self._held.get(worker, ())

    def note(self, worker: str, trees: Iterable[str]) -> None:
        """A worker has these trees whole, the last one newest; names that are none are dropped."""
        with self._lock:
            held = self._held.setdefault(worker, [])
            for tree in trees:
                if OBJECT.fullmatch(tree) and tree not in held:
                    held.append(tree)
            del held[:-_REMEMBERED]

    def forget(self, worker: str) -> None:
        """It is gone, or it has less than was thought."""
        with self._lock:
            self._held.pop(worker, None)

    def knows(self, worker: str) -> bool:
        """Whether anything is known of what a worker has."""
        with self._lock:
            return worker in self._held

    def how_far(self, worker: str, tree: str) -> int:
        """How much a worker would be sent for a tree: 0 nothing, 1 what changed, 2 all of it."""
        with self._lock:
            held = self._held.get(worker, ())
        return 0 if tree in held else 1 if held else 2

    def pack_for(self, worker: str, tree: str) -> bytes:
        """What makes a tree whole on a worker. Raises RunnerError where objects are missing."""
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
        """As git packs what one tree has and others have not; all of it where it knows them not."""
        words = ("pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset")
        lines = "".join(f"{line}\n" for line in (tree, *(f"^{one}" for one in near)))
        answer = self.repository.git.ask(*words, stdin=lines.encode())
        if answer.exit and near:
            return self._pack(tree, ())
        if answer.exit:
            raise RunnerError(
                "the base cannot be packed for a worker",
                detail=answer.said.strip(),
                hint="git fsck says what is missing; a partial clone must be completed first",
            )
        return answer.out


def in_parts(pack: Pack, name: str) -> tuple[Part, ...]:
    """A pack in pieces that each fit into a message."""
    pieces = [pack.data[at : at + PIECE] for at in range(0, len(pack.data), PIECE)]
    return tuple(
        Part(name, number, len(pieces), piece, pack.makes) for number, piece in enumerate(pieces)
    )
