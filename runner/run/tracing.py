"""Traces a proposal back to the test contracts of other tasks; the coordinator's, as the plan is.

What is known of the repository is read once a run and follows each landing, so a question costs
what the change is large and not what the plan is long.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner.gates.regression import Traced
from runner.model import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.impact.answer import Affected
    from runner.impact.change import Changed
    from runner.impact.knowledge import Knowledge
    from runner.model import Outcome, Task
    from runner.repo.read import Repository
    from runner.run.ledger import Ledger
    from runner.run.site import Assignment


@dataclass
class Tracer:
    """Answers which tests a change may break; used by one thread."""

    repository: Repository
    cache: Path
    tasks: Mapping[str, Task]
    ledger: Ledger
    settings: Settings
    owners: Callable[[], bytes | None]
    """The bytes of FILE_OWNERSHIP_MAP.md."""
    _knowledge: Knowledge | None = None
    _breaking: dict[str, bool | None] = field(default_factory=dict)

    def trace(self, assignment: Assignment, outcome: Outcome) -> tuple[Traced, ...]:
        """The test contracts of DONE tasks that may change result, what fails soonest first."""
        others = self._others(assignment)
        if not outcome.changes or not any(self.tasks[one].test_contracts for one in others):
            return ()
        from runner.impact.answer import Dependents, Width, affected

        width = Width(Dependents(self.settings.changed_dependents), self.settings.conservative)
        change = self._change(outcome)
        found = affected(change, self._known(outcome.base, change), width)
        return tuple(traced for one in found if one.task in others for traced in self._traced(one))

    def observed(self, task: str, outcome: Outcome) -> None:
        """Remember what the tests ran, also those of other tasks that were run on this change."""
        if self._knowledge is None:
            from runner.impact.observed import Observations
            from runner.impact.store import Store

            observations = Observations(Store(self.cache))
        else:
            observations = self._knowledge.observed
        observations.keep(task, outcome.observed)

    def _others(self, assignment: Assignment) -> frozenset[str]:
        """The tasks whose tests say something about the change."""
        mine = self.ledger.state.task(assignment.task.id).open_attempt
        began = mine.time if mine else ""
        done = {id_ for id_ in self.tasks if self._is_done(id_, began)} | assignment.beneath
        return frozenset(done - assignment.unproven - {assignment.task.id})

    def _is_done(self, task: str, began: str) -> bool:
        """Whether a task was DONE when the attempt began: what landed since is not in its tree."""
        known = self.ledger.state.task(task)
        return known.status is Status.DONE and (not began or known.done_at <= began)

    def _change(self, outcome: Outcome) -> tuple[Changed, ...]:
        from runner.impact.change import Changed

        return tuple(
            Changed(change.path, self._blob(outcome.base, change.path), change.content)
            for change in outcome.changes
        )

    def _blob(self, base: str, path: str) -> bytes | None:
        return self.repository.blob(base, path) if base else None

    def _known(self, base: str, change: tuple[Changed, ...]) -> Knowledge:
        from runner.gates.contracts.compatibility import breaking
        from runner.impact.reading import knowledge_of, refresh

        if self._knowledge is None:
            self._knowledge = knowledge_of(
                self.repository,
                self.cache,
                self.tasks.values(),
                base,
                owners=self.owners(),
                prefixes=self.settings.id_prefixes,
                breaking=self._breaking,
            )
        else:
            refresh(self._knowledge.references, self.repository, base)
        self._breaking.clear()
        for one in change:
            if self._knowledge.contract_files.of(one.path):
                self._breaking[one.path] = breaking(one.path, one.before, one.after)
        return self._knowledge

    def _traced(self, affected: Affected) -> Iterator[Traced]:
        task = self.tasks[affected.task]
        by_id = {contract.id: contract for contract in task.test_contracts}
        why = affected.reasons[0]
        for id_ in affected.contracts:
            yield Traced(
                task=task.id,
                contract=by_id[id_],
                network=task.network,
                timeout=task.timeout,
                path=why.path,
                line=why.line,
                why=why.text,
            )
