"""`runner log` and `runner stats`: show events and statistics."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.inspect.event_log import follow_log, gist, read_log
from runner.commands.output import say
from runner.errors import ExitCode, RunnerError
from runner.journal.records import encode
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.terminal.screen import patience
from runner.text.display import display
from runner.text.wording import moment, seconds_of_age

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from runner.app.inspect import statistics, time_spent
    from runner.journal.events import Record
    from runner.report import documents
else:
    documents = lazy_module("runner.report.documents")
    statistics = lazy_module("runner.app.inspect.statistics")
    time_spent = lazy_module("runner.app.inspect.time_spent")


def execute_log(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print the journal's records. Raises RunnerError where the journal is damaged."""
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    after = _read_after(given.after)
    first, last = given.first, given.last
    if given.limit is not None:
        first, last = (given.limit, None) if given.after else (None, given.limit)
    which = (project, given.task, after, first, last)
    if given.follow:
        return _follow(follow_log(*which), as_json=given.json)
    records = read_log(*which)
    if given.json:
        print(_document(records), end="")
        return ExitCode.OK
    any_shown = False
    for record in records:
        print(_format_record(record))
        any_shown = True
    if not any_shown:
        is_part = given.task or given.after or {first, last} != {None}
        print("no matching records" if is_part else "no records yet", file=sys.stderr)
    return ExitCode.OK


def _read_after(typed: Sequence[str]) -> int:
    """Return the number behind which records are printed. Raises RunnerError."""
    if len(typed) > 1 or not all(one.isdecimal() for one in typed):
        raise RunnerError("--after needs one number", hint="runner log --after 120")
    return int(typed[0]) if typed else 0


def _document(records: Iterator[Record]) -> str:
    return documents.document("log", records=[json.loads(encode(record)) for record in records])


def _follow(records: Iterator[Record], *, as_json: bool) -> ExitCode:
    """Print what is there and what comes, until Ctrl-C."""
    try:
        for record in records:
            print(_raw(record) if as_json else _format_record(record), flush=True)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    return ExitCode.OK


def _raw(record: Record) -> str:
    return encode(record).decode("utf-8", "replace").rstrip("\n")


def _format_record(record: Record) -> str:
    task = display(record.task) or "-"
    line = f"{moment(record.time)}  {task:<8}  {display(record.type):<18}  {gist(record)}"
    return line.rstrip()


# --- counted --------------------------------------------------------------------------


def execute_stats(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Count and say it. Raises RunnerError where the journal is damaged."""
    seconds = seconds_of_age(given.since, "--since") if given.since else None
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    with patience("reading the journal"):
        found = statistics.count_all(project, seconds)
    if given.time:
        say(found.tally.spent, time_spent.time_lines, time_spent.time_document, as_json=given.json)
        return ExitCode.OK
    say(found, statistics.statistics_lines, statistics.statistics_document, as_json=given.json)
    return ExitCode.OK
