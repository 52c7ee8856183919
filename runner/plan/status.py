"""Parse Status values as people write them, and write the runner's symbols."""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, overload

from runner.lazy_pattern import regex
from runner.model import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_EVERYDAY = {
    **dict.fromkeys(("TODO", "OPEN", "NOTSTARTED", "READY"), Status.PENDING),
    **dict.fromkeys(("WIP", "DOING"), Status.IN_PROGRESS),
    **dict.fromkeys(("CLOSED", "COMPLETE", "COMPLETED"), Status.DONE),
}
"""Words that people write for a status; the runner writes its own."""
_WORD = regex(
    r"(?P<word>PENDING|IN[\s_-]*PROGRESS|DONE|BLOCKED|STALE|TO[\s_-]?DO|OPEN|NOT[\s_-]STARTED|READY"
    r"|WIP|DOING|CLOSED|COMPLETED?)(?!\w)",
    re.IGNORECASE,
)
_DASH = regex(r"\s*(?:—|\u2013|\u2212|--?)\s*")
_MARKUP = regex(r"^(\*\*|__|\*|_|`|~~)(?=\S)(?P<in>.+?)\1")
_CONTROL = regex("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff]+")
# Escapes a pipe in a table cell and in a list: a backslash before it would be parsed in one and
# visible in the other (CommonMark 0.31, 2.5; GFM, 4.10).
_PIPE = "&#124;"
ODD_VALUE = regex(rb"\||<!--|\\\Z|\A\s|\s\Z|\A\Z")
"""A value that may be more than a status: a cell, a comment, a line break."""


class StatusSpan(NamedTuple):
    """The bytes of a Status value, or the place where a missing one goes.

    `before` and `after` are written around an inserted value, their LF as the file's own line end;
    both are empty when a value is replaced.
    """

    start: int
    end: int
    before: str = ""
    after: str = ""

    def move(self, distance: int) -> StatusSpan:
        """Return the span moved by `distance` bytes."""
        if not distance:
            return self
        return StatusSpan(self.start + distance, self.end + distance, self.before, self.after)


class StatusSpans(Sequence[StatusSpan]):
    """Many spans, held as numbers: there is one for each task, of each text that is remembered."""

    __slots__ = ("_around", "_bounds")

    def __init__(self, spans: Iterable[StatusSpan] = ()) -> None:
        self._bounds = array("I")  # 4 bytes each: a plan of 4 GB is none
        self._around: dict[int, tuple[str, str]] = {}
        """Text around the few values that are not in the file yet."""
        self.extend(spans)

    def extend(self, spans: Iterable[StatusSpan]) -> None:
        """Append spans."""
        for start, end, before, after in spans:
            if before or after:
                self._around[len(self)] = (before, after)
            self._bounds.extend((start, end))

    def shift_behind(self, written: Mapping[int, tuple[int, StatusSpan]]) -> StatusSpans:
        """Return the spans after an edit; `written` has each new span and its growth by number.

        All must be in the order of the file.
        """
        made, shift, done = StatusSpans(), 0, 0
        for number in sorted(written):
            grown, span = written[number]
            made._bounds.extend(at + shift for at in self._bounds[2 * done : 2 * number])
            made._bounds.extend((span.start, span.end))
            shift, done = shift + grown, number + 1
        made._bounds.extend(at + shift for at in self._bounds[2 * done :])
        made._around = {at: text for at, text in self._around.items() if at not in written}
        return made

    @property
    def is_sorted(self) -> bool:
        """Whether they are in the order of the file."""
        return all(one <= other for one, other in pairwise(self._bounds[::2]))

    def __len__(self) -> int:
        return len(self._bounds) // 2

    @overload
    def __getitem__(self, index: int) -> StatusSpan: ...
    @overload
    def __getitem__(self, index: slice) -> StatusSpans: ...
    def __getitem__(self, index: int | slice) -> StatusSpan | StatusSpans:
        if isinstance(index, slice):
            return StatusSpans(self[number] for number in range(len(self))[index])
        number = range(len(self))[index]
        around = self._around.get(number, ("", ""))
        return StatusSpan(self._bounds[2 * number], self._bounds[2 * number + 1], *around)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


