"""Trace a proposal to the proofs of other tasks that it may break.

What is known of the repository is read once a run and follows each landing, so a question costs
what the change is large and not what the plan is long. A plan without test contracts asks nothing.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from threading import Timer
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from runner.contracts.entries import name_checks
from runner.gates.regression import Suspects, Traced, failures_before
from runner.gates.test_paths import is_test_path
from runner.impact import inputs
from runner.impact.change import Changed
from runner.impact.store import ImpactStore
from runner.impact.traces import Observations, hit
from runner.lazy_module import lazy_module
from runner.model.words import Severity, Status
from runner.model.work import Finding
from runner.repo.commit import commit_tree
from runner.run.regressions import proof_reuse
from runner.run.regressions.early_cutoff import still_speaks
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.contracts import compatibility, touched_contracts
    from runner.impact.inputs import Knowledge
    from runner.impact.reasons import Affected, Why, Width
    from runner.journal.task_state import TaskState
    from runner.model.task import Task
    from runner.model.work import Outcome
    from runner.repo.read import Repository
    from runner.run.journal_writer import JournalWriter
    from runner.run.regressions.proof_reuse import ReachedContract
    from runner.run.worker_assignment import Assignment
else:
    compatibility = lazy_module("runner.contracts.compatibility")
    touched_contracts = lazy_module("runner.contracts.touched_contracts")


A = TypeVar("A")
_ENOUGH = 10
"""Failures after which more of them don't help the next attempt."""
_PATIENCE = 2.0
"""Seconds before a message that a repository is read for the first time."""
_READING = "indexing which files refer to each other, to see what a change may break (once)"


