"""Choose the decisions and library patterns that fit a task.

Decisions that were made before, read from DECISIONS.md, and which of them a task must know.

The patterns of the library that fit a task, with their text, and how they were looked for.

The pattern library as it grows: a decision becomes a pattern's text and a row of the index.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.context.tree import read_text
from runner.errors import RunnerError
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.plan.markdown_text import read_sheet
from runner.plan.patterns import PatternIndex, PatternMatch, pattern_id
from runner.plan.source import BOM, line_end_of
from runner.plan.task_types import classify, domains_of, topics_of
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import read_number

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from runner.journal import decisions
    from runner.model import Decision, Task
    from runner.plan.patterns import Pattern
else:
    decisions = lazy_module("runner.journal.decisions")

# --- decisions ------------------------------------------------------------------------


PATH = "artifacts/build/DECISIONS.md"
_HEADING = regex(r"^#{1,6}[ \t]+DECISION-(\d{1,9})\b.*$", re.MULTILINE)
_FIELD = regex(r"^[ \t>*_-]*(task|date)[ \t*_]*:[ \t*_]*(.*?)[ \t]*$", re.IGNORECASE | re.MULTILINE)
_NOTHING = ("", "—", "-")
_SHORTEST_NAME = 5
"""Minimum letters of a file name searched without its folder: `a.py` is in any text."""


class Recorded(Struct, frozen=True):
    """An entry of DECISIONS.md."""

    number: int
    decision: Decision
    task: str = ""
    date: str = ""
    because: str = ""
    """Why it is in a task's brief; empty until computed."""

    @property
    def id(self) -> str:
        """Id as written: `DECISION-007`."""
        return f"DECISION-{self.number:03d}"

    @property
    def is_candidate(self) -> bool:
        """Whether it was marked as one that could become a pattern."""
        return "candidate" in self.decision.pattern.casefold()


def read_decisions(text: str) -> tuple[Recorded, ...]:
    """Return the entries of DECISIONS.md in order; the first one of a duplicate number."""
    starts = [*_HEADING.finditer(text)]
    ends = [*(match.start() for match in starts[1:]), len(text)][: len(starts)]
    found: dict[int, Recorded] = {}
    for start, end in zip(starts, ends, strict=True):
        one = _entry(int(start[1]), text[start.start() : end])
        if one is not None:
            found.setdefault(one.number, one)
    return tuple(found.values())


def _entry(number: int, section: str) -> Recorded | None:
    found = decisions.parse_decisions("\n".join(_block(section.replace("\r\n", "\n"))))
    if not found:
        return None
    blank = {
        name: ""
        for name in ("context", "decision", "tradeoff", "pattern")
        if getattr(found[0], name) in _NOTHING
    }
    fields = {match[1].lower(): match[2] for match in reversed([*_FIELD.finditer(section)])}
    task = fields.get("task", "")
    return Recorded(
        number, replace(found[0], **blank), "" if task in _NOTHING else task, fields.get("date", "")
    )


def _block(section: str) -> Iterator[str]:
    """Yield the lines of an entry's heading and fields, without following prose.

    Where a paragraph behind an empty line begins with no field, it is prose, and belongs to none.
    """
    first, *others = re.split(r"\n[ \t]*(?:\n[ \t]*)+", section.strip("\n"))
    yield from first.split("\n")
    for paragraph in others:
        lines = paragraph.split("\n")
        if decisions.begins_field(lines[0]):
            yield from lines


def decisions_for(
    recorded: Iterable[Recorded],
    *,
    task: str,
    needs: Collection[str],
    owners: Collection[str],
    files: Collection[str],
) -> tuple[Recorded, ...]:
    """Return the decisions relevant for a task, latest first, each with the reason.

    One was made for the task itself, for one that it needs, for one that owns a file of its own
    (`owners`), or names one of its `files`.
    """
    found: list[Recorded] = []
    for one in recorded:
        because = _because(one, task, needs, owners, files)
        if because:
            found.append(replace(one, because=because))
    return tuple(reversed(found))


