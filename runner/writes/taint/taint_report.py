"""What the walk says: where foreign values do harm, and where sinks are fed harmless ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import ast

    from runner.writes.taint.abstract_values import Taint, Value


@dataclass(frozen=True, slots=True)
class Place:
    """One finding: what kind of harm, where, and from which source."""

    kind: str
    line: int
    column: int
    source: str
    weak: bool = False


@dataclass(slots=True)
class Report:
    """What the walk says of a module."""

    found: dict[tuple[str, int], Place] = field(default_factory=dict)
    constant: set[tuple[str, int]] = field(default_factory=set)
    """Kinds of sinks, by line, that constants alone reach."""
    checked: set[tuple[str, int]] = field(default_factory=set)
    """Those that foreign values reach after a check, or disarmed."""


class Evaluator(Protocol):
    """What gives expressions their values, as far as calls ask it; `Expressions` is one."""

    @property
    def report(self) -> Report:
        """What is found."""

    @property
    def values(self) -> dict[str, Value]:
        """Values of names."""

    @property
    def checked(self) -> set[int]:
        """Origins of foreign values that a condition has looked at."""

    @property
    def route(self) -> str | None:
        """The path of the page that the function returns; None where it returns none."""

    def value(self, node: ast.expr) -> Value:
        """What an expression may be."""

    def fresh(self, source: str, *, weak: bool) -> Taint:
        """A foreign value of its own."""
