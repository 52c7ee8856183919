"""One command for several tasks at once, each in a scratch tree that shows HEAD."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner import effects
from runner.app.inspect.validation import check_sound
from runner.app.prove.prove_tree import worker_setup
from runner.errors import ExitCode, RunnerError
from runner.lazy_dataclass import dataclass
from runner.process.base import Ended
from runner.repo.read import Repository
from runner.report.documents import document
from runner.run.batch import Batch, find_shared_files, unfit
from runner.run.interruption import Interruption
from runner.run.resource_locks import ResourceLocks, capacities, load_owned_paths
from runner.run.selection import find_id
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from runner.model import Task
    from runner.project import Project
    from runner.run.batch import Shared, TaskExit


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What the command came to."""

    came: tuple[TaskExit, ...]
    """For each task, in the order in which they were named."""
    head: str
    """The commit that it ran on; empty before the first one."""
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
    # It would wait for what there is never enough of, without an end.
    if why := unfit(tasks, capacity):
        raise RunnerError(why, hint="`runner settings` shows [resources]")
    interruption = Interruption()
    with Repository.open(project.root) as repository, interruption.listen():
        own = project.documents
        if unseen := [one.path for one in repository.state().dirty if one.path not in own]:
            more = " …" if len(unseen) > 3 else ""  # noqa: PLR2004 - three fit in a line
            say(f"note: runs on HEAD; ignored, since not committed: {', '.join(unseen[:3])}{more}")
        workshop = worker_setup(project, repository)
        head, claims = repository.head().commit or "", ResourceLocks(capacity, owned)
        batch = Batch(tasks, line, workshop, settings, project.environ, head, claims, hear)
        interruption.wakes(batch.workers.interrupt)
        found = batch.run()
    return BatchResult(found, head, effects.monotonic() - began)


def _find_tasks(project: Project, typed: Sequence[str]) -> tuple[Task, ...]:
    """The tasks that are meant, each once."""
    reading = check_sound(project)
    known = {task.id: task for task in reading.plan.tasks}
    return tuple(dict.fromkeys(known[find_id(word, known)] for word in typed))


def _require_apart(tasks: Sequence[Task], owned: Mapping[str, tuple[str, ...]]) -> None:
    """Raise RunnerError where two tasks may write one file, with every file and both tasks."""
    found = find_shared_files(tasks, owned)
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
    """One line, and where it failed the end of what the command printed."""
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
    """How many passed, and in what time."""
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
