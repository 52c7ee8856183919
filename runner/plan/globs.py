"""Match paths with wildcards, and find globs that overlap without comparing all pairs.

Globs come from anybody's plan, so both questions take time linear in pattern times path. No glob
raises: an unreadable one names only the path that is spelled like it. `app/[slug]/page.tsx` only
looks like a glob where there is such a file.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from runner.lazy_pattern import regex
from runner.model import LiteralPath
from runner.text.ignore_rules import MOST_WILDCARDS, wildcards

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


_WILD = regex(r"[*?\[]")
# A `]` directly after the opening is a literal, as in fnmatch(3).
_PARTS = regex(r"\*\*/?|\*|\?|\[[!^]?\]?[^\]]*\]|\[|.", re.DOTALL)
LONGEST_PATH = 1024
"""Bytes of UTF-8 in a path or glob; files with a longer path can't be written."""
GLOB_HINT = "fix the glob; it is read as a plain path only if a file of that name exists"
_UNCLOSED = frozenset(("[", "[]", "[!]", "[^]"))
_FEW = 2
"""With this many stars a backtracking search takes at most quadratic time in the path."""
_MOST_KNOWN = 4096
"""Steps that one glob caches."""
_MOST_MEETINGS = 200_000
"""Pairs of globs compared for a warning: with more, the warnings are not read."""


def is_glob(path: str) -> bool:
    """Return whether a path has wildcards or names a folder (`src/`) and is not literal."""
    return not isinstance(path, LiteralPath) and _is_wild(path)


@lru_cache(maxsize=65536)  # every path of a plan is asked about several times a keystroke
def _is_wild(path: str) -> bool:
    return bool(_WILD.search(path)) or path.endswith("/")


def glob_fault(glob: str) -> str:
    """Return why a glob is invalid; empty if it is valid."""
    if len(glob.encode("utf-8", "surrogatepass")) > LONGEST_PATH:
        return f"it is longer than {LONGEST_PATH} bytes"
    if wildcards(glob) > MOST_WILDCARDS:
        return f"it has more than {MOST_WILDCARDS} wildcards"
    for part in _PARTS.findall(glob):
        if part in _UNCLOSED:
            return "its `[` is never closed"
        if part[0] == "[" and (fault := _class_fault(part)):
            return fault
    return ""


def _class_fault(part: str) -> str:
    for low, high in _ranges(part)[1]:
        # Python's `re` raises for such a range: detected here, it is a mistake in the plan, not a
        # crash.
        if low > high:
            return f"its range {low}-{high} runs backwards"
    return ""


def _ranges(part: str) -> tuple[bool, list[tuple[str, str]]]:
    """Return whether `[...]` is negated, and its character ranges."""
    inner = part[1:-1]
    # POSIX negates only with `!` and leaves `[^` undefined (Pattern Matching Notation); gitignore's
    # wildmatch accepts both.
    negated = inner[:1] in ("!", "^")
    signs = re.findall(r"(.)-(.)|(.)", inner[negated:], re.DOTALL)
    return negated, [(low or one, high or one) for low, high, one in signs]


def literal_folder(glob: str) -> str:
    """Return the folder that contains every match, from the part before wildcards."""
    wild = _WILD.search(glob)
    before = glob[: wild.start()] if wild else glob
    return before.rpartition("/")[0]


