"""The blocks a Markdown text is made of, as far as a plan needs them."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """What a block is (CommonMark 0.31 chapters 4 and 5, GFM tables)."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST = "list"
    FENCE = "fence"
    CODE = "code"
    TABLE = "table"
    QUOTE = "quote"
    HTML = "html"
    RULE = "rule"


class Item(NamedTuple):
    """An item of a list."""

    start: int
    end: int
    children: tuple[Node, ...]


class Node(NamedTuple):
    """A block at the top level of a text; lines count from 0, `end` is behind the last."""

    kind: Kind
    start: int
    end: int
    level: int = 0
    """Of a heading: 1 to 6."""
    text: str = ""
    """Content of a heading, paragraph or fence."""
    info: str = ""
    """Info string of a fence, as written."""
    markup: str = ""
    """The characters that opened a fence or list."""
    items: tuple[Item, ...] = ()
    rows: tuple[int, ...] = ()
    """Lines of a table's rows, its head first, without the line of dashes."""

    def move(self, lines: int) -> Node:
        """The same block, so many lines further down."""
        if not lines:
            return self
        return self._replace(
            start=self.start + lines,
            end=self.end + lines,
            items=tuple(_move_item(item, lines) for item in self.items),
            rows=tuple(row + lines for row in self.rows),
        )


def _move_item(item: Item, lines: int) -> Item:
    children = tuple(child.move(lines) for child in item.children)
    return item._replace(start=item.start + lines, end=item.end + lines, children=children)
