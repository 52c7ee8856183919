"""Parse task ids: the headings that begin a task, and equivalent spellings."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from runner.lazy_pattern import regex
from runner.plan.status import read_status

_SEPARATOR = regex(r"\s*(?::|[\u2010-\u2015\u2212]|-(?=\s)|--+)\s*|\s+(?:-)\s*")
# Not before a dot and a digit: `Task 1.2` is a part of a task; it is reported (`nearly_named`) and
# never treated as TASK-001.
_STRONG = regex(
    r"(?P<word>TASK)[\s_-]*(?P<number>\d+)(?!\w|\.\d)|(?P<t>T)-?(?P<digits>\d+)(?!\w|\.\d)",
    re.IGNORECASE,
)
_WEAK = regex(r"(?P<word>[A-Z][A-Z0-9]*)-(?P<number>\d+)(?!\w)")
_WRAPPED = regex(
    r"^(?:\*\*|__|`|\[)+(?P<id>[^*_`\[\]]+?)(?P<colon>:?)(?:\*\*|__|`|\])+(?:\([^()]*\))?"
)
_NUMBERED = regex(r"(?P<number>\d{1,6})[.)]\s+(?P<title>\S.*)")
_BEFORE = regex(
    r"(?:\[[ xX]?\]|~~|\d+[.)](?=\s)|[-*+](?=\s)"
    r"|[\u2190-\u2bff\U0001f000-\U0001faff\ufe0f\u200d]+)\s*"
)
"""Text that people put before an ID: a box, a dash, a number, a symbol, a list mark."""
_IN_PARTS = regex(r"(?:TASK[\s_-]*|T-?)\d+(?:\.\d+)+(?!\w)\s*[:.)-]*\s*", re.IGNORECASE)
_STATUS_MARK = regex(
    r"(?<!\s)\s*+[(\[](?P<status>[A-Za-z][A-Za-z _-]*)[)\]]\s*$"
    r"|(?<!\s)\s*+[\u2705\u2611\u2714]\ufe0f?\s*$"
)
WAITS_FOR = (
    r"(?:depends on|depending on|dependent on|needs|requires|after|blocked by)"
    r":?\s+(?P<ids>[^\s()][^()]*?)"
)
"""Words of a sentence that states what a task waits for."""
_NEEDS_MARK = regex(rf"\({WAITS_FOR}\)", re.IGNORECASE)
_DIGITS = 3
LONGEST_TITLE = 500
"""Maximum characters of a title that are shown in commits, statuses and reports."""


class TaskHeading(NamedTuple):
    """What a heading says: the task's id, its title, and whether the id alone makes it a task."""

    id: str
    title: str
    certain: bool
    """False for `LETTERS-digits`: a task only when a Status item follows; and for `1. Title`, which
    is a chapter unless a list of fields follows."""
    separated: bool
    """Whether a separator is between ID and title."""


@lru_cache(maxsize=64)  # a heading is asked about several times in a row
def heading_of(text: str, prefixes: tuple[str, ...] = ()) -> TaskHeading | None:
    """Parse the task at the start of a heading; return None if there is none.

    `text` is the heading's Markdown. `prefixes` are words that the settings allow before a number.
    """
    plain = _WRAPPED.sub(lambda match: match["id"] + match["colon"] + " ", text, count=1)
    named = _leading_id(plain, prefixes)
    if named is None:
        numbered = _NUMBERED.match(plain)
        inner = numbered and heading_of(numbered["title"], prefixes)
        if inner and inner.certain and inner.separated:
            return inner
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


def nearly_named(text: str, prefixes: tuple[str, ...] = ()) -> str:
    """Return the correct start of a heading that is almost a task's; else empty.

    `[ ] TASK-003: UI`, `~~TASK-003: UI~~`, a symbol before the id, and `Task 1.2: UI`.
    """
    bare = text
    while match := _BEFORE.match(bare):
        bare = bare[match.end() :]
    if parts := _IN_PARTS.match(bare):
        return f"TASK-001: {bare[parts.end() :] or 'Title'}, with an unused number"
    heading = heading_of(bare.replace("~~", ""), prefixes) if bare != text else None
    if heading is None or not (heading.certain and heading.separated):
        return ""
    return f"{heading.id}: {heading.title}"


class TitleMarks(NamedTuple):
    """Extra marks in a title, which nothing else reads."""

    status: str = ""
    """Status in the title, as written in a field: of `Add words [done]`, `Add words ✅`."""
    needs: tuple[str, ...] = ()
    """IDs in `Add words (depends on TASK-001)`."""


def title_marks(title: str) -> TitleMarks:
    """Return the status and dependencies written in a title."""
    if not title or (title[-1] not in ")]" and title.isascii()):
        return TitleMarks()
    named = _NEEDS_MARK.search(title)
    marked = _STATUS_MARK.search(title)
    status = read_status(marked["status"] or "DONE") if marked else None
    needs = ids_of_sentence(named["ids"]) if named else ()
    return TitleMarks(status[0].value if status else "", needs)


def ids_of_sentence(text: str) -> tuple[str, ...]:
    """Return the IDs in `TASK-001, TASK-002 and TASK-003`; empty if one part is not an ID."""
    ids = [
        task_id(one)
        for one in re.split(r"(?:(?<!\s)\s+)?(?:,|;|&|\band\b)\s*", text.strip(" .`*_"))
    ]
    return tuple(filter(None, ids)) if all(ids) else ()


def task_id(text: str, prefixes: tuple[str, ...] = ()) -> str | None:
    """Return the canonical ID in `text` (`Task 2` is TASK-002), or None."""
    named = _leading_id(text.strip(), prefixes)
    if named is None:
        return None
    rest = text.strip()[named[1] :]
    return named[0] if not rest or re.match(r"\s*[(:\u2010-\u2015\u2212]|\s+-", rest) else None


def _leading_id(text: str, prefixes: tuple[str, ...]) -> tuple[str, int, bool] | None:
    """Return id, its end, and whether it is certainly an id; None if there is none."""
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
