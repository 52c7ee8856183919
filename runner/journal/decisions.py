"""Parse an implementer's `DECISION:` blocks from its output or a file.

    DECISION: Optimistic locking instead of row locks
    Context: Row locks deadlocked under concurrent booking requests.
    Decision: Optimistic locking with at most 3 retries.
    Trade-off: Some retries, against no deadlock.
    Pattern: candidate for PATTERN-007

A block ends at an empty line, at the next block, or at a fence. A field goes on over the lines
that begin no other field. Headings, bullets, quotes and bold around the names are read too.
"""

from __future__ import annotations

import re

from runner.model import Decision

MOST = 50
"""Maximum number of decisions from one attempt."""
LONGEST = 2_000
"""Characters kept of one field."""

_MARK = r"[ \t>#*_-]{0,12}"
_START = re.compile(rf"^{_MARK}DECISION(?:-\d{{1,6}})?{_MARK}:{_MARK}(.*)$")
_FIELD = re.compile(
    rf"^{_MARK}(title|contexts?|decisions?|trade[ -]?offs?|patterns?|date|task)"
    rf"{_MARK}:{_MARK}(.*)$",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(r"^(<.*>|\.\.\.|…|\[.*\])?$")


def parse_decisions(text: str) -> tuple[Decision, ...]:
    """Read the decisions in a text, each once, in their order; ignore what is no block."""
    found: dict[Decision, None] = {}
    block: dict[str, list[str]] | None = None
    for line in (*text.splitlines(), ""):
        start = _START.match(line)
        if block is not None and (start or _ends(line)):
            found.update(_decision(block))
            block = None
        if start:
            block = {"title": [start[1]], "last": ["title"]}
        elif block is not None:
            _take(block, line)
    return tuple(found)[:MOST]


def begins_field(line: str) -> bool:
    """Return whether a line begins a field of a decision block."""
    return bool(_FIELD.match(line))


def without_decisions(text: str) -> str:
    """Return a text without its decision blocks."""
    kept, inside = [], False
    for line in text.splitlines():
        inside = bool(_START.match(line)) or (inside and not _ends(line))
        if not inside:
            kept.append(line)
    return "\n".join(kept)


def _ends(line: str) -> bool:
    stripped = line.strip(" \t>")
    return not stripped or stripped.startswith(("```", "~~~"))


def _take(block: dict[str, list[str]], line: str) -> None:
    field = _FIELD.match(line)
    if field:
        name = re.sub(r"[ -]", "", field[1].lower()).removesuffix("s")
        block["last"] = [name]
        block[name] = [field[2]]
    else:
        block[block["last"][0]].append(line.strip(" \t>"))


def _decision(block: dict[str, list[str]]) -> dict[Decision, None]:
    title, context, decision, tradeoff, pattern = (
        " ".join(part.strip() for part in block.get(name, ()) if part.strip()).strip("* \t")[
            :LONGEST
        ]
        for name in ("title", "context", "decision", "tradeoff", "pattern")
    )
    if _PLACEHOLDER.match(title):  # an agent that repeats the instructions decides nothing
        return {}
    return {Decision(title, context, decision, tradeoff, pattern): None}