def folders_of(path: str) -> Iterator[str]:
    """Yield the folders of a path, innermost first, with the empty one last."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def matches(glob: str, path: str) -> bool:
    """Return whether a glob matches a path (gitignore: `**` crosses folders, `*` does not).

    A path always names itself, whatever it looks like.
    """
    if glob == path:
        return True
    return not isinstance(glob, LiteralPath) and _pattern(glob).match(path)


@lru_cache(maxsize=4096)
def _pattern(glob: str) -> _Pattern:
    parts = ("**/" if "/" not in glob.rstrip("/") else "") + glob.removeprefix("/")
    parts += "**" if parts.endswith("/") else ""
    return _Pattern([] if glob_fault(glob) else _PARTS.findall(parts))


class _Pattern:
    """A glob made ready: a regular expression where it is cheap, else sets of states as bits."""

    def __init__(self, parts: list[str]) -> None:
        """`parts` are those of a sound glob; none match nothing."""
        self._parts = parts
        self._states: _States | None = None
        stars = sum(part[0] == "*" for part in parts)
        self._expression = re.compile(
            "".join(map(_translate, parts)) + r"\Z" if parts else r"(?!)", re.DOTALL
        )
        self._is_cheap = stars <= _FEW

    def match(self, path: str) -> bool:
        """Return whether the glob matches the whole path."""
        if self._is_cheap and len(path) <= LONGEST_PATH:
            return bool(self._expression.match(path))
        if self._states is None:
            self._states = _States(self._parts)
        return self._states.match(path)


def _translate(part: str) -> str:
    if part[0] == "[":
        return _class_expression(part)
    # A leading `**/` also matches no folder: `**/a` matches `a`, too (gitignore(5)).
    return {"**/": r"(?:.*/)?", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}.get(part, re.escape(part))


def _class_expression(part: str) -> str:
    negated, ranges = _ranges(part)
    inner = "".join(f"{re.escape(low)}-{re.escape(high)}" for low, high in ranges)
    # No bracket expression matches a slash, not even a negated one: only a slash does (POSIX,
    # Patterns Used for Filename Expansion).
    return f"[{'^/' if negated else ''}{inner}]" if negated else f"(?!/)[{inner}]"


class _States:
    """Thompson's way: the places that may be reached in a glob, as bits of a number.

    A step that was made once is looked up: paths walk through few different sets of places.
    """

    def __init__(self, parts: list[str]) -> None:
        steps = [step for part in parts for step in _steps(part)]
        self._end = 1 << len(steps)
        self._stay_anywhere = self._stay_in_folder = 0
        self._after: dict[int, int] = {}  # a state to those it reaches without a character
        self._single: list[tuple[int, str]] = []
        for at, step in enumerate(steps):
            bit = 1 << at
            if step == "gate":  # `**/` may be nothing at all
                self._after[bit] = bit << 1 | bit << 3
            elif step == "**":
                self._stay_anywhere |= bit
                self._after[bit] = bit << 1
            elif step == "*":
                self._stay_in_folder |= bit
                self._after[bit] = bit << 1
            else:
                self._single.append((bit, step))
        self._skips = sum(self._after)
        self._moves: dict[str, int] = {}
        self._known: dict[tuple[int, str], int] = {}

    def match(self, path: str) -> bool:
        """Return whether the glob matches the path."""
        states, known = self._close(1), self._known
        for sign in path:
            after = known.get((states, sign))
            states = self._step(states, sign) if after is None else after
            if not states:
                return False
        return bool(states & self._end)

    def _step(self, states: int, sign: str) -> int:
        """Return the automaton's states after one character."""
        stay = self._stay_anywhere | (0 if sign == "/" else self._stay_in_folder)
        after = self._close(states & stay | (states & self._move(sign)) << 1)
        if len(self._known) >= _MOST_KNOWN:  # there may be as many sets as a number has values
            self._known.clear()
        self._known[states, sign] = after
        return after

    def _close(self, states: int) -> int:
        """Return the states plus those reached without a character."""
        open_ = states & self._skips
        while open_:
            low = open_ & -open_
            new = self._after[low] & ~states
            states |= new
            open_ = (open_ ^ low) | (new & self._skips)
        return states

    def _move(self, sign: str) -> int:
        """Return the states that this character continues."""
        if sign not in self._moves:
            self._moves[sign] = sum(bit for bit, step in self._single if _takes(step, sign))
        return self._moves[sign]


def _steps(part: str) -> tuple[str, ...]:
    return ("gate", "**", "/") if part == "**/" else (part,)


def _takes(step: str, sign: str) -> bool:
    if len(step) > 1:
        negated, ranges = _ranges(step)
        return sign != "/" and negated != any(low <= sign <= high for low, high in ranges)
    return step == sign or (step == "?" and sign != "/")


def may_overlap(one: str, other: str) -> bool:
    """Return whether two globs may match one file; never False if they can."""
    if isinstance(one, LiteralPath) or isinstance(other, LiteralPath):
        glob, path = (other, one) if isinstance(one, LiteralPath) else (one, other)
        return matches(glob, path)
    if max(len(one), len(other)) > LONGEST_PATH:
        return True  # refused elsewhere; until then rather kept apart
    return _meet(_segments(one), _segments(other))


