"""A change as it is judged: paths with their bytes before and after, moves told apart."""

from __future__ import annotations

from dataclasses import replace
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TYPE_CHECKING

from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MOST_COMPARED = 200
_ALIKE = 0.5
"""The share of lines a moved file keeps at least; git's own rule for renames (`-M50%`)."""


@dataclass(frozen=True, slots=True)
class Changed:
    """One file of a change; None where there is no such file before or after."""

    path: str
    before: bytes | None
    after: bytes | None
    origin: str = ""
    """The path it had before, when it was moved."""
    is_whole: bool = False
    """Whether it counts as changed all over, whatever the bytes say: nobody knows how yet."""

    @property
    def is_edited(self) -> bool:
        """Whether the file was there and still is, and it is known what differs."""
        return self.before is not None and self.after is not None and not self.is_whole

    @property
    def is_created(self) -> bool:
        """Whether there was no file at this path."""
        return self.before is None

    @property
    def is_deleted(self) -> bool:
        """Whether there is no file at this path any more."""
        return self.after is None

    @property
    def first_line(self) -> int:
        """The first line that differs, from 1; 0 for a whole file or for what is no text."""
        if self.before is None or self.after is None or self.is_whole:
            return 0
        return _first_differing(self.before, self.after)


@lru_cache(maxsize=64)
def _first_differing(before: bytes, after: bytes) -> int:
    """The first line that differs; asked for each execution of a file that was seen."""
    # As git takes a file for binary (xdiff-interface.c, FIRST_FEW_BYTES).
    if b"\0" in before[:8000]:
        return 0
    old, new = before.splitlines(), after.splitlines()
    pairs = enumerate(zip(old, new, strict=False), start=1)
    differing = (at for at, (one, other) in pairs if one != other)
    return next(differing, min(len(old), len(new)) + 1)


def with_moves(changes: Iterable[Changed]) -> tuple[Changed, ...]:
    """The same changes without those that change nothing, each created file with its origin.

    A file that went and one that came are one that moved when their bytes are equal, or when they
    share the file's name and at least half of their lines.
    """
    differing = [one for one in changes if one.is_whole or one.before != one.after]
    gone = [one for one in differing if one.is_deleted]
    taken: set[str] = set()
    found: list[Changed] = []
    for one in differing:
        origin = _origin(one, gone, taken) if one.is_created and not one.origin else ""
        taken |= {origin}
        found.append(replace(one, origin=origin) if origin else one)
    return tuple(found)


def _origin(new: Changed, gone: Sequence[Changed], taken: set[str]) -> str:
    left = [one for one in gone if one.path not in taken]
    same = [one.path for one in left if one.before and one.before == new.after]
    if same:
        return same[0]
    name = new.path.rpartition("/")[2]
    near = [one for one in left if one.path.rpartition("/")[2] == name][:_MOST_COMPARED]
    return next((one.path for one in near if _alike(one.before, new.after)), "")


def _alike(one: bytes | None, other: bytes | None) -> bool:
    if not one or not other:
        return False
    # An upper bound first (difflib, quick_ratio): the exact share takes quadratic time.
    # Without autojunk, which passes over lines that repeat in a long file.
    matcher = SequenceMatcher(None, one.splitlines(), other.splitlines(), autojunk=False)
    return matcher.quick_ratio() >= _ALIKE and matcher.ratio() >= _ALIKE
