"""Run the tests that a pull request may break on its merge result.

What cannot be answered for by a part of the tests is answered for by all of them, with the reason.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner import effects
from runner.app.gate.select_tests import (
    FILE,
    MeasuredPullRequest,
    find_changes,
    keep_in,
    load_map,
    make_map,
    name_all,
    open_pull_request,
    select,
    write_map,
)
from runner.app.gate.test_suite import (
    TESTS,
    load_suite,
    make_contract,
    may_run_prose,
)
from runner.app.prove.prove_tree import WorkTreeSnapshot, prove_snapshot
from runner.errors import ExitCode, RunnerError
from runner.impact.answer import Affected, Basis, Why
from runner.impact.inputs import knowledge_of
from runner.impact.store import ImpactStore
from runner.impact.traces import Observations
from runner.repo.head import OWNERSHIP_MAP
from runner.repo.merge import MergeResult
from runner.run.regressions.proof_reuse import past_of
from runner.text.wording import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from runner.app.gate.test_suite import TestSuite
    from runner.app.prove.prove_tree import Reproven
    from runner.impact.inputs import Knowledge
    from runner.model import Task, TestContract
    from runner.project import Project
    from runner.repo.read import Repository


class GateRequest(Struct, frozen=True):
    """The request to a gate."""

    base: str = ""
    head: str = "HEAD"
    tests: str = ""
    """Command for all tests, without a plan or to override it; empty: detect it."""
    map_file: Path | None = None
    """Path of the test map; None: in the user's cache."""
    moved_from: str = ""
    """Previous base: tests run only if its changes and the pull request share a test."""
    everything: bool = False
    """Run the whole suite regardless of the change."""