def _segments(glob: str) -> list[str]:
    whole = glob + ("**" if glob.endswith("/") else "")
    return whole.split("/") if "/" in glob.rstrip("/") else ["**", *whole.split("/")]


def _meet(one: list[str], other: list[str]) -> bool:
    """Return whether two lists of name patterns can match one path, by dynamic programming."""
    below = [False] * len(other) + [True]
    for at in range(len(other) - 1, -1, -1):
        below[at] = below[at + 1] and _crosses(other[at])
    for mine in reversed(one):
        row = [False] * len(other) + [below[len(other)] and _crosses(mine)]
        for at in range(len(other) - 1, -1, -1):
            theirs = other[at]
            if _crosses(mine) or _crosses(theirs):
                row[at] = (
                    (_crosses(mine) and (below[at] or row[at + 1]))
                    or (_crosses(theirs) and (row[at + 1] or below[at]))
                    or below[at + 1]
                )
            else:
                row[at] = below[at + 1] and _names_meet(mine, theirs)
        below = row
    return below[0]


def _crosses(name: str) -> bool:
    """Return whether a name can match several folders, as `**` and `a**b` do."""
    return "**" in name


def _names_meet(one: str, other: str) -> bool:
    """Return whether two names with wildcards may match one name."""
    heads = _WILD.split(one, maxsplit=1)[0], _WILD.split(other, maxsplit=1)[0]
    if not _WILD.search(one):
        return matches(other, one) if _WILD.search(other) else one == other
    if not _WILD.search(other):
        return matches(one, other)
    # The middle parts are ignored: separating two tasks needlessly costs time, letting two write
    # one file costs work. So when in doubt, yes.
    tails = re.split(r"[*?\]]", one)[-1], re.split(r"[*?\]]", other)[-1]
    return _agree(*heads) and _agree(tails[0][::-1], tails[1][::-1])


def _agree(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


class Claims:
    """The index of the paths and globs that tasks name; finds all that may match one file."""

    def __init__(self, rows: Iterable[tuple[str, str]]) -> None:
        """`rows` are pairs of an owner and a path or glob."""
        self._exact: dict[str, list[str]] = {}
        self._globs: dict[str, list[str]] = {}
        self._by_folder: dict[str, list[str]] = {}
        for owner, path in rows:
            into = self._globs if is_glob(path) else self._exact
            if into is self._globs and path not in into:
                self._by_folder.setdefault(_folder_key(path), []).append(path)
            into.setdefault(path, []).append(owner)

    def of(self, path: str) -> list[str]:
        """Return the owners of one path without wildcards, in the given order."""
        owners = list(self._exact.get(path, ()))
        if not self._by_folder:
            return owners
        for glob in self._globs_around(path):
            if matches(glob, path):
                owners += self._globs[glob]
        return owners

    def find_shared(self) -> Iterator[tuple[str, list[str]]]:
        """Yield every path or glob that several owners can match, with these owners."""
        for path in self._exact:
            if len(owners := self.of(path)) > 1:
                yield path, owners
        left = _MOST_MEETINGS
        for glob, owners in self._globs.items():
            around = [one for one in self._globs_around(glob) if one != glob]
            left -= len(around)
            if left < 0:
                return
            others = [
                owner
                for other in around
                if may_overlap(glob, other)
                for owner in self._globs[other]
            ]
            if len(owners) + len(others) > 1:
                yield glob, owners + others

    def _globs_around(self, path: str) -> Iterator[str]:
        """Yield the globs whose fixed folder contains the path."""
        start = literal_folder(path) + "/x" if is_glob(path) else path
        for folder in folders_of(start):
            yield from self._by_folder.get(folder, ())


def _folder_key(glob: str) -> str:
    return literal_folder(glob) if "/" in glob.rstrip("/") else ""


def literal_paths(fields: Mapping[str, object], is_file: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the output and input paths that look like globs but are existing files."""
    paths = (path for key in ("outputs", "inputs") for path in _paths(fields.get(key)))
    odd = (path for path in paths if is_glob(path) and not path.endswith("/"))
    return tuple(dict.fromkeys(path for path in odd if is_file(path)))


def _paths(value: object) -> Iterable[str]:
    return cast("tuple[str, ...]", value or ())