class Tracer(Struct, dict=True):
    """Answers which tests a change may break; used by one thread."""

    repository: Repository
    cache: Path
    tasks: Mapping[str, Task]
    journal: JournalWriter
    settings: Settings
    owners: Callable[[], bytes | None]
    """Bytes of FILE_OWNERSHIP_MAP.md. Rows added by a run are known from Output files."""
    say: Callable[[str], None] = lambda _text: None
    environ: Mapping[str, str] = field(default_factory=dict)
    """The user's variables, some of which are secrets that tasks require."""
    _doubts: tuple[Why, ...] = ()
    """Undecided cases of the last traced change."""
    _knowledge: Knowledge | None = None
    _breaking: dict[str, bool | None] = field(default_factory=dict)
    _new: set[str] = field(default_factory=set)
    """Tasks with test contracts or contracts that became DONE in this run."""
    _trouble: str = ""
    """Why nothing can be decided in this run; empty without a problem."""

    @cached_property
    def _proven(self) -> tuple[str, ...]:
        """The tasks that have something to prove: test contracts, contracts."""
        return tuple(
            id_ for id_, task in self.tasks.items() if task.test_contracts or task.contracts
        )

    def trace(self, assignment: Assignment, outcome: Outcome) -> Suspects:
        """Return the proofs of DONE tasks that a change may break, likely failures first."""
        self._doubts = ()
        if not outcome.changes or not any(self._counts(one, assignment) for one in self._proven):
            return Suspects()
        found = self._find_suspects(outcome)
        if found is None:
            found = self._everything(assignment, outcome)
        counted = [one for one in found if self._counts(one.task.id, assignment)]
        if not self._trouble:
            with self._guard_border():
                changes = self._change(outcome)
                counted = [self._trace_to_what_ran(one, changes) for one in counted]
        notes = _in_doubt(self._doubts)
        return Suspects(
            self._suspecting.in_order(counted), self._enough(assignment, outcome), notes
        )

    def _enough(self, assignment: Assignment, outcome: Outcome) -> int | None:
        """Return after how many failures to stop, or None if all of them count."""
        implementer, task = assignment.implementer, assignment.task
        halts = self.settings.proof.regression == "halt"
        if implementer is None or implementer.repeatable or halts:
            return None
        known = self.journal.state.task(task.id)
        if known.tries and known.tries[-1].tree == outcome.tree:
            return None  # the same files again: no attempt follows
        tries = known.attempts_in_row + 1
        return _ENOUGH if tries < (task.budget.attempts or self.settings.build.attempts) else None

    def why_not_standing(self, task: Task, outcome: Outcome, head: str) -> str:
        """Return why a task's own tests must run again on a moved branch; "" if they need not."""
        seen = {row.contract for row in outcome.observed}
        if why := proof_reuse.explain_unseen(task, outcome.proofs, seen.__contains__):
            return why
        if not outcome.base:
            return "there is no commit to compare with"
        return self._explain_moved(task, outcome, head, proof_reuse.explain_reach)

    def why_not_contracts(self, task: Task, outcome: Outcome, head: str) -> str:
        """Return why the task's contracts must run again although its tests need not, or ""."""
        if not task.contracts:
            return ""
        return self._explain_moved(task, outcome, head, proof_reuse.explain_contracts)

    def _explain_moved(
        self, task: Task, outcome: Outcome, head: str, explain: proof_reuse.Explain
    ) -> str:
        """Explain a proposal together with what came to the branch since it began."""
        if self._trouble:
            return self._trouble
        with self._guard_border():
            # On no branch and unsigned: only its files are read, and no key is needed.
            made = (self.repository, outcome.base, outcome.changes, "a proposal")
            changes = proof_reuse.find_moved(self.repository, outcome.base, head)
            knowledge = self._load_knowledge(commit_tree(*made, sign=False).sha, changes)
            return explain(task, outcome, changes, knowledge)
        return "the runner could not determine what the change affects"

    def find_untouched(
        self, done: Iterable[TaskState], head: str, documents: frozenset[str]
    ) -> frozenset[str]:
        """Return the DONE tasks whose own proof is still valid on a commit."""
        known = [(self.tasks[one.id], one) for one in done if one.id in self._proven]
        if self._trouble or not known:
            return frozenset()
        with self._guard_border():
            knowledge = self._load_knowledge(head, ())
            return proof_reuse.find_untouched(self.repository, head, known, knowledge, documents)
        return frozenset()

    def is_outdated(self, outcome: Outcome) -> bool:
        """Return whether a change may break tests added after it was traced."""
        return bool(self._new - {outcome.task})

    def observe(self, task: str, outcome: Outcome) -> None:
        """Follow a landing, and remember what the tests ran, also those of other tasks."""
        if self.tasks[task].test_contracts or self.tasks[task].contracts:
            self._new.add(task)
        if self._trouble or not (outcome.observed or self._proven):
            return
        with self._guard_border():
            changes = self._change(outcome, ".py")
            if self._knowledge is None:
                self._observations.follow(changes)
            else:
                self._observations.follow(changes, self._knowledge.content)
            if outcome.observed:
                self._observations.keep(task, outcome.observed)

    def _counts(self, task: str, assignment: Assignment) -> bool:
        """Return whether a task's tests are relevant for the change."""
        if task == assignment.task.id or task in assignment.unproven:
            return False
        return task in assignment.beneath or self._is_in_the_tree(task, assignment)

    def _is_in_the_tree(self, task: str, assignment: Assignment) -> bool:
        """Return whether a task was DONE when the attempt began, so that its tree has it.

        So was one that is only to be proven again: its code is there, and its tests speak for it.
        """
        known, mine = self.journal.state.task(task), self.journal.state.task(assignment.task.id)
        began = mine.open_attempt.time if mine.open_attempt else ""
        done = known.status is Status.DONE or still_speaks(self.tasks[task], self.journal.state)
        return done and (not began or known.done_at <= began)

    # --- asking -----------------------------------------------------------------------

    def _find_suspects(self, outcome: Outcome) -> tuple[Traced, ...] | None:
        """Return the tests whose result may change; None if unknown, so that all tests count."""
        from runner.impact.answer import Depth, Width, judge

        if self._trouble:
            return None
        own = self.settings.proof
        width = Width(Depth(own.changed_dependents), own.conservative)
        with self._guard_border():
            change = self._change(outcome)
            knowledge = self._load_knowledge(outcome.base, change)
            answer = judge(change, knowledge, width)
            kept = self._suspecting.find_kept(change, knowledge, width)
            self._doubts = answer.doubts
            if answer.doubts and kept:
                self._doubts = proof_reuse.filter_decided(answer.doubts, kept)
            tests = self._suspecting.tests(answer.affected)
            return (*tests, *self._suspecting.contracts(kept))
        return None  # the border reported why

    @contextmanager
    def _guard_border(self) -> Iterator[None]:
        """Catch and report any error of the analysis; afterwards every test counts as affected.

        Nothing is decided from then on in this run, so that every test counts as affected.
        """
        try:
            yield
        except Exception as error:  # noqa: BLE001 - foreign code, git and a database; see above
            self._trouble = display(f"{type(error).__name__}: {error}")
            self.say(
                "note: cannot determine what a change may break "
                f"({self._trouble}): each change runs the tests of all DONE tasks"
            )

    def _everything(self, assignment: Assignment, outcome: Outcome) -> tuple[Traced, ...]:
        tasks = (self.tasks[id_] for id_ in self._proven if self._counts(id_, assignment))
        path = _prefer_product([one.path for one in outcome.changes], str)
        return tuple(self._suspecting.everything(tasks, path))

    def _trace_to_what_ran(self, one: Traced, changes: tuple[Changed, ...]) -> Traced:
        """Return the trace with a changed file that its tests executed, if recorded."""
        by_path = {change.path: change for change in changes}
        lines: dict[str, int] = {}
        for row in self._observations.of(one.task.id, one.name):
            if row.path in by_path and (at := hit(row, by_path[row.path])):
                lines[row.path] = at.line
        if not lines or one.path in lines:
            return one
        path = _prefer_product(sorted(lines), str)
        why = f"{one.name} executed {path}"
        return replace(one, path=path, line=lines[path], why=why)

    def _change(self, outcome: Outcome, suffix: str = "") -> tuple[Changed, ...]:
        return tuple(
            Changed(change.path, self._blob(outcome.base, change.path), change.content)
            for change in outcome.changes
            if change.path.endswith(suffix)
        )

    def _blob(self, base: str, path: str) -> bytes | None:
        return self.repository.blob(base, path) if base else None

    # --- what is known ----------------------------------------------------------------

    @cached_property
    def _suspecting(self) -> TestSelection:
        return TestSelection(
            self.tasks, self.journal, self.settings, self.environ, self.cache, self._shown
        )

    @property
    def _shown(self) -> str:
        return str(self.repository.folders.top)

    @cached_property
    def _observations(self) -> Observations:
        store = ImpactStore(self.cache)
        self.repository.on_close(store.close)
        return Observations(store)

    def _load_knowledge(self, base: str, change: tuple[Changed, ...]) -> Knowledge:
        if self._knowledge is None:
            self._knowledge = self._read(base)
        else:
            inputs.refresh(self._knowledge.references, self.repository, base)
        # Cleared, not replaced: the loaded knowledge refers to this dictionary.
        self._breaking.clear()
        for one in change:
            if self._knowledge.contract_files.of(one.path):
                self._breaking[one.path] = compatibility.is_breaking(
                    one.path, one.before, one.after
                )
        return self._knowledge

    def _read(self, base: str) -> Knowledge:
        """Read the knowledge of a tree for the first time; print a message if that is slow."""
        patience = Timer(_PATIENCE, self.say, (_READING,))
        patience.daemon = True
        patience.start()
        try:
            return inputs.knowledge_of(
                self.repository,
                self.cache,
                self.tasks.values(),
                base,
                owners=self.owners(),
                prefixes=self.settings.build.id_prefixes,
                breaking=self._breaking,
                past=proof_reuse.past_of(self.journal.state.tasks, self.tasks.values()),
            )
        finally:
            patience.cancel()


