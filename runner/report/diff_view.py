"""Format a change for review: a unified diff in which no character can hide.

What cannot be seen is spelled out, secrets are blotted out, and a byte that is no text does not
turn the rest into "binary". With colour the new lines are highlighted by their language and the
words that changed within a line stand out.

Patience matching (B. Cohen, 2004) finds the hunks: lines that stand once in both texts are anchors,
and the gaps between them are matched the same way. A gap without anchors is given to difflib when
it is small; a large one counts as replaced whole, because difflib is quadratic in repeated lines.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from msgspec import Struct

from runner.model import Action
from runner.secrets.find import blots
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.model import Change

    Lines: TypeAlias = Sequence[str]

_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_TEXTUAL = bytes([*b"\t\n\r\f\x1b", *range(0x20, 0x7F), *range(0x80, 0x100)])
_BINARY_SHARE = 20
"""One unusual byte in this many marks a binary; fewer are shown as text."""
_IN_LINE = re.compile(rb"[^\r\n]+")
_WORDS = re.compile(r"\w+|\s+|.")
_MOST_WORDS = 400
_MOST_PAIRS = 500
_ALIKE = 0.4
"""Minimum similarity of two lines; below it they are marked as a whole."""

_RED, _GREEN, _CYAN, _BOLD, _REVERSE, _END = (
    f"\x1b[{code}m" for code in ("31", "32", "36", "1", "7", "0")
)
_SIGNS = {"-": f"{_RED}-{_END}", "+": f"{_GREEN}{_BOLD}+{_END}"}


class DiffSide(Struct, frozen=True):
    """One version of a file: its lines for comparing, and the same lines as they are shown."""

    lines: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    ends_open: bool = False
    """Whether the last line lacks a line end."""
    binary: bool = False


def diff_text(before: bytes | None, change: Change, *, colour: bool, width: int) -> str:
    """Return the change as a unified diff without a final line end.

    `before` are the file's bytes as they are, None where there is none. Of control characters
    only newline and tab are in the result, and with `colour` our own SGR sequences. `width` is
    the terminal's, for the line above the diff; 0 draws none.
    """
    lines = [*_heading(before, change), *_body(before, change, colour=colour)]
    if not colour:
        return "\n".join(line.text for line in lines)
    rule = ["─" * width] if width else []
    return "\n".join([*rule, *map(_paint, lines)])


class _Line(NamedTuple):
    """A line of the diff; `sign` is empty for a note."""

    sign: str
    text: str
    ready: bool = False
    """Whether it already contains its colours."""


def _paint(line: _Line) -> str:
    if line.ready:
        return line.text
    colours = {"-": _RED, "+": _GREEN, "@": _CYAN, "h": _BOLD}
    start = colours.get(line.sign, "")
    return f"{start}{line.text}{_END}" if start else line.text


def _heading(before: bytes | None, change: Change) -> Iterator[_Line]:
    path = display(redact(change.path))
    yield from (_Line("h", note) for note in _notes(before, change))
    yield _Line("h", f"--- {'/dev/null' if before is None else f'a/{path}'}")
    yield _Line("h", f"+++ {'/dev/null' if change.content is None else f'b/{path}'}")


def _notes(before: bytes | None, change: Change) -> Iterator[str]:
    match change.action:
        case Action.CREATE:
            yield f"new file mode {change.mode:06o}"
        case Action.DELETE:
            yield "deleted file"
        case Action.MODIFY if before == change.content:
            yield f"content unchanged; new mode {change.mode:06o}"
        case Action.MODIFY if change.mode & 0o111:
            yield f"executable, mode {change.mode:06o}"
    for content, when in ((before, "before"), (change.content, "now")):
        if content == b"":
            yield f"the file is empty {when}"
        elif content is not None and content[:2] in _MARKS:
            yield f"the file is UTF-16 {when}"
    if _crlf(before) or _crlf(change.content):
        ends = ("CR LF" if _crlf(content) else "LF" for content in (before, change.content))
        old, new = ends
        gone = before is None or change.content is None or old == new
        yield "lines end with CR LF" if gone else f"lines ended with {old}, now with {new}"


def _crlf(content: bytes | None) -> bool:
    """Return whether every line ends with CR LF, so that CR is not a change."""
    lines = content.count(b"\n") if content else 0
    return bool(content) and lines > 0 and (content or b"").count(b"\r\n") == lines


def _body(before: bytes | None, change: Change, *, colour: bool) -> Iterator[_Line]:
    old, new = side_of(before), side_of(change.content)
    if old.binary or new.binary:
        yield _Line("", f"binary: {_size(before)} before, {_size(change.content)} now")
        if new.binary or not new.lines:
            return
        old = DiffSide()
    ink = _Ink(change.path, old, new, colour=colour)
    for hunk in hunks(stretches(old.lines, new.lines)):
        yield _Line("@", _where(hunk))
        for stretch in hunk:
            yield from ink.lines(stretch)


def _size(content: bytes | None) -> str:
    return "nothing" if content is None else f"{len(content)} bytes"


def _where(hunk: Sequence[LineMatch]) -> str:
    first, last = hunk[0], hunk[-1]
    old = _range(first.i1, last.i2)
    return f"@@ -{old} +{_range(first.j1, last.j2)} @@"


def _range(start: int, end: int) -> str:
    """Return a range as POSIX's diff -u does: an empty range names the line before it."""
    size = end - start
    begin = start + 1 if size else start
    return str(begin) if size == 1 else f"{begin},{size}"


