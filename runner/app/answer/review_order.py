"""Order reviews by risk: the most dangerous change comes first."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.app.answer.waiting import DRAFT, PERMISSION, PLAN
from runner.contracts.entries import documents
from runner.gates.test_paths import is_test_path
from runner.model.grades import proof_kind
from runner.model.words import PROVES_NOTHING
from runner.run.review import open_questions
from runner.writes.paths import is_control

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.app.answer.waiting import Waiting
    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.project import Project


class Risk(Struct, frozen=True):
    """The risk of a change: its rank in the review order (0 first), and short reasons."""

    rank: int
    signs: tuple[str, ...]
    tone: str
    """CSS class in the style sheet."""


_KINDS = {
    "regression": (3, "breaks other tasks", "bad"),
    PERMISSION: (6, "asks to call a tool", "ask"),
    "writes": (7, "writes", "ask"),
    PLAN: (8, "a plan", "run"),
    "stale": (9, "task or dependency changed", "ask"),
    "blocked": (10, "blocked", "bad"),
    DRAFT: (11, "a draft", "run"),
}
_ASKS, _UNPROVEN, _CONTRACT, _CONTROL, _TESTS = 0, 1, 2, 4, 5


def find_contract_documents(project: Project) -> tuple[str, ...]:
    """Return paths and globs of all contract documents in the plan; empty without a plan."""
    if not project.has_plan:
        return ()
    plan = project.plan(project.plan_bytes)
    found = (path for task in plan.tasks for one in task.contracts for path in documents(one))
    return tuple(dict.fromkeys(found))


def assess(state: RunState, one: Waiting, contracts: tuple[str, ...] = ()) -> Risk:
    """Return the risk of an item, which sets its place in the review queue."""
    rank, sign, tone = _KINDS[one.kind]
    signs = [sign]
    for place, more in _find_signs(state.task(one.task), one, contracts):
        rank = min(rank, place)
        signs.append(more)
    return Risk(rank, tuple(signs), "bad" if rank < _KINDS[one.kind][0] else tone)


def _find_signs(
    known: TaskState, one: Waiting, contracts: tuple[str, ...]
) -> Iterable[tuple[int, str]]:
    questions = open_questions(known) if one.kind == "writes" else ()
    if questions:
        is_about_tests = any("test" in one.check for one in questions)
        yield _ASKS, "asks about tests" if is_about_tests else "asks a question"
    if one.kind == "writes" and not _is_shown(known):
        yield _UNPROVEN, "unproven"
    paths = [change.path for change in one.changes]
    if any(fnmatchcase(path, each) for path in paths for each in contracts):
        yield _CONTRACT, "changes a contract"
    if any(map(is_control, paths)):
        yield _CONTROL, "changes control files"
    if any(map(is_test_path, paths)):
        yield _TESTS, "changes tests"


def _is_shown(known: TaskState) -> bool:
    """Return whether the task's proofs include a check that executed its code."""
    proofs = known.passed.proofs if known.passed is not None else known.proofs
    kinds = {proof_kind(one) for one in proofs}
    return bool(kinds - {None, *PROVES_NOTHING})


def in_order(
    state: RunState, waiting: Iterable[Waiting], contracts: tuple[str, ...] = ()
) -> list[tuple[Waiting, Risk]]:
    """Return the items in order of risk; equal ones keep the order of the plan."""
    found = ((one, assess(state, one, contracts)) for one in waiting)
    return sorted(found, key=lambda pair: pair[1].rank)
