"""`runner parallel`: one command for several tasks at once, its output kept per task."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from runner.model import Task
    from runner.project import Project
    from runner.run.batch import Came, Shared

_EPILOG = """\
The command runs once for each task, in the sandbox, in a scratch tree that shows HEAD: what it
writes is kept nowhere, and what is not committed is not seen. Each gets RUNNER_TASK, RUNNER_SLOT,
RUNNER_PORT_BASE and TMPDIR of its own, the network that its task asks for, and the secrets that
its task requires. Two tasks that may write one file, by their Output files or by
FILE_OWNERSHIP_MAP.md, are refused together (exit 2); with --split they run one after the other.
What two tasks use of one scarce thing keeps them apart in any case.

Exit code: 0 where it passed for all, 1 where it failed for one.

examples:
  runner parallel --tasks TASK-001,TASK-002 --cmd "pnpm test"
  python scripts/parallel_runner.py -tasks TASK-001,TASK-002 -cmd "pnpm test" \\
      -task-graph artifacts/build/TASK-GRAPH.md
"""


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner parallel` takes; every word also with one dash."""
    del name
    parser.epilog = _EPILOG
    add = parser.add_argument
    add("-tasks", "--tasks", default="", metavar="IDS", help="ids with commas between them")
    add("-cmd", "--cmd", default="", metavar="COMMAND", help="what to run, by /bin/sh -c")
    add("-task-graph", "--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")
    add("-split", "--split", action="store_true", help="sequence tasks that may write one file")
    add("-j", "-jobs", "--jobs", type=int, metavar="N", help="tasks at once (default: cores)")
    add(
        "-sandbox",
        "--sandbox",
        choices=("auto", "bubblewrap", "landlock", "none"),
        help="what encloses it",
    )
    add("-json", "--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Run it for every task; exit 1 where it failed for one."""
    from runner.commands.consent import open_with_gates
    from runner.run.resource_locks import load_owned_paths

    if not (given.tasks.strip(" ,") and given.cmd.strip()):
        hint = 'runner parallel --tasks TASK-001,TASK-002 --cmd "pnpm test"'
        raise RunnerError("name tasks and a command", hint=hint)
    flags = {"task_graph": given.task_graph, "sandbox": given.sandbox, "jobs": given.jobs}
    project = open_with_gates(environ, flags)
    tasks = _tasks(project, given.tasks)
    owned = load_owned_paths(project.root, project.settings.id_prefixes)
    _require_apart(tasks, owned, split=given.split)
    return _run(project, tasks, owned, given.cmd, as_json=given.json)


def _tasks(project: Project, typed: str) -> tuple[Task, ...]:
    """The tasks that are meant, each once. Raises RunnerError for one that the plan has not."""
    from runner.run.selection import find_id

    reading = project.check()
    if any(problem.stops_all for problem in reading.problems):
        raise RunnerError("the plan has mistakes; nothing has run", hint="runner validate")
    known = {task.id: task for task in reading.plan.tasks}
    words = [word for word in typed.replace(",", " ").split() if word]
    return tuple(dict.fromkeys(known[find_id(word, known)] for word in words))


def _require_apart(
    tasks: Sequence[Task], owned: Mapping[str, tuple[str, ...]], *, split: bool
) -> None:
    """Raise RunnerError where two tasks may write one file, with every file and both tasks."""
    from runner.run.batch import find_shared_files

    found = () if split else find_shared_files(tasks, owned)
    if not found:
        return
    more = "\n".join(_format_collision(one) for one in found[1:])
    hint = "add --split: they run one after the other; or name one of them"
    raise RunnerError(f"{_format_collision(found[0])}; nothing has run", hint=hint, detail=more)


def _format_collision(one: Shared) -> str:
    if "any" in (one.path, one.other_path):
        who, other = (one.one, one.other) if one.path == "any" else (one.other, one.one)
        return f"{display(who)} may write any file, so also one of {display(other)}"
    return f"{display(one.one)} and {display(one.other)} both write {display(one.named)}"


def _run(
    project: Project,
    tasks: Sequence[Task],
    owned: Mapping[str, tuple[str, ...]],
    line: str,
    *,
    as_json: bool,
) -> ExitCode:
    from runner.app.build.machine import sandbox_of
    from runner.repo.read import Repository
    from runner.run.batch import Batch, unfit
    from runner.run.interruption import Interruption
    from runner.run.resource_locks import ResourceLocks, capacities
    from runner.run.worker_setup import WorkerSetup

    settings, began = project.settings, effects.monotonic()
    capacity = capacities(settings.resources)
    if why := unfit(tasks, capacity):
        raise RunnerError(why, hint="`runner settings` shows [resources]")
    interruption = Interruption()
    with Repository.open(project.root) as repository, interruption.listen():
        _tell_unseen(project, repository.state().dirty)
        workshop = WorkerSetup(
            root=project.root,
            repository=repository,
            cache=project.cache,
            settings=settings,
            sandbox=sandbox_of(settings),
            environ=project.environ,
            say=lambda _task, _line: None,
        )
        head = repository.head().commit or ""
        say = _quiet if as_json else _say
        batch = Batch(
            tasks,
            line,
            workshop,
            settings,
            project.environ,
            head,
            ResourceLocks(capacity, owned),
            say,
        )
        interruption.wakes(batch.crew.interrupt)
        found = batch.run()
    passed = all(came.ran.passed for came in found)
    seconds = effects.monotonic() - began
    if as_json:
        print(_document(line, head, found, seconds), end="")
    else:
        print(_total(found, seconds))
    return ExitCode.OK if passed else ExitCode.FAILED


def _tell_unseen(project: Project, dirty: Sequence[object]) -> None:
    """Say on standard error what HEAD does not have."""
    own = project.documents
    paths = [path for one in dirty if (path := str(getattr(one, "path", ""))) not in own]
    if paths:
        shown = ", ".join(paths[:3]) + (" …" if len(paths) > 3 else "")  # noqa: PLR2004 - three fit in a line
        print(f"note: HEAD is what runs; not committed: {display(shown)}", file=sys.stderr)


# --- in words -------------------------------------------------------------------------


def _quiet(_came: Came) -> None:
    """Say nothing while it runs: the document says all."""


def _say(came: Came) -> None:
    print("\n".join(_lines(came)), flush=True)


def _lines(came: Came) -> Iterator[str]:
    """One line, and where it failed the end of what the command printed."""
    sign, ended = ("✓", "passed") if came.ran.passed else ("✗", _format_end(came))
    log = f"  {came.log_shown}" if came.log_shown else ""
    yield f"{sign} {display(came.task.id)} {ended}, {came.ran.seconds:.1f} s{log}"
    if not came.ran.passed and came.ran.tail:
        yield from (f"    {line}" for line in display(came.ran.tail, lines=True).splitlines())


def _format_end(came: Came) -> str:
    from runner.process.base import Ended

    return {
        Ended.EXITED: f"failed with exit {came.ran.exit}",
        Ended.IDLE: "printed nothing for too long and was ended",
        Ended.HARD: "took too long and was ended",
        Ended.CANCELLED: "was ended",
        Ended.COULD_NOT_START: "could not start",
    }[came.ran.ended]


def _total(found: Sequence[Came], seconds: float) -> str:
    failed = [came.task.id for came in found if not came.ran.passed]
    count = f"{len(found)} task{'' if len(found) == 1 else 's'}"
    said = f"failed for {', '.join(map(display, failed))}" if failed else "passed for all"
    return f"{count}: {said}; {seconds:.1f} s"


def _document(line: str, head: str, found: Sequence[Came], seconds: float) -> str:
    from runner.report.documents import document
    from runner.secrets.redact import redact

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
        for came in found
    ]
    return document(
        "parallel",
        command=redact(line),
        head=head,
        passed=all(came.ran.passed for came in found),
        tasks=tasks,
        seconds=round(seconds, 3),
    )
