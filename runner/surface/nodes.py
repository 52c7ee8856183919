"""Reading of tree-sitter nodes: their text, their fields, and trees of bounded size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.languages.syntax_tree import parse_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node


class UnreadableError(Exception):
    """A file that cannot be compared: no grammar, or a text that the grammar does not allow."""


def read_root(path: str, text: str, *, strict: bool = True) -> Node:
    """Return the root of a file's tree. Raises UnreadableError, of mistakes only if `strict`."""
    parsed = parse_file(path, text)
    if parsed is None:
        raise UnreadableError("its grammar is not installed")
    if parsed.errors and strict:
        raise UnreadableError(f"syntax error in line {parsed.errors[0].line}")
    return parsed.tree.root_node


def text_of(node: Node | None) -> str:
    """Return the source of a node in one line, its spaces as one."""
    return " ".join(node.text.decode("utf-8", "replace").split()) if node and node.text else ""


def field(node: Node | None, *names: str) -> Node | None:
    """Return a field of a node, or a field of that; None where one is not there."""
    for name in names:
        node = node.child_by_field_name(name) if node is not None else None
    return node


def children(node: Node | None, *kinds: str) -> Iterator[Node]:
    """Yield the children of these kinds, of any kind where none is given."""
    for one in node.named_children if node is not None else ():
        if not kinds or one.type in kinds:
            yield one


def line_of(node: Node) -> int:
    """Return the line of a node, from 1."""
    return int(node.start_point[0]) + 1
