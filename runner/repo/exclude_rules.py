"""What ignore rules certainly say of a path; what they may say is for git (gitignore(5)).

A pattern can match a path only where its last part matches one of the path's: where none does, the
path is not ignored, whatever stands before that part. That it is ignored is known of plain names
alone.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_pattern import regex
from runner.repo.git import UnusualError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MOST_STARS = 2
"""In what is looked for by an expression, whose time grows by a power for each (255 bytes)."""
_BOM = b"\xef\xbb\xbf"
_PLAIN = regex(rb"[\w.+@=,~-][\w.+@=,~ -]*(?<! )")
# A class begins after its bracket, so that what closes it is no member (fnmatch(3)); one within
# another (`[[:alpha:]]`), an escape and an open bracket may match anything.
_PART = regex(rb"\*+|\?|\[[!^]?[^\[\]\\]+\]|\[|\\|[^*?\[\\]+", 0)


class _Rules(NamedTuple):
    """One file of rules."""

    may: re.Pattern[bytes]
    """Every name that the last part of one of its patterns can match, and perhaps more."""
    takes_back: bool
    names: frozenset[bytes]
    folders: frozenset[bytes]
    endings: tuple[bytes, ...]
    paths: tuple[bytes, ...]


class ExcludeRules:
    """The rules of one tree: those of `exclude`, and those of the files that are added."""

    def __init__(self, exclude: bytes) -> None:
        self._top = [_read(exclude)]
        self._below: list[_Rules] = []

    def add(self, content: bytes, *, at_top: bool) -> None:
        """The rules of a `.gitignore`, in the tree's own folder or below it."""
        (self._top if at_top else self._below).append(_read(content))

    def judge(self, path: bytes) -> bool | None:
        """Whether a path that is no folder is ignored; None where only git can tell."""
        parts = path.split(b"/")
        rules = (*self._top, *self._below)
        if not any(one.may.fullmatch(part) for one in rules for part in parts):
            return False
        # A rule that takes one back wins by where it stands, and not inside an ignored folder.
        if any(one.takes_back for one in rules):
            return None
        return True if any(_is_named(one, path, parts) for one in self._top) else None

    def select_new(self, others: Mapping[bytes, bool]) -> Iterator[bytes]:
        """Those of some paths, and whether each is a plain file, that git would add.

        Raises UnusualError where only git can tell.
        """
        for path, is_plain in others.items():
            ignored = self.judge(path)
            if ignored is None or not (ignored or is_plain):
                raise UnusualError
            if not ignored:
                yield path


def _is_named(rules: _Rules, path: bytes, parts: list[bytes]) -> bool:
    return (
        not rules.names.isdisjoint(parts)
        or not rules.folders.isdisjoint(parts[:-1])
        or any(part.endswith(rules.endings) for part in parts)
        or any(path == one or path.startswith(one + b"/") for one in rules.paths)
    )


@lru_cache(maxsize=256)
def _read(content: bytes) -> _Rules:
    may: list[bytes] = []
    names: set[bytes] = set()
    folders: set[bytes] = set()
    endings: list[bytes] = []
    paths: list[bytes] = []
    takes_back = False
    for raw in content.removeprefix(_BOM).split(b"\n"):
        # The reader takes a CR before the line end away (dir.c, add_patterns_from_buffer).
        line = raw.removesuffix(b"\r")
        if not line.strip(b" ") or line.startswith(b"#"):
            continue
        takes_back = takes_back or line.startswith(b"!")
        rule = line.rstrip(b" ").removeprefix(b"!")
        bare = rule.removesuffix(b"/")
        above, _, last = bare.rpartition(b"/")
        # A slash within a class is no separator, so what stands behind it is no part of its own.
        odd = b"[" in above or b"\\" in above or last.count(b"*") > _MOST_STARS
        may.append(b".*" if odd else _widen(last))
        if _PLAIN.fullmatch(bare):
            (folders if bare != rule else names).add(bare)
        elif bare == rule and bare.startswith(b"*.") and _PLAIN.fullmatch(bare[1:]):
            endings.append(bare[1:])
        elif bare == rule and bare.startswith(b"/") and _is_literal(bare[1:]):
            paths.append(bare[1:])
    whole = b"|".join(may) or rb"(?!)"
    return _Rules(
        regex(whole, re.DOTALL),
        takes_back,
        frozenset(names),
        frozenset(folders),
        tuple(endings),
        tuple(paths),
    )


def _is_literal(path: bytes) -> bool:
    return all(map(_PLAIN.fullmatch, path.split(b"/")))


def _widen(last: bytes) -> bytes:
    """An expression that matches every name that a pattern's last part can match, or more."""
    found = []
    for match in _PART.finditer(last):
        part = match[0]
        if part[:1] == b"*":
            found.append(b".*")
        elif part == b"?" or (len(part) > 1 and part[:1] == b"["):
            found.append(b".")
        elif part in (b"[", b"\\"):
            return b"".join(found) + b".*"
        else:
            found.append(_escape(part))
    return b"".join(found)


def _escape(part: bytes) -> bytes:
    return b"".join(b"\\x%02x" % byte for byte in part)
