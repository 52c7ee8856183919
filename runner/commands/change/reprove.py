"""Runs what may be affected on the files as they are now, in scratch trees, and tells."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING

from runner.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.gates.base import GateContext
    from runner.impact.answer import Affected
    from runner.model import Change, Finding, Task
    from runner.project import Project
    from runner.repo.read import Repository
    from runner.run.assignment import WorkerContext
    from runner.run.workers import WorkerPool


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
    project: Project, repository: Repository, affected: Iterable[Affected]
) -> tuple[Reproven, ...]:
    """Run them, begun in the order of the answer, on HEAD with what is not committed.

    As many run at once as there are jobs, each in a tree of its own. Raises RunnerError where no
    sandbox can be had.
    """
    from runner.app.build.machine import sandbox_of
    from runner.run.worker_setup import WorkerSetup
    from runner.run.workers import WorkerPool

    tasks = {task.id: task for task in project.plan(project.plan_bytes).tasks}
    workshop = WorkerSetup(
        root=project.root,
        repository=repository,
        cache=project.cache,
        settings=project.settings,
        sandbox=sandbox_of(project.settings),
        environ=project.environ,
        say=lambda _task, _line: None,
    )
    wanted = tuple((tasks[one.task], id_) for one in affected for id_ in one.contracts)
    crew = WorkerPool(1, workshop.site, inline=True)  # it only tells what is cancelled
    count = max(1, min(project.settings.jobs, len(wanted)))
    sites = [workshop.site(number, crew) for number in range(count)]
    head = repository.head().commit or ""
    room = _Room(project, tuple(_not_committed(repository)), head)
    for site in sites:
        room.free.put(site)
    try:
        return _all(room, wanted, count, crew)
    finally:
        for site in sites:
            site.close()


def _all(
    room: _Room, wanted: tuple[tuple[Task, str], ...], count: int, crew: WorkerPool
) -> tuple[Reproven, ...]:
    """What came of each, in their order; each is told as soon as it is over."""
    from concurrent.futures import ThreadPoolExecutor, as_completed

    with ThreadPoolExecutor(max_workers=count, thread_name_prefix="impact") as executor:
        futures = [executor.submit(room.prove, task, id_) for task, id_ in wanted]
        try:
            for future in as_completed(futures):
                _tell(future.result())
        except BaseException:
            crew.cancel()
            executor.shutdown(wait=True, cancel_futures=True)
            raise
        return tuple(future.result() for future in futures)


@dataclass(frozen=True, slots=True)
class _Room:
    """Where the tests run: trees that stand free, and what is put into them."""

    project: Project
    changes: tuple[Change, ...]
    head: str
    free: SimpleQueue[WorkerContext] = field(default_factory=SimpleQueue)
    scarce: Lock = field(default_factory=Lock)
    """Held by a test whose task uses what only one may have."""

    def prove(self, task: Task, id_: str) -> Reproven:
        """Run one test contract or contract in a tree that is free."""
        with self.scarce if task.uses else nullcontext():
            site = self.free.get()
            try:
                site.reset(self.head)
                site.scratch.apply(self.changes)
                bench = _bench(self.project, site, task, self.changes, self.head)
                return _run(bench, id_)
            finally:
                self.free.put(site)


def _not_committed(repository: Repository) -> Iterator[Change]:
    """Files of the project that are not as HEAD has them, as a proposal would have them."""
    from runner.app.change.change_source import of_working_tree
    from runner.model import Action, Change, digest_of
    from runner.writes.safe_io import mode_beneath

    for one in of_working_tree(repository):
        before = None if one.before is None else digest_of(one.before)
        if one.after is None:
            yield Change(one.path, Action.DELETE, 0, before, None)
        else:
            mode = mode_beneath(repository.root, one.path) or 0o100644
            action = Action.CREATE if before is None else Action.MODIFY
            yield Change(one.path, action, mode, before, digest_of(one.after), one.after)


def _bench(
    project: Project, site: WorkerContext, task: Task, changes: tuple[Change, ...], head: str
) -> GateContext:
    from runner.gates import import_watch
    from runner.gates.base import GateContext

    logs = project.cache / "impact-logs" / task.id  # the repository stays as it is
    secrets = project.settings.secrets_for(task, project.environ)
    environment = {
        **site.base_environment,
        "RUNNER_TASK": task.id,
        "RUNNER_SLOT": str(site.number),
        "RUNNER_PORT_BASE": str(20000 + 100 * site.number),
        **secrets,
    }
    return GateContext(
        task=task,
        settings=project.settings,
        place=site.place,
        sandbox=site.sandbox,
        environment=environment | import_watch.watch_environment(site.place, site.sandbox),
        logs=logs,
        logs_shown=str(logs),
        tell=lambda _line: None,
        cancelled=site.cancelled,
        known_secrets=tuple(secrets.values()),
        changes=changes,
        before=partial(site.before, head),
        base=head,
        kept=site.kept,
    )


def _run(bench: GateContext, id_: str) -> Reproven:
    """One test contract or contract, as the proof of its task runs it."""
    from runner.gates import contract_tests, contracts, import_watch

    family = contracts if id_.startswith(CONTRACT) else contract_tests
    check = next(one for one in family.checks(bench.task, bench.settings) if one.id == id_)
    proved = family.prove(check, bench)
    strays = import_watch.findings(bench)
    failed = proved.proof is None or proved.proof.verdict is Verdict.FAIL or bool(strays)
    return Reproven(bench.task.id, id_, failed, (*proved.findings, *strays))


def _tell(said: Reproven) -> None:
    """How it ended, as soon as it did; what it printed only where it failed."""
    from runner.text.display import display
    from runner.text.wording import finding_lines

    sign = "failed" if said.failed else "passed"
    print(f"{display(said.task)}  {display(said.contract)}  {sign}", file=sys.stderr, flush=True)
    if said.failed:
        for finding in said.findings:
            print("\n".join(f"  {line}" for line in finding_lines(finding)), file=sys.stderr)
