"""The blocks of a plainly written text: headings, lists, fences and paragraphs at the margin.

Most plans hold nothing else, and the general parser takes many times longer. Whatever is not
certainly one of these shapes is left to it: a text is read here as a whole or not at all, and then
the blocks are those that CommonMark 0.31 makes of it (chapters 4.2, 4.5, 4.8, 5.2 and 5.3).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from runner.plan.block_tree import Item, Kind, Node

if TYPE_CHECKING:
    from collections.abc import Iterator

    Row = TypeVar("Row", bound=tuple[Any, ...])

_HEADING = re.compile(r"(#{1,6}) +(\S.*)")
_WORDS = r"(?:[A-Za-z]|\*\*[A-Za-z]|`[^`])"
"""What no block but a paragraph begins with."""
_ITEM = re.compile(rf"(  )?- ({_WORDS}.*)")
_TEXT = re.compile(rf"{_WORDS}.*")
_FENCE = re.compile(r"(`{3,})([^`]*)")


def plain_blocks(text: str) -> list[Node] | None:
    """The top-level blocks of a text with LF line ends; None where it is not plainly written."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    found: list[Node] = []
    at = 0
    while at < len(lines):
        if not lines[at].strip(" "):
            at += 1
            continue
        node = _block(lines, at)
        if node is None:
            return None
        found.append(node)
        at = node.end
    return found


def _block(lines: list[str], at: int) -> Node | None:
    line = lines[at]
    if line.startswith("- "):
        return _list(lines, at)
    if line.startswith("```"):
        return _fence(lines, at)
    if line.startswith("#"):
        return _heading(lines, at)
    return _paragraph(lines, at)


def _heading(lines: list[str], at: int) -> Node | None:
    match = _HEADING.fullmatch(lines[at])
    if match is None or not lines[at].isprintable() or match[2].rstrip(" ").endswith("#"):
        return None
    return Node(Kind.HEADING, at, at + 1, level=len(match[1]), text=match[2].strip())


def _fence(lines: list[str], at: int) -> Node | None:
    match = _FENCE.fullmatch(lines[at])
    if match is None or not lines[at].isprintable():
        return None
    mark, end = match[1], at + 1
    while end < len(lines):
        if lines[end].startswith(mark):
            if lines[end].strip("`"):  # rather left to who knows what may follow the mark
                return None
            text = "".join(f"{line}\n" for line in lines[at + 1 : end])
            return Node(Kind.FENCE, at, end + 1, text=text, info=match[2], markup=mark)
        if lines[end].lstrip(" ").startswith(mark):
            return None
        end += 1
    return None  # it may go on behind this text


def _paragraph(lines: list[str], at: int) -> Node | None:
    end = at
    while end < len(lines) and lines[end].strip(" "):
        if not _TEXT.fullmatch(lines[end]) or not lines[end].isprintable():
            return None
        end += 1
    return Node(Kind.PARAGRAPH, at, end, text="\n".join(lines[at:end]).strip())


def _list(lines: list[str], at: int) -> Node | None:
    """A list of items of one line, with items of one line below them."""
    first = at
    heads: list[tuple[int, str, list[tuple[int, str]]]] = []  # line, text, items below it
    while at < len(lines) and lines[at].strip(" "):
        match = _ITEM.fullmatch(lines[at])
        if match is None or not lines[at].isprintable():
            return None
        if match[1] is None:
            heads.append((at, match[2].strip(), []))
        else:
            heads[-1][2].append((at, match[2].strip()))
        at += 1
    while at < len(lines) and not lines[at]:  # empty lines are the last item's
        at += 1
    if at < len(lines) and lines[at].startswith((" ", "- ")):
        return None  # it goes on behind them
    return _list_of(first, at, [_item(*head, end) for head, end in _with_ends(heads, at)])


def _item(start: int, text: str, below: list[tuple[int, str]], end: int) -> Item:
    children = [Node(Kind.PARAGRAPH, start, start + 1, text=text)]
    if below:
        inner = [
            Item(line, stop, (Node(Kind.PARAGRAPH, line, line + 1, text=said),))
            for (line, said), stop in _with_ends(below, end)
        ]
        children.append(_list_of(start + 1, end, inner))
    return Item(start, end, tuple(children))


def _list_of(start: int, end: int, items: list[Item]) -> Node:
    return Node(Kind.LIST, start, end, markup="-", items=tuple(items))


def _with_ends(rows: list[Row], end: int) -> Iterator[tuple[Row, int]]:
    """Each row, and the line behind what it holds: that of the next one."""
    return zip(rows, [*(row[0] for row in rows[1:]), end], strict=True)
