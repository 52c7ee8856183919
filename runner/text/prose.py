"""Pieces of code in the prose of a plan."""

from __future__ import annotations

from runner.lazy_pattern import regex

CODE_SPAN = regex(r"`([^`\n]+)`")
"""Text between single backquotes, in one line."""
