"""Read inline Markdown and tables: code spans are literal, links become their text."""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_pattern import regex
from runner.plan.source import body_start, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# A backslash escapes only ASCII punctuation (CommonMark 0.31, 2.4): `C:\work` keeps it.
_TOKEN = regex(
    r"(?P<ticks>`+)|\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|!?\[(?P<label>(?:[^\[\]\\]|\\.)*)\](?P<target>\((?:[^()\\]|\\.|\([^()]*\))*\)|\[[^\]]*\])?"
    r"|<(?P<link>[A-Za-z][A-Za-z0-9+.-]*:[^\s<>]*)>|(?P<tag></?[A-Za-z][^<>]*>)"
)
_MARKUP = regex(r"[*_~`\\\[<&]")
"""Characters that start inline Markdown."""
_ONE_CODE = regex(r"`([^`\s](?:[^`\n]*[^`\s])?)`")
_CODES = regex(rf"{_ONE_CODE.pattern}(?:, {_ONE_CODE.pattern})*")
_MARKS = ("**", "__", "~~")
_OPENS = regex(r"(?=(?:\*\*|__|~~)\S)")
# An underscore inside a word starts no emphasis (CommonMark 0.31, 6.2): `snake_case_name` stays
# whole.
_EMPHASIS = regex(r"(?<![\w*])([*_])(?=\S)([^*_]+?)(?<=\S)\1(?![\w*])")
_BREAK = regex(r"<br\s*/?>", re.IGNORECASE)
EMPTY_WORDS = frozenset({"", "none", "nothing", "n/a", "-", "\u2013", "\u2014", "\u2212"})


class InlineSpan(NamedTuple):
    """A stretch of inline text; `code` when it is the content of a code span."""

    text: str
    start: int
    end: int
    code: bool


def spans(text: str) -> list[InlineSpan]:
    """Split text into code spans and other text (CommonMark 6.1), with links resolved."""
    if not _TOKEN.search(text):
        return [InlineSpan(text, 0, len(text), code=False)] if text else []
    if alone := _ONE_CODE.fullmatch(text):
        return [InlineSpan(alone[1], 0, len(text), code=True)]
    found: list[InlineSpan] = []
    position = 0
    while position < len(text):
        match = _TOKEN.search(text, position)
        if match is None:
            found.append(InlineSpan(text[position:], position, len(text), code=False))
            break
        if match.start() > position:
            found.append(
                InlineSpan(text[position : match.start()], position, match.start(), code=False)
            )
        span = _code_span(text, match) if match["ticks"] else _other(match)
        found.append(span)
        position = span.end
    return found


def _code_span(text: str, match: re.Match[str]) -> InlineSpan:
    ticks = match["ticks"]
    closing = _closing(ticks).search(text, match.end())
    # Backticks without a closing run of equal length are literal (CommonMark 0.31, 6.1).
    if closing is None:
        return InlineSpan(ticks, match.start(), match.end(), code=False)
    content = text[match.end() : closing.start()].replace("\n", " ")
    # One blank is removed on both sides, so that a span can start with a backtick; a span of only
    # blanks keeps them (CommonMark 0.31, 6.1).
    if content.startswith(" ") and content.endswith(" ") and content.strip():
        content = content[1:-1]
    return InlineSpan(content, match.start(), closing.end(), code=True)


@lru_cache(maxsize=8)
def _closing(ticks: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!`){ticks}(?!`)")


def _other(match: re.Match[str]) -> InlineSpan:
    if match["escaped"]:
        shown = match["escaped"]
    elif match["label"] is not None and match["target"]:
        shown = plain(match["label"])
    elif match["label"] is not None:  # a text in brackets, as in `list[int]` (CommonMark 6.3)
        bare = match["label"].strip()
        shown = match[0].replace(bare, plain(bare), 1) if bare else match[0]
    elif match["tag"]:
        shown = "\n" if _BREAK.fullmatch(match["tag"]) else match[0]
    else:
        shown = match["link"]
    return InlineSpan(shown, match.start(), match.end(), code=False)


def plain(text: str) -> str:
    """Return inline Markdown as plain text: no emphasis, no escapes, links as their text."""
    if not _MARKUP.search(text):
        return text.strip()
    without = text
    if "*" in text or "_" in text:
        without = _EMPHASIS.sub(r"\2", without_strong(text))
    # In a code span `&lt;` is literal (CommonMark 0.31, 2.5): a command keeps it.
    return "".join(
        span.text if span.code else html.unescape(span.text) for span in spans(without)
    ).strip()


