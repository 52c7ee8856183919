"""A number with the name of what it counts."""

from __future__ import annotations

_MANY_WORDS = """
failures errors files instances lines operations problems requests tests
"""
_MANY = frozenset(_MANY_WORDS.split())


def count_words(number: int, name: str) -> str:
    """`3 failures`, `1 failure`, `1 passed`."""
    return f"{number} {name.removesuffix('s') if number == 1 and name in _MANY else name}"
