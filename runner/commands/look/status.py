"""`runner status`, `list` and `next`: every task as it stands, at once."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.inspect.status_document import (
    describe_status,
    describe_task,
    sum_usage,
)
from runner.app.inspect.view import View
from runner.errors import ExitCode, RunnerError
from runner.journal.events import GateCompleted
from runner.journal.read_journal import read_journal
from runner.lazy_module import lazy_module
from runner.model import Reason, Status
from runner.project import Project
from runner.report.cost import ProofCosts, cost, per_proven
from runner.report.documents import document
from runner.report.table import GAP, table
from runner.text.display import display
from runner.text.width import columns, pad
from runner.text.wording import did_you_mean, join_few, plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from runner.commands.running import watch
    from runner.plan.outline import OutlineTask
else:
    watch = lazy_module("runner.commands.running.watch")

_EXAMPLES = {
    "status": """\
examples:
  runner status           the table of tasks, and what to type next
  runner status --watch   the same, drawn anew whenever something changes
  runner status --json    the same for a program
  runner status --costs   what the proofs took so far, by kind, and what was saved
""",
    "list": """\
examples:
  runner list                     all tasks, one a line
  runner list --status blocked    those that wait for a person
""",
    "next": """\
examples:
  runner next                        tasks that could start now, in the order of a run
  runner run "$(runner next | cut -d' ' -f1 | head -1)"
