"""`runner log`: what happened, from the journal, one line an event; `--follow` goes on with it."""

from __future__ import annotations

import json
import sys
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode
from runner.journal.codec import encode
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.text.display import display
from runner.text.wording import moment

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from runner.app.inspect import event_log
    from runner.journal.events import Record
    from runner.report import documents
else:
    documents = lazy_module("runner.report.documents")
    event_log = lazy_module("runner.app.inspect.event_log")

EXAMPLES = """\
examples:
  runner log --task TASK-003
  runner log --follow              until Ctrl-C
  runner log --after 120 --last 50 what came after record 120, at most 50
  runner log --json                one document; with --follow one JSON object a line
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner log` takes."""
    parser.add_argument("-f", "--follow", action="store_true", help="go on as events come")
    parser.add_argument("--task", metavar="ID", default="", help="only what is about this task")
    parser.add_argument("--after", type=int, default=0, metavar="SEQ", help="only newer records")
    parser.add_argument("--last", type=int, metavar="N", help="only the newest N of them")
    parser.add_argument("--json", action="store_true", help="records as the journal has them")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print the journal's records. Raises RunnerError where the journal is damaged."""
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    if given.follow:
        return _follow(
            event_log.follow_log(project, given.task, after=given.after), as_json=given.json
        )
    records = event_log.read_log(project, given.task, after=given.after)
    if given.last is not None:
        records = iter(deque(records, max(0, given.last)))
    if given.json:
        print(_document(records), end="")
        return ExitCode.OK
    said = False
    for record in records:
        print(_line(record))
        said = True
    if not said:
        print("nothing has happened yet", file=sys.stderr)
    return ExitCode.OK


def _document(records: Iterator[Record]) -> str:
    return documents.document("log", records=[json.loads(encode(record)) for record in records])


def _follow(records: Iterator[Record], *, as_json: bool) -> ExitCode:
    """Print what is there and what comes, until Ctrl-C."""
    try:
        for record in records:
            print(_raw(record) if as_json else _line(record), flush=True)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    return ExitCode.OK


def _raw(record: Record) -> str:
    return encode(record).decode("utf-8", "replace").rstrip("\n")


def _line(record: Record) -> str:
    task = display(record.task) or "-"
    said = f"{moment(record.time)}  {task:<8}  {display(record.type):<18}  {event_log.gist(record)}"
    return said.rstrip()
