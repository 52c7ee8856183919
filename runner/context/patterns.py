"""The patterns of the library that fit a task, with their text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.context.readable import read_text
from runner.plan.patterns import pattern_id

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from runner.model import Task
    from runner.plan.patterns import Match, PatternIndex

MOST = 3
"""Patterns of one brief."""


@dataclass(frozen=True, slots=True)
class MatchedPattern:
    """A pattern that goes into a brief; `text` is empty, and `note` says why, if unreadable."""

    id: str
    title: str
    text: str = ""
    note: str = ""
    because: tuple[str, ...] = ()
    """What fitted: `forced`, `stack react`, `keyword lock` …"""


def matched_patterns(
    root: Path, index: PatternIndex, task: Task, stack: Iterable[str] = ()
) -> tuple[MatchedPattern, ...]:
    """The patterns for a task: those it names, and the best by its type, stack and keywords.

    `stack` are the repository's own words beside the task's.
    """
    words = tuple(dict.fromkeys((*task.stack, *stack)))
    found = index.match(task.type, words, task.keywords, task.patterns, limit=MOST)
    known = {match.pattern.id for match in found}
    unknown = [name for name in map(pattern_id, task.patterns) if name not in known]
    return (
        *(
            MatchedPattern(name, "", note="PATTERN_INDEX.md has no such pattern")
            for name in unknown
        ),
        *(_with_text(match, root) for match in found),
    )


def _with_text(match: Match, root: Path) -> MatchedPattern:
    pattern = match.pattern
    text, note = read_text(root, pattern.file) if pattern.file else ("", "it names no file")
    return MatchedPattern(pattern.id, pattern.title, text, note, match.because)