def without_strong(text: str) -> str:
    """Return a text without the marks of strong and deleted text (`**`, `__`, `~~`).

    Each mark ends at the next one of its kind behind a sign that is no blank. By places that are
    looked up: a pattern would go through the rest of the text for each mark that nothing closes.
    """
    closing: dict[str, list[int]] = {mark: [] for mark in _MARKS if mark in text}
    for mark, places in closing.items():
        ends = re.finditer(rf"(?<=\S)(?={re.escape(mark)})", text)
        places.extend(end.start() for end in ends)
    parts: list[str] = []
    position, line_end = 0, -1
    for match in _OPENS.finditer(text) if closing else ():
        at = match.start()
        places = closing[text[at : at + 2]]
        nearest = bisect_left(places, at + 3)  # a sign at least stands between
        if at < position or nearest == len(places):
            continue
        if line_end < at:
            line_end = text.find("\n", at) if text.count("\n", at) else len(text)
        if places[nearest] <= line_end:
            parts += (text[position:at], text[at + 2 : places[nearest]])
            position = places[nearest] + 2
    return "".join((*parts, text[position:]))


def is_inside(places: Sequence[tuple[int, int]], at: int) -> bool:
    """Return whether a position is in one of these sorted, disjoint ranges."""
    before = bisect_left(places, (at, at)) - 1
    return before >= 0 and at < places[before][1]


class ListValue(NamedTuple):
    """One value of a list of values, and where it stands in its text."""

    text: str
    start: int
    end: int
    code: bool


def words(text: str, *, separators: str = ",;\n", code_alone: bool = True) -> list[ListValue]:
    """Parse the values of a list such as "`a.py`, b.py"; `none` and dashes are ignored.

    With `code_alone`, the words around a code span are a remark on it. A list in brackets, as in
    `[a.py, b.py]`, is its values.
    """
    if _CODES.fullmatch(text):
        return [ListValue(one[1], *one.span(), code=True) for one in _ONE_CODE.finditer(text)]
    found: list[ListValue] = []
    for group in _split(spans(text), separators):
        codes = [span for span in group if span.code]
        if (inner := _inside_brackets(group)) is not None:
            listed = words(inner.text, separators=separators, code_alone=code_alone)
            start = inner.start
            found.extend(
                one._replace(start=one.start + start, end=one.end + start) for one in listed
            )
            continue
        if codes and (code_alone or len(group) == 1):
            found.extend(ListValue(span.text, span.start, span.end, code=True) for span in codes)
            continue
        joined = "".join(span.text for span in group)
        if joined.strip().casefold() not in EMPTY_WORDS:
            lead = len(joined) - len(joined.lstrip())
            start = group[0].start + lead
            end = max(start + 1, group[-1].end - (len(joined) - len(joined.rstrip())))
            found.append(ListValue(joined.strip(), start, end, code=False))
    return found


def _split(parts: list[InlineSpan], separators: str) -> list[list[InlineSpan]]:
    """Split spans at separators; only text outside of code spans is split."""
    groups: list[list[InlineSpan]] = [[]]
    for span in parts:
        if span.code or span.end - span.start != len(span.text) or _is_bracketed(span):
            if span.text == "\n":
                groups.append([])
            else:
                groups[-1].append(span)
            continue
        begin = 0
        for match in re.finditer(f"[{separators}]", span.text):
            groups[-1].append(_cut(span, begin, match.start()))
            groups.append([])
            begin = match.end()
        groups[-1].append(_cut(span, begin, len(span.text)))
    return [
        kept for group in groups if (kept := [span for span in group if span.text or span.code])
    ]


def _is_bracketed(span: InlineSpan) -> bool:
    return not span.code and span.text.startswith(("[", "![")) and span.text.endswith("]")


def _inside_brackets(group: list[InlineSpan]) -> InlineSpan | None:
    """Return the content of a value in brackets; None for any other value and for `[x]`."""
    visible = [span for span in group if span.text.strip()]
    if len(visible) != 1 or not _is_bracketed(visible[0]) or not visible[0].text.startswith("["):
        return None
    span, text = visible[0], visible[0].text[1:-1]
    checkbox = text.strip() in {"x", "X", ""}
    return None if checkbox else InlineSpan(text, span.start + 1, span.end - 1, code=False)


def _cut(span: InlineSpan, start: int, end: int) -> InlineSpan:
    return InlineSpan(span.text[start:end], span.start + start, span.start + end, code=False)


def literal(text: str) -> str:
    """Return the content of the only code span, else the text as written."""
    parts = spans(text)
    codes = [span.text for span in parts if span.code]
    return codes[0] if len(codes) == 1 else text.strip()


