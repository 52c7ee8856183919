"""`runner status`: show the status of every task."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.inspect.status_document import (
    describe_next_step,
    find_status,
    list_text,
    status_document,
    status_text,
)
from runner.app.inspect.view import View
from runner.errors import ExitCode, RunnerError
from runner.journal.events import GateCompleted
from runner.journal.records import read_journal
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.report.cost import ProofCosts
from runner.report.documents import document
from runner.report.table import GAP, table
from runner.text.display import columns, display, pad
from runner.text.wording import plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from runner.plan.outline import OutlineTask
    from runner.terminal import screen
else:
    screen = lazy_module("runner.terminal.screen")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Read, and say it; always exit 0 where there was something to read."""
    wanted = find_status(given.status) if given.status else None
    form = "list" if given.list or given.status else "next" if given.next else "status"
    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    if given.watch:
        return _watch(project, given, environ)
    if given.costs:
        return _print_costs(project, as_json=given.json)
    view = View.of(project)
    if view.mistakes:
        note = f"note: the plan has {plural(view.mistakes, 'mistake')}: runner validate"
        print(note, file=sys.stderr)
    shown = list(view.tasks)
    if wanted is not None:
        shown = [task for task in shown if view.status(task.id) is wanted]
    if form == "next":
        shown = list(view.ready())
    if given.json:
        print(status_document(form, view, shown), end="")
    else:
        sys.stdout.write(_TEXTS[form](view, shown))
    return ExitCode.OK


def _print_costs(project: Project, *, as_json: bool) -> ExitCode:
    """Print the durations of all recorded proofs by kind."""
    costs = ProofCosts()
    for record in read_journal(project.journal_path, wanted=frozenset({"gate.completed"})):
        if isinstance(record.event, GateCompleted):
            costs.add(record.event.proof)
    if as_json:
        print(document("costs", **costs.data()), end="")
        return ExitCode.OK
    print(f"proofs: {costs.words or 'none yet'}")
    if rows := list(costs.rows()):
        print("\n" + table(("KIND", "COMMANDS", "TOOK", "CACHED"), rows, width=_width()), end="")
    return ExitCode.OK


def _watch(project: Project, given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print the status table, and print it again when the plan, the journal or HEAD changes."""
    if given.json:
        raise RunnerError("use either --watch or --json", hint="runner status --json, in a loop")
    files = (project.root / project.plan_path, project.journal_path, project.folders.git / "HEAD")

    def text() -> str:
        view = View.of(project)
        return _status_text(view, list(view.tasks))

    return screen.watch_text(text, lambda: files, environ)


# --- for people -----------------------------------------------------------------------


def _status_text(view: View, shown: list[OutlineTask]) -> str:
    return status_text(view, shown, _width())


def _next_text(view: View, shown: list[OutlineTask]) -> str:
    if not shown:
        print(f"nothing can start now; {describe_next_step(view, ())}", file=sys.stderr)
    ids = max((columns(display(task.id)) for task in shown), default=0)
    return "".join(f"{pad(display(task.id), ids)}{GAP}{display(task.title)}\n" for task in shown)


_TEXTS: dict[str, Callable[[View, list[OutlineTask]], str]] = {
    "status": _status_text,
    "list": list_text,
    "next": _next_text,
}


def _width() -> int:
    """Return the terminal's columns; 0 if the output is not a terminal, so that nothing is cut."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return 0