class SpansByTask(Mapping[str, StatusSpan]):
    """The position of each task's status in a text; the names are the same for all edits."""

    __slots__ = ("_numbers", "spans")

    def __init__(self, numbers: Mapping[str, int], spans: StatusSpans) -> None:
        self._numbers = numbers
        self.spans = spans

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, StatusSpan]]) -> SpansByTask:
        """Build the mapping from pairs; the first of two spans with one ID wins."""
        numbers: dict[str, int] = {}
        spans = StatusSpans()
        for id_, span in pairs:
            if numbers.setdefault(id_, len(spans)) == len(spans):
                spans.extend((span,))
        if spans.is_sorted:
            return cls(numbers, spans)
        ordered = sorted(numbers, key=lambda id_: spans[numbers[id_]].start)
        return cls.of((id_, spans[numbers[id_]]) for id_ in ordered)

    def number(self, id_: str) -> int:
        """Return the index of a task's span. Raises KeyError."""
        return self._numbers[id_]

    def shift_behind(self, written: Mapping[int, tuple[int, StatusSpan]]) -> SpansByTask:
        """Return the mapping after an edit; see `StatusSpans.shift_behind`."""
        return SpansByTask(self._numbers, self.spans.shift_behind(written))

    def __getitem__(self, id_: str) -> StatusSpan:
        return self.spans[self._numbers[id_]]

    def __contains__(self, id_: object) -> bool:
        return id_ in self._numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


@lru_cache(maxsize=1024)
def read_status(value: str) -> tuple[Status, str] | None:
    """Parse a value such as `BLOCKED ❌ — no key` to status and note; None if it is no status.

    An empty value is PENDING. A symbol such as ✅ may stand before the word or follow it.
    """
    text = value.strip()
    if wrapped := _MARKUP.match(text):
        text = wrapped["in"] + text[wrapped.end() :]
    if not text:
        return Status.PENDING, ""
    match = _WORD.match(text)
    if match is None:
        bare = _without_emoji(text)
        return read_status(bare) if bare and bare != text else None
    word = re.sub(r"[\s_-]+", "", match["word"].upper())
    status = _EVERYDAY.get(word) or Status(word.replace("INP", "IN-P"))
    rest = _without_emoji(text[match.end() :])
    if not rest:
        return status, ""
    dash = _DASH.match(rest)
    return (
        (status, rest[dash.end() :].replace("\\|", "|").replace(_PIPE, "|").strip())
        if dash
        else None
    )


def _without_emoji(text: str) -> str:
    """Return the text without leading symbols, such as ` ✅`."""
    index = 0
    while (
        index < len(text)
        and not text[index].isalnum()
        and text[index] not in "—\u2013\u2212-()[]{}:,;/\\'\"`*_<&"
    ):
        index += 1
    return text[index:].strip()


def write_status(status: Status, note: str) -> str:
    """Format a status and a note as a field value."""
    folded = one_line(note)
    return f"{status.value} — {escape(folded)}" if folded else status.value


def one_line(note: str) -> str:
    """Return a note on one line that cannot start or end a Markdown block."""
    folded = " ".join(_CONTROL.sub(" ", note).split())
    # A trailing comment and a trailing backslash are not part of the value when read back
    # (`fields`): with them the note would change.
    return folded.replace("<!--", "<! --").replace(_PIPE, "|").rstrip("\\ ")


def escape(text: str) -> str:
    r"""Escape `|` as a character reference, so that text cannot form a Markdown table.

    A backslash would not do: `- Status: a \| b` above `---` is a table of one column.
    """
    return text.replace("|", _PIPE)