def side_of(content: bytes | None) -> DiffSide:
    """Return one version of a file with its secrets redacted."""
    if not content:
        return DiffSide()
    encoding = _MARKS.get(content[:2])
    if encoding:
        content = content[2:].decode(encoding, "replace").encode("utf-8", "replace")
        if not content:  # the mark alone
            return DiffSide()
    if len(content.translate(None, _TEXTUAL)) * _BINARY_SHARE > len(content):
        return DiffSide(binary=True)
    ending = "\r" if _crlf(content) else ""
    lines = _split(content)
    shown = tuple(
        display(line.removesuffix(ending), lines=True) for line in _split(_mask_secrets(content))
    )
    open_end = not content.endswith(b"\n")
    if open_end:  # it differs from the same line with an end
        lines = (*lines[:-1], lines[-1] + "\n")
    return DiffSide(lines, shown, open_end)


def _split(content: bytes) -> tuple[str, ...]:
    lines = content.decode("utf-8", "backslashreplace").split("\n")
    return tuple(lines if lines[-1] else lines[:-1])


def _mask_secrets(content: bytes) -> bytes:
    """Redact secrets in `content`, separately on every line that they touch."""
    pieces: list[bytes] = []
    done = 0
    for start, end, name in blots(content, ()):
        mark = f"[REDACTED:{name}]".encode()
        pieces += [content[done:start], _IN_LINE.sub(mark, content[start:end])]
        done = end
    return b"".join((*pieces, content[done:]))


class _Ink:
    """The lines of a stretch, plain or coloured; the new text is highlighted once."""

    def __init__(self, path: str, old: DiffSide, new: DiffSide, *, colour: bool) -> None:
        self._old, self._new = old, new
        self._colour = colour
        self._pairs = _MOST_PAIRS
        self._highlighted = highlight(new.shown, path) if colour else None

    def lines(self, stretch: LineMatch) -> Iterator[_Line]:
        """Yield the lines of a section with diff signs."""
        olds, news = range(stretch.i1, stretch.i2), range(stretch.j1, stretch.j2)
        if stretch.kind == "equal":
            yield from self._sign_lines(" ", self._new, news, self._style_lines(news))
            return
        left, right = self._words(olds, news) if self._colour else ({}, {})
        yield from self._sign_lines("-", self._old, olds, left)
        yield from self._sign_lines("+", self._new, news, {**self._style_lines(news), **right})

    def _sign_lines(
        self, sign: str, side: DiffSide, places: range, ready: dict[int, str]
    ) -> Iterator[_Line]:
        """Yield the lines of one side; `ready` has those already coloured."""
        if ready:
            before = _SIGNS.get(sign, sign)
            for place in places:
                if place in ready:
                    yield _Line(sign, before + ready[place], ready=True)
                else:
                    yield _Line(sign, sign + side.shown[place])
        else:
            yield from [_Line(sign, sign + text) for text in side.shown[places.start : places.stop]]
        if side.ends_open and places and places.stop == len(side.shown):
            yield _Line("", "\\ No newline at end of file")

    def _style_lines(self, places: range) -> dict[int, str]:
        """Return the highlighted lines among these places."""
        return {place: self._highlighted[place] for place in places} if self._highlighted else {}

    def _words(self, olds: range, news: range) -> tuple[dict[int, str], dict[int, str]]:
        """Return pairs of changed lines with the changed words in reverse video."""
        left: dict[int, str] = {}
        right: dict[int, str] = {}
        for i, j in zip(olds, news, strict=False):
            if self._pairs <= 0:
                break
            self._pairs -= 1
            pair = _emphasise(self._old.shown[i], self._new.shown[j])
            if pair is not None:
                left[i], right[j] = pair
        return left, right


