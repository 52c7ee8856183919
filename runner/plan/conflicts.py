"""Conflict markers that git left in a plan (git-merge(1), "How conflicts are presented")."""

from __future__ import annotations

from runner.lazy_pattern import regex

_BEGIN, _MIDDLE, _END = b"<<<<<<< ", b"=======", b">>>>>>> "
_FENCE = regex(rb" {0,3}(`{3,}|~{3,})")


def find_conflicts(data: bytes, *, unmerged: bool = False) -> tuple[tuple[int, int], ...]:
    """Return the first and last line of each conflict, counted from 1.

    The text of a code block may show markers. They count where git holds the file as `unmerged`.
    """
    if _BEGIN not in data:
        return ()
    found: list[tuple[int, int]] = []
    begin, middle, fence = 0, False, b""
    for number, line in enumerate(data.splitlines(), 1):
        if line.startswith(_BEGIN) and (unmerged or not fence):
            begin, middle = number, False
        elif begin and line == _MIDDLE:
            middle = True
        elif begin and middle and line.startswith(_END):
            found.append((begin, number))
            begin = 0
        elif match := _FENCE.match(line):
            mark = match[1]
            if not fence:
                fence = mark
            elif mark.startswith(fence):
                fence = b""
    return tuple(found)
