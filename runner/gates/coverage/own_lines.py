"""Which lines are a task's own: of files it created all, of others those that its change added."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from runner.impact.change import Changed, with_moves

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.gates.base import GateContext

_SETTINGS = re.compile(
    r"\A(?:setup|noxfile)\.py\Z|(?:\A|/)docs?/(?:source/)?conf\.py\Z|(?:\A|/)[\w-]+\.config\.[cm]?[jt]s\Z"
)
"""Settings written as code, which only their tool runs (setuptools, nox, Sphinx, vite …)."""
_EXACT = 20_000
"""Lines up to which every common line is looked for; beyond, frequent ones are passed over."""


def own_lines(bench: GateContext) -> Mapping[str, frozenset[int]]:
    """The own lines of every file that the task wrote and that is neither test nor settings.

    What it landed earlier counts with what it changes now. A file that only moved is compared with
    what it was at its old place.
    """
    changes = with_moves(
        Changed(change.path, bench.before(change.path), change.content) for change in bench.changes
    )
    found = {
        one.path: find_added_lines(_around(one, bench), one.after)
        for one in changes
        if one.after is not None and _counts(one.path, bench)
    }
    touched = {change.path for change in bench.changes}
    for path in bench.former.keys() - touched:
        content = bench.before(path)
        if content is not None and _counts(path, bench):
            found[path] = find_added_lines(bench.former[path], content)
    return found


def _counts(path: str, bench: GateContext) -> bool:
    return not bench.is_test(path) and not _SETTINGS.search(path)


def _around(one: Changed, bench: GateContext) -> bytes | None:
    """What was there before the task, as far as it still is; None for a file that it made."""
    place = one.origin or one.path
    return bench.former[place] if place in bench.former else bench.before(place)


def find_added_lines(before: bytes | None, after: bytes) -> frozenset[int]:
    """Numbers of the lines of `after` that a line diff calls added; all for a new file."""
    new = after.split(b"\n")
    if before is None:
        return frozenset(range(1, len(new) + 1))
    old = before.split(b"\n")
    start = _alike(old, new)
    end = _alike(old[start:][::-1], new[start:][::-1])
    left, right = old[start : len(old) - end], new[start : len(new) - end]
    matcher = SequenceMatcher(None, left, right, autojunk=len(left) + len(right) > _EXACT)
    return frozenset(
        number + start + 1
        for tag, _, _, first, last in matcher.get_opcodes()
        if tag != "equal"
        for number in range(first, last)
    )


def _alike(one: list[bytes], other: list[bytes]) -> int:
    """How many lines at the start are the same."""
    pairs = zip(one, other, strict=False)
    differing = (at for at, (left, right) in enumerate(pairs) if left != right)
    return next(differing, min(len(one), len(other)))
