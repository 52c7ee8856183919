"""What an answer is made of: affected tasks, reasons, doubts, and how wide was asked.

One test contract of one task, by its names.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from runner.lazy_dataclass import dataclass


class Depth(StrEnum):
    """How far a change is followed."""

    NONE = "none"
    DIRECT = "direct"
    """To what names, executes or imports the changed file itself."""
    TRANSITIVE = "transitive"
    """And on, through what imports those."""


@dataclass(frozen=True, slots=True)
class Width:
    """How wide the answer is."""

    dependents: Depth = Depth.TRANSITIVE
    conservative: bool = False
    """Whether what cannot be decided counts as affected; else it is reported as a doubt."""


class Basis(StrEnum):
    """What a reason rests on."""

    OWNERSHIP = "ownership"
    OBSERVED = "observed"
    TEST = "test"
    IMPORTS = "imports"
    INPUTS = "inputs"
    CONTRACTS = "contracts"
    SETTINGS = "settings"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Why:
    """One reason: the changed file, the line by which it reaches (0: all of it), a sentence."""

    kind: Basis
    path: str
    line: int
    text: str

    @property
    def place(self) -> str:
        """The changed place as a person opens it."""
        return f"{self.path}:{self.line}" if self.line else self.path


@dataclass(frozen=True, slots=True)
class Affected:
    """A task that may be affected, with those of its test contracts that may change result."""

    task: str
    contracts: tuple[str, ...]
    """In the order to run them; none for a task without any."""
    reasons: tuple[Why, ...]
    tests: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """For a contract of which only single tests are affected: their names. Others run whole."""


@dataclass(frozen=True, slots=True)
class Impacted:
    """What a change may affect, and what could not be decided."""

    affected: tuple[Affected, ...]
    """What fails soonest comes first."""
    doubts: tuple[Why, ...] = ()
    """Reported where `conservative` did not count them in."""


# --- test id --------------------------------------------------------------------------


class Proven(NamedTuple):
    """A test contract, with the task it is of: ids are only a plan's own within a task."""

    task: str
    contract: str
