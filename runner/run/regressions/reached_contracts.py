"""Contracts that a change reaches, and how test contracts did before.

Contracts are reached by their documents, their instances and the code behind them; what the journal
tells of earlier runs of tests says what fails soonest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from runner.impact.change import Changed, explain_undeclared
from runner.impact.python_blocks import is_quiet
from runner.impact.reasons import Affected, Answer, Dependents, Kind, Why
from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from runner.gates.contracts.touched_contracts import Held, Touching
    from runner.impact import inputs, reach
    from runner.impact.inputs import Knowledge
    from runner.impact.reach import Reached
    from runner.impact.reasons import Width
    from runner.journal.task_state import TaskState
    from runner.model.task import Task
else:
    inputs = lazy_module("runner.impact.inputs")
    reach = lazy_module("runner.impact.reach")


def past_of(states: Mapping[str, TaskState], tasks: Iterable[Task]) -> inputs.Past:
    """How long each test contract took last, and how often it failed since."""
    seconds: dict[inputs.Proven, float] = {}
    failures: dict[inputs.Proven, int] = {}
    for task in tasks:
        known = states.get(task.id)
        for proof in known.proofs if known else ():
            seconds[inputs.Proven(task.id, proof.id)] = proof.seconds
        for attempt in known.tries if known else ():
            for check in attempt.checks:
                one = inputs.Proven(task.id, check)
                failures[one] = failures.get(one, 0) + 1
    return inputs.Past(seconds, failures)


class ReachedContract(NamedTuple):
    """A contract that a task keeps to, and the changed place by which it is reached."""

    task: str
    name: str
    """`contract:schema`."""
    path: str
    line: int
    why: str


def find_reached_contracts(
    changes: Iterable[Changed], knowledge: Knowledge, width: Width, held: Held
) -> Iterator[ReachedContract]:
    """The contracts of which a change touches the document, an instance or the code.

    An additive change of a document reaches them, too: who keeps to the contract passes, and what
    the comparison of documents does not see is seen.
    """
    met: set[tuple[str, str]] = set()
    for change in changes:
        for at in _find_reaching(knowledge, change, width):
            for one in held.of(at.path):
                if one[:2] in met or not _matters(one, at):
                    continue
                met.add(one[:2])
                way = f", and {at.describe()}" if at.by else ""
                why = f"{one.task} keeps to a contract about {at.path}{way}"
                yield ReachedContract(one.task, one.name, change.path, change.first_line, why)


def with_contracts(answer: Answer, kept: Sequence[ReachedContract]) -> Answer:
    """An answer with these contracts among what may change result."""
    by_task: dict[str, list[ReachedContract]] = {}
    for one in kept:
        by_task.setdefault(one.task, []).append(one)
    known = {one.task for one in answer.affected}
    joined = tuple(_join(one, by_task.get(one.task, ())) for one in answer.affected)
    more = (_join(Affected(id_, (), ()), by_task[id_]) for id_ in by_task if id_ not in known)
    return Answer((*joined, *more), filter_decided(answer.doubts, kept))


def filter_decided(doubts: Iterable[Why], kept: Iterable[ReachedContract]) -> tuple[Why, ...]:
    """Doubts without those about files that a contract names: whom these reach is known."""
    paths = {one.path for one in kept}
    return tuple(one for one in doubts if one.path not in paths or not _nobody(one))


def _nobody(doubt: Why) -> bool:
    """Whether the doubt is that nothing is known of the whole file."""
    return doubt.text == explain_undeclared(Changed(doubt.path, b"", b""))


def _join(one: Affected, kept: Iterable[ReachedContract]) -> Affected:
    kept = tuple(kept)
    reasons = (Why(Kind.CONTRACTS, at.path, at.line, at.why) for at in kept)
    new = (why for why in reasons if (why.kind, why.path) not in _reasons_by_path(one))
    names = tuple(at.name for at in kept)
    return replace(one, contracts=(*one.contracts, *names), reasons=(*one.reasons, *new))


def _reasons_by_path(one: Affected) -> Mapping[tuple[Kind, str], Why]:
    return {(why.kind, why.path): why for why in one.reasons}


def _matters(one: Touching, at: Reached) -> bool:
    """Code and instances are reached by imports; a document by others that it refers to."""
    return at.by is None or at.named == one.is_document


def _find_reaching(knowledge: Knowledge, change: Changed, width: Width) -> Iterator[Reached]:
    """The changed file, and what imports it, as far as is asked."""
    deepest = 1 if width.dependents is Dependents.DIRECT else None
    return reach.find_reaching(knowledge.references, change.path, deepest, quiet=is_quiet(change))
