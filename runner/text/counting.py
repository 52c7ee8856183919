"""A number with the name of what it counts."""

from __future__ import annotations

_MANY = frozenset(
    ("failures", "errors", "instances", "lines", "operations", "problems", "requests")
)


def numbered(number: int, name: str) -> str:
    """`3 failures`, `1 failure`, `1 passed`."""
    return f"{number} {name.removesuffix('s') if number == 1 and name in _MANY else name}"