_DASHES = regex(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_ESCAPED = regex(r"\\\|")


class TableCell(NamedTuple):
    """A cell as written, without blanks around it; columns count from 0."""

    raw: str
    start: int
    end: int

    @property
    def text(self) -> str:
        r"""The cell's content: `\|` is a pipe, in code spans too."""
        return _ESCAPED.sub("|", self.raw)


def cells(line: str) -> tuple[TableCell, ...]:
    """Return the cells of one row, without its outer pipes."""
    bounds = [-1]
    # A row is split before inline parsing: an unescaped pipe in a code span splits (GFM, 4.10
    # Tables).
    bounds += [at for at, sign in enumerate(line) if sign == "|" and line[at - 1 : at] != "\\"]
    bounds.append(len(line))
    found = [_cell(line, left + 1, right) for left, right in pairwise(bounds)]
    if len(found) > 1 and not line[: bounds[1]].strip():
        found = found[1:]
    if len(found) > 1 and not line[bounds[-2] + 1 :].strip():
        found = found[:-1]
    return tuple(found)


def _cell(line: str, left: int, right: int) -> TableCell:
    raw = line[left:right]
    if not raw.strip():
        at = min(left + 1, right)
        return TableCell("", at, at)
    start = left + len(raw) - len(raw.lstrip())
    return TableCell(raw.strip(), start, start + len(raw.strip()))


def is_dashes(line: str) -> bool:
    """Return whether a line separates a table's head from its body."""
    return "-" in line and bool(_DASHES.match(line))


_FENCE = regex(r" {0,3}(?P<mark>`{3,}|~{3,})")
# Git's conflict markers, seven characters by default (gitattributes(5), conflict-marker-size);
# `|||||||` is the base in diff3 style.
_CONFLICT = regex(r"(?:<{7}|>{7}|\|{7})(?: |$)|={7}$")


class TableRow(NamedTuple):
    """A row of the table; `line` counts from 0, `cells` by lower-case name of their column."""

    line: int
    cells: dict[str, TableCell]


class MarkdownTable(NamedTuple):
    """A table in its file."""

    lines: tuple[str, ...]
    columns: tuple[str, ...]
    """Column names in lower case; empty if there is no such table."""
    head: int
    """Line of the head row, or -1."""
    rows: tuple[TableRow, ...]
    end: int
    """Line after the last row."""
    conflicts: tuple[int, ...]
    """Lines with conflict markers; rows of both sides are read."""


def read_sheet(data: bytes, wanted: Sequence[str]) -> MarkdownTable:
    """Return the first table outside fences with all `wanted` columns (lower case)."""
    lines = tuple(text_of(data[body_start(data) :]).split("\n"))
    conflicts = tuple(at for at, line in enumerate(lines) if _CONFLICT.match(line))
    for at in _heads(lines):
        columns = tuple(plain(cell.text).casefold() for cell in cells(lines[at]))
        if set(wanted) <= set(columns):
            rows = tuple(_rows(lines, at + 2, columns, frozenset(conflicts)))
            end = rows[-1].line + 1 if rows else at + 2
            return MarkdownTable(lines, columns, at, rows, end, conflicts)
    return MarkdownTable(lines, (), -1, (), len(lines), conflicts)


def _heads(lines: Sequence[str]) -> Iterator[int]:
    """Yield the line numbers of table heads."""
    for at, (line, fenced) in enumerate(zip(lines, _find_fenced(lines), strict=True)):
        if not fenced and "|" in line and at + 1 < len(lines) and is_dashes(lines[at + 1]):
            yield at


def _find_fenced(lines: Sequence[str]) -> Iterator[bool]:
    """Yield for every line whether it belongs to a fenced block."""
    fence = ""
    for line in lines:
        match = _FENCE.match(line)
        # A line with an info string opens and never closes (CommonMark 0.31, 4.5).
        closes = match and match["mark"].startswith(fence) and not line[match.end() :].strip()
        yield bool(fence or match)
        if not fence and match:
            fence = match["mark"]
        elif closes:
            fence = ""


def ends_fenced(data: bytes) -> bool:
    """Return whether the file ends inside an open fence."""
    lines = text_of(data[body_start(data) :]).split("\n")
    return list(_find_fenced([*lines, "", "."]))[-1]


def _rows(
    lines: Sequence[str], start: int, columns: Sequence[str], conflicts: frozenset[int]
) -> Iterator[TableRow]:
    for at in range(start, len(lines)):
        if at in conflicts:
            continue
        # GFM would parse it as a row with one cell; a sentence below a table is not one.
        if "|" not in lines[at]:
            return
        # A row may have fewer cells than the head; extra cells are ignored (GFM, 4.10 Tables).
        yield TableRow(at, dict(zip(columns, cells(lines[at]), strict=False)))
