"""Patterns of what stands in the prose of a plan: pieces of code, names, ends of sentences."""

from __future__ import annotations

from runner.lazy_pattern import regex

CODE_SPAN = regex(r"`([^`\n]+)`")
"""Text between single backquotes, in one line."""
IDENTIFIER = regex(r"[A-Za-z_$][\w$]*")
"""A name in Python, JavaScript or Go."""
SENTENCE_END = regex(r"(?<=[.;!?])\s+|\n")
"""Where a sentence, or a line, ends."""


def names_in_code(text: str) -> frozenset[str]:
    """Every name in the pieces of code of a text."""
    return frozenset(IDENTIFIER.findall(" ".join(CODE_SPAN.findall(text))))
