"""Prove outside of a run: scratch trees of the current files, and the context for one check.

What a change may affect is run there on the files as they are.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from queue import SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from runner.gates import contract_checks, contract_tests, shim
from runner.gates.coverage import measurements
from runner.gates.result_parsers import ran_no_test
from runner.held_out.store import ID_FILE
from runner.lazy_module import lazy_module
from runner.model import Action, Change, Verdict, digest_of
from runner.model.words import HELD_OUT_MISSING
from runner.process.sandbox import sandbox_of
from runner.repo.read import Repository
from runner.run.proof.verification_jobs import make_context
from runner.run.worker_setup import WorkerSetup
from runner.run.workers import WorkerPool
from runner.writes.safe_io import mode_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from runner.app.change import change_source
    from runner.gates.base import GateContext
    from runner.gates.coverage.lines import Measured
    from runner.impact.answer import Affected
    from runner.model import Finding, Task
    from runner.project import Project
    from runner.run.worker_assignment import WorkerContext
else:
    change_source = lazy_module("runner.app.change.change_source")


_PLAIN = 0o100644


class Slots(NamedTuple):
    """Scratch trees that are open side by side."""

    slots: tuple[WorkerContext, ...]
    workers: WorkerPool
    """Pool that signals cancellation to them."""


def worker_setup(project: Project, repository: Repository) -> WorkerSetup:
    """Create the worker setup of the project's settings. Raises RunnerError without a sandbox.

    Nobody hears what is printed in them: the proofs say it.
    """
    has_store = project.settings.proof.held_out_dir or (project.folders.common / ID_FILE).is_file()
    return WorkerSetup(
        root=project.root,
        repository=repository,
        cache=project.cache,
        settings=project.settings,
        sandbox=sandbox_of(project.settings, project.environ),
        environ=project.environ,
        say=lambda _task, _line: None,
        held_out=project.held_out if has_store else None,
    )


@contextmanager
def open_slots(project: Project, repository: Repository, count: int = 1) -> Iterator[Slots]:
    """Open `count` scratch trees for the block. Raises RunnerError without a sandbox."""
    setup = worker_setup(project, repository)
    workers = WorkerPool(1, setup.site, inline=True)
    with ExitStack() as stack:
        stack.callback(workers.close)
        slots = []
        for number in range(count):
            slots.append(setup.site(number, workers))
            stack.callback(slots[-1].close)
        yield Slots(tuple(slots), workers)


class WorkTreeSnapshot(NamedTuple):
    """HEAD, with what is not committed."""

    head: str
    changes: tuple[Change, ...]

    @classmethod
    def of(cls, repository: Repository) -> WorkTreeSnapshot:
        """Create a snapshot of HEAD and the uncommitted changes."""
        return cls(repository.head().commit or "", tuple(find_uncommitted(repository)))

    def put_into(self, site: WorkerContext) -> None:
        """Lay out exactly this snapshot in a slot's tree."""
        site.lay_out(self.head, self.changes)

    def context(
        self, site: WorkerContext, task: Task, environ: Mapping[str, str], logs: tuple[Path, str]
    ) -> GateContext:
        """Return the context for a task's checks in a slot; `logs` goes to `make_context`."""
        return make_context(
            site,
            task,
            environ=environ,
            logs=logs,
            changes=self.changes,
            before=partial(site.before, self.head),
            base=self.head,
        )


def find_uncommitted(repository: Repository) -> Iterator[Change]:
    """Yield the uncommitted files of the project as changes."""
    for one in change_source.of_working_tree(repository):
        before = None if one.before is None else digest_of(one.before)
        if one.after is not None:
            mode = mode_below(repository.root, one.path) or _PLAIN
            action = Action.CREATE if before is None else Action.MODIFY
            yield Change(one.path, action, mode, before, digest_of(one.after), one.after)
        elif before is not None:
            yield Change(one.path, Action.DELETE, 0, before, None)


CONTRACT = "contract:"
"""ID prefix of an entry under Contracts."""


class Reproven(Struct, frozen=True):
    """The result of one test contract or contract."""

    task: str
    contract: str
    failed: bool
    findings: tuple[Finding, ...]
    seconds: float = 0.0
    failing: tuple[str, ...] = ()
    """Failing tests, named as their tool names them."""
    ran_no_test: bool = False
    observed: Measured | None = None
    """Measured run, if it was requested."""

    @property
    def unrun(self) -> tuple[Finding, ...]:
        """Return findings of tests that could not run because held-out files are missing."""
        return tuple(one for one in self.findings if one.check == HELD_OUT_MISSING)

    @property
    def ending(self) -> str:
        """`passed`, `failed` or `not run`."""
        return "failed" if self.failed else "not run" if self.unrun else "passed"


