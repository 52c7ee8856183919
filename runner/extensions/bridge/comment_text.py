"""What the bridge writes into a forge: foreign words stand in code, where nothing of them acts.

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
"""Characters of a comment or a pull request; GitHub takes 65,536."""
_END = " -->"
_LONGEST_FENCE = 30_000
_LONGEST_LINE = 300
_LONGEST_HISTORY = 12
_MOST_COMPARED, _MOST_CHANGED, _LONGEST_CHANGED, _LONGEST_DIFFERENCE = 2000, 200, 400, 12_000
"""Lines that are compared, lines and their characters that are shown, characters of all of it."""
_TICKS = re.compile(r"`+")
_CUT = "… cut here"
_FENCE = re.compile(r"`{3,}")
_OTHERS = re.compile(r"[^a-z0-9]+")
_LONGEST_WORDS = 40
_BRANCH = re.compile(r"runner/([1-9][0-9]{0,17})(?:-[a-z0-9]+)*")
_FREE_TEXT = ("handed", "answer", "history")
"""Fields of a memory that contain text of others."""
_LONGEST_VALUE = 4000
# All that closes where it stands behind a keyword (docs.github.com, "Autolinked references and
# URLs"): `#7`, `acme/shop#7`, `GH-7`, an address.
_ACTS = re.compile(r"[@#]|(?<=\bGH)-(?=\d)|(?<=:)//", re.IGNORECASE)
_NAMES = re.compile(r"^#+ .*(?:@\w|#\d|\bGH-\d|://).*", re.MULTILINE | re.IGNORECASE)


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
    ready: str = ""
    """The commit for which its pull request was marked as ready; empty while it is a draft."""
    unclear: str = ""
    """The digest of a plan that a review neither approved nor rejected."""
    parts: str = ""
    """Issues below it that its plan is about, too: their numbers with commas between."""
    turn: str = ""
    """Who was assigned, since it is their turn."""
    history: str = ""
    """What was refused and asked for anew, a line each."""
    branch: str = ""
    """Where it is built; empty where that was begun before branches had words."""
    before: int = 0
    """The last pull request of what was ended before it was asked for again."""
    ended: str = ""
    """How it ended, until it is asked for again; empty where it has not."""
    answer: str = ""
    """What the last command came to."""


def code(text: str) -> str:
    """Foreign words as a code span, on one line."""
    # A table's row is split at pipes before code spans are read (GFM, 4.10 Tables).
    shown = display(redact(text))[:_LONGEST_LINE].replace("|", "\\|").strip() or "—"
    # A span is closed by a run of its own length alone, and loses one blank at both sides
    # (CommonMark 0.31, 6.1).
    ticks = "`" * (max((len(one) for one in _TICKS.findall(shown)), default=0) + 1)
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def fence(text: str, language: str = "") -> str:
    """Foreign lines as a block, cut where they are too many."""
    shown = display(redact(text), lines=True)
    if len(shown) > _LONGEST_FENCE:
        shown = f"{shown[:_LONGEST_FENCE]}\n{_CUT}"
    # A fence is closed by any run as long as itself (CommonMark 0.31, 4.5).
    ticks = "`" * max(3, max((len(one) for one in _TICKS.findall(shown)), default=0) + 1)
    return f"{ticks}{language}\n{shown.rstrip()}\n{ticks}"


def fits_fence(text: str) -> bool:
    """Whether a comment shows all of it in a fence."""
    shown = display(redact(text), lines=True)
    ticks = max((len(one) for one in _TICKS.findall(shown)), default=0)
    return len(shown) + 2 * ticks <= _LONGEST_FENCE


def write_difference(before: str, now: str) -> tuple[str, bool]:
    """What differs between two foreign texts, as a block; and whether that is all of it."""
    # Whole texts are redacted and spelled out first: in a difference a secret of several lines has
    # signs between them, and what cannot be seen would make no difference.
    old, new = (display(redact(one), lines=True).split("\n") for one in (before, now))
    begin = _count_same(old, new)
    end = _count_same(old[begin:][::-1], new[begin:][::-1])
    around = max(begin - 3, 0)
    old, new = old[around : len(old) - max(end - 3, 0)], new[around : len(new) - max(end - 3, 0)]
    is_whole = max(len(old), len(new)) <= _MOST_COMPARED
    old, new = old[:_MOST_COMPARED], new[:_MOST_COMPARED]
    rows = list(unified_diff(old, new, "as it was", "as it is", lineterm=""))
    if not rows:
        return "No difference is shown here.", False
    shown = [row[:_LONGEST_CHANGED] for row in rows[:_MOST_CHANGED]]
    while sum(map(len, shown)) > _LONGEST_DIFFERENCE:
        shown.pop()
    is_whole = is_whole and shown == rows
    return fence("\n".join([*shown, *([] if is_whole else [_CUT])]), "diff"), is_whole


def _count_same(old: Sequence[str], new: Sequence[str]) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (was, is_) in pairs if was != is_), min(len(old), len(new)))


def cut_lines(text: str, most: int) -> str:
    """Whole lines, up to so many characters, and no block left open.

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
    """A foreign title that names nobody and no issue: titles become subjects of commits."""
    title = " ".join(_ACTS.sub(" ", display(redact(text))).split())
    return title[:200].strip() or "untitled"


