"""The pattern library as it grows: a decision becomes a pattern's text and a row of the index."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.plan.markdown_table import read_sheet
from runner.plan.patterns import pattern_id
from runner.plan.source import BOM, line_end_of
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from runner.context.decisions import Recorded
    from runner.model import Task
    from runner.plan.patterns import PatternIndex

INDEX = "PATTERN_INDEX.md"
FOLDER = "patterns"
HEAD = "| Pattern | Title | Domain | Stack | Keywords | File |"
_COLUMNS = ("pattern", "title")
_NUMBER = re.compile(r"PATTERN-(\d+)", re.IGNORECASE)
_FROM = re.compile(r"^- Decision: DECISION-(\d+)\b", re.MULTILINE)


def file_of(pattern: str) -> str:
    """Where a pattern's text is written."""
    return f"{FOLDER}/{pattern}.md"


def source_decision(text: str) -> int | None:
    """The number of the decision that a pattern's text was made from."""
    match = _FROM.search(text)
    return int(match[1]) if match else None


def free_id(index: PatternIndex, taken: Iterable[str], wanted: str = "") -> str:
    """An id that is neither in the index nor in `taken`: the wanted one, else the next.

    `wanted` is the Pattern field of the decision, which may say `candidate for PATTERN-007`.
    """
    known = {pattern.id for pattern in index.patterns} | {*taken}
    named = _NUMBER.search(wanted)
    if named and (own := pattern_id(named[0])) not in known:
        return own
    numbers = [int(match[1]) for one in known if (match := _NUMBER.match(one))]
    return f"PATTERN-{max(numbers, default=0) + 1:03d}"


def text_of(pattern: str, recorded: Recorded, task: Task | None) -> str:
    """The text of a pattern: when to use it, what to do, what it costs, and where it was done."""
    said = recorded.decision
    facts = [f"Decision: {recorded.id}"]
    facts += [f"Task: {recorded.task}"] if recorded.task else []
    examples = [path for path in task.outputs if not set("*?[") & set(path)] if task else []
    parts = [
        f"# {pattern}: {_line(said.title)}",
        "\n".join(f"- {_line(fact)}" for fact in facts),
        f"## When\n\n{_line(said.context) or 'As the decision says.'}",
        f"## Do\n\n{_line(said.decision or said.title)}",
        f"## Trade-off\n\n{_line(said.tradeoff)}" if said.tradeoff else "",
        "## Examples\n\n" + "\n".join(f"- `{_line(path)}`" for path in examples)
        if examples and examples != ["any"]
        else "",
    ]
    return redact("\n\n".join(filter(None, parts)) + "\n")


def row_of(pattern: str, recorded: Recorded, task: Task | None, domain: str) -> dict[str, str]:
    """The cells of a pattern's row, by the lower-case name of their column."""
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
    """The index with one more row behind its last; every byte that is there stays.

    Raises RunnerError for a file that has no table with the columns Pattern and Title.
    """
    sheet = read_sheet(data, _COLUMNS)
    if sheet.head < 0:
        raise RunnerError(
            f"{INDEX} has no table of patterns",
            where=INDEX,
            hint=f"give it the head {HEAD} and below it |---|---|---|---|---|---|",
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
    """The ids of patterns whose files are there, by the names of these files."""
    return frozenset(pattern_id(match[0]) for name in names if (match := _NUMBER.match(name)))


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\|", text)


def _line(text: str) -> str:
    return display(" ".join(text.split()))
