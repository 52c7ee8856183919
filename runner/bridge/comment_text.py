"""What the bridge writes into a forge: foreign words stand in code, where nothing of them acts.

In a code span or a fence no mention rings, no `Closes #7` closes and no image is fetched. All of
it is redacted. The last line is a marker with what the bridge has to know again.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from runner.secrets.redact import redact
from runner.text.display import display

MARK = "<!-- runner-bridge:1 "
MOST = 60_000
"""Characters of a comment or a pull request; GitHub takes 65,536."""
_END = " -->"
_LONGEST_FENCE = 30_000
_LONGEST_LINE = 300
_LONGEST_HISTORY = 12
_TICKS = re.compile(r"`+")
_ACTS = re.compile(r"[@#]")
_NAMES = re.compile(r"^#+ .*(?:@\w|#\d)", re.MULTILINE)


class Memory(NamedTuple):
    """What stands in the marker of an issue's one comment."""

    seen: int = 0
    """The newest comment that was taken in."""
    reviewed: int = 0
    """The newest review of the pull request that was taken in."""
    moved: int = 0
    """The newest label that was put on by hand and taken in."""
    label: int = 0
    """The event by which it was asked for."""
    by: str = ""
    """Who asked."""
    is_paused: bool = False
    handed: str = ""
    """Why a person has to go on; empty where none has to."""
    rejected: int = 0
    """Plans that were refused."""
    revised: int = 0
    """Times that a person had more made of it."""
    proven: str = ""
    """The commit that the whole was proven on."""
    unclear: str = ""
    """The digest of a plan of which a review said neither yes nor no."""
    parts: str = ""
    """Issues below it that its plan is about, too: their numbers with commas between."""
    turn: str = ""
    """Who was assigned, since it is their turn."""
    history: str = ""
    """What was refused and asked for anew, a line each."""
    before: int = 0
    """The last pull request of what was ended before it was asked for again."""
    ended: str = ""
    """How it ended, until it is asked for again; empty where it has not."""
    answer: str = ""
    """What the last command came to."""


def code(text: str) -> str:
    """Foreign words as a code span, on one line."""
    # A table's row is split at pipes before code spans are read (GFM, 4.10 Tables).
    said = display(redact(text))[:_LONGEST_LINE].replace("|", "\\|").strip() or "—"
    # A span is closed by a run of its own length alone, and loses one blank at both sides
    # (CommonMark 0.31, 6.1).
    ticks = "`" * (max((len(one) for one in _TICKS.findall(said)), default=0) + 1)
    space = " " if said.startswith("`") or said.endswith("`") else ""
    return f"{ticks}{space}{said}{space}{ticks}"


def fence(text: str, language: str = "") -> str:
    """Foreign lines as a block, cut where they are too many."""
    said = display(redact(text), lines=True)
    if len(said) > _LONGEST_FENCE:
        said = said[:_LONGEST_FENCE] + "\n… cut here"
    # A fence is closed by any run as long as itself (CommonMark 0.31, 4.5).
    ticks = "`" * max(3, max((len(one) for one in _TICKS.findall(said)), default=0) + 1)
    return f"{ticks}{language}\n{said.rstrip()}\n{ticks}"


def plain_title(text: str) -> str:
    """A foreign title that names nobody and no issue: titles become subjects of commits."""
    said = " ".join(_ACTS.sub(" ", display(redact(text))).split())
    return said[:200].strip() or "untitled"


def names_others(sections: str) -> bool:
    """Whether a heading of a plan names somebody or an issue.

    Headings become subjects of commits, and there a forge rings and closes.
    """
    return _NAMES.search(sections) is not None


def write_history(memory: Memory, line: str) -> str:
    """The history with one line more; of a long one the newest."""
    said = " ".join(display(redact(line)).split())[:_LONGEST_LINE]
    return "\n".join([*memory.history.splitlines(), said][-_LONGEST_HISTORY:])


def with_memory(text: str, memory: Memory) -> str:
    """A comment with its marker, within bounds and without the secrets that are known by shape."""
    told = json.dumps(memory._asdict(), separators=(",", ":"))
    # No `-->` and no `--!>` may end the comment early (HTML, 13.2.5, comment end states); to JSON
    # the escapes are the same text.
    told = told.replace("<", "\\u003c").replace(">", "\\u003e").replace("--", "-\\u002d")
    return f"{text[:MOST].rstrip()}\n\n{MARK}{told}{_END}"


def read_memory(body: str) -> Memory | None:
    """What a comment's marker says; None where it has none, defaults for what is odd in it."""
    # The last line alone: foreign text above it may quote a marker.
    last = body.rstrip().rpartition("\n")[2]
    if not (last.startswith(MARK) and last.endswith(_END)):
        return None
    try:
        said = json.loads(last.removeprefix(MARK).removesuffix(_END))
    except (ValueError, RecursionError):
        return Memory()
    if not isinstance(said, dict):
        return Memory()
    known = Memory()._asdict()
    fit = {
        name: value
        for name, value in said.items()
        # `true` is an int to isinstance, and would pass for a number.
        if name in known and type(value) is type(known[name])
    }
    return Memory(**fit)
