"""From what a change may affect to the proofs to run, what fails soonest first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from runner.gates.contracts.entries import name_checks
from runner.gates.regression import Traced, failures_before

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.gates.contracts.touched_contracts import Held
    from runner.impact.answer import Affected, Changed, Width
    from runner.impact.inputs import Knowledge
    from runner.model import Task
    from runner.run.journal_writer import JournalWriter
    from runner.run.regressions.reached_contracts import ReachedContract


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
        from runner.run.regressions.reached_contracts import find_reached_contracts

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
