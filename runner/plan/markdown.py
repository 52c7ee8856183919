"""Split a Markdown file at headings into pieces that parse as in the whole file.

The only module that knows markdown-it. A cut is where a line begins with `#`, or where a setext
heading follows a blank line. Such a line ends every open list, quote, table and paragraph, so only
a fence or an HTML block can cross it. A piece that ends in an open one continues to that block's
end. So each line is parsed at most twice, with the memory of one piece.

Most plans hold only headings, lists, fences and paragraphs at the margin, for which the general
parser takes many times longer. A text that certainly holds nothing else is read here as a whole.
Its blocks are those of CommonMark 0.31 (chapters 4.2, 4.5, 4.8, 5.2 and 5.3).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from runner.lazy_pattern import regex
from runner.plan.source import Source, body_start

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    Row = TypeVar("Row", bound=tuple[Any, ...])


class Kind(Enum):
    """The kind of a block (CommonMark 0.31 chapters 4 and 5, GFM tables)."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST = "list"
    FENCE = "fence"
    CODE = "code"
    TABLE = "table"
    QUOTE = "quote"
    HTML = "html"
    RULE = "rule"


class ListItem(NamedTuple):
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
    """Level of a heading: 1 to 6."""
    text: str = ""
    """Content of a heading, paragraph or fence."""
    info: str = ""
    """Info string of a fence, as written."""
    markup: str = ""
    """Characters that opened a fence or list."""
    items: tuple[ListItem, ...] = ()
    rows: tuple[int, ...] = ()
    """Lines of a table's rows, head first, without the delimiter row."""

    def move(self, lines: int) -> Node:
        """Return the block moved down by `lines`."""
        if not lines:
            return self
        return self._replace(
            start=self.start + lines,
            end=self.end + lines,
            items=tuple(_move_item(item, lines) for item in self.items),
            rows=tuple(row + lines for row in self.rows),
        )


def _move_item(item: ListItem, lines: int) -> ListItem:
    children = tuple(child.move(lines) for child in item.children)
    return item._replace(start=item.start + lines, end=item.end + lines, children=children)


# A setext underline makes a heading of the whole paragraph above it (CommonMark 0.31, 4.3): cut
# only where that paragraph certainly starts, after an empty line.
_LF = regex(
    rb"\n(?=#{1,6}(?:[ \t\r\n]|\Z))|\n\r?\n(?=[A-Za-z][^\n]*\n(?:=+|-+)[ \t]*(?:[\r\n]|\Z))"
)
# A CR without LF also ends a line (CommonMark 0.31, 2.1); then every line end is checked.
_LONE_CR = regex(rb"[\r\n](?=#{1,6}(?:[ \t\r\n]|\Z))")
# HTML blocks of kinds 1 to 5 continue across empty lines up to their own end; 6 and 7 end at the
# first empty line (CommonMark 0.31, 4.6).
_HTML_ENDS = (
    (
        regex(r"<(?:script|pre|style|textarea)(?=[\s>]|$)", re.IGNORECASE),
        regex(rb"</(?:script|pre|style|textarea)>", re.IGNORECASE),
    ),
    (regex(r"<!--"), regex(rb"-->")),
    (regex(r"<\?"), regex(rb"\?>")),
    (regex(r"<![A-Za-z]"), regex(rb">")),
    (regex(r"<!\[CDATA\["), regex(rb"\]\]>")),
)
_BLANK_LINE = regex(rb"(?:\r\n|\n|\r(?!\n))[ \t]*[\r\n]")


class Piece(NamedTuple):
    """A part of a file that begins at a top-level block and ends before one."""

    source: Source
    nodes: tuple[Node, ...]
    end: int
    """First byte after the piece."""


class Cuts:
    """The positions where a file may be split: byte offsets of lines that look like headings."""

    def __init__(self, data: bytes) -> None:
        lone = data.count(b"\r") != data.count(b"\r\n")
        self._offsets = [match.end() for match in (_LONE_CR if lone else _LF).finditer(data)]
        self._size = len(data)

    def at_or_after(self, offset: int) -> int:
        """Return the first cut at or after `offset`, or the file's end."""
        index = bisect_left(self._offsets, offset)
        return self._offsets[index] if index < len(self._offsets) else self._size


def pieces(data: bytes) -> Iterator[Piece]:
    """Yield all pieces of a file, in order."""
    cuts = Cuts(data)
    offset, line = body_start(data), 1
    while offset < len(data):
        piece = piece_at(data, offset, line, cuts)
        yield piece
        offset, line = piece.end, line + piece.source.line_count


def piece_at(data: bytes, start: int, first_line: int, cuts: Cuts) -> Piece:
    """Parse the piece at byte `start`, which must begin a top-level block."""
    nodes: list[Node] = []
    base, skipped = start, 0
    end = cuts.at_or_after(start + 1)
    while True:
        source = Source(data[base:end], base, first_line)
        found = parse(source.text)
        ending = _ending_of(found, source) if end < len(data) else None
        if ending is None:
            nodes.extend(node.move(skipped) for node in found)
            whole = source if base == start else Source(data[start:end], start, first_line)
            return Piece(whole, tuple(nodes), end)
        nodes.extend(node.move(skipped) for node in found[:-1])
        base, skipped = source.byte(found[-1].start, 0), skipped + found[-1].start
        behind_first_line = source.byte(found[-1].start + 1, 0)
        # An HTML block may end on its first line (CommonMark 0.31, 4.6), but the first line of a
        # fence looks like its end.
        closed = ending.search(data, base if found[-1].kind is Kind.HTML else behind_first_line)
        end = cuts.at_or_after(closed.end()) if closed else len(data)


