"""A Status value as people write it, and the characters that the runner puts in its place."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from runner.lazy_pattern import regex
from runner.model import Status

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


@lru_cache(maxsize=1024)
def read_status(value: str) -> tuple[Status, str] | None:
    """Status and note of a value such as `BLOCKED ❌ — no key`; None when it is none of the five.

    An empty value is PENDING. A mark that is no letter or digit may follow the word.
    """
    text = value.strip()
    if wrapped := _MARKUP.match(text):
        text = wrapped["in"] + text[wrapped.end() :]
    if not text:
        return Status.PENDING, ""
    match = _WORD.match(text)
    if match is None:
        return None
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