def reprove(
    project: Project, affected: Iterable[Affected], listener: Callable[[Reproven], object]
) -> tuple[Reproven, ...]:
    """Run them, begun in the order of the answer, on HEAD with what is not committed.

    As many run at once as there are jobs, each in a tree of its own; `listener` gets each as soon
    as it is over. Raises RunnerError where no sandbox can be had.
    """
    tasks = {task.id: task for task in project.plan(project.plan_bytes).tasks}
    wanted = tuple((tasks[one.task], id_) for one in affected for id_ in one.contracts)
    with Repository.open(project.root) as repository:
        return prove_snapshot(
            project, repository, WorkTreeSnapshot.of(repository), wanted, listener
        )


def prove_snapshot(
    project: Project,
    repository: Repository,
    snapshot: WorkTreeSnapshot,
    wanted: tuple[tuple[Task, str], ...],
    listener: Callable[[Reproven], object],
    *,
    observed: bool = True,
) -> tuple[Reproven, ...]:
    """Run the wanted contracts of tasks on a snapshot of any commit and return the results.

    Without `observed` no lines are counted, which takes a test less time.
    """
    if not wanted:
        return ()
    count = max(1, min(project.settings.build.jobs, len(wanted)))
    with open_slots(project, repository, count) as opened:
        room = _Room(project, snapshot, observed)
        for site in opened.slots:
            room.free.put(site)
        return _prove_all(room, wanted, opened, listener)


def _prove_all(
    room: _Room,
    wanted: tuple[tuple[Task, str], ...],
    opened: Slots,
    listener: Callable[[Reproven], object],
) -> tuple[Reproven, ...]:
    """Prove all wanted tests in parallel and return the results in order."""
    count = len(opened.slots)
    with ThreadPoolExecutor(max_workers=count, thread_name_prefix="impact") as executor:
        futures = [executor.submit(room.prove, task, id_) for task, id_ in wanted]
        try:
            for future in as_completed(futures):
                listener(future.result())
        except BaseException:
            # Order matters: the pool waits for its threads, and these wait for their commands.
            opened.workers.cancel()
            executor.shutdown(wait=True, cancel_futures=True)
            raise
        return tuple(future.result() for future in futures)


class _Room(Struct, frozen=True):
    """The trees in which the tests run, and the files put into them."""

    project: Project
    snapshot: WorkTreeSnapshot
    observed: bool = True
    free: SimpleQueue[WorkerContext] = field(default_factory=SimpleQueue)
    scarce: Lock = field(default_factory=Lock)
    """Lock held by a test whose task uses an exclusive resource."""

    def prove(self, task: Task, id_: str) -> Reproven:
        """Run one test contract or contract in a tree that is free."""
        # Lock before tree: a waiting task takes no tree from tasks that need no lock.
        with self.scarce if task.uses else nullcontext():
            site = self.free.get()
            try:
                self.snapshot.put_into(site)
                logs = self.project.cache / "impact-logs" / task.id  # the repository stays as it is
                environ = self.project.environ
                context = self.snapshot.context(site, task, environ, (logs, str(logs)))
                return _run(context, id_, observed=self.observed)
            finally:
                self.free.put(site)


def _run(context: GateContext, id_: str, *, observed: bool) -> Reproven:
    """Run one test contract or contract as the task's proof does."""
    family = contract_checks if id_.startswith(CONTRACT) else contract_tests
    check = next(one for one in family.checks(context.task, context.settings) if one.id == id_)
    if not observed:
        check = replace(check, task=context.task.id)  # whose lines nobody counts
    proved = family.prove(check, context)
    strays = shim.findings(context)
    failed = proved.proof is None or proved.proof.verdict is Verdict.FAIL or bool(strays)
    ran = context.ran.get(id_)
    results = ran.results if ran else None
    is_measured = observed and check.kind == "test"
    return Reproven(
        context.task.id,
        id_,
        failed,
        (*proved.findings, *strays),
        seconds=proved.proof.seconds if proved.proof else 0.0,
        failing=tuple(test.id for test in results.failing) if results and failed else (),
        ran_no_test=proved.proof is not None and ran_no_test(proved.proof.counts),
        observed=measurements.read_measurement(id_, context) if is_measured else None,
    )