Pieces: TypeAlias = "tuple[tuple[str, bool], ...]"
"""A line split at changed words; whether each piece was changed."""


def mark_changed_words(old: str, new: str) -> tuple[Pieces, Pieces] | None:
    """Return both lines with differing words marked; None if they are too different."""
    olds, news = _WORDS.findall(old), _WORDS.findall(new)
    if not olds or not news or max(len(olds), len(news)) > _MOST_WORDS:
        return None

    matcher = SequenceMatcher(None, olds, news, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return None
    left, right = [], []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        changed = tag != "equal"
        left.append(("".join(olds[i1:i2]), changed))
        right.append(("".join(news[j1:j2]), changed))
    return tuple(left), tuple(right)


def _emphasise(old: str, new: str) -> tuple[str, str] | None:
    pair = mark_changed_words(old, new)
    if pair is None:
        return None
    left, right = pair
    return (
        "".join(_run(text, _RED, changed=changed) for text, changed in left),
        "".join(_run(text, _GREEN, changed=changed) for text, changed in right),
    )


def _run(text: str, colour: str, *, changed: bool) -> str:
    return f"{colour}{_REVERSE if changed else ''}{text}{_END}" if text else ""


_MOST = 256 << 10
"""Bytes above which nothing is highlighted: it would take seconds."""
_LONGEST_LINE = 2000


def highlight(lines: Sequence[str], path: str) -> list[str] | None:
    """Return the lines with syntax colours; None if there are none to show.

    What the lexer returns is used only when it is the very text that was given, so that no line
    can be shown as another.
    """
    text = "\n".join(lines)
    if not lines or len(text) > _MOST or max(map(len, lines)) > _LONGEST_LINE:
        return None
    from rich.color import ColorSystem
    from rich.console import Console
    from rich.syntax import Syntax

    lexer = Syntax.guess_lexer(path)
    if lexer in {"default", "text"}:
        return None
    console = Console(color_system="standard", force_terminal=True)
    painted = Syntax("", lexer, theme="ansi_dark", background_color="default").highlight(text)
    styled = painted.split("\n", allow_blank=True)[: len(lines)]
    if [line.plain for line in styled] != list(lines):
        return None
    return [
        "".join(
            piece.style.render(piece.text, color_system=ColorSystem.STANDARD)
            if piece.style
            else piece.text
            for piece in line.render(console)
        )
        for line in styled
    ]


_SMALL = 20_000
"""Maximum pairs of equal lines in a gap for difflib."""
_DEEPEST = 32
"""Maximum splits of a gap at anchors; lines becoming unique one by one would never end."""
_CONTEXT = 3

Kind: TypeAlias = Literal["equal", "replace"]


class LineMatch(NamedTuple):
    """Lines `i1:i2` of the old text against `j1:j2` of the new one; either may be empty."""

    kind: Kind
    i1: int
    i2: int
    j1: int
    j2: int


class _Gap(NamedTuple):
    i1: int
    i2: int
    j1: int
    j2: int
    depth: int = 0


def stretches(old: Lines, new: Lines) -> list[LineMatch]:
    """Return alternating equal and replaced sections of both texts."""
    found: list[LineMatch] = []
    i = j = 0
    for first, second, size in _blocks(old, new):
        if i < first or j < second:
            found.append(LineMatch("replace", i, first, j, second))
        if size:
            found.append(LineMatch("equal", first, first + size, second, second + size))
        i, j = first + size, second + size
    return found


def hunks(found: Sequence[LineMatch], context: int = _CONTEXT) -> Iterator[list[LineMatch]]:
    """Yield the changes as hunks with `context` equal lines around them."""
    hunk: list[LineMatch] = []
    for place, one in enumerate(found):
        if one.kind == "replace":
            hunk.append(one)
            continue
        size = one.i2 - one.i1
        last = place == len(found) - 1
        if hunk and not last and size <= 2 * context:
            hunk.append(one)
            continue
        if hunk:
            i2, j2 = min(one.i2, one.i1 + context), min(one.j2, one.j1 + context)
            yield [*hunk, one._replace(i2=i2, j2=j2)]
        i1, j1 = max(one.i1, one.i2 - context), max(one.j1, one.j2 - context)
        hunk = [] if last else [one._replace(i1=i1, j1=j1)]
    if any(one.kind == "replace" for one in hunk):
        yield hunk


def _blocks(old: Lines, new: Lines) -> Iterator[tuple[int, int, int]]:
    """Yield merged blocks of equal lines in order, then an empty one at the end."""
    i = j = size = 0
    for first, second in sorted(_pairs(old, new)):
        if size and first == i + size and second == j + size:
            size += 1
            continue
        if size:
            yield i, j, size
        i, j, size = first, second, 1
    if size:
        yield i, j, size
    yield len(old), len(new), 0


def _pairs(old: Lines, new: Lines) -> Iterator[tuple[int, int]]:
    """Yield every unchanged old line with its new line."""
    gaps = [_Gap(0, len(old), 0, len(new))]
    while gaps:
        gap = gaps.pop()
        head, tail = _ends(old, new, gap)
        yield from ((gap.i1 + n, gap.j1 + n) for n in range(head))
        yield from ((gap.i2 - 1 - n, gap.j2 - 1 - n) for n in range(tail))
        inner = gap._replace(i1=gap.i1 + head, i2=gap.i2 - tail, j1=gap.j1 + head, j2=gap.j2 - tail)
        if inner.i1 == inner.i2 or inner.j1 == inner.j2:
            continue
        anchors = _anchors(old, new, inner) if gap.depth < _DEEPEST else []
        if anchors:
            gaps += _between(inner, anchors)
        else:
            yield from _by_difflib(old, new, inner)


def _ends(old: Lines, new: Lines, gap: _Gap) -> tuple[int, int]:
    """Return the number of equal lines at the start and the end of a gap."""
    most = min(gap.i2 - gap.i1, gap.j2 - gap.j1)
    head = 0
    while head < most and old[gap.i1 + head] == new[gap.j1 + head]:
        head += 1
    tail = 0
    while tail < most - head and old[gap.i2 - 1 - tail] == new[gap.j2 - 1 - tail]:
        tail += 1
    return head, tail


def _anchors(old: Lines, new: Lines, gap: _Gap) -> list[tuple[int, int]]:
    """Return the longest ascending series of lines that are unique in both halves of a gap."""
    olds, news = Counter(old[gap.i1 : gap.i2]), Counter(new[gap.j1 : gap.j2])
    where = {new[j]: j for j in range(gap.j1, gap.j2) if news[new[j]] == 1}
    pairs = [
        (i, where[old[i]]) for i in range(gap.i1, gap.i2) if olds[old[i]] == 1 and old[i] in where
    ]
    return _ascending(pairs)


def _ascending(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest subsequence with ascending second numbers (patience sorting)."""
    tops: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for place, (_, second) in enumerate(pairs):
        pile = bisect_left(tops, second)
        tops[pile : pile + 1] = [second]
        ends[pile : pile + 1] = [place]
        before.append(ends[pile - 1] if pile else -1)
    chosen: list[tuple[int, int]] = []
    place = ends[-1] if ends else -1
    while place >= 0:
        chosen.append(pairs[place])
        place = before[place]
    return chosen[::-1]


def _between(gap: _Gap, anchors: list[tuple[int, int]]) -> Iterator[_Gap]:
    """Yield the parts of a gap between its anchors, each starting at an anchor."""
    i, j = gap.i1, gap.j1
    for first, second in (*anchors, (gap.i2, gap.j2)):
        if (i, j) != (first, second):
            yield _Gap(i, first, j, second, gap.depth + 1)
        i, j = first, second


def _by_difflib(old: Lines, new: Lines, gap: _Gap) -> Iterator[tuple[int, int]]:
    olds, news = old[gap.i1 : gap.i2], new[gap.j1 : gap.j2]
    counts = Counter(news)
    if sum(counts[line] for line in olds) > _SMALL:
        return

    for i, j, size in SequenceMatcher(None, olds, news, autojunk=False).get_matching_blocks():
        yield from ((gap.i1 + i + n, gap.j1 + j + n) for n in range(size))
