"""Runs what a change may affect on the files as they are now, in scratch trees, and tells."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING

from runner.app.prove.prove_tree import Slots, Snapshot, open_slots
from runner.gates import contract_tests, contracts, shim
from runner.model import Verdict
from runner.repo.read import Repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from runner.gates.base import GateContext
    from runner.impact.answer import Affected
    from runner.model import Finding, Task
    from runner.project import Project
    from runner.run.assignment import WorkerContext


CONTRACT = "contract:"
"""What the id of an entry under Contracts begins with."""


@dataclass(frozen=True, slots=True)
class Reproven:
    """How one test contract or contract ended."""

    task: str
    contract: str
    failed: bool
    findings: tuple[Finding, ...]


def reprove(
    project: Project, affected: Iterable[Affected], listener: Callable[[Reproven], object]
) -> tuple[Reproven, ...]:
    """Run them, begun in the order of the answer, on HEAD with what is not committed.

    As many run at once as there are jobs, each in a tree of its own; each is told as soon as it is
    over. Raises RunnerError where no sandbox can be had.
    """
    tasks = {task.id: task for task in project.plan(project.plan_bytes).tasks}
    wanted = tuple((tasks[one.task], id_) for one in affected for id_ in one.contracts)
    count = max(1, min(project.settings.jobs, len(wanted)))
    with (
        Repository.open(project.root) as repository,
        open_slots(project, repository, count) as opened,
    ):
        room = _Room(project, Snapshot.of(repository))
        for site in opened.slots:
            room.free.put(site)
        return _prove_all(room, wanted, opened, listener)


def _prove_all(
    room: _Room,
    wanted: tuple[tuple[Task, str], ...],
    opened: Slots,
    listener: Callable[[Reproven], object],
) -> tuple[Reproven, ...]:
    """What came of each, in their order."""
    count = len(opened.slots)
    with ThreadPoolExecutor(max_workers=count, thread_name_prefix="impact") as executor:
        futures = [executor.submit(room.prove, task, id_) for task, id_ in wanted]
        try:
            for future in as_completed(futures):
                listener(future.result())
        except BaseException:
            opened.crew.cancel()
            executor.shutdown(wait=True, cancel_futures=True)
            raise
        return tuple(future.result() for future in futures)


@dataclass(frozen=True, slots=True)
class _Room:
    """Where the tests run: trees that stand free, and what is put into them."""

    project: Project
    snapshot: Snapshot
    free: SimpleQueue[WorkerContext] = field(default_factory=SimpleQueue)
    scarce: Lock = field(default_factory=Lock)
    """Held by a test whose task uses what only one may have."""

    def prove(self, task: Task, id_: str) -> Reproven:
        """Run one test contract or contract in a tree that is free."""
        with self.scarce if task.uses else nullcontext():
            site = self.free.get()
            try:
                self.snapshot.put_into(site)
                logs = self.project.cache / "impact-logs" / task.id  # the repository stays as it is
                environ = self.project.environ
                return _run(self.snapshot.context(site, task, environ, (logs, str(logs))), id_)
            finally:
                self.free.put(site)


def _run(bench: GateContext, id_: str) -> Reproven:
    """One test contract or contract, as the proof of its task runs it."""
    family = contracts if id_.startswith(CONTRACT) else contract_tests
    check = next(one for one in family.checks(bench.task, bench.settings) if one.id == id_)
    proved = family.prove(check, bench)
    strays = shim.findings(bench)
    failed = proved.proof is None or proved.proof.verdict is Verdict.FAIL or bool(strays)
    return Reproven(bench.task.id, id_, failed, (*proved.findings, *strays))
