"""Format the bridge's comments; foreign text is quoted as code, so that nothing in it acts.

In a code span or a fence no mention rings, no `Closes #7` closes and no image is fetched. All of
it is redacted. The last line is a marker with what the bridge has to know again.
"""

from __future__ import annotations

import json
import re
import unicodedata
from difflib import unified_diff
from typing import TYPE_CHECKING, NamedTuple

from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import read_number

if TYPE_CHECKING:
    from collections.abc import Sequence

MARK = "<!-- runner-bridge:1 "
MOST = 65_000
"""Characters of a comment or a pull request; GitHub's limit is 65,536."""
_END = " -->"
_LONGEST_FENCE = 30_000
_LONGEST_LINE = 300
_LONGEST_HISTORY = 12
_MOST_COMPARED, _MOST_CHANGED, _LONGEST_CHANGED, _LONGEST_DIFFERENCE = 2000, 200, 400, 12_000
"""Limits of compared lines, shown lines, characters of a line, and characters in total."""
_TICKS = re.compile(r"`+")
_CUT = "… cut here"
_FENCE = re.compile(r"`{3,}")
_OTHERS = re.compile(r"[^a-z0-9]+")
_LONGEST_WORDS = 40
_BRANCH = re.compile(r"runner/([1-9][0-9]{0,17})(?:-[a-z0-9]+)*")
_FREE_TEXT = ("handed", "answer", "history")
"""Memory fields with text from others."""
_LONGEST_VALUE = 4000
# Forms that close an issue after a keyword (docs.github.com, "Autolinked references and URLs"):
# `#7`, `acme/shop#7`, `GH-7`, an address.
_ACTS = re.compile(r"[@#]|(?<=\bGH)-(?=\d)|(?<=:)//", re.IGNORECASE)
_NAMES = re.compile(r"^#+ .*(?:@\w|#\d|\bGH-\d|://).*", re.MULTILINE | re.IGNORECASE)


class Memory(NamedTuple):
    """The data in the marker of an issue's one comment."""

    seen: int = 0
    """Newest comment that was processed."""
    reviewed: int = 0
    """Newest review of the pull request that was processed."""
    moved: int = 0
    """Newest manually added label that was processed."""
    label: int = 0
    """Event that requested the build."""
    by: str = ""
    """Person who requested it."""
    is_paused: bool = False
    handed: str = ""
    """Why a person has to continue; empty if not needed."""
    rejected: int = 0
    """Number of rejected plans."""
    revised: int = 0
    """Number of revisions that a person requested."""
    proven: str = ""
    """Commit on which everything was proven."""
    ready: str = ""
    """Commit for which its pull request was marked ready; empty while it is a draft."""
    unclear: str = ""
    """Digest of a plan that a review neither approved nor rejected."""
    parts: str = ""
    """Sub-issues that its plan also covers: numbers separated by commas."""
    turn: str = ""
    """Person assigned because it is their turn."""
    history: str = ""
    """Rejections and new requests, one per line."""
    branch: str = ""
    """Branch of the build; empty if it started before branch names had words."""
    before: int = 0
    """Last pull request of an ended build, before it was requested again."""
    ended: str = ""
    """How it ended, until it is requested again; empty while it has not ended."""
    answer: str = ""
    """Result of the last command."""


def code(text: str) -> str:
    """Format untrusted text as a code span on one line."""
    # A table row is split at pipes before code spans are parsed (GFM, 4.10 Tables).
    shown = display(redact(text))[:_LONGEST_LINE].replace("|", "\\|").strip() or "—"
    # Only a run of equal length closes a code span, and it loses one blank on each side (CommonMark
    # 0.31, 6.1).
    ticks = "`" * (max((len(one) for one in _TICKS.findall(shown)), default=0) + 1)
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def fence(text: str, language: str = "") -> str:
    """Format untrusted lines as a code block, cut if it is too long."""
    shown = display(redact(text), lines=True)
    if len(shown) > _LONGEST_FENCE:
        shown = f"{shown[:_LONGEST_FENCE]}\n{_CUT}"
    # Any run at least as long as its own closes a fence (CommonMark 0.31, 4.5).
    ticks = "`" * max(3, max((len(one) for one in _TICKS.findall(shown)), default=0) + 1)
    return f"{ticks}{language}\n{shown.rstrip()}\n{ticks}"


def fits_fence(text: str) -> bool:
    """Return whether the text fits into a fenced block of one comment."""
    shown = display(redact(text), lines=True)
    ticks = max((len(one) for one in _TICKS.findall(shown)), default=0)
    return len(shown) + 2 * ticks <= _LONGEST_FENCE


