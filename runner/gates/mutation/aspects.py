"""What of a function a test may look at, each apart: its results, its errors, its conditions.

The nouns that readers of languages and who runs them share. Purely.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from runner.gates.mutation.mutants import Mutant

GIVES = "result"
SIDE = "side"
FURTHER = ("less", "first", "longer", "shorter")
"""Other ways for a place that was changed in any way, by which most tests that look notice it."""


class Watched(NamedTuple):
    """A place that says, while tests run, what came by."""

    key: str
    kind: str
    """`GIVES` for what a function gives, `SIDE` for a condition or a part of one."""
    function: str
    line: int
    code: str
    then: str = ""
    """Of a condition what it decides about, in one line."""
    other: str = ""
    """Of a condition what is done where it does not hold."""


@dataclass(frozen=True, slots=True)
class WatchedFile:
    """A file that does what it did, and writes down what came by its places."""

    path: str
    text: bytes
    places: tuple[Watched, ...]


class Way(NamedTuple):
    """A mutant of one aspect."""

    aspect: str
    says: str
    """What is done, in words that fit behind "every test passes"."""
    mutant: Mutant
    key: str = ""
    """Of a result the place and `.way`, worth a try where that was written down; of a condition
    what it is made to be."""
    says_so: bool = False
    """Whether it writes down that it changed something."""
    further: tuple[Mutant, ...] = ()
    """Other changes of the same place: told only where tests let all of them pass."""
