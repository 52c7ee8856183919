"""Gathers who is affected while a change is judged, and puts it in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner.impact.inputs import Proven, soonest_first
from runner.impact.reasons import Affected, Answer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.impact.inputs import Knowledge
    from runner.impact.reasons import Why

_MOST_REASONS = 12


@dataclass(slots=True)
class ImpactCollector:
    """Tasks and test contracts that are found to be affected; grows while a change is judged."""

    knowledge: Knowledge
    reasons: dict[str, dict[Why, None]] = field(default_factory=dict)
    contracts: dict[Proven, set[str] | None] = field(default_factory=dict)
    """The tests inside; None for all of them."""
    doubts: dict[Why, None] = field(default_factory=dict)

    def add_task(self, task: str, why: Why) -> None:
        """A task with all its test contracts; an unknown task is nobody."""
        if task not in self.knowledge.tasks:
            return
        self._because(task, why)
        for contract in self.knowledge.contracts_of(task):
            self.contracts[Proven(task, contract)] = None

    def add(self, proven: Proven, why: Why, test: str = "") -> None:
        """One test contract, or one test in it."""
        if proven not in self.knowledge.commands.targets():
            return  # it was taken out of the plan since
        self._because(proven.task, why)
        tests = self.contracts.setdefault(proven, set())
        if not test:
            self.contracts[proven] = None
        elif tests is not None:
            tests.add(test)

    def add_all(self, why: Why) -> None:
        """Every test contract there is."""
        for proven in self.knowledge.commands.targets():
            self.add(proven, why)

    def _because(self, task: str, why: Why) -> None:
        reasons = self.reasons.setdefault(task, {})
        if len(reasons) < _MOST_REASONS:
            reasons[why] = None

    def answer(self) -> Answer:
        """All that was found, in the order to run it."""
        by_task: dict[str, list[Proven]] = {task: [] for task in self.reasons}
        for proven in soonest_first(self.contracts, self.knowledge.past):
            by_task[proven.task].append(proven)
        rank = {proven.task: at for at, proven in reversed([*enumerate(_first(by_task, self))])}
        order = sorted(self.reasons, key=lambda task: rank.get(task, len(rank)))
        found = tuple(self._make_affected(task, by_task[task]) for task in order)
        return Answer(found, tuple(self.doubts))

    def _make_affected(self, task: str, proven: list[Proven]) -> Affected:
        single = ((one.contract, self.contracts[one]) for one in proven)
        tests = tuple((name, tuple(sorted(some))) for name, some in single if some is not None)
        names = tuple(one.contract for one in proven)
        return Affected(task, names, tuple(self.reasons[task]), tests)


def _first(by_task: dict[str, list[Proven]], hits: ImpactCollector) -> Iterable[Proven]:
    firsts = [proven[0] for proven in by_task.values() if proven]
    return soonest_first(firsts, hits.knowledge.past)
