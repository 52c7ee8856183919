"""One finding of static analysis, as the scanners in Python give it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Issue:
    """A finding of bandit or of the taint walk; line and column from 1."""

    rule: str
    line: int
    column: int
    severity: str
    confidence: str
    message: str
    tool: str = "bandit"