def _ending_of(nodes: Sequence[Node], source: Source) -> re.Pattern[bytes] | None:
    """Return the pattern that would end an open last block of the text; None if none is open."""
    if not nodes:
        return None
    last = nodes[-1]
    if last.kind is Kind.FENCE:
        ending = _fence_end(last.markup)
        first = source.byte(last.start + 1, 0)
        return None if ending.search(source.raw, first - source.start) else ending
    if last.kind is not Kind.HTML:
        return None
    opening = source.lines[last.start].lstrip(" ")
    ending = next((end for begin, end in _HTML_ENDS if begin.match(opening)), _BLANK_LINE)
    return None if ending.search(source.raw, source.byte(last.start, 0) - source.start) else ending


@cache
def _fence_end(markup: str) -> re.Pattern[bytes]:
    # At most three blanks before it, at least as long as the opening, nothing after it (CommonMark
    # 0.31, 4.5). In `re` `^` only follows LF, hence the lookbehind for CR.
    fence = f"{re.escape(markup[0])}{{{len(markup)},}}"
    return re.compile(rf"(?:^|(?<=\r)) {{0,3}}{fence}[ \t]*(?=[\r\n]|\Z)".encode(), re.MULTILINE)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


def parse(text: str) -> list[Node]:
    """Parse a text with LF line ends into its top-level blocks; inline text is unchanged."""
    found = plain_blocks(text)
    return _parsed(text) if found is None else found


def _parsed(text: str) -> list[Node]:
    parser = _parser()
    tokens: list[Token] = []
    parser.block.parse(text, parser, {}, tokens)
    return list(_nodes(tokens, 0, len(tokens)))


def _nodes(tokens: Sequence[Token], index: int, end: int) -> Iterator[Node]:
    while index < end:
        behind = _behind(tokens, index)
        yield _node(tokens, index, behind)
        index = behind


def _behind(tokens: Sequence[Token], index: int) -> int:
    """Return the index after the token that closes the one at `index`."""
    level = tokens[index].level
    if tokens[index].nesting == 1:
        index += 1
        while tokens[index].nesting != -1 or tokens[index].level != level:
            index += 1
    return index + 1


def _node(tokens: Sequence[Token], index: int, behind: int) -> Node:
    token = tokens[index]
    start, end = token.map or (0, 0)
    match token.type:
        case "heading_open":
            level = int(token.tag[1])
            return Node(Kind.HEADING, start, end, level=level, text=tokens[index + 1].content)
        case "paragraph_open":
            return Node(Kind.PARAGRAPH, start, end, text=tokens[index + 1].content)
        case "bullet_list_open" | "ordered_list_open":
            items = tuple(_items(tokens, index + 1, behind - 1))
            return Node(Kind.LIST, start, end, markup=token.markup, items=items)
        case "table_open":
            rows = tuple(
                inner.map[0]
                for inner in tokens[index:behind]
                if inner.type == "tr_open" and inner.map
            )
            return Node(Kind.TABLE, start, end, rows=rows)
        case "fence":
            return Node(
                Kind.FENCE, start, end, text=token.content, info=token.info, markup=token.markup
            )
    return Node(_OTHERS[token.type], start, end, text=token.content)


_OTHERS = {
    "blockquote_open": Kind.QUOTE,
    "code_block": Kind.CODE,
    "html_block": Kind.HTML,
    "hr": Kind.RULE,
}


def _items(tokens: Sequence[Token], index: int, end: int) -> Iterator[ListItem]:
    while index < end:
        behind = _behind(tokens, index)
        start, stop = tokens[index].map or (0, 0)
        yield ListItem(start, stop, tuple(_nodes(tokens, index + 1, behind - 1)))
        index = behind


_HEADING = regex(r"(#{1,6}) +(\S.*)")
_WORDS = r"(?:[A-Za-z]|\*\*[A-Za-z]|`[^`])"
"""Characters with which only a paragraph starts."""
_ITEM = regex(rf"(  )?- ({_WORDS}.*)")
_TEXT = regex(rf"{_WORDS}.*")
_FENCE = regex(r"(`{3,})([^`]*)")


def plain_blocks(text: str) -> list[Node] | None:
    """Parse plainly written blocks quickly; return None if the text needs the full parser."""
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
        # With up to three blanks it closes, with four it is text (CommonMark 0.31, 4.5): use the
        # parser's result.
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
    """Parse a list of one-line items with nested one-line items, or return None."""
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


def _item(start: int, text: str, below: list[tuple[int, str]], end: int) -> ListItem:
    children = [Node(Kind.PARAGRAPH, start, start + 1, text=text)]
    if below:
        inner = [
            ListItem(line, stop, (Node(Kind.PARAGRAPH, line, line + 1, text=content),))
            for (line, content), stop in _with_ends(below, end)
        ]
        children.append(_list_of(start + 1, end, inner))
    return ListItem(start, end, tuple(children))


def _list_of(start: int, end: int, items: list[ListItem]) -> Node:
    return Node(Kind.LIST, start, end, markup="-", items=tuple(items))


def _with_ends(rows: list[Row], end: int) -> Iterator[tuple[Row, int]]:
    """Yield each row with the line after its content."""
    return zip(rows, [*(row[0] for row in rows[1:]), end], strict=True)