class GateResult(Struct, frozen=True):
    """The result of a gate."""

    request: MeasuredPullRequest
    suite: TestSuite | None = None
    selected: tuple[Affected, ...] = ()
    whole: str = ""
    """Why all tests were run; empty if a part was enough."""
    ran: tuple[Reproven, ...] = ()
    seconds: float = 0.0
    """Wall-clock seconds of the tests that ran."""
    whole_seconds: float | None = None
    """Seconds of the whole suite, if known."""
    skipped: str = ""
    """Why no tests had to run."""
    notes: tuple[str, ...] = ()

    @property
    def breaks(self) -> tuple[Reproven, ...]:
        """Tests that fail on the merge result."""
        return tuple(one for one in self.ran if one.failed)

    @property
    def count(self) -> int:
        """Number of selected test contracts, contracts or test files."""
        return sum(len(one.contracts) for one in self.selected)

    @property
    def total(self) -> int:
        """Number of all test contracts and contracts."""
        return sum(len(task.test_contracts) + len(task.contracts) for task in self.tasks)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Whose they are."""
        return self.suite.tasks if self.suite else ()

    @property
    def code(self) -> ExitCode:
        """0 nothing breaks, 1 something does, 3 a person has to merge."""
        if self.request.merge.conflicts:
            return ExitCode.PERSON
        return ExitCode.FAILED if self.breaks else ExitCode.OK


class GateMeasurement(Struct, frozen=True):
    """One measurement: what it is about, and who hears of it."""

    project: Project
    repository: Repository
    request: GateRequest
    trust: Callable[[TestSuite], object]
    """Raises RunnerError unless a person allows these commands."""
    say: Callable[[str], None]
    listen: Callable[[Reproven], object]

    def measure(self) -> GateResult:
        """Merge, select, run. Raises RunnerError where it cannot be measured at all."""
        asked = self.request
        runs_prose = partial(may_run_prose, self.repository, asked.tests)
        found = open_pull_request(
            self.repository, asked.base, asked.head, self.project.environ, runs_prose
        )
        if found.merge.conflicts:
            return GateResult(found)
        if not found.changes:
            return GateResult(found, skipped="the base already has all changes of the branch")
        suite = load_suite(self.project, self.repository, found.merge.commit, asked.tests)
        # Trust the merge result's commands: they may differ from the base's.
        self.trust(suite)
        return self._answer(found, suite)

    def _answer(self, found: MeasuredPullRequest, suite: TestSuite) -> GateResult:
        merged, notes = found.merge.commit, [*suite.notes]
        if self.request.moved_from and not self.repository.resolve(self.request.moved_from):
            notes.append("the --moved-from commit is not in this clone: all selected tests run")
        # In memory: an external map serves this one question and must not mix with measurements of
        # local runs.
        with ImpactStore(None) as store:
            knowledge, messages, seconds = self._learn(suite, found, store)
            notes += messages
            selected, why = select(found, knowledge, suite, self.project.settings)
            if self.request.everything:
                why = "requested by --all"
            if why:
                selected = self._select_all(suite, why, selected)
            met = self._find_meeting(found, knowledge, suite, selected)
        result = GateResult(found, suite, selected, why, notes=tuple(notes), whole_seconds=seconds)
        if not selected or met:
            return replace(result, skipped=met or "no test is known to depend on it")
        start = effects.monotonic()
        ran = self._run(suite, merged, selected, whole=bool(why))
        if not (suite.plan or why) and (why := self._explain_doubt(found, suite, selected, ran)):
            start = effects.monotonic()  # of everything alone: without the part's time
            result = replace(result, whole=why)
            ran = self._run(suite, merged, (), whole=True)
        took = round(effects.monotonic() - start, 3)
        known = took if result.whole else seconds
        if result.whole or suite.plan:  # a part was compared already
            notes += self._compare_with_base(found, suite, ran)
        notes += (one.message for each in ran for one in each.unrun)
        return replace(result, ran=ran, seconds=took, whole_seconds=known, notes=tuple(notes))

    # --- what is known ----------------------------------------------------------------

    def _learn(
        self, suite: TestSuite, found: MeasuredPullRequest, store: ImpactStore
    ) -> tuple[Knowledge, list[str], float | None]:
        """Return knowledge of the merge result, notes on it, and the seconds of a full run."""
        project, repository, merge = self.project, self.repository, found.merge
        state = project.state()
        past = past_of({task.id: state.task(task.id) for task in suite.tasks}, suite.tasks)
        knowledge = knowledge_of(
            repository,
            project.cache / "gate",
            suite.tasks,
            merge.commit,
            owners=repository.blob(merge.commit, OWNERSHIP_MAP) if suite.plan else b"",
            prefixes=project.settings.build.id_prefixes,
            past=past,
        )
        if suite.plan:
            seen = ImpactStore(project.cache)
            repository.on_close(seen.close)
            seconds = sum(past.seconds.values()) if past.seconds else None
            return replace(knowledge, observed=Observations(seen)), [], seconds
        knowledge = replace(knowledge, collected=self._find_collected(suite, found))
        file = self.request.map_file or project.cache / FILE
        kept, why = load_map(file, project, repository, merge.base, merge.head)
        if kept is None:
            return replace(knowledge, observed=Observations(store)), [why], None
        return replace(knowledge, observed=keep_in(store, kept)), [], kept.seconds

    def _find_collected(self, suite: TestSuite, found: MeasuredPullRequest) -> frozenset[str]:
        """Return the test files that frameworks collect, including ones that the change deletes."""
        if not any(one.is_deleted for one in found.changes):
            return frozenset(suite.frameworks)
        with suppress(RunnerError):  # there were no tests
            asked = self.request.tests
            before = load_suite(self.project, self.repository, found.merge.base, asked)
            return frozenset({*suite.frameworks, *(() if before.plan else before.frameworks)})
        return frozenset(suite.frameworks)

    def _find_meeting(
        self,
        found: MeasuredPullRequest,
        knowledge: Knowledge,
        suite: TestSuite,
        selected: Sequence[Affected],
    ) -> str:
        """Return why no test has to run again after the base moved; empty if some have to."""
        moved_from = self.request.moved_from
        if not moved_from:
            return ""
        old = self.repository.resolve(moved_from)
        if old is None:
            return ""  # nobody can say how it moved: everything selected runs
        moved = tuple(find_changes(self.repository, old, found.merge.base))
        other = replace(found, changes=moved, prose=frozenset())
        theirs = name_all(select(other, knowledge, suite, self.project.settings)[0])
        if theirs & name_all(selected):
            return ""
        return "changes on the base since then affect none of its tests"

    def _select_all(
        self, suite: TestSuite, why: str, selected: Sequence[Affected]
    ) -> tuple[Affected, ...]:
        """Select all tasks with contracts, and keep the reasons of those selected before."""
        reasons = {one.task: one.reasons for one in selected}
        reason = (Why(Basis.SETTINGS, "", 0, why),)
        every = (
            Affected(
                task.id,
                suite.ids_of(task, self.project.settings),
                (*reason, *reasons.get(task.id, ())),
            )
            for task in suite.tasks
        )
        return tuple(one for one in every if one.contracts)

    # --- running ----------------------------------------------------------------------

    def _run(
        self, suite: TestSuite, commit: str, selected: Sequence[Affected], *, whole: bool
    ) -> tuple[Reproven, ...]:
        """Run the selected tests of a commit in scratch trees."""
        if suite.plan:
            tasks = {task.id: task for task in suite.tasks}
            wanted = tuple((tasks[one.task], id_) for one in selected for id_ in one.contracts)
        else:
            (task,) = suite.command_tasks()
            if not whole:
                made = tuple(_join(suite, selected))
                task = replace(task, test_contracts=made)
            wanted = tuple((task, one.id) for one in task.test_contracts)
        return self._prove(commit, wanted)

    def _explain_doubt(
        self,
        found: MeasuredPullRequest,
        suite: TestSuite,
        selected: Sequence[Affected],
        ran: Sequence[Reproven],
    ) -> str:
        """Explain why a part of the tests does not decide; empty where it does.

        Some tests fail without others before them, and may pass alone under the instruments that a
        map is made with. So what failed counts only if it passes in the very same part on the base.
        """
        if any(one.ran_no_test for one in ran):
            return "the selection ran no test"
        if not any(one.failed for one in ran):
            return ""
        failing = {test for one in ran for test in one.failing}
        base = found.merge.base
        there = frozenset(self.repository.list_tree(base))
        if not failing or not set(map(_file_of, failing)) <= there:
            return "the failed tests may depend on tests that were not selected"
        self.say("tests failed: running them on the base to see if they need other tests")
        same = [
            replace(one, contracts=tuple(id_ for id_ in one.contracts if id_ in there))
            for one in selected
        ]
        before = self._run(suite, base, same, whole=False)
        failed_before = {test for one in before for test in one.failing}
        if failing & failed_before or any(one.failed and not one.failing for one in before):
            return "the failed tests also fail on the base without the other tests"
        return ""

    def _compare_with_base(
        self, found: MeasuredPullRequest, suite: TestSuite, ran: Sequence[Reproven]
    ) -> Iterator[str]:
        """Yield notes on failing tests that fail on the base with the same command as well."""
        base = found.merge.base
        there = frozenset(self.repository.list_tree(base))
        red = [one for one in ran if {*map(_file_of, one.failing)} & there]
        if not red:
            return
        self.say("tests failed: running them on the base to see if they failed before")
        task_of = {task.id: task for task in suite.command_tasks() or suite.tasks}
        before = self._prove(base, tuple((task_of[one.task], one.contract) for one in red))
        failing = {test for one in ran for test in one.failing}
        same = failing & {test for one in before for test in one.failing}
        if same:
            if len(failing) == 1:
                yield "the failed test also fails on the base"
                return
            many = "all" if same == failing else f"{len(same)} of"
            yield f"{many} {len(failing)} failed tests also fail on the base"

    def _prove(
        self, commit: str, wanted: tuple[tuple[Task, str], ...], *, observed: bool = False
    ) -> tuple[Reproven, ...]:
        snapshot = WorkTreeSnapshot(commit, ())
        return prove_snapshot(
            self.project, self.repository, snapshot, wanted, self.listen, observed=observed
        )

    # --- on the base ------------------------------------------------------------------

    def record(self) -> tuple[GateResult, int]:
        """Run everything on HEAD, the base's own tip, and keep what every file of tests ran.

        Gives how many files are in the map: none with a plan, of which the journal knows that.
        Raises RunnerError where there is nothing to run.
        """
        head = self.repository.resolve(self.request.head) or ""
        suite = load_suite(self.project, self.repository, head, self.request.tests)
        if suite.plan:
            why = "no test map is needed with a plan: its tasks record what their tests ran"
            found = MeasuredPullRequest("the base", MergeResult(head, head, head))
            return GateResult(found, suite, skipped=why), 0
        self.trust(suite)
        found = MeasuredPullRequest("the base", MergeResult(head, head, head))
        start = effects.monotonic()
        why = "this is the base itself"
        ran = self._run(suite, head, (), whole=True)
        took = round(effects.monotonic() - start, 3)
        (task,) = suite.single_tasks()
        result = GateResult(
            found, suite, self._select_all(suite, why, ()), why, ran, took, whole_seconds=took
        )
        # A run that stopped at a failure ran too few tests for a complete map.
        if result.breaks:
            return result, 0
        self.say(f"passed in {took:.1f} s; now measuring the coverage of each test file alone")
        single = tuple((task, one.id) for one in task.test_contracts)
        each = self._prove(head, single, observed=True)
        made = make_map(head, took, each, lambda path: self.repository.blob(head, path))
        write_map(self.request.map_file or self.project.cache / FILE, made)
        left = len(single) - len(made.files)
        notes = (f"{plural(left, 'file')} of tests not in the map: selected by imports",)
        return replace(result, notes=notes if left else ()), len(made.files)


def _file_of(test: str) -> str:
    """Return the file part of a pytest (`a.py::test`) or Node (`a.js > b`) test name."""
    return test.partition("::")[0].partition(" > ")[0]


def _join(suite: TestSuite, selected: Sequence[Affected]) -> Iterator[TestContract]:
    """Yield one test contract per framework with all of its selected files or packages."""
    chosen = [id_ for one in selected for id_ in one.contracts if one.task == TESTS]
    for framework in dict.fromkeys(suite.frameworks[id_] for id_ in chosen):
        names = tuple(sorted(id_ for id_ in chosen if suite.frameworks[id_] == framework))
        yield make_contract(framework.name, suite.join(framework, names))