def name_branch(number: int, title: str) -> str:
    """The branch of an issue by its number and first words of its title, as `runner/7-csv`.

    Of a title without letters that every system can name it is the number alone.
    """
    plain = unicodedata.normalize("NFKD", plain_title(title)).encode("ascii", "ignore").decode()
    words = _OTHERS.sub("-", plain.casefold()).strip("-")
    if len(words) > _LONGEST_WORDS:
        # Between words, where there is one to be cut behind.
        cut = words[: _LONGEST_WORDS + 1].rpartition("-")[0] or words[:_LONGEST_WORDS]
        words = cut.strip("-")
    return f"runner/{number}-{words}" if words else f"runner/{number}"


def is_branch_of(number: int, branch: str) -> bool:
    """Whether a name can be that of an issue's branch: what a comment says may be anybody's."""
    found = _BRANCH.fullmatch(branch)
    return found is not None and read_number(found[1]) == number


def list_naming(sections: str) -> list[str]:
    """Headings of a plan that name somebody or an issue.

    Headings become subjects of commits, and there a forge rings and closes.
    """
    return [one[0] for one in _NAMES.finditer(sections)]


def write_history(memory: Memory, line: str) -> str:
    """The history with one line more; of a long one the newest."""
    entry = " ".join(display(redact(line)).split())[:_LONGEST_LINE]
    return "\n".join([*memory.history.splitlines(), entry][-_LONGEST_HISTORY:])


def with_memory(text: str, memory: Memory) -> str:
    """A comment with its marker, within bounds and without the secrets that are known by shape."""
    values = {
        name: display(redact(value), lines=True)[:_LONGEST_VALUE] if name in _FREE_TEXT else value
        for name, value in memory._asdict().items()
    }
    document = json.dumps(values, separators=(",", ":"), ensure_ascii=False)
    # No `-->` and no `--!>` may end the comment early (HTML, 13.2.5, comment end states); to JSON
    # the escape is the same text.
    marker = MARK + document.replace("--", "-\\u002d") + _END
    return f"{cut_lines(text.rstrip(), MOST - len(marker) - 2)}\n\n{marker}"


def read_memory(body: str) -> Memory | None:
    """What a comment's marker says; None where it has none, defaults for what is odd in it."""
    # The last line alone: foreign text above it may quote a marker.
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
    fit = {
        name: value
        for name, value in values.items()
        # `true` is an int to isinstance, and would pass for a number.
        if name in known and type(value) is type(known[name])
    }
    return Memory(**fit)
