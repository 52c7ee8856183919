"""The patterns of the library that fit a task, with their text, and how they were looked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runner.context.visibility import read_text
from runner.plan.patterns import Match, PatternIndex, pattern_id
from runner.plan.task_types import domains_of, kind_of, topics_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from runner.model import Task
    from runner.plan.patterns import Pattern

MOST = 3
"""Patterns of one brief."""
_SHORTEST = 4
"""Letters of a title's word by which a pattern's keyword is looked for."""


@dataclass(frozen=True, slots=True)
class MatchedPattern:
    """A pattern that goes into a brief; `text` is empty, and `note` says why, if unreadable."""

    id: str
    title: str
    text: str = ""
    note: str = ""
    because: tuple[str, ...] = ()
    """What fitted: `forced`, `stack react`, `keyword lock` …"""


@dataclass(frozen=True, slots=True)
class Search:
    """By what the index is searched for a task."""

    domains: tuple[str, ...]
    stack: tuple[str, ...]
    keywords: tuple[str, ...]
    forced: tuple[str, ...] = ()
    size: int = 0
    """How many patterns there are."""
    is_due: bool = False
    """Whether the patterns must have been searched before such a task: auth, data, payment."""

    @classmethod
    def of(cls, index: PatternIndex, task: Task, stack: Iterable[str] = ()) -> Search:
        """Type, stack and keywords of a task; of its title the words that are somebody's keyword.

        `stack` are the repository's own words beside the task's.
        """
        known = {word.casefold() for pattern in index.patterns for word in pattern.keywords}
        title = (word.strip(".,:;()\"'`").casefold() for word in task.title.split())
        from_title = (word for word in title if len(word) >= _SHORTEST and word in known)
        kind = kind_of(task)
        return cls(
            domains=domains_of(task, kind),
            stack=tuple(dict.fromkeys((*task.stack, *stack))),
            keywords=tuple(dict.fromkeys((*task.keywords, *from_title))),
            forced=task.patterns,
            size=len(index.patterns),
            is_due=bool(topics_of(task, kind)),
        )

    def describe(self, index: PatternIndex) -> tuple[str, ...]:
        """In words, for the journal; of the repository's stack only what some pattern is for.

        Nothing where there is nothing to search and no need to have done so.
        """
        if not self.size and not self.is_due:
            return ()
        known = {name.casefold() for pattern in index.patterns for name in pattern.stack}
        return (
            f"{self.size} pattern{'' if self.size == 1 else 's'}",
            *(f"domain {word}" for word in self.domains),
            *(f"stack {word}" for word in self.stack if word.casefold() in known),
            *(f"keyword {word}" for word in self.keywords),
            *(f"named {word}" for word in self.forced),
        )

    def matches(self, index: PatternIndex, limit: int) -> tuple[Match, ...]:
        """What fits best. A domain fits where it is any of those of the task's type."""
        if not index.patterns:
            return ()
        kind = self.domains[0] if self.domains else ""
        same = frozenset(self.domains)
        renamed = PatternIndex(
            tuple(
                replace(one, domain=kind) if one.domain in same and one.domain else one
                for one in index.patterns
            )
        )
        own = {one.id: one for one in index.patterns}
        found = renamed.match(kind, self.stack, self.keywords, self.forced, limit=limit)
        return tuple(
            Match(
                own[match.pattern.id],
                match.score,
                tuple(_as_written(why, own[match.pattern.id]) for why in match.because),
            )
            for match in found
        )


def match_patterns(
    root: Path,
    index: PatternIndex,
    task: Task,
    stack: Iterable[str] = (),
    search: Search | None = None,
) -> tuple[MatchedPattern, ...]:
    """The patterns for a task: those it names, and the best by its type, stack and keywords.

    `stack` are the repository's own words beside the task's; `search` is theirs, where it is made.
    """
    found = (search or Search.of(index, task, stack)).matches(index, MOST)
    known = {match.pattern.id for match in found}
    unknown = [name for name in map(pattern_id, task.patterns) if name not in known]
    return (
        *(
            MatchedPattern(name, "", note="PATTERN_INDEX.md has no such pattern")
            for name in unknown
        ),
        *(_with_text(match, root) for match in found),
    )


def _as_written(why: str, pattern: Pattern) -> str:
    """A reason with the pattern's own domain, which was compared as one of several."""
    return f"domain {pattern.domain}" if why.startswith("domain ") else why


def _with_text(match: Match, root: Path) -> MatchedPattern:
    pattern = match.pattern
    text, note = read_text(root, pattern.file) if pattern.file else ("", "it names no file")
    return MatchedPattern(pattern.id, pattern.title, text, note, match.because)
