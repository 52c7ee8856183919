"""Contracts that a change reaches: by their documents, their instances and the code behind them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from runner.impact.reasons import Affected, Answer, Dependents, Kind, Why

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from runner.gates.contracts.touched import Held, Touching
    from runner.impact.change import Changed
    from runner.impact.knowledge import Knowledge
    from runner.impact.reach import Reached
    from runner.impact.reasons import Width


class Kept(NamedTuple):
    """A contract that a task keeps to, and the changed place by which it is reached."""

    task: str
    name: str
    """`contract:schema`."""
    path: str
    line: int
    why: str


def reached(
    changes: Iterable[Changed], knowledge: Knowledge, width: Width, held: Held
) -> Iterator[Kept]:
    """The contracts of which a change touches the document, an instance or the code.

    An additive change of a document reaches them, too: who keeps to the contract passes, and what
    the comparison of documents does not see is seen.
    """
    met: set[tuple[str, str]] = set()
    for change in changes:
        for at in _reaching(knowledge, change, width):
            for one in held.of(at.path):
                if one[:2] in met or not _matters(one, at):
                    continue
                met.add(one[:2])
                way = f", and {at.told()}" if at.by else ""
                why = f"{one.task} keeps to a contract about {at.path}{way}"
                yield Kept(one.task, one.name, change.path, change.first_line, why)


def with_contracts(answer: Answer, kept: Sequence[Kept]) -> Answer:
    """An answer with these contracts among what may change result."""
    by_task: dict[str, list[Kept]] = {}
    for one in kept:
        by_task.setdefault(one.task, []).append(one)
    known = {one.task for one in answer.affected}
    joined = tuple(_joined(one, by_task.get(one.task, ())) for one in answer.affected)
    more = (_joined(Affected(id_, (), ()), by_task[id_]) for id_ in by_task if id_ not in known)
    return Answer((*joined, *more), decided(answer.doubts, kept))


def decided(doubts: Iterable[Why], kept: Iterable[Kept]) -> tuple[Why, ...]:
    """Doubts without those about files that a contract names: whom these reach is known."""
    paths = {one.path for one in kept}
    return tuple(one for one in doubts if one.path not in paths or not _nobody(one))


def _nobody(doubt: Why) -> bool:
    """Whether the doubt is that nothing is known of the whole file."""
    from runner.impact.change import Changed
    from runner.impact.undecided import undeclared

    return doubt.text == undeclared(Changed(doubt.path, b"", b""))


def _joined(one: Affected, kept: Iterable[Kept]) -> Affected:
    kept = tuple(kept)
    reasons = (Why(Kind.CONTRACTS, at.path, at.line, at.why) for at in kept)
    new = (why for why in reasons if (why.kind, why.path) not in _said(one))
    names = tuple(at.name for at in kept)
    return replace(one, contracts=(*one.contracts, *names), reasons=(*one.reasons, *new))


def _said(one: Affected) -> Mapping[tuple[Kind, str], Why]:
    return {(why.kind, why.path): why for why in one.reasons}


def _matters(one: Touching, at: Reached) -> bool:
    """Code and instances are reached by imports; a document by others that it refers to."""
    return at.by is None or at.named == one.is_document


def _reaching(knowledge: Knowledge, change: Changed, width: Width) -> Iterator[Reached]:
    """The changed file, and what imports it, as far as is asked."""
    from runner.impact.blocks import is_quiet
    from runner.impact.reach import reaching

    deepest = 1 if width.dependents is Dependents.DIRECT else None
    return reaching(knowledge.references, change.path, deepest, quiet=is_quiet(change))
