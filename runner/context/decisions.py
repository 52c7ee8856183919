"""Decisions that were made before, read from DECISIONS.md, and which of them a task must know."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from runner.journal import decisions
    from runner.model import Decision
else:
    decisions = lazy_module("runner.journal.decisions")

PATH = "artifacts/build/DECISIONS.md"
_HEADING = regex(r"^#{1,6}[ \t]+DECISION-(\d{1,9})\b.*$", re.MULTILINE)
_FIELD = regex(r"^[ \t>*_-]*(task|date)[ \t*_]*:[ \t*_]*(.*?)[ \t]*$", re.IGNORECASE | re.MULTILINE)
_NOTHING = ("", "—", "-")
_SHORTEST_NAME = 5
"""Letters of a file's name that is looked for without its folder: `a.py` is in any text."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """An entry of DECISIONS.md."""

    number: int
    decision: Decision
    task: str = ""
    date: str = ""
    because: str = ""
    """Why a task is told of it; empty until that was asked."""

    @property
    def id(self) -> str:
        """As it is written: `DECISION-007`."""
        return f"DECISION-{self.number:03d}"

    @property
    def is_candidate(self) -> bool:
        """Whether it was marked as one that could become a pattern."""
        return "candidate" in self.decision.pattern.casefold()


def read_decisions(text: str) -> tuple[Recorded, ...]:
    """The entries of a DECISIONS.md in their order; of a number that comes twice, the first."""
    starts = [*_HEADING.finditer(text)]
    ends = [*(match.start() for match in starts[1:]), len(text)][: len(starts)]
    found: dict[int, Recorded] = {}
    for start, end in zip(starts, ends, strict=True):
        one = _entry(int(start[1]), text[start.start() : end])
        if one is not None:
            found.setdefault(one.number, one)
    return tuple(found.values())


def _entry(number: int, section: str) -> Recorded | None:
    told = decisions.parse_decisions("\n".join(_block(section.replace("\r\n", "\n"))))
    if not told:
        return None
    blank = {
        name: ""
        for name in ("context", "decision", "tradeoff", "pattern")
        if getattr(told[0], name) in _NOTHING
    }
    fields = {match[1].lower(): match[2] for match in reversed([*_FIELD.finditer(section)])}
    task = fields.get("task", "")
    return Recorded(
        number, replace(told[0], **blank), "" if task in _NOTHING else task, fields.get("date", "")
    )


def _block(section: str) -> Iterator[str]:
    """An entry's heading and fields: people leave lines empty between them.

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
    """The decisions that touch a task, the latest first, each with the reason.

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
    said = f"{decision.title} {decision.context} {decision.decision} {decision.tradeoff}"
    named = next((path for path in files if _is_named(path, said)), "")
    return f"names {named}" if named else ""


def _is_named(path: str, text: str) -> bool:
    name = path.rpartition("/")[2]
    looked_for = (path, name) if len(name) >= _SHORTEST_NAME and "." in name else (path,)
    return any(
        re.search(rf"(?<![\w./-]){re.escape(one)}(?![\w/-])", text) for one in looked_for if one
    )
