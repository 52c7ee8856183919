"""What happened: `runner events` for programs, told on; `log` for a person; `stats` counts it."""

from __future__ import annotations

import argparse
import json
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.inspect.event_log import follow_log, gist, read_log
from runner.commands.catalogue import Command
from runner.commands.output import say
from runner.errors import ExitCode, RunnerError
from runner.journal.records import (
    BadRecordError,
    NewerRecordError,
    UnfitRecordError,
    decode,
    encode,
)
from runner.lazy_module import lazy_module
from runner.outward.outbox import FolderOutbox, StoreOutbox, find_journal, read_on
from runner.project import Project
from runner.terminal.screen import patience
from runner.text.display import display
from runner.text.wording import moment, plural, seconds_of_age

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.app.inspect import statistics
    from runner.commands import team_store
    from runner.journal.events import Record
    from runner.outward import delivery_process
    from runner.outward.delivery_process import Source
    from runner.outward.outbox import Message, Outbox
    from runner.report import documents
    from runner.team import build_queue, event_outbox, store_engine, team_budget
else:
    build_queue = lazy_module("runner.team.build_queue")
    delivery_process = lazy_module("runner.outward.delivery_process")
    documents = lazy_module("runner.report.documents")
    event_outbox = lazy_module("runner.team.event_outbox")
    store_engine = lazy_module("runner.team.store_engine")
    team_store = lazy_module("runner.commands.team_store")
    team_budget = lazy_module("runner.team.team_budget")
    statistics = lazy_module("runner.app.inspect.statistics")

_EVENTS = """\
Each event is named by its journal and its number there; after a break, go on with both.

examples:
  runner events --after 120 --json          this folder's, behind number 120
  runner events --follow --json             until Ctrl-C
  runner events --team --follow --json      of all builds of the team's store
  runner events --build 3f2 --after JOURNAL:12 --json
  runner events --deliver --follow          to NATS, webhook and collector of your settings
  runner events --doors                     how far each of them was told
"""
_KEY = re.compile(r"(?:(?P<journal>[^\s:]{1,100}):)?(?P<seq>\d{1,15})")
_POLL, _STORE_POLL = 0.2, 0.5
"""Seconds from one look to the next."""