def _because(
    one: Recorded,
    task: str,
    needs: Collection[str],
    owners: Collection[str],
    files: Collection[str],
) -> str:
    if one.task and one.task == task:
        return "made for this task"
    if one.task in needs:
        return f"made for {one.task}, which this task builds on"
    if one.task in owners:
        return f"made for {one.task}, which owns files of this task"
    decision = one.decision
    text = f"{decision.title} {decision.context} {decision.decision} {decision.tradeoff}"
    named = next((path for path in files if _is_named(path, text)), "")
    return f"names {named}" if named else ""


def _is_named(path: str, text: str) -> bool:
    name = path.rpartition("/")[2]
    looked_for = (path, name) if len(name) >= _SHORTEST_NAME and "." in name else (path,)
    return any(
        re.search(rf"(?<![\w./-]){re.escape(one)}(?![\w/-])", text) for one in looked_for if one
    )


# --- patterns -------------------------------------------------------------------------


MOST = 3
"""Maximum number of patterns in one brief."""
_SHORTEST = 4
"""Minimum letters of a title word used to search pattern keywords."""


class MatchedPattern(Struct, frozen=True):
    """A pattern that goes into a brief; `text` is empty, and `note` says why, if unreadable."""

    id: str
    title: str
    text: str = ""
    note: str = ""
    because: tuple[str, ...] = ()
    """What matched: `forced`, `stack react`, `keyword lock` …"""


class PatternSearch(Struct, frozen=True):
    """The search terms of a task for the pattern index."""

    domains: tuple[str, ...]
    stack: tuple[str, ...]
    keywords: tuple[str, ...]
    forced: tuple[str, ...] = ()
    size: int = 0
    """Number of patterns."""
    is_due: bool = False
    """Whether such a task requires a pattern search first: auth, data, payment."""

    @classmethod
    def of(cls, index: PatternIndex, task: Task, stack: Iterable[str] = ()) -> PatternSearch:
        """Create a search from a task's type, stack and keywords, and known words of its title.

        `stack` are the repository's own words beside the task's.
        """
        known = {word.casefold() for pattern in index.patterns for word in pattern.keywords}
        title = (word.strip(".,:;()\"'`").casefold() for word in task.title.split())
        from_title = (word for word in title if len(word) >= _SHORTEST and word in known)
        work = classify(task)
        return cls(
            domains=domains_of(task, work),
            stack=tuple(dict.fromkeys((*task.stack, *stack))),
            keywords=tuple(dict.fromkeys((*task.keywords, *from_title))),
            forced=task.patterns,
            size=len(index.patterns),
            is_due=bool(topics_of(task, work)),
        )

    def describe(self, index: PatternIndex) -> tuple[str, ...]:
        """Describe the search for the journal; of the stack only names that a pattern has.

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

    def matches(self, index: PatternIndex, limit: int) -> tuple[PatternMatch, ...]:
        """Return the best matches; a domain matches if it is any of the task type's domains."""
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
            PatternMatch(
                own[match.pattern.id],
                match.score,
                tuple(_as_written(why, own[match.pattern.id]) for why in match.because),
            )
            for match in found
        )


def match_patterns(
    root: Path, index: PatternIndex, search: PatternSearch
) -> tuple[MatchedPattern, ...]:
    """Return the patterns for a task: named ones, and the best matches."""
    found = search.matches(index, MOST)
    known = {match.pattern.id for match in found}
    unknown = [name for name in map(pattern_id, search.forced) if name not in known]
    return (
        *(MatchedPattern(name, "", note="not found in PATTERN_INDEX.md") for name in unknown),
        *(_with_text(match, root) for match in found),
    )


def _as_written(why: str, pattern: Pattern) -> str:
    """Return a match reason with the pattern's own domain."""
    return f"domain {pattern.domain}" if why.startswith("domain ") else why


def _with_text(match: PatternMatch, root: Path) -> MatchedPattern:
    pattern = match.pattern
    text, note = (
        read_text(root, pattern.file) if pattern.file else ("", "its index row names no file")
    )
    return MatchedPattern(pattern.id, pattern.title, text, note, match.because)


# --- library --------------------------------------------------------------------------


