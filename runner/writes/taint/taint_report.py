"""What the walk says: where foreign values do harm, and where sinks are fed harmless ones."""

from __future__ import annotations

from dataclasses import dataclass, field


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
