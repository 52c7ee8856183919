"""Whose tests a pull request may break: pure, from its changes and what is known of the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.app.change.impact_question import evaluate_impact
from runner.impact.answer import Affected, Answer, Kind, Why, Width
from runner.plan.document import read_plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runner.app.gate.pull_request import PullRequest
    from runner.app.gate.test_suite import TestSuite
    from runner.config.settings import Settings
    from runner.impact.change import Changed
    from runner.impact.inputs import Knowledge


def select(
    found: PullRequest, knowledge: Knowledge, suite: TestSuite, settings: Settings
) -> tuple[tuple[Affected, ...], str]:
    """Whom the change may affect, and why that has to be everything; empty where it has not.

    What nobody can decide counts, but for files that only people read.
    """
    firm = [one for one in found.changes if one.path not in found.prose]
    read = [one for one in found.changes if one.path in found.prose]
    answers = [
        evaluate_impact(firm, knowledge, Width(conservative=True)),
        evaluate_impact(read, knowledge, Width()),
    ]
    if suite.plan:
        answers.append(Answer(tuple(_find_edited(found.changes, suite, settings))))
    selected = _unite(one for answer in answers for one in answer.affected)
    return selected, found.whole or _find_undecided(selected, suite)


def _find_undecided(selected: Sequence[Affected], suite: TestSuite) -> str:
    """What reached everything only since nobody can say whom it reaches."""
    if not suite.tasks or {task.id for task in suite.tasks} - {one.task for one in selected}:
        return ""
    whys = [next(_undecided(one.reasons), None) for one in selected]
    return whys[0].text if whys and whys[0] and all(whys) else ""


def _undecided(reasons: Iterable[Why]) -> Iterator[Why]:
    return (why for why in reasons if why.kind is Kind.UNDECIDED)


def _find_edited(
    changes: Iterable[Changed], suite: TestSuite, settings: Settings
) -> Iterator[Affected]:
    """Tasks of which the pull request changes what is asked, or how it is proven."""
    plan = next((one for one in changes if one.path == suite.plan), None)
    if plan is None:
        return
    was = {task.id: task for task in read_plan(plan.before or b"", suite.plan).tasks}
    for task in suite.tasks:
        before = was.get(task.id)
        if before is None or before.spec != task.spec or before.status is not task.status:
            text = f"the section of {task.id} is changed"
            why = Why(Kind.TEST, suite.plan, task.line, text)
            yield Affected(task.id, suite.ids_of(task, settings), (why,))


def _unite(every: Iterable[Affected]) -> tuple[Affected, ...]:
    """One entry a task, all its contracts and reasons together, in the order they came."""
    found: dict[str, Affected] = {}
    for one in every:
        known = found.get(one.task)
        if known is None:
            found[one.task] = one
            continue
        tests, more = dict(known.tests), dict(one.tests)
        # A contract without tests beside it is meant whole: a list of the other answer's would
        # narrow it.
        partial = {
            name: tuple(sorted({*tests.get(name, ()), *more.get(name, ())}))
            for name in {*tests, *more}
            if (name in tests or name not in known.contracts)
            and (name in more or name not in one.contracts)
        }
        found[one.task] = Affected(
            one.task,
            tuple(dict.fromkeys((*known.contracts, *one.contracts))),
            tuple(dict.fromkeys((*known.reasons, *one.reasons))),
            tuple(sorted(partial.items())),
        )
    return tuple(found.values())


def name_all(selected: Iterable[Affected]) -> frozenset[tuple[str, str]]:
    """Task and contract of each."""
    return frozenset((one.task, id_) for one in selected for id_ in one.contracts)
