"""A Status value as people write it, and the characters that the runner puts in its place."""

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
# A pipe in a table's cell as in a list: a backslash before it would be read in the one and seen
# in the other (CommonMark 0.31, 2.5; GFM, 4.10).
_PIPE = "&#124;"
ODD_VALUE = regex(rb"\||<!--|\\\Z|\A\s|\s\Z|\A\Z")
"""A value that may be more than the characters of a status: a cell, a comment, a line break."""


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
        """The same span when bytes before it were added or taken away."""
        if not distance:
            return self
        return StatusSpan(self.start + distance, self.end + distance, self.before, self.after)


class StatusSpans(Sequence[StatusSpan]):
    """Many spans, held as numbers: there is one for each task, of each text that is remembered."""

    __slots__ = ("_around", "_bounds")

    def __init__(self, spans: Iterable[StatusSpan] = ()) -> None:
        self._bounds = array("I")  # 4 bytes each: a plan of 4 GB is none
        self._around: dict[int, tuple[str, str]] = {}
        """What is written around a value, of those few that have none yet."""
        self.extend(spans)

    def extend(self, spans: Iterable[StatusSpan]) -> None:
        """Put more of them behind those that are there."""
        for start, end, before, after in spans:
            if before or after:
                self._around[len(self)] = (before, after)
            self._bounds.extend((start, end))

    def shift_behind(self, written: Mapping[int, tuple[int, StatusSpan]]) -> StatusSpans:
        """The spans behind an edit, by number where a value is now and how much longer it became.

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
    """Where the status of each task stands in a text; the names are one for all its edits."""

    __slots__ = ("_numbers", "spans")

    def __init__(self, numbers: Mapping[str, int], spans: StatusSpans) -> None:
        self._numbers = numbers
        self.spans = spans

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, StatusSpan]]) -> SpansByTask:
        """The same from pairs; of two tasks with one id, the first."""
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
        """The place of a task among the spans. Raises KeyError."""
        return self._numbers[id_]

    def shift_behind(self, written: Mapping[int, tuple[int, StatusSpan]]) -> SpansByTask:
        """The same behind an edit, as `StatusSpans.shift_behind` has it."""
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
    """Status and note of a value such as `BLOCKED ❌ — no key`; None when it is none of the five.

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
    """The text without the symbols it begins with, such as ` ✅`."""
    index = 0
    while (
        index < len(text)
        and not text[index].isalnum()
        and text[index] not in "—\u2013\u2212-()[]{}:,;/\\'\"`*_<&"
    ):
        index += 1
    return text[index:].strip()


def write_status(status: Status, note: str) -> str:
    """The characters of a value; read back they give `status` and `one_line(note)`."""
    folded = one_line(note)
    return f"{status.value} — {escape(folded)}" if folded else status.value


def one_line(note: str) -> str:
    """A note as it can stand in the file: one line that no Markdown block can begin or end in."""
    folded = " ".join(_CONTROL.sub(" ", note).split())
    # A comment at a value's end, and a backslash at its line's end, are no part of it when it is
    # read back (`fields`): with them this would come back as another note.
    return folded.replace("<!--", "<! --").replace(_PIPE, "|").rstrip("\\ ")


def escape(text: str) -> str:
    r"""Text that cannot make a table of the line it stands in, nor a cell of its own.

    A backslash would not do: `- Status: a \| b` above `---` is a table of one column.
    """
    return text.replace("|", _PIPE)
