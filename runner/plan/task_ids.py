"""The names of tasks: which headings begin one, and which spellings mean the same."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_SEPARATOR = re.compile(r"\s*(?::|[\u2010-\u2015\u2212]|-(?=\s)|--+)\s*|\s+(?:-)\s*")
_STRONG = re.compile(
    r"(?P<word>TASK)[\s_-]*(?P<number>\d+)(?![\w])|(?P<t>T)-?(?P<digits>\d+)(?!\w)", re.IGNORECASE
)
_WEAK = re.compile(r"(?P<word>[A-Z][A-Z0-9]*)-(?P<number>\d+)(?!\w)")
_WRAPPED = re.compile(
    r"^(?:\*\*|__|`|\[)+(?P<id>[^*_`\[\]]+?)(?P<colon>:?)(?:\*\*|__|`|\])+(?:\([^()]*\))?"
)
_NUMBERED = re.compile(r"(?P<number>\d{1,6})[.)]\s+(?P<title>\S.*)")
_DIGITS = 3
LONGEST_TITLE = 500
"""Characters of a title that are shown, and stand in commits, statuses and reports."""


class TaskHeading(NamedTuple):
    """What a heading says: the task's id, its title, and whether the id alone makes it a task."""

    id: str
    title: str
    certain: bool
    """False for `LETTERS-digits`: a task only when a Status item follows; and for `1. Title`, which
    is a chapter unless a list of fields follows."""
    separated: bool
    """Whether a separator stands between id and title."""


@lru_cache(maxsize=64)  # a heading is asked about several times in a row
def heading_of(text: str, prefixes: tuple[str, ...] = ()) -> TaskHeading | None:
    """The task a heading names at its beginning, or None.

    `text` is the heading's Markdown. `prefixes` are words that the settings allow before a number.
    """
    plain = _WRAPPED.sub(lambda match: match["id"] + match["colon"] + " ", text, count=1)
    named = _leading_id(plain, prefixes)
    if named is None:
        numbered = _NUMBERED.match(plain)
        return numbered and _make_numbered(numbered)
    task_id, end, certain = named
    rest = plain[end:]
    separator = _SEPARATOR.match(rest)
    title = rest[separator.end() :] if separator else rest
    unwrapped = plain != text and text.startswith("[")
    return TaskHeading(
        task_id, title.strip(), certain, bool(separator) or unwrapped or not title.strip()
    )


def _make_numbered(match: re.Match[str]) -> TaskHeading:
    id_ = f"TASK-{match['number'].zfill(_DIGITS)}"
    return TaskHeading(id_, match["title"].strip(), certain=False, separated=True)


def task_id(text: str, prefixes: tuple[str, ...] = ()) -> str | None:
    """The id that `text` spells, as it is written everywhere (`Task 2` is TASK-002), or None."""
    named = _leading_id(text.strip(), prefixes)
    if named is None:
        return None
    rest = text.strip()[named[1] :]
    return named[0] if not rest or re.match(r"\s*[(:\u2010-\u2015\u2212]|\s+-", rest) else None


def _leading_id(text: str, prefixes: tuple[str, ...]) -> tuple[str, int, bool] | None:
    """Id, where it ends, and whether it is one whatever follows."""
    if match := _STRONG.match(text):
        if match["word"]:
            return f"TASK-{match['number'].zfill(_DIGITS)}", match.end(), True
        return f"T{match['digits'].zfill(_DIGITS)}", match.end(), True
    for prefix in prefixes:
        word = prefix.rstrip("-_ ")
        if match := re.match(rf"{re.escape(word)}[\s_-]*(\d+)(?!\w)", text, re.IGNORECASE):
            return f"{word}-{match[1]}", match.end(), True
    if match := _WEAK.match(text):
        return match[0], match.end(), False
    return None