def _prefer_product(items: Sequence[A], path_of: Callable[[A], str]) -> A:
    """Return the first item that is not about a test file, else the first."""
    return next((one for one in items if not is_test_path(path_of(one))), items[0])


def _in_doubt(doubts: tuple[Why, ...]) -> tuple[Finding, ...]:
    """Return a note on changes with unknown effects, or nothing."""
    if not doubts:
        return ()

    first, more = doubts[0], f" (and {len(doubts) - 1} more)" if len(doubts) > 1 else ""
    return (
        Finding(
            check="impact",
            message=f"cannot determine what this may break: {first.text}{more}; "
            "--conservative counts that as affected",
            path=first.path,
            line=first.line,
            severity=Severity.NOTE,
            hint="add the file to the Inputs of the tasks that use it, or run with --conservative",
        ),
    )


class TestSelection(Struct, dict=True):
    """Makes proofs to run of reasons; the coordinator's."""

    tasks: Mapping[str, Task]
    journal: JournalWriter
    settings: Settings
    environ: Mapping[str, str]
    cache: Path
    shown: str
    """Path of the repository itself."""

    def tests(self, affected: Iterable[Affected]) -> Iterator[Traced]:
        """Yield the test contracts whose results may change."""
        for one in affected:
            why = _prefer_product(one.reasons, lambda reason: reason.path)
            for name in one.contracts:
                yield self._make_traced(self.tasks[one.task], name, why.path, why.line, why.text)

    def contracts(self, kept: Iterable[ReachedContract]) -> Iterator[Traced]:
        """Yield the contracts that a change affects."""
        for one in kept:
            yield self._make_traced(self.tasks[one.task], one.name, one.path, one.line, one.why)

    def find_kept(
        self, changes: Iterable[Changed], knowledge: Knowledge, width: Width
    ) -> tuple[ReachedContract, ...]:
        """Return the contracts that a change reaches, and how."""
        if not self._has_contracts:
            return ()
        return tuple(proof_reuse.find_reached_contracts(changes, knowledge, width, self._held))

    def everything(self, tasks: Iterable[Task], path: str) -> Iterator[Traced]:
        """Yield every proof of these tasks, because the effects are unknown."""
        why = "the runner could not determine what this change breaks"
        for task in tasks:
            names = [one.id for one in task.test_contracts]
            names += [name for name, entry in name_checks(task) if entry.kind != "command"]
            for name in names:
                yield self._make_traced(task, name, path, 0, why)

    def in_order(self, traced: Iterable[Traced]) -> tuple[Traced, ...]:
        """Sort tests by past failures and durations, likely quick failures first."""
        by_name = {inputs.Proven(one.task.id, one.name): one for one in traced}
        seconds = {at: one.seconds for at, one in by_name.items() if one.seconds is not None}
        failures = {at: failures_before(self.cache, self.shown, *at) for at in by_name}
        return tuple(
            by_name[at] for at in inputs.soonest_first(by_name, inputs.Past(seconds, failures))
        )

    def _make_traced(self, task: Task, name: str, path: str, line: int, why: str) -> Traced:
        proofs = self.journal.state.task(task.id).proofs
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
    def _held(self) -> touched_contracts.Held:
        return touched_contracts.Held(self.tasks.values())