INDEX = "PATTERN_INDEX.md"
FOLDER = "patterns"
HEAD = "| Pattern | Title | Domain | Stack | Keywords | File |"
_COLUMNS = ("pattern", "title")
_NUMBER = regex(r"PATTERN-(\d+)", re.IGNORECASE)
_FROM = regex(r"^- Decision: DECISION-(\d+)\b", re.MULTILINE)


def file_of(pattern: str) -> str:
    """Return the path of a pattern's text."""
    return f"{FOLDER}/{pattern}.md"


def source_decision(text: str) -> int | None:
    """Return the decision number in a pattern's text, or None."""
    match = _FROM.search(text)
    number = read_number(match[1]) if match else -1
    return number if number >= 0 else None


def free_id(index: PatternIndex, taken: Iterable[str], wanted: str = "") -> str:
    """Return the wanted pattern ID if it is free, else the next free one.

    `wanted` is the Pattern field of the decision, which may say `candidate for PATTERN-007`.
    """
    known = {pattern.id for pattern in index.patterns} | {*taken}
    named = _NUMBER.search(wanted)
    if named and (own := pattern_id(named[0])) not in known:
        return own
    numbers = [read_number(match[1]) for one in known if (match := _NUMBER.match(one))]
    return f"PATTERN-{max((0, *numbers)) + 1:03d}"


def text_of(pattern: str, recorded: Recorded, task: Task | None) -> str:
    """Return a pattern as Markdown: when, what to do, trade-off and examples."""
    decision = recorded.decision
    facts = [f"Decision: {recorded.id}"]
    facts += [f"Task: {recorded.task}"] if recorded.task else []
    examples = [path for path in task.outputs if not set("*?[") & set(path)] if task else []
    parts = [
        f"# {pattern}: {_line(decision.title)}",
        "\n".join(f"- {_line(fact)}" for fact in facts),
        f"## When\n\n{_line(decision.context) or 'The decision names no context.'}",
        f"## Do\n\n{_line(decision.decision or decision.title)}",
        f"## Trade-off\n\n{_line(decision.tradeoff)}" if decision.tradeoff else "",
        "## Examples\n\n" + "\n".join(f"- `{_line(path)}`" for path in examples)
        if examples and examples != ["any"]
        else "",
    ]
    return redact("\n\n".join(filter(None, parts)) + "\n")


def row_of(pattern: str, recorded: Recorded, task: Task | None, domain: str) -> dict[str, str]:
    """Return the cells of a pattern's row by lower-case column name."""
    stack, keywords = (task.stack, task.keywords) if task else ((), ())
    return {
        "pattern": pattern,
        "title": _line(redact(recorded.decision.title)),
        "domain": domain,
        "stack": ", ".join(stack),
        "keywords": ", ".join(keywords),
        "file": f"`{file_of(pattern)}`",
    }


def with_row(data: bytes, cells: Mapping[str, str]) -> bytes:
    """Return the index with a row appended to its table; other bytes are unchanged.

    Raises RunnerError for a file that has no table with the columns Pattern and Title.
    """
    sheet = read_sheet(data, _COLUMNS)
    if sheet.head < 0:
        raise RunnerError(
            f"{INDEX} has no table of patterns",
            where=INDEX,
            hint=f"begin the table with {HEAD} and below it |---|---|---|---|---|---|",
        )
    inner = " | ".join(_cell(cells.get(column, "")) for column in sheet.columns)
    row = f"| {inner} |".encode()
    end = line_end_of(data)
    raw = data.removeprefix(BOM).splitlines(keepends=True)
    before, after = raw[: sheet.end], raw[sheet.end :]
    ended = before[-1].endswith((b"\n", b"\r"))
    new = (row, end) if ended else (end, row)
    return b"".join((BOM if data.startswith(BOM) else b"", *before, *new, *after))


def pattern_ids(names: Collection[str]) -> frozenset[str]:
    """Return the pattern IDs in these file names."""
    return frozenset(pattern_id(match[0]) for name in names if (match := _NUMBER.match(name)))


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\|", text)


def _line(text: str) -> str:
    return display(" ".join(text.split()))
