"""What the mutants of one function say together, kind by kind: purely."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING

from runner.gates.mutation.mutants import UNNOTICED
from runner.gates.mutation.run_mutants import Ends
from runner.gates.mutation.test_claims import Looks
from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.gates.mutation.mutants import Mutant, Subject


_COARSE = frozenset({"empty result", "no result"})
"""Kinds that a test of a type or of "something came" notices: they clear no function."""
_RESULT = "returned value"
_GUARDS = frozenset({"condition", "comparison", "operand", "raise", "statement", "loop"})
"""Kinds that a test notices by a refusal alone, whatever comes out where nothing is refused."""
_ENOUGH = 3
"""Kinds noticed by claims, after which nothing more is asked with `strict`."""
_TRIES = 2
"""Mutants of a kind, with `strict`: the first may stand where it makes no difference."""


class Weight(StrEnum):
    """How much of a function tests notice."""

    NOTICED = "noticed"
    LITTLE = "little"
    """By far the more kinds of mutants pass."""
    REFUSALS = "refusals"
    """Whether and when it refuses, but not what it returns."""
    NOTHING = "nothing"
    UNKNOWN = "unknown"
    """Too few mutants could be made."""


@dataclass(slots=True)
class Weighing:
    """The mutants of a function, one after the other."""

    strict: bool
    noticed: dict[str, Mutant] = field(default_factory=dict)
    survived: dict[str, list[Mutant]] = field(default_factory=dict)
    crashed: dict[str, list[Mutant]] = field(default_factory=dict)

    def select_mutants(self, subject: Subject) -> Iterator[Mutant]:
        """The mutants worth a try, as long as what is known leaves a doubt."""
        for mutant in subject.mutants:
            if self._is_clear:
                break
            if self._is_wanted(mutant.kind):
                yield mutant
        for mutant in subject.mutants:  # of two results one may be what nobody asks for
            if self._knows_refusals_alone and mutant.kind == _RESULT:
                seen = {*self.survived[_RESULT], *self.crashed.get(_RESULT, ())}
                if len(seen) < _TRIES and mutant not in seen:
                    yield mutant

    def add(self, mutant: Mutant, ended: Ends) -> None:
        """What became of a mutant."""
        match ended:
            case Ends.NOTICED:
                self.noticed[mutant.kind] = mutant
            case Ends.SURVIVED:
                self.survived.setdefault(mutant.kind, []).append(mutant)
            case Ends.CRASHED:
                self.crashed.setdefault(mutant.kind, []).append(mutant)

    def _is_wanted(self, kind: str) -> bool:
        if kind in self.noticed:
            return False
        passed, crashed = len(self.survived.get(kind, ())), len(self.crashed.get(kind, ()))
        if not self.strict:
            return not passed and crashed < _TRIES
        if kind in _COARSE:
            return not (passed or crashed) and len(self._told) < UNNOTICED
        # nothing noticed after each kind had its turn is an answer; else a second try is fair
        return passed < (_TRIES if self._fine else 1) and crashed < _TRIES

    @property
    def _fine(self) -> frozenset[str]:
        """Kinds that only a claim about what comes out notices, and one did."""
        return frozenset(self.noticed) - _COARSE

    @property
    def has_claims(self) -> bool:
        """Whether a claim about what comes out noticed a mutant."""
        return bool(self._fine)

    @property
    def _told(self) -> frozenset[str]:
        return frozenset({*self.noticed, *self.survived, *self.crashed})

    @property
    def _passed(self) -> frozenset[str]:
        return frozenset(self.survived) - frozenset(self.noticed)

    @property
    def _knows_refusals_alone(self) -> bool:
        return _RESULT in self._passed and bool(self._fine) and self._fine <= _GUARDS

    @property
    def _is_clear(self) -> bool:
        if self.strict:
            return len(self._fine) >= _ENOUGH
        return bool(self._fine) or len(self._passed) >= UNNOTICED

    def is_doubtful(self, looks: Looks) -> bool:
        """Of what is not known: whether no test may have noticed anything at all.

        A crash says that code ran. So where mutants only crash, the tests' texts decide; and they
        do where none asserts anything. One mutant that passed beside others that crash may stand in
        for the same; so may the only one, where no test gets to the function by its name.
        """
        if looks is Looks.NEVER:
            return True
        if self.noticed:
            return False
        if not self.survived:
            return looks is Looks.ASIDE
        few = bool(self.crashed) or looks is Looks.PERHAPS
        return len(self.survived) > 1 or not few or looks is Looks.ASIDE

    @property
    def survivors(self) -> tuple[Mutant, ...]:
        """One of each kind that no test noticed."""
        return tuple(self.survived[kind][0] for kind in self.survived if kind in self._passed)

    @property
    def result(self) -> Weight:
        """What they say together."""
        passed, fine = len(self._passed), len(self._fine)
        if not fine and passed >= UNNOTICED:
            return Weight.NOTHING
        if not fine:
            return Weight.UNKNOWN
        if self._knows_refusals_alone:
            return Weight.REFUSALS
        little = self.strict and passed >= UNNOTICED and passed > fine
        return Weight.LITTLE if little else Weight.NOTICED
