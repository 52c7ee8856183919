"""The parts of an answer: affected tasks, reasons, doubts and the width of the question.

One test contract of one task, by its names.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct


class Depth(StrEnum):
    """The depth to which a change is followed."""

    NONE = "none"
    DIRECT = "direct"
    """Only what names, executes or imports the changed file itself."""
    TRANSITIVE = "transitive"
    """Also what imports those, and so on."""


class Width(Struct, frozen=True):
    """The width of an answer."""

    dependents: Depth = Depth.TRANSITIVE
    conservative: bool = False
    """Whether undecidable cases count as affected; else they are reported as doubts."""


class Basis(StrEnum):
    """The basis of a reason."""

    OWNERSHIP = "ownership"
    OBSERVED = "observed"
    TEST = "test"
    IMPORTS = "imports"
    INPUTS = "inputs"
    CONTRACTS = "contracts"
    SETTINGS = "settings"
    UNDECIDED = "undecided"


class Why(Struct, frozen=True):
    """One reason: the changed file, the line by which it reaches (0: all of it), a sentence."""

    kind: Basis
    path: str
    line: int
    text: str

    @property
    def place(self) -> str:
        """The changed place as a person opens it."""
        return f"{self.path}:{self.line}" if self.line else self.path


class Affected(Struct, frozen=True):
    """A task that may be affected, with those of its test contracts that may change result."""

    task: str
    contracts: tuple[str, ...]
    """Contracts in the order to run them; empty for a task without any."""
    reasons: tuple[Why, ...]
    tests: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Affected tests of contracts that need not run whole, by contract."""


class Impacted(Struct, frozen=True):
    """The tasks that a change may affect, and the undecided cases."""

    affected: tuple[Affected, ...]
    """Ordered by the least expected time until a failure."""
    doubts: tuple[Why, ...] = ()
    """Undecided cases, if `conservative` does not count them."""


# --- test id --------------------------------------------------------------------------


class Proven(NamedTuple):
    """A test contract, with the task it is of: ids are only a plan's own within a task."""

    task: str
    contract: str
