"""Which module makes the mutants of a file: one a family of languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.languages.javascript import TYPED
from runner.languages.registry import code_row
from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    from runner.gates.mutation import brace_mutants, python_mutants
    from runner.gates.mutation.mutants import Mutant
else:
    brace_mutants = lazy_module("runner.gates.mutation.brace_mutants")
    python_mutants = lazy_module("runner.gates.mutation.python_mutants")

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
        return python_mutants.python_mutants(path, content, own, ran)
    if language:
        return brace_mutants.brace_mutants(path, content, own, ran, language)
    return ()