def events_arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner events` takes."""
    add = parser.add_argument
    add(
        "--after",
        action="append",
        default=[],
        metavar="[JOURNAL:]SEQ",
        help="only newer ones; again for each journal",
    )
    add("-f", "--follow", action="store_true", help="go on as events come")
    add("--team", action="store_true", help="of all builds in the team's store")
    add("--build", default="", metavar="ID", help="of one build in it")
    add("--store", default="", metavar="URL", help="another store, or its path")
    add("--deliver", action="store_true", help="tell the receivers of your settings; --follow")
    add("--doors", action="store_true", help="those receivers, and how far each was told")
    add("--beside", type=int, default=0, help=argparse.SUPPRESS)
    add("--json", action="store_true", help="a JSON object a line")


def execute_events(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print them. Raises RunnerError for a damaged journal, or a store that is away."""
    if given.deliver or given.doors:
        return _tell_doors(given, environ)

    is_of_team = given.team or bool(given.build or given.store)
    after = _read_after(given.after)
    if is_of_team and "" in after:
        raise RunnerError("of which journal?", where="--after", hint="--after JOURNAL:SEQ")
    if not is_of_team:
        project = _open_project(environ)
        if "" in after:  # a journal that is begun later has other numbers
            after[find_journal(project.journal_path)] = after.pop("")
        return _print(FolderOutbox(project), given, after)

    with team_store.open_team(given, environ) as store:
        build = ""
        if given.build:
            build = build_queue.find_build(store, given.build).id
        return _print(
            StoreOutbox(event_outbox.StoredEvents(store, build)),
            given,
            after,
            (store_engine.StoreAwayError,),
        )


def _tell_doors(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """To the receivers, or how far each of them was told; exit 1 where one does not answer."""
    if given.after or given.build or (given.deliver and given.doors):
        said = "--deliver and --doors stand alone: what was told before is known"
        raise RunnerError(said, hint="runner events --deliver --follow")
    with _source(given, environ) as source:
        if given.deliver:
            return delivery_process.tell_source(
                source, _tell, follow=given.follow, beside=given.beside
            )
        going_on, rows = delivery_process.describe_doors(source)
    if given.json:
        print(documents.document("doors", delivering=going_on, doors=rows), end="")
    else:
        print("\n".join(_describe_door(row) for row in rows))
        print("a process delivers" if going_on else "nobody delivers now")
    return ExitCode.FAILED if any(row["fault"] for row in rows) else ExitCode.OK


def _tell(text: str) -> None:
    print(display(text), file=sys.stderr, flush=True)


@contextmanager
def _source(given: argparse.Namespace, environ: Mapping[str, str]) -> Iterator[Source]:
    """What is to be told to whom: this folder's events, or those of the team's store."""
    if not (given.team or given.store):
        yield delivery_process.folder_source(_open_project(environ), environ)
        return
    settings = team_store.read_settings(environ)
    with (
        team_store.open_team(given, environ) as store,
        delivery_process.store_source(store, settings, environ, delivers=given.deliver) as source,
    ):
        yield source


def _describe_door(row: Mapping[str, object]) -> str:
    events = plural(int(str(row["events"])), "event")
    said = f"{row['name']} ({display(str(row['address']))}): {events}"
    if row["last"]:
        said += f", the last at {moment(str(row['last']))}"
    if row["fault"]:
        since = moment(str(row["since"]))
        said += f"; {display(str(row['fault']))}, since {since}, tried {row['tries']} times"
    return said


def _open_project(environ: Mapping[str, str]) -> Project:
    return Project.open(Path.cwd(), environ, plan_needed=False)


def _read_after(typed: list[str]) -> dict[str, int]:
    """The numbers by journal; the empty one is this folder's."""
    found = {}
    for one in typed:
        said = _KEY.fullmatch(one)
        if said is None:
            raise RunnerError(
                f"{one!a} names no event", where="--after", hint="--after 120, or JOURNAL:120"
            )
        found[said["journal"] or ""] = int(said["seq"])
    return found


def _print(
    outbox: Outbox,
    given: argparse.Namespace,
    after: dict[str, int],
    away: tuple[type[RunnerError], ...] = (),
) -> ExitCode:
    """`away` are errors that who follows waits out."""
    pause = (_STORE_POLL if away else _POLL) if given.follow else 0.0
    try:
        for message in read_on(outbox, after, pause, away):
            print(message.text() if given.json else _line(message), flush=given.follow)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    return ExitCode.OK


def _line(message: Message) -> str:
    """What a person reads: the same words as `log` where it is an event of a journal."""
    try:
        record = decode(message.line.encode())
        time_, task, said = record.time, record.task, gist(record)
    except (BadRecordError, UnfitRecordError, NewerRecordError):
        fields = json.loads(message.line)
        time_, task = str(fields.get("time", "")), ""
        said = str(fields.get("by", "") or fields.get("note", ""))
    head = f"{message.repository} {message.seq}"
    parts = (moment(time_), head, task or "-", message.type, said)
    return "  ".join(map(display, parts)).rstrip()


_LOG = """\
examples:
  runner log --task TASK-003
  runner log --follow              until Ctrl-C
  runner log --after 120 --first 50
                                   the 50 records that follow number 120
  runner log --json                one document; with --follow one JSON object a line
"""


def log_arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner log` takes."""
    parser.add_argument("-f", "--follow", action="store_true", help="go on as events come")
    parser.add_argument("--task", metavar="ID", default="", help="only what is about this task")
    parser.add_argument("--after", type=int, default=0, metavar="SEQ", help="only newer records")
    some = parser.add_mutually_exclusive_group()
    some.add_argument("--first", type=int, metavar="N", help="only the oldest N of them")
    some.add_argument("--last", type=int, metavar="N", help="only the newest N of them")
    parser.add_argument("--json", action="store_true", help="records as the journal has them")


def execute_log(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print the journal's records. Raises RunnerError where the journal is damaged."""
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    which = (project, given.task, given.after, given.first, given.last)
    if given.follow:
        return _follow(follow_log(*which), as_json=given.json)
    records = read_log(*which)
    if given.json:
        print(_document(records), end="")
        return ExitCode.OK
    said = False
    for record in records:
        print(_format_record(record))
        said = True
    if not said:
        is_part = given.task or given.after or {given.first, given.last} != {None}
        print("no record fits" if is_part else "nothing has happened yet", file=sys.stderr)
    return ExitCode.OK


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
    said = f"{moment(record.time)}  {task:<8}  {display(record.type):<18}  {gist(record)}"
    return said.rstrip()


# --- counted --------------------------------------------------------------------------


_STATS = """\
examples:
  runner stats                      since the journal began
  runner stats --since 30d          the last thirty days; also 90m, 12h, 2w
  runner stats --json               the same for a program
  runner stats --team               a team's builds by state, and what is left of its budget
"""


def stats_arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner stats` takes."""
    parser.add_argument("--since", default="", metavar="AGE", help="only the last 30d, 12h, …")
    parser.add_argument("--team", action="store_true", help="of the team's store (`store`)")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def execute_stats(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Count and say it. Raises RunnerError where the journal is damaged."""
    if given.team:
        if given.since:
            raise RunnerError("a team's builds are counted as they stand", hint="leave --since out")
        given.store = ""
        with team_store.open_team(given, environ) as store:
            counted = team_budget.count_team(store)
        say(counted, team_budget.team_lines, team_budget.team_document, as_json=given.json)
        return ExitCode.OK
    seconds = seconds_of_age(given.since, "--since") if given.since else None
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    with patience("reading the journal"):
        found = statistics.count_all(project, seconds)
    say(found, statistics.statistics_lines, statistics.statistics_document, as_json=given.json)
    return ExitCode.OK


COMMANDS = {
    "events": Command(_EVENTS, events_arguments, execute_events),
    "log": Command(_LOG, log_arguments, execute_log),
    "stats": Command(_STATS, stats_arguments, execute_stats),
}
