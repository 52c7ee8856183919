"""Syntax trees by tree-sitter grammars, loaded when a file needs one.

A grammar knows the syntax alone: no names, no types (tree-sitter.github.io, "Using Parsers").
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Parser, Tree

_GRAMMARS = {
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
}
"""By language, the module of its grammar and the function in it."""
_ENDINGS = {
    ".js": ("javascript", "tsx"),  # Flow without its mark reads much as TypeScript does
    ".jsx": ("javascript", "tsx"),
    ".mjs": ("javascript",),
    ".cjs": ("javascript",),
    ".ts": ("typescript",),
    ".mts": ("typescript",),
    ".cts": ("typescript",),
    ".tsx": ("tsx",),
    ".go": ("go",),
    ".rs": ("rust",),
}
_MOST_ERRORS = 20


class SyntaxMistake(NamedTuple):
    """A place that the grammar does not allow."""

    message: str
    line: int
    column: int
    """Column in characters, from 1."""


class SyntaxTree(Struct, frozen=True):
    """A parsed text."""

    tree: Tree
    errors: tuple[SyntaxMistake, ...]
    """In text order, at most 20."""


def parse(language: str, text: str) -> SyntaxTree | None:
    """Parse a text of a language that has a grammar; None where the grammar cannot be loaded."""
    parser = _load_parser(language)
    if parser is None:
        return None
    tree = parser.parse(text.encode("utf-8", "replace"))
    return SyntaxTree(tree, tuple(_find_errors(tree, text)) if tree.root_node.has_error else ())


def parse_file(path: str, text: str) -> SyntaxTree | None:
    """Parse a file by its ending; None where it has no grammar here."""
    endings = next((one for end, one in _ENDINGS.items() if path.lower().endswith(end)), ())
    trees = [tree for one in endings if (tree := parse(one, text)) is not None]
    return next((tree for tree in trees if not tree.errors), trees[0] if trees else None)


@cache
def _load_parser(language: str) -> Parser | None:
    module, function = _GRAMMARS[language]
    try:
        binding, grammar = importlib.import_module("tree_sitter"), importlib.import_module(module)
        parser: Parser = binding.Parser(binding.Language(getattr(grammar, function)()))
    except (ImportError, ValueError, AttributeError):  # a wheel of another machine or version
        return None
    return parser


def _find_errors(tree: Tree, text: str) -> Iterator[SyntaxMistake]:
    """Walk only the nodes with an error inside, without recursion: a text may be deeply nested."""
    lines = text.split("\n")
    left, count = [tree.root_node], 0
    while left and count < _MOST_ERRORS:
        node = left.pop()
        if not (node.is_error or node.is_missing):
            left += [one for one in reversed(node.children) if one.has_error or one.is_missing]
            continue
        count += 1
        row, offset = node.start_point
        before = lines[row].encode("utf-8", "replace")[:offset].decode("utf-8", "replace")
        message = f"syntax error: `{node.type}` is missing" if node.is_missing else "syntax error"
        yield SyntaxMistake(message, row + 1, len(before) + 1)
