"""`runner log`: what happened, from the journal, one line an event; `--follow` goes on with it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from runner.journal.events import Record
    from runner.project import Project

_EXAMPLES = """\
examples:
  runner log --task TASK-003
  runner log --follow              until Ctrl-C
  runner log --json                one document; with --follow one JSON object a line
"""
_POLL_SECONDS = 0.2


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner log` takes."""
    del name
    parser.epilog = _EXAMPLES
    parser.add_argument("-f", "--follow", action="store_true", help="go on as events come")
    parser.add_argument("--task", metavar="ID", help="only what is about this task")
    parser.add_argument("--json", action="store_true", help="records as the journal has them")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print the journal's records. Raises RunnerError where the journal is damaged."""
    from runner.project import Project

    project = Project.open(Path.cwd(), environ, plan_needed=False)
    task = _task(project, given.task) if given.task else ""
    if given.follow:
        return _follow(project.journal_path, task, as_json=given.json)
    records = (one for one in _records(project.journal_path) if task in ("", one.task))
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


def _task(project: Project, typed: str) -> str:
    """The id that a person means: of the plan, or of a task that only the journal knows."""
    from runner.run.selection import find_id

    known = dict.fromkeys(project.state().tasks)
    known.update(dict.fromkeys(task.id for task in project.outline().tasks))
    return find_id(typed, known)


def _records(journal: Path) -> Iterator[Record]:
    from runner.journal.read_journal import read_journal

    return read_journal(journal)


def _document(records: Iterator[Record]) -> str:
    import json

    from runner.journal.codec import encode
    from runner.report.documents import document

    return document("log", records=[json.loads(encode(record)) for record in records])


def _follow(journal: Path, task: str, *, as_json: bool) -> ExitCode:
    """Print what is there and what comes, until Ctrl-C."""
    import time

    from runner.journal.read_journal import Place, read_places

    place = Place()
    try:
        while True:
            for record, reached in read_places(journal, place):
                place = reached
                if task in ("", record.task):
                    print(_raw(record) if as_json else _line(record), flush=True)
            time.sleep(_POLL_SECONDS)
            if journal.exists() and journal.stat().st_size < place.offset:
                place = Place()  # somebody began a new journal
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


def _raw(record: Record) -> str:
    from runner.journal.codec import encode

    return encode(record).decode("utf-8", "replace").rstrip("\n")


def _line(record: Record) -> str:
    from runner.app.inspect.event_summary import gist
    from runner.text.display import display
    from runner.text.wording import moment

    task = display(record.task) or "-"
    said = f"{moment(record.time)}  {task:<8}  {display(record.type):<18}  {gist(record)}"
    return said.rstrip()
