"""What a mutant is, and in which order the mutants of a function are tried: purely."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

UNNOTICED = 3
"""How many mutants of different kinds must survive before a function counts as unnoticed."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One small change to one place of one file, which a test that looks should notice."""

    path: str
    function: str
    """The innermost function around it, as `Basket.total`."""
    kind: str
    """What was done, in words that fit behind "mutants of these kinds survived"."""
    line: int
    start: int
    """Bytes of the file that are replaced: the first, and the one behind the last."""
    end: int
    text: bytes

    def apply_to(self, content: bytes) -> bytes:
        """The file with the mutant in it; all other bytes stay as they are."""
        return content[: self.start] + self.text + content[self.end :]


@dataclass(frozen=True, slots=True)
class Subject:
    """A function of which a test ran changed lines, with its mutants in the order to try them."""

    path: str
    name: str
    line: int
    """The first of its changed lines."""
    mutants: tuple[Mutant, ...]

    @property
    def can_be_judged(self) -> bool:
        """Whether there are mutants of enough kinds to say that nothing notices."""
        return len({one.kind for one in self.mutants}) >= UNNOTICED


def subjects_of(mutants: Iterable[Mutant], seed: str) -> tuple[Subject, ...]:
    """The functions that can be judged, each with one mutant a kind before a second of any.

    The kinds keep the order in which the reader of the language gives them: first those that
    change a value and keep its type, which fail by an assertion or not at all. Which place of a
    kind comes first, and which function, is chosen by `seed`, the same each time.
    """
    by_function: dict[tuple[str, str], list[Mutant]] = defaultdict(list)
    for one in mutants:
        by_function[one.path, one.function].append(one)
    found = [
        Subject(path, name, min(one.line for one in all_of), tuple(_in_turn(all_of, seed)))
        for (path, name), all_of in by_function.items()
    ]
    able = [one for one in found if one.can_be_judged]
    return tuple(sorted(able, key=lambda one: _lot(seed, one.path, one.name)))


def _in_turn(mutants: list[Mutant], seed: str) -> Iterator[Mutant]:
    kinds: dict[str, list[Mutant]] = defaultdict(list)
    for one in mutants:
        kinds[one.kind].append(one)
    for of_kind in kinds.values():
        of_kind.sort(key=lambda one: _lot(seed, one.path, str(one.start), str(one.text)))
    while any(kinds.values()):
        for of_kind in kinds.values():
            if of_kind:
                yield of_kind.pop(0)


def _lot(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()
