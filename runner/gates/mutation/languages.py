"""Which module makes the mutants of a file: one a family of languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runner.gates.mutation.mutants import Mutant

_BRACES = {
    **dict.fromkeys(("js", "jsx", "mjs", "cjs"), "js"),
    **dict.fromkeys(("ts", "tsx", "mts", "cts"), "ts"),
    "go": "go",
    "rs": "rs",
}
_LARGEST = 1_000_000
"""Bytes of a file that is read; a larger one holds data."""


def mutants_of(
    path: str, content: bytes, own: frozenset[int], ran: frozenset[int]
) -> tuple[Mutant, ...]:
    """The mutants of a file's own lines that a test ran; none of a language nobody reads here."""
    ending = path.rpartition(".")[2].lower()
    if len(content) > _LARGEST:
        return ()
    if ending == "py":
        from runner.gates.mutation.python import python_mutants

        return python_mutants(path, content, own, ran)
    if ending in _BRACES:
        from runner.gates.mutation.braces import brace_mutants

        return brace_mutants(path, content, own, ran, _BRACES[ending])
    return ()
