"""Tool calls that go round in a circle: seen purely, for a model's loop and an agent's stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.model import Finding
from runner.text.display import display

if TYPE_CHECKING:
    from runner.model import Digest

LOOP = "loop"
"""The name under which a circle is told."""
IN_A_ROW = 3
_REMEMBERED = 4
_LONGEST = 120


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool; two are the same with the same name and arguments."""

    name: str
    arguments: Digest
    about: str = ""
    """What it was about, for a person: a path perhaps. Redacted already."""

    def __str__(self) -> str:
        return display(f"{self.name} {self.about}".strip())[:_LONGEST]

    def same_as(self, other: Call) -> bool:
        """Whether both ask for the same."""
        return (self.name, self.arguments) == (other.name, other.arguments)


@dataclass(frozen=True, slots=True)
class Calls:
    """The last calls of one session.

    To wait for a long command is no circle: who asks again whether it has ended does not hand
    that call to `after`.
    """

    last: tuple[Call, ...] = ()

    def after(self, call: Call) -> Calls:
        """With one more call."""
        return Calls((*self.last, call)[-_REMEMBERED:])

    @property
    def repeated(self) -> str:
        """What repeats itself, in words; empty while nothing does."""
        calls = self.last
        if len(calls) >= IN_A_ROW and all(calls[-1].same_as(call) for call in calls[-IN_A_ROW:]):
            return f"{calls[-1]} was called {IN_A_ROW} times in a row with the same arguments"
        if len(calls) < _REMEMBERED:
            return ""
        first, second, third, fourth = calls
        if first.same_as(third) and second.same_as(fourth):
            return f"{first} and {second} were called in turn, twice with the same arguments"
        return ""

    @property
    def finding(self) -> Finding | None:
        """The finding that ends an attempt whose calls go in a circle."""
        if not (said := self.repeated):
            return None
        hint = "an answer does not change by asking again: change a file, or say what is missing"
        return Finding(LOOP, said, hint=hint)
