"""What a person should look at first: what could do harm if it were waved through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.app.answer.waiting import DRAFT, PERMISSION, PLAN
from runner.gates.test_paths import is_test_path
from runner.run.review import open_questions
from runner.writes.paths import is_control

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.app.answer.waiting import Waiting
    from runner.journal.state import RunState


@dataclass(frozen=True, slots=True)
class Risk:
    """How soon something is to be looked at (0 first), and why in a few words each."""

    rank: int
    signs: tuple[str, ...]
    tone: str
    """The class of the style sheet."""


_KINDS = {
    "regression": (2, "breaks other tasks", "bad"),
    "writes": (5, "writes", "ask"),
    PERMISSION: (4, "asks to call a tool", "ask"),
    PLAN: (6, "a plan", "run"),
    "stale": (7, "what it rests on changed", "ask"),
    "blocked": (8, "blocked", "bad"),
    DRAFT: (9, "a draft", "run"),
}


def assess(state: RunState, one: Waiting) -> Risk:
    """Why this one is where it is in the queue."""
    rank, sign, tone = _KINDS[one.kind]
    signs = [sign]
    known = state.task(one.task)
    questions = open_questions(known) if one.kind == "writes" else ()
    if questions:
        rank = 0
        signs.append("asks about tests" if _about_tests(questions) else "asks a question")
    paths = [change.path for change in one.changes]
    if any(map(is_control, paths)):
        rank = min(rank, 1)
        signs.append("control files")
    if any(map(is_test_path, paths)):
        rank = min(rank, 3)
        signs.append("changes tests")
    if rank < _KINDS[one.kind][0]:
        tone = "bad"
    return Risk(rank, tuple(signs), tone)


def _about_tests(questions: Iterable[object]) -> bool:
    return any("test" in str(getattr(one, "check", "")) for one in questions)


def in_order(state: RunState, waiting: Iterable[Waiting]) -> list[tuple[Waiting, Risk]]:
    """Risk first; what is equal stays in the order of the plan."""
    return sorted(((one, assess(state, one)) for one in waiting), key=lambda pair: pair[1].rank)
