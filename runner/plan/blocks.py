"""Fenced blocks that ask for something: a file, a patch, a deletion, a command."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.model import Block, BlockKind
from runner.plan.block_tree import Kind, Node
from runner.plan.values import Complaint, path_complaint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.plan.source import Source

_WORD = re.compile(
    r"""(?P<key>[A-Za-z]+)=(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>\S*))|(?P<word>\S+)"""
)
_SHELLS = frozenset({"sh", "bash", "shell", "zsh"})
_PATCHES = frozenset({"diff", "patch"})


def fences(nodes: Iterable[Node]) -> Iterator[Node]:
    """All fences, those in items of lists too, from top to bottom."""
    for node in nodes:
        if node.kind is Kind.FENCE:
            yield node
        for item in node.items:
            yield from fences(item.children)


def block_of(node: Node, source: Source) -> Block | Complaint | None:
    """What a fence asks for; None when it is only an example.

    `file=PATH` (quoted when it holds blanks) writes a file, with `diff` patches one, with `delete`
    removes one; `sh run` runs its text.
    """
    file, words = _read(node.info)
    line = node.start + source.first_line
    if file is None:
        runs = words[:1] and words[0].casefold() in _SHELLS and "run" in words[1:]
        return Block(BlockKind.RUN, "", node.text, line) if runs else None
    path = file.removeprefix("./")
    if complaint := path_complaint(path):
        return _complaint(node, source, *complaint)
    if "delete" in words:
        if node.text.strip():
            return _complaint(
                node, source, f'a block that deletes "{path}" has text', "empty it, or drop delete"
            )
        return Block(BlockKind.DELETE, path, "", line)
    is_patch = bool(words) and words[0].casefold() in _PATCHES
    return Block(BlockKind.PATCH if is_patch else BlockKind.FILE, path, node.text, line)


def _read(info: str) -> tuple[str | None, list[str]]:
    """The path an info string names, and its other words."""
    file, words = None, []
    for match in _WORD.finditer(info):
        if match["word"]:
            words.append(match["word"])
        elif match["key"] == "file":
            file = next((match[kind] for kind in ("double", "single", "bare") if match[kind]), "")
    return file, words


def _complaint(node: Node, source: Source, message: str, hint: str) -> Complaint:
    column = max(source.lines[node.start].find("file="), 0)
    width = len(source.lines[node.start].rstrip()) - column
    return Complaint(message, hint, node.start, column, max(1, width))
