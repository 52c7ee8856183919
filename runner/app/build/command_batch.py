"""Run one command for several tasks in parallel, each in a scratch tree of HEAD."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

from msgspec import Struct

from runner import effects
from runner.app.inspect.validation import check_sound
from runner.app.prove.prove_tree import open_slots
from runner.errors import ExitCode, RunnerError
from runner.gates.base import command_limits
from runner.process.base import Command, Ended
from runner.process.supervise import run
from runner.repo.read import Repository
from runner.report.documents import document
from runner.run.interruption import Interruption
from runner.run.resource_locks import (
    ResourceLocks,
    capacities,
    find_collision,
    load_owned_paths,
    too_much,
)
from runner.run.selection import find_id
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from runner.app.prove.prove_tree import Slots
    from runner.model import Task
    from runner.process.base import Ran
    from runner.project import Project
    from runner.run.worker_assignment import WorkerContext

_LOG = "parallel.log"


class Shared(Struct, frozen=True):
    """Two tasks of a batch that may write one file, and the words by which each names it."""

    one: str
    other: str
    path: str
    """Path as named by the first task."""
    other_path: str

    @property
    def named(self) -> str:
        """The file, or the two globs that meet."""
        if self.path == self.other_path:
            return self.path
        return f"{self.path} and {self.other_path}"


class TaskExit(Struct, frozen=True):
    """The exit of the command for one task."""

    task: Task
    ran: Ran
    log_shown: str
    slot: int = 0


class BatchResult(Struct, frozen=True):
    """The result of the command."""

    came: tuple[TaskExit, ...]
    """Results by task, in the order in which the tasks were named."""
    head: str
    """Commit that the batch ran on; empty before the first commit."""
    seconds: float

    @property
    def code(self) -> ExitCode:
        """1 where it failed for one."""
        passed = all(came.ran.passed for came in self.came)
        return ExitCode.OK if passed else ExitCode.FAILED


def run_for_tasks(
    project: Project,
    typed: Sequence[str],
    line: str,
    hear: Callable[[TaskExit], None],
    say: Callable[[str], None],
    *,
    split: bool = False,
) -> BatchResult:
    """Run it for every task; `hear` gets each result as soon as its command is over.

    Two tasks that may write one file run one after the other with `split`. Raises RunnerError for
    them otherwise, and for a task that the plan has not.
    """
    tasks, began = _find_tasks(project, typed), effects.monotonic()
    owned = load_owned_paths(project.root, project.settings.build.id_prefixes)
    if not split:
        _require_apart(tasks, owned)
    settings = project.settings
    capacity = capacities(settings.resources)
    for task in tasks:
        # Such a task would wait forever for a resource that is never sufficient.
        if why := too_much(task, capacity):
            raise RunnerError(f"{task.id} {why}", hint="`runner settings` shows [resources]")
    interruption = Interruption()
    with Repository.open(project.root) as repository, interruption.listen():
        own = project.documents
        if unseen := [one.path for one in repository.state().dirty if one.path not in own]:
            more = " …" if len(unseen) > 3 else ""  # noqa: PLR2004 - three fit in a line
            names = ", ".join(unseen[:3])
            say(f"note: the command runs on HEAD, without uncommitted changes: {names}{more}")
        head, claims = repository.head().commit or "", ResourceLocks(capacity, owned)
        count = max(1, min(settings.build.jobs, len(tasks)))
        with open_slots(project, repository, count) as opened:
            interruption.wakes(opened.workers.interrupt)
            run_one = partial(_run_one, project, line, head)
            came = _run_all(opened, tasks, claims, run_one, hear)
    found = tuple(came[task.id] for task in tasks)
    return BatchResult(found, head, effects.monotonic() - began)


def _run_all(
    opened: Slots,
    tasks: Sequence[Task],
    claims: ResourceLocks,
    run_one: Callable[[Task, WorkerContext], TaskExit],
    hear: Callable[[TaskExit], None],
) -> dict[str, TaskExit]:
    """Run it for each as soon as what it claims is free. Raises KeyboardInterrupt."""
    free, waiting, cancelled = list(opened.slots[::-1]), list(tasks), opened.workers.cancelled
    running: dict[Future[TaskExit], tuple[Task, WorkerContext]] = {}
    found: dict[str, TaskExit] = {}
    with ThreadPoolExecutor(max_workers=len(free), thread_name_prefix="parallel") as executor:
        try:
            while (waiting or running) and not cancelled.is_set():
                for task in tuple(waiting):
                    if free and claims.free_for(task):
                        claims.hold(task)
                        waiting.remove(task)
                        site = free.pop()
                        running[executor.submit(run_one, task, site)] = (task, site)
                for future in wait(running, timeout=0.2, return_when=FIRST_COMPLETED).done:
                    task, site = running.pop(future)
                    free.append(site)
                    claims.release(task)
                    found[task.id] = future.result()
                    if not cancelled.is_set():
                        hear(found[task.id])
        # On any exception, including Ctrl-C: the executor waits for its threads, and these wait for
        # commands that nothing else would end.
        except BaseException:
            opened.workers.cancel()
            raise
    if cancelled.is_set():
        raise KeyboardInterrupt
    return found


def _run_one(project: Project, line: str, head: str, task: Task, site: WorkerContext) -> TaskExit:
    site.reset(head)
    secrets = project.settings.secrets_for(task, project.environ)
    if site.leases is not None:
        secrets |= site.leases.lend(task, 0, site.leases.write)
    command = Command(
        line=line,
        place=site.place,
        environment=site.variables(task.id) | secrets,
        network=project.settings.network_for(task.network),
        limits=command_limits(task, project.settings),
        log=site.logs / task.id / _LOG,
        known_secrets=tuple(secrets.values()),
    )
    ran = run(command, site.sandbox, cancelled=site.cancelled)
    shown = f"{site.logs_shown}/{task.id}/{_LOG}" if ran.log else ""
    return TaskExit(task, ran, shown, site.number)


def _find_tasks(project: Project, typed: Sequence[str]) -> tuple[Task, ...]:
    """Return the named tasks without duplicates."""
    reading = check_sound(project)
    known = {task.id: task for task in reading.plan.tasks}
    return tuple(dict.fromkeys(known[find_id(word, known)] for word in typed))


def _require_apart(tasks: Sequence[Task], owned: Mapping[str, tuple[str, ...]]) -> None:
    """Raise RunnerError where two tasks may write one file, with every file and both tasks."""
    found = [
        Shared(one.id, other.id, *met)
        for one, other in combinations(tasks, 2)
        if (met := find_collision(one, other, owned))
    ]
    if not found:
        return
    more = "\n".join(_format_collision(one) for one in found[1:])
    hint = "add --split to run them one after the other, or name only one"
    raise RunnerError(f"{_format_collision(found[0])}; nothing has run", hint=hint, detail=more)


def _format_collision(one: Shared) -> str:
    if "any" in (one.path, one.other_path):
        who, other = (one.one, one.other) if one.path == "any" else (one.other, one.one)
        return f"{display(who)} may write any file, including those of {display(other)}"
    return f"{display(one.one)} and {display(one.other)} both write {display(one.named)}"


def end_lines(came: TaskExit) -> Iterator[str]:
    """Yield a result line, followed by the end of the command's output if it failed."""
    sign, ended = ("✓", "passed") if came.ran.passed else ("✗", _format_end(came))
    log = f"  {came.log_shown}" if came.log_shown else ""
    yield f"{sign} {display(came.task.id)} {ended}, {came.ran.seconds:.1f} s{log}"
    if not came.ran.passed and came.ran.tail:
        yield from (f"    {line}" for line in display(came.ran.tail, lines=True).splitlines())


