"""`runner write-log`: every approved write, recorded and shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.write.workplace import Workplace, display_path
from runner.errors import ExitCode
from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.write import staged_states
    from runner.report import documents, table
    from runner.text import wording
    from runner.writes import log
    from runner.writes.log import Written
else:
    documents = lazy_module("runner.report.documents")
    log = lazy_module("runner.writes.log")
    staged_states = lazy_module("runner.app.write.staged_states")
    table = lazy_module("runner.report.table")
    wording = lazy_module("runner.text.wording")

EXAMPLES = """\
examples:
  runner write-log record --task TASK-003 --file src/app.py
  runner write-log show --task TASK-003
  runner write-log show --json
"""
_SHORT = 12


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner write-log` takes."""
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    record = commands.add_parser("record", help="note a write as it stands", allow_abbrev=False)
    record.add_argument("--task", required=True, metavar="ID", help="the task it was for")
    record.add_argument("--file", required=True, metavar="PATH", help="the file that was written")
    show = commands.add_parser(
        "show", help="what was written, and became of it", allow_abbrev=False
    )
    show.add_argument("--task", default="", metavar="ID", help="only what is of this task")
    show.add_argument("--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Record or show. Raises RunnerError for a file that is not there."""
    workplace = Workplace.of(Path.cwd(), environ)
    if given.command == "record":
        change = staged_states.record_write(workplace, given.task, given.file)
        print(f"recorded: {change.action} {display_path(change.path)}", file=sys.stderr)
        return ExitCode.OK
    return _show(workplace, given.task, as_json=given.json)


def _show(workplace: Workplace, typed: str, *, as_json: bool) -> ExitCode:
    history = log.WriteLog(workplace.root).show(workplace.task(typed)[0] if typed else "")
    if as_json:
        writes = [staged_states.describe_write(one) for one in history.writes]
        sys.stdout.write(documents.document("write-log", writes=writes, damaged=history.damaged))
    elif history.writes:
        head = ("Time", "Task", "Attempt", "Action", "File", "Bytes", "Review", "Outcome")
        sys.stdout.write(table.table(head, map(_row, history.writes)))
    else:
        print("no write is recorded", file=sys.stderr)
    for line in history.damaged:
        print(
            f"runner: {log.WRITE_LOG}:{line}: this line is no record; it is left out",
            file=sys.stderr,
        )
    return ExitCode.OK


def _row(one: Written) -> tuple[str, ...]:
    fate = one.fate.value if one.fate else "open"
    outcome = f"{fate} {one.commit[:_SHORT]}".rstrip()
    return (
        wording.moment(one.time),
        one.task,
        str(one.attempt),
        one.action,
        display_path(one.path),
        str(one.bytes),
        one.review,
        outcome,
    )
