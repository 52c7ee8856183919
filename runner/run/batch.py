"""One command for several tasks at once, each in a scratch tree of HEAD; nothing of it lands."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import field
from itertools import combinations
from typing import TYPE_CHECKING

from runner.gates.base import command_limits
from runner.lazy_dataclass import dataclass
from runner.process.base import Command
from runner.process.supervise import run
from runner.run.resource_locks import ResourceLocks, find_collision, too_much
from runner.run.workers import WorkerPool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from runner.config.settings import Settings
    from runner.model import Task
    from runner.process.base import Ran
    from runner.run.assignment import WorkerContext
    from runner.run.worker_setup import WorkerSetup

LOG = "parallel.log"


@dataclass(frozen=True, slots=True)
class Shared:
    """Two tasks of a batch that may write one file, and the words by which each names it."""

    one: str
    other: str
    path: str
    """As the first task has it."""
    other_path: str

    @property
    def named(self) -> str:
        """The file, or the two globs that meet."""
        if self.path == self.other_path:
            return self.path
        return f"{self.path} and {self.other_path}"


@dataclass(frozen=True, slots=True)
class TaskExit:
    """How the command ended for one task."""

    task: Task
    ran: Ran
    log_shown: str
    slot: int = 0


def find_shared_files(
    tasks: Sequence[Task], owned: Mapping[str, tuple[str, ...]]
) -> tuple[Shared, ...]:
    """Every two tasks that may write one file, by Output files and by the ownership map."""
    return tuple(
        Shared(one.id, other.id, *met)
        for one, other in combinations(tasks, 2)
        if (met := find_collision(one, other, owned))
    )


@dataclass(slots=True)
class Batch:
    """One command, run for every task as soon as what it claims is free; `interrupt` ends all."""

    tasks: Sequence[Task]
    line: str
    workshop: WorkerSetup
    settings: Settings
    environ: Mapping[str, str]
    head: str
    """Commit that each scratch tree shows; empty before the first one."""
    claims: ResourceLocks
    say: Callable[[TaskExit], None]
    """Gets each task's result as soon as its command is over."""
    workers: WorkerPool = field(init=False)

    def __post_init__(self) -> None:
        self.workers = WorkerPool(
            1, self.workshop.site, inline=True
        )  # it only tells what is cancelled

    def run(self) -> tuple[TaskExit, ...]:
        """Run it for all; what came of each, in their order. Raises KeyboardInterrupt."""
        count = max(1, min(self.settings.build.jobs, len(self.tasks)))
        sites = [self.workshop.site(number, self.workers) for number in range(count)]
        executor = ThreadPoolExecutor(max_workers=count, thread_name_prefix="parallel")
        try:
            found = {came.task.id: came for came in self._all(executor, sites[::-1])}
        # Whatever it is, Ctrl-C among it: the executor waits for its threads, and these wait for
        # commands that nobody else would end.
        except BaseException:
            self.workers.cancel()
            raise
        finally:
            executor.shutdown(wait=True, cancel_futures=True)
            for site in sites:
                site.close()
        return tuple(found[task.id] for task in self.tasks)

    def _all(self, executor: ThreadPoolExecutor, free: list[WorkerContext]) -> Iterator[TaskExit]:
        waiting = list(self.tasks)
        running: dict[Future[TaskExit], tuple[Task, WorkerContext]] = {}
        while waiting or running:
            for task in tuple(waiting):
                if not free:
                    break
                if not self.claims.free_for(task):
                    continue
                self.claims.hold(task)
                waiting.remove(task)
                site = free.pop()
                running[executor.submit(self._one, task, site)] = (task, site)
            for future in wait(running, timeout=0.2, return_when=FIRST_COMPLETED).done:
                task, site = running.pop(future)
                free.append(site)
                self.claims.release(task)
                came = future.result()
                if not self.workers.cancelled.is_set():
                    self.say(came)
                yield came
            if self.workers.cancelled.is_set():
                wait(running)
                raise KeyboardInterrupt

    def _one(self, task: Task, site: WorkerContext) -> TaskExit:
        site.reset(self.head)
        secrets = self.settings.secrets_for(task, self.environ)
        if site.leases is not None:
            secrets |= site.leases.lend(task, 0, site.leases.write)
        environment = {
            **site.base_environment,
            "RUNNER_TASK": task.id,
            "RUNNER_SLOT": str(site.number),
            "RUNNER_PORT_BASE": str(20000 + 100 * site.number),
            **secrets,
        }
        command = Command(
            line=self.line,
            place=site.place,
            environment=environment,
            network=self.settings.network_for(task.network),
            limits=command_limits(task, self.settings),
            log=site.logs / task.id / LOG,
            known_secrets=tuple(secrets.values()),
        )
        ran = run(command, site.sandbox, cancelled=site.cancelled)
        shown = f"{site.logs_shown}/{task.id}/{LOG}" if ran.log else ""
        return TaskExit(task, ran, shown, site.number)


def unfit(tasks: Sequence[Task], capacity: Mapping[str, float]) -> str:
    """Why a batch could never run: a task uses more of something than there is; else empty."""
    reasons = ((task.id, too_much(task, capacity)) for task in tasks)
    return next((f"{id_} {why}" for id_, why in reasons if why), "")