""",
}


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner status`, `runner list` and `runner next` take."""
    parser.set_defaults(command=name)
    parser.epilog = _EXAMPLES[name]
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")
    if name == "status":
        parser.add_argument("--watch", action="store_true", help="draw anew at every change")
        parser.add_argument("--costs", action="store_true", help="what the proofs took, by kind")
    if name == "list":
        parser.add_argument("--status", metavar="STATUS", help="only tasks of this status")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Read, and say it; always exit 0 where there was something to read."""
    wanted = _status(given.status) if given.command == "list" and given.status else None
    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    if given.command == "status" and given.watch:
        return _watch(project, given, environ)
    if given.command == "status" and given.costs:
        return _tell_costs(project, as_json=given.json)
    view = View.of(project)
    if view.mistakes:
        said = f"note: the plan has {plural(view.mistakes, 'mistake')}: runner validate"
        print(said, file=sys.stderr)
    shown = [task for task in view.tasks if wanted in (None, view.status(task.id))]
    if given.command == "next":
        shown = list(view.ready())
    if given.json:
        print(_document(given.command, view, shown), end="")
    else:
        sys.stdout.write(_TEXTS[given.command](view, shown))
    return ExitCode.OK


def _tell_costs(project: Project, *, as_json: bool) -> ExitCode:
    """What all proofs took that the journal knows, by their kind."""
    costs = ProofCosts()
    for record in read_journal(project.journal_path, wanted=frozenset({"gate.completed"})):
        if isinstance(record.event, GateCompleted):
            costs.add(record.event.proof)
    if as_json:
        print(document("costs", **costs.data()), end="")
        return ExitCode.OK
    print(f"proofs: {costs.words or 'none yet'}")
    if rows := list(costs.rows()):
        print("\n" + table(("KIND", "COMMANDS", "TOOK", "STOOD"), rows, width=_width()), end="")
    return ExitCode.OK


def _watch(project: Project, given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """The table, drawn anew when the plan, the journal or HEAD moves."""
    if given.json:
        raise RunnerError("--watch draws for a person", hint="runner status --json, in a loop")
    files = (project.root / project.plan_path, project.journal_path, project.folders.git / "HEAD")

    def text() -> str:
        view = View.of(project)
        return _status_text(view, list(view.tasks))

    return watch.watch_text(text, lambda: files, environ)


def _status(typed: str) -> Status:
    """The status a person means by `in_progress` or `Blocked`."""
    word = typed.strip().upper().replace("_", "-").replace(" ", "-")
    if word not in set(Status):
        hint = did_you_mean(word, Status) or f"one of {', '.join(Status)}"
        raise RunnerError(f'there is no status "{typed}"', hint=hint)
    return Status(word)


# --- for programs ---------------------------------------------------------------------


def _document(command: str, view: View, shown: Iterable[OutlineTask]) -> str:
    if command != "status":
        return document(command, tasks=[describe_task(view, task) for task in shown])
    return document("status", **describe_status(view, shown))


# --- for people -----------------------------------------------------------------------


def _is_proven(view: View, id_: str) -> bool:
    graded = view.grades.get(id_)
    return graded is not None and graded.is_proven


def _status_text(view: View, shown: list[OutlineTask]) -> str:
    rows = [(task.id, _word(view, task), task.title, _note(view, task)) for task in shown]
    ready = view.ready()
    proven = ((one.usage, _is_proven(view, id_)) for id_, one in view.states.items())
    used = ", ".join(filter(None, (cost(sum_usage(view)), per_proven(proven))))
    parts = [_counts(view, len(ready)) + (f"used so far: {used}\n" if used else "")]
    if rows:
        parts.append(table(("TASK", "STATUS", "TITLE", "NOTE"), rows, width=_width()))
    return "\n".join([*parts, _what_next(view, ready)]) + "\n"


def _counts(view: View, ready: int) -> str:
    said = ", ".join(_count(view, status, number) for status, number in view.counts().items())
    tail = f" ({ready} ready)" if ready else ""
    name = f"{display(view.title)}: " if view.title else ""
    return f"{name}{plural(len(view.tasks), 'task')}: {said or 'none'}{tail}\n"


def _count(view: View, status: Status, number: int) -> str:
    """`7 DONE (2 unproven)`."""
    lacking = len(view.find_unproven()) if status is Status.DONE else 0
    return f"{number} {status} ({lacking} unproven)" if lacking else f"{number} {status}"


def _word(view: View, task: OutlineTask) -> str:
    """The status, readable without colour; what is behind it where that matters."""
    known = view.states[task.id]
    if worth := view.worth(task.id):
        return f"{known.status} ({worth})"
    return f"{known.status} ({known.reason})" if known.reason else str(known.status)


def _note(view: View, task: OutlineTask) -> str:
    note = view.note(task)
    if view.worth(task.id):
        return note or view.grades[task.id].why
    derived = ""
    if task.id == view.landing:
        derived = "its landing was interrupted: the next run finishes it"
    elif view.states[task.id].status is Status.PENDING:
        waits = view.waits_for(task)
        derived = f"waits for {join_few(waits)}" if waits else "ready"
    return f"{derived} — {note}" if derived and note else derived or note


def _of(view: View, status: Status) -> list[OutlineTask]:
    return [task for task in view.tasks if view.status(task.id) is status]


def _what_next(view: View, could_start: tuple[OutlineTask, ...]) -> str:
    ready = [display(task.id) for task in could_start]
    counts, blocked = view.counts(), _of(view, Status.BLOCKED)
    if view.live:
        return f"a run is going on ({view.live}): runner log --follow"
    if view.mistakes:
        return "next: runner validate"
    if ready or view.landing:
        return f"next: runner    (starts {join_few(ready)})" if ready else "next: runner"
    if any(view.states[task.id].reason is Reason.REVIEW for task in blocked):
        return "next: runner review"
    first = next(iter((*blocked, *_of(view, Status.STALE))), None)
    if first:
        return f"next: runner why {display(first.id)}"
    if counts.get(Status.DONE, 0) == len(view.tasks):
        return "all tasks are DONE" if view.tasks else "next: runner init"
    return "next: runner validate    (nothing can start)"


def _list_text(view: View, shown: list[OutlineTask]) -> str:
    return "".join(_lines(shown, lambda task: _word(view, task)))


def _lines(shown: list[OutlineTask], word: Callable[[OutlineTask], str]) -> Iterator[str]:
    """One task a line, without a heading: what `cut` and `awk` expect."""
    rows = [(display(task.id), word(task), display(task.title)) for task in shown]
    ids = max((columns(row[0]) for row in rows), default=0)
    words = max((columns(row[1]) for row in rows), default=0)
    for name, said, title in rows:
        yield GAP.join((pad(name, ids), pad(said, words), title)).rstrip() + "\n"


def _next_text(view: View, shown: list[OutlineTask]) -> str:
    if not shown:
        print(f"nothing can start now; {_what_next(view, ())}", file=sys.stderr)
    ids = max((columns(display(task.id)) for task in shown), default=0)
    return "".join(f"{pad(display(task.id), ids)}{GAP}{display(task.title)}\n" for task in shown)


_TEXTS: dict[str, Callable[[View, list[OutlineTask]], str]] = {
    "status": _status_text,
    "list": _list_text,
    "next": _next_text,
}


def _width() -> int:
    """Columns of the terminal; 0 where the text goes somewhere else and is not to be cut."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return 0
