"""Which module makes the mutants of a file: one a family of languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.languages.javascript import TYPED
from runner.languages.registry import code_row

if TYPE_CHECKING:
    from runner.gates.mutation.mutants import Mutant

_NAMES = {"python": "py", "javascript": "js", "go": "go", "rust": "rs"}
_LARGEST = 1_000_000
"""Bytes of a file that is read; a larger one holds data."""


def language_of(path: str) -> str:
    """Which language a file is written in: `py`, `js`, `ts`, `go` or `rs`; "" for any other."""
    row = code_row(path)
    name = _NAMES.get(row.name, "") if row else ""
    return "ts" if name == "js" and path.lower().endswith(TYPED) else name


def mutants_of(
    path: str, content: bytes, own: frozenset[int], ran: frozenset[int]
) -> tuple[Mutant, ...]:
    """The mutants of a file's own lines that a test ran; none of a language nobody reads here."""
    language = language_of(path)
    if len(content) > _LARGEST:
        return ()
    if language == "py":
        from runner.gates.mutation.python_mutants import python_mutants

        return python_mutants(path, content, own, ran)
    if language:
        from runner.gates.mutation.brace_mutants import brace_mutants

        return brace_mutants(path, content, own, ran, language)
    return ()
