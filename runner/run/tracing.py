"""Traces a proposal back to the test contracts of other tasks; the coordinator's, as the plan is.

What is known of the repository is read once a run and follows each landing, so a question costs
what the change is large and not what the plan is long. A plan without test contracts asks nothing.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from runner.gates.regression import Traced
from runner.model import Status
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.impact.answer import Affected
    from runner.impact.change import Changed
    from runner.impact.knowledge import Knowledge
    from runner.impact.observed import Observations
    from runner.model import Outcome, Task
    from runner.repo.read import Repository
    from runner.run.ledger import Ledger
    from runner.run.site import Assignment

_PATIENCE = 2.0
"""Seconds before it is said that a repository is read for the first time."""
_READING = "reading which file refers to which, for what a change may break: once, then remembered"


@dataclass
class Tracer:
    """Answers which tests a change may break; used by one thread."""

    repository: Repository
    cache: Path
    tasks: Mapping[str, Task]
    ledger: Ledger
    settings: Settings
    owners: Callable[[], bytes | None]
    """The bytes of FILE_OWNERSHIP_MAP.md. Rows that a run adds are known from Output files."""
    say: Callable[[str], None] = lambda _text: None
    _knowledge: Knowledge | None = None
    _breaking: dict[str, bool | None] = field(default_factory=dict)
    _new: set[str] = field(default_factory=set)
    """Tasks with test contracts that became DONE in this run."""
    _trouble: str = ""
    """Why nothing can be decided in this run; empty as long as that goes well."""

    @cached_property
    def _proven(self) -> tuple[str, ...]:
        """The tasks that have test contracts."""
        return tuple(id_ for id_, task in self.tasks.items() if task.test_contracts)

    def trace(self, assignment: Assignment, outcome: Outcome) -> tuple[Traced, ...]:
        """The test contracts of DONE tasks that may change result, what fails soonest first."""
        if not outcome.changes or not any(self._counts(one, assignment) for one in self._proven):
            return ()
        found = self._affected(outcome)
        if found is None:
            return tuple(self._everything(assignment, outcome))
        counted = (one for one in found if self._counts(one.task, assignment))
        return tuple(traced for one in counted for traced in self._traced(one))

    def outdated(self, outcome: Outcome) -> bool:
        """Whether a change may break tests that were not there when it was traced."""
        return bool(self._new - {outcome.task})

    def observed(self, task: str, outcome: Outcome) -> None:
        """Follow a landing, and remember what the tests ran, also those of other tasks."""
        if self.tasks[task].test_contracts:
            self._new.add(task)
        if self._trouble or not (outcome.observed or self._proven):
            return
        with self._bordered():
            self._observations.follow(self._change(outcome, ".py"))
            if outcome.observed:
                self._observations.keep(task, outcome.observed)

    def _counts(self, task: str, assignment: Assignment) -> bool:
        """Whether a task's tests say something about the change."""
        if task == assignment.task.id or task in assignment.unproven:
            return False
        return task in assignment.beneath or self._is_in_the_tree(task, assignment)

    def _is_in_the_tree(self, task: str, assignment: Assignment) -> bool:
        """Whether a task was DONE when the attempt began: what landed since is not in its tree."""
        known, mine = self.ledger.state.task(task), self.ledger.state.task(assignment.task.id)
        began = mine.open_attempt.time if mine.open_attempt else ""
        return known.status is Status.DONE and (not began or known.done_at <= began)

    # --- asking -----------------------------------------------------------------------

    def _affected(self, outcome: Outcome) -> tuple[Affected, ...] | None:
        """The answer; None where there is none: then everything counts."""
        from runner.impact.answer import Dependents, Width, affected

        if self._trouble:
            return None
        width = Width(Dependents(self.settings.changed_dependents), self.settings.conservative)
        with self._bordered():
            change = self._change(outcome)
            return affected(change, self._known(outcome.base, change), width)
        return None  # the border told why

    @contextmanager
    def _bordered(self) -> Iterator[None]:
        """The one border to a repository that may hold anything: what goes wrong there is told.

        Nothing is decided from then on in this run, so that every test counts as affected.
        """
        try:
            yield
        except Exception as error:  # noqa: BLE001 - foreign code, git and a database; see above
            self._trouble = display(f"{type(error).__name__}: {error}")
            self.say(
                "note: what a change may break cannot be decided "
                f"({self._trouble}): the tests of all DONE tasks run on each change"
            )

    def _everything(self, assignment: Assignment, outcome: Outcome) -> Iterator[Traced]:
        for id_ in self._proven:
            if self._counts(id_, assignment):
                task = self.tasks[id_]
                path, why = outcome.changes[0].path, "it could not be decided what this breaks"
                for contract in task.test_contracts:
                    yield Traced(id_, contract, task.network, task.timeout, path, 0, why)

    def _change(self, outcome: Outcome, suffix: str = "") -> tuple[Changed, ...]:
        from runner.impact.change import Changed

        return tuple(
            Changed(change.path, self._blob(outcome.base, change.path), change.content)
            for change in outcome.changes
            if change.path.endswith(suffix)
        )

    def _blob(self, base: str, path: str) -> bytes | None:
        return self.repository.blob(base, path) if base else None

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

    # --- what is known ----------------------------------------------------------------

    @cached_property
    def _observations(self) -> Observations:
        from runner.impact.observed import Observations
        from runner.impact.store import Store

        store = Store(self.cache)
        self.repository.on_close(store.close)
        return Observations(store)

    def _known(self, base: str, change: tuple[Changed, ...]) -> Knowledge:
        from runner.gates.contracts.compatibility import breaking
        from runner.impact.reading import refresh

        if self._knowledge is None:
            self._knowledge = self._read(base)
        else:
            refresh(self._knowledge.references, self.repository, base)
        self._breaking.clear()
        for one in change:
            if self._knowledge.contract_files.of(one.path):
                self._breaking[one.path] = breaking(one.path, one.before, one.after)
        return self._knowledge

    def _read(self, base: str) -> Knowledge:
        """The first reading; a large repository takes seconds, which is said."""
        from threading import Timer

        from runner.impact.reading import knowledge_of
        from runner.run.past import past_of

        patience = Timer(_PATIENCE, self.say, (_READING,))
        patience.daemon = True
        patience.start()
        try:
            return knowledge_of(
                self.repository,
                self.cache,
                self.tasks.values(),
                base,
                owners=self.owners(),
                prefixes=self.settings.id_prefixes,
                breaking=self._breaking,
                past=past_of(self.ledger.state.tasks, self.tasks.values()),
            )
        finally:
            patience.cancel()
