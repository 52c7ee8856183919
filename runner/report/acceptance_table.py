"""The acceptance table of a task: test and reviewer results for each acceptance item."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.model.work import Judge, items_of, rows_of
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.model import Proof, Task
    from runner.model.work import AcceptanceRow


def describe_table(task: Task, proofs: Iterable[Proof]) -> list[dict[str, object]]:
    """Return the table as data: one entry a verdict, and one for each item without any."""
    return [
        {
            "item": item,
            "text": text,
            "verdict": row and row.verdict,
            "by": row and _judge(row),
            "tests": row.tests if row else (),
            "evidence": row.evidence if row else (),
            "sentence": row.sentence if row else "",
            "doubt": row.doubt if row else "",
            "counts": row is not None and row.counts,
        }
        for item, text, row in _pair(task, proofs)
    ]


def format_table(task: Task, proofs: Iterable[Proof]) -> Iterator[str]:
    """Yield the table as lines: an item with its text, below it each verdict."""
    last = None
    for item, text, row in _pair(task, proofs):
        if item != last:
            yield display(f"{item}: {text}".rstrip(": "))
        last = item
        yield f"  {display(_format_row(row)) if row else 'no verdict'}"
        if row and row.sentence:
            yield f"    {display(row.sentence)}"


def _pair(task: Task, proofs: Iterable[Proof]) -> Iterator[tuple[str, str, AcceptanceRow | None]]:
    """Yield item, text and verdict in the order of the plan; nothing where no item has one."""
    rows, texts = rows_of(proofs), items_of(task)
    for item in dict.fromkeys((*texts, *(row.item for row in rows))) if rows else ():
        of_item = [row for row in rows if row.item == item]
        yield from ((item, texts.get(item, ""), row) for row in of_item or (None,))


def _format_row(row: AcceptanceRow) -> str:
    """Return `met, by held-out tests TC-003`, with evidence and the reason it does not count."""
    places = " ".join((*(one for one in row.tests if one != row.by), *row.evidence))
    doubt = f" (does not count: {row.doubt.words})" if row.doubt else ""
    return f"{row.verdict}, by {_judge(row)}{f': {places}' if places else ''}{doubt}"


def _judge(row: AcceptanceRow) -> str:
    """Return who judged, such as `held-out tests TC-003` or `claude (opus-5)`."""
    if row.judge is Judge.REVIEWER and row.by:
        return row.by
    return f"{row.judge} {row.by}".rstrip()