def _format_end(came: TaskExit) -> str:
    return {
        Ended.EXITED: f"failed with exit {came.ran.exit}",
        Ended.IDLE: "printed nothing for too long and was stopped",
        Ended.HARD: "took too long and was stopped",
        Ended.CANCELLED: "was cancelled",
        Ended.COULD_NOT_START: "could not start",
    }[came.ran.ended]


def total_line(found: Sequence[TaskExit], seconds: float) -> str:
    """Return how many tasks passed, and in how many seconds."""
    failed = [came.task.id for came in found if not came.ran.passed]
    count = f"{len(found)} task{'' if len(found) == 1 else 's'}"
    result = f"failed for {', '.join(map(display, failed))}" if failed else "passed for all"
    return f"{count}: {result}; {seconds:.1f} s"


def batch_document(line: str, done: BatchResult) -> str:
    """Return a command's results in each task as one JSON document."""
    tasks = [
        {
            "task": came.task.id,
            "title": came.task.title,
            "passed": came.ran.passed,
            "exit": came.ran.exit,
            "ended": came.ran.ended,
            "seconds": round(came.ran.seconds, 3),
            "slot": came.slot,
            "log": came.log_shown or None,
            "tail": came.ran.tail,
        }
        for came in done.came
    ]
    return document(
        "parallel",
        command=redact(line),
        head=done.head,
        passed=done.code is ExitCode.OK,
        tasks=tasks,
        seconds=round(done.seconds, 3),
    )