def write_difference(before: str, now: str) -> tuple[str, bool]:
    """Return the difference of two untrusted texts as a block, and whether it is complete."""
    # Redact and escape whole texts first: in a diff a multi-line secret has signs between its
    # lines, and invisible characters would show no difference.
    old, new = (display(redact(one), lines=True).split("\n") for one in (before, now))
    begin = _count_same(old, new)
    end = _count_same(old[begin:][::-1], new[begin:][::-1])
    around = max(begin - 3, 0)
    old, new = old[around : len(old) - max(end - 3, 0)], new[around : len(new) - max(end - 3, 0)]
    is_whole = max(len(old), len(new)) <= _MOST_COMPARED
    old, new = old[:_MOST_COMPARED], new[:_MOST_COMPARED]
    rows = list(unified_diff(old, new, "before", "after", lineterm=""))
    if not rows:
        return "The texts look the same here.", False
    shown = [row[:_LONGEST_CHANGED] for row in rows[:_MOST_CHANGED]]
    while sum(map(len, shown)) > _LONGEST_DIFFERENCE:
        shown.pop()
    is_whole = is_whole and shown == rows
    return fence("\n".join([*shown, *([] if is_whole else [_CUT])]), "diff"), is_whole


def _count_same(old: Sequence[str], new: Sequence[str]) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (was, is_) in pairs if was != is_), min(len(old), len(new)))


def cut_lines(text: str, most: int) -> str:
    """Cut a text after whole lines to at most `most` characters, with its code block closed.

    Half a code span is none, and what stands in it would act.
    """
    if len(text) <= most:
        return text
    kept: list[str] = []
    left, block = most - len(_CUT) - 1, ""
    for line in text.split("\n"):
        begins = _FENCE.match(line)
        after = ("" if line == block else block) or (begins[0] if begins and not block else "")
        left -= len(line) + 1
        if left < len(after) + 1:
            break
        kept.append(line)
        block = after
    return "\n".join([*kept, *([block] if block else []), _CUT])


def plain_title(text: str) -> str:
    """Return a foreign title without mentions and issue references, for commit subjects."""
    title = " ".join(_ACTS.sub(" ", display(redact(text))).split())
    return title[:200].strip() or "untitled"


def name_branch(number: int, title: str) -> str:
    """Return the branch name of an issue: its number and title words, as `runner/7-csv`.

    Of a title without letters that every system can name it is the number alone.
    """
    plain = unicodedata.normalize("NFKD", plain_title(title)).encode("ascii", "ignore").decode()
    words = _OTHERS.sub("-", plain.casefold()).strip("-")
    if len(words) > _LONGEST_WORDS:
        # Cut between words if possible.
        cut = words[: _LONGEST_WORDS + 1].rpartition("-")[0] or words[:_LONGEST_WORDS]
        words = cut.strip("-")
    return f"runner/{number}-{words}" if words else f"runner/{number}"


def is_branch_of(number: int, branch: str) -> bool:
    """Return whether a name is a valid branch name of this issue."""
    found = _BRANCH.fullmatch(branch)
    return found is not None and read_number(found[1]) == number


def list_naming(sections: str) -> list[str]:
    """Return the headings of a plan that mention a user or an issue.

    Headings become subjects of commits, and there a forge rings and closes.
    """
    return [one[0] for one in _NAMES.finditer(sections)]


def write_history(memory: Memory, line: str) -> str:
    """Append a line to the history, keeping only the latest lines."""
    entry = " ".join(display(redact(line)).split())[:_LONGEST_LINE]
    return "\n".join([*memory.history.splitlines(), entry][-_LONGEST_HISTORY:])


def with_memory(text: str, memory: Memory) -> str:
    """Return a comment with its marker, cut to the maximum length and redacted."""
    values = {
        name: display(redact(value), lines=True)[:_LONGEST_VALUE] if name in _FREE_TEXT else value
        for name, value in memory._asdict().items()
    }
    document = json.dumps(values, separators=(",", ":"), ensure_ascii=False)
    # `-->` and `--!>` must not end the comment early (HTML, 13.2.5, comment end states); for JSON
    # the escape is the same text.
    marker = MARK + document.replace("--", "-\\u002d") + _END
    return f"{cut_lines(text.rstrip(), MOST - len(marker) - 2)}\n\n{marker}"


def read_memory(body: str) -> Memory | None:
    """Parse a comment's marker; None without one, defaults for invalid values."""
    # Only the last line: foreign text above it may quote a marker.
    last = body.rstrip().rpartition("\n")[2]
    if not (last.startswith(MARK) and last.endswith(_END)):
        return None
    try:
        values = json.loads(last.removeprefix(MARK).removesuffix(_END))
    except (ValueError, RecursionError):
        return Memory()
    if not isinstance(values, dict):
        return Memory()
    known = Memory()._asdict()
    # isinstance counts `true` as an int, so it would pass as a number.
    return Memory(
        **{
            name: value
            for name, value in values.items()
            if name in known and type(value) is type(known[name])
        }
    )
