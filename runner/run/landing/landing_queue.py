"""The landing turn: who was overtaken twice lands next, so that a slow proof does not starve.

A task whose proof takes long is proven again each time another one lands meanwhile. After two such
rounds it takes the turn; until it has landed or failed, whatever else passes is parked.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runner.model import Outcome, Task

ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Parked:
    """Work that passed and waits while another task has the turn; `how` it was approved."""

    task: Task
    outcome: Outcome
    how: str


@dataclass(slots=True)
class LandingQueue:
    """First come, first served, among those that were overtaken."""

    holder: str = ""
    _rounds: dict[str, int] = field(default_factory=dict)
    _parked: deque[Parked] = field(default_factory=deque)

    def mark_overtaken(self, task: str) -> None:
        """A task has to be proven once more, since another one landed before it."""
        self._rounds[task] = self._rounds.get(task, 0) + 1
        if self._rounds[task] >= ROUNDS and not self.holder:
            self.holder = task

    def parks(self, task: Task, outcome: Outcome, how: str) -> bool:
        """Whether work has to wait for the one that has the turn; then it is kept here."""
        if not self.holder or self.holder == task.id:
            return False
        self._parked.append(Parked(task, outcome, how))
        return True

    def over(self, task: str) -> None:
        """A task has landed, or will not: the turn is free if it had it."""
        self._rounds.pop(task, None)
        if self.holder == task:
            self.holder = ""

    def next_parked(self) -> Parked | None:
        """The longest parked work, once nobody has the turn."""
        return self._parked.popleft() if self._parked and not self.holder else None

    def give_up(self) -> tuple[Parked, ...]:
        """Everything that is parked, where the run ends before its turn comes."""
        left = tuple(self._parked)
        self._parked.clear()
        return left
