"""From what a change may affect to the proofs to run, what fails soonest first.

The contracts a change reaches are told by their documents, their instances and the code behind
them; how test contracts did before is told by the journal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from runner.gates.contracts.entries import name_checks
from runner.gates.regression import Traced, failures_before
from runner.impact.reasons import Affected, Answer, Dependents, Kind, Why

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.gates.contracts.touched_contracts import Held, Touching
    from runner.impact.change import Changed
    from runner.impact.inputs import Knowledge, Past
    from runner.impact.reach import Reached
    from runner.impact.reasons import Width
    from runner.journal.task_state import TaskState
    from runner.model.task import Task
    from runner.run.journal_writer import JournalWriter


def past_of(states: Mapping[str, TaskState], tasks: Iterable[Task]) -> Past:
    """How long each test contract took last, and how often it failed since."""
    from runner.impact.inputs import Past, Proven

    seconds: dict[Proven, float] = {}
    failures: dict[Proven, int] = {}
    for task in tasks:
        known = states.get(task.id)
        for proof in known.proofs if known else ():
            seconds[Proven(task.id, proof.id)] = proof.seconds
        for attempt in known.tries if known else ():
            for check in attempt.checks:
                one = Proven(task.id, check)
                failures[one] = failures.get(one, 0) + 1
    return Past(seconds, failures)


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
    from runner.impact.change import Changed
    from runner.impact.config_files import explain_undeclared

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
    from runner.impact.python_blocks import is_quiet
    from runner.impact.reach import find_reaching

    deepest = 1 if width.dependents is Dependents.DIRECT else None
    return find_reaching(knowledge.references, change.path, deepest, quiet=is_quiet(change))


@dataclass
class TestSelection:
    """Makes proofs to run of reasons; the coordinator's."""

    tasks: Mapping[str, Task]
    ledger: JournalWriter
    settings: Settings
    environ: Mapping[str, str]
    cache: Path
    shown: str
    """The repository's own path."""

    def tests(self, affected: Iterable[Affected]) -> Iterator[Traced]:
        """The test contracts that may change result."""
        for one in affected:
            why = one.reasons[0]
            for name in one.contracts:
                yield self._make_traced(self.tasks[one.task], name, why.path, why.line, why.text)

    def contracts(self, kept: Iterable[ReachedContract]) -> Iterator[Traced]:
        """The contracts that a change reaches."""
        for one in kept:
            yield self._make_traced(self.tasks[one.task], one.name, one.path, one.line, one.why)

    def find_kept(
        self, changes: Iterable[Changed], knowledge: Knowledge, width: Width
    ) -> tuple[ReachedContract, ...]:
        """Which contracts a change reaches, and how."""
        if not self._has_contracts:
            return ()
        return tuple(find_reached_contracts(changes, knowledge, width, self._held))

    def everything(self, tasks: Iterable[Task], path: str) -> Iterator[Traced]:
        """Every proof of some tasks, where nothing can be decided."""
        why = "it could not be decided what this breaks"
        for task in tasks:
            names = [one.id for one in task.test_contracts]
            names += [name for name, entry in name_checks(task) if entry.kind != "command"]
            for name in names:
                yield self._make_traced(task, name, path, 0, why)

    def in_order(self, traced: Iterable[Traced]) -> tuple[Traced, ...]:
        """What fails soonest comes first: by what failed in other changes, and by past times."""
        from runner.impact.inputs import Past, Proven, soonest_first

        by_name = {Proven(one.task.id, one.name): one for one in traced}
        seconds = {at: one.seconds for at, one in by_name.items() if one.seconds is not None}
        failures = {at: failures_before(self.cache, self.shown, *at) for at in by_name}
        return tuple(by_name[at] for at in soonest_first(by_name, Past(seconds, failures)))

    def _make_traced(self, task: Task, name: str, path: str, line: int, why: str) -> Traced:
        proofs = self.ledger.state.task(task.id).proofs
        return Traced(
            task=task,
            name=name,
            path=path,
            line=line,
            why=why,
            seconds=next((one.seconds for one in proofs if one.id == name), None),
            secrets=tuple(self.settings.secrets_for(task, self.environ).items()),
        )

    @cached_property
    def _has_contracts(self) -> bool:
        return any(task.contracts for task in self.tasks.values())

    @cached_property
    def _held(self) -> Held:
        from runner.gates.contracts.touched_contracts import Held

        return Held(self.tasks.values())
