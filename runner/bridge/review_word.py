"""A review that asks for changes: what it wants of which task, by the files that it speaks of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.bridge.admission import find_reviews
from runner.bridge.slash_commands import take_hidden_out
from runner.plan.globs import matches
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runner.bridge.builder import TaskRow
    from runner.bridge.forge import Review
    from runner.bridge.issue_desk import IssueDesk

_TASK = re.compile(r"\bTASK-\d{1,9}\b")
_LONGEST = 4000


def find_review(desk: IssueDesk) -> Review | None:
    """The next review of its pull request in which somebody who may push asks for changes."""
    if desk.pull is None:
        return None
    reviews = desk.forge.list_reviews(desk.pull.number)
    found = find_reviews(desk.forge, reviews, desk.memory.reviewed)
    return found[0] if found else None


def read_wishes(desk: IssueDesk, review: Review) -> dict[str, str]:
    """By task what is to change; empty where the review tells no task.

    A line's comment goes to the tasks that may write its file, what is said of the whole to those
    that it names; where only one task could be meant, that one.
    """
    if desk.pull is None:
        return {}
    rows = desk.builder.look().tasks
    said: dict[str, list[str]] = {}
    named = _TASK.findall(review.body)
    for id_ in _find_meant(rows, (one.id for one in rows if one.id in named)):
        said.setdefault(id_, []).append(review.body)
    for line in desk.forge.list_line_comments(desk.pull.number, review.id):
        owners = (one.id for one in rows if any(matches(out, line.path) for out in one.outputs))
        place = f"{line.path}:{line.line}" if line.line else line.path
        for id_ in _find_meant(rows, owners):
            said.setdefault(id_, []).append(f"{place}: {line.body}")
    wishes = {id_: _write(texts) for id_, texts in said.items()}
    return {id_: f"{text} (review {review.id})" for id_, text in wishes.items() if text}


def _find_meant(rows: Sequence[TaskRow], found: Iterable[str]) -> list[str]:
    return list(found) or [one.id for one in rows[:1] if len(rows) == 1]


def _write(texts: Iterable[str]) -> str:
    plain = (" ".join(display(redact(take_hidden_out(one)), lines=True).split()) for one in texts)
    return "; ".join(filter(None, plain))[:_LONGEST]
