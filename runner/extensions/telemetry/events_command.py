"""`runner team events` and `log --events`: print events for programs, or send them."""

from __future__ import annotations

import json
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.inspect.event_log import gist
from runner.errors import ExitCode, RunnerError
from runner.extensions.telemetry.outbox import FolderOutbox, StoreOutbox, find_journal, read_on
from runner.journal.records import BadRecordError, NewerRecordError, UnfitRecordError, decode
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.text.display import display
from runner.text.wording import moment, plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from runner.extensions.team import build_queue, event_rows, store_commands, store_engine
    from runner.extensions.telemetry import delivery_process
    from runner.extensions.telemetry.delivery_process import EventSource
    from runner.extensions.telemetry.outbox import Outbox, Outgoing
    from runner.report import documents
else:
    build_queue = lazy_module("runner.extensions.team.build_queue")
    delivery_process = lazy_module("runner.extensions.telemetry.delivery_process")
    documents = lazy_module("runner.report.documents")
    event_rows = lazy_module("runner.extensions.team.event_rows")
    store_commands = lazy_module("runner.extensions.team.store_commands")
    store_engine = lazy_module("runner.extensions.team.store_engine")

_KEY = re.compile(r"(?:(?P<journal>[^\s:]{1,100}):)?(?P<seq>\d{1,15})")
_POLL, _STORE_POLL = 0.2, 0.5
"""Seconds between two checks."""


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print a team's events, or send them. Raises RunnerError where its store is away."""
    if given.deliver or given.doors:
        return _print_receivers(given, environ)

    after = _read_after(given.after)
    if "" in after:
        raise RunnerError(
            "a number alone is not enough for a team's events: name its journal",
            where="--after",
            hint="--after JOURNAL:SEQ",
        )
    with store_commands.open_team(given, environ) as store:
        build = build_queue.find_build(store, given.build).id if given.build else ""
        outbox = StoreOutbox(event_rows.StoredEvents(store, build))
        return _print(outbox, given, after, (store_engine.StoreDownError,))


def print_events_of_folder(
    given: argparse.Namespace, environ: Mapping[str, str]
) -> ExitCode | None:
    """Print this folder's events, each with its journal and number; None without `--events`."""
    if not given.events:
        return None
    if given.task or {given.first, given.last, given.limit} != {None}:
        raise RunnerError("--events goes with --after, --follow and --json only", hint="runner log")
    project, after = _open_project(environ), _read_after(given.after)
    if "" in after:  # a journal that is begun later has other numbers
        after[find_journal(project.journal_path)] = after.pop("")
    return _print(FolderOutbox(project), given, after)


def _print_receivers(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Deliver, or print the status of each receiver; exit 1 if one does not answer."""
    if given.after or given.build or (given.deliver and given.doors):
        message = "use --deliver or --doors alone: each receiver has its own cursor"
        raise RunnerError(message, hint="runner team events --deliver --follow")
    with _source(given, environ) as source:
        if given.deliver:
            return delivery_process.deliver_source(
                source, _tell, follow=given.follow, beside=given.beside
            )
        going_on, rows = delivery_process.describe_receivers(source)
    if given.json:
        print(documents.document("doors", delivering=going_on, doors=rows), end="")
    else:
        print("\n".join(_describe_receiver(row) for row in rows))
        print("a process is delivering events" if going_on else "no process is delivering events")
    return ExitCode.FAILED if any(row["fault"] for row in rows) else ExitCode.OK


def _tell(text: str) -> None:
    print(display(text), file=sys.stderr, flush=True)


@contextmanager
def _source(given: argparse.Namespace, environ: Mapping[str, str]) -> Iterator[EventSource]:
    """Open the source: this folder's events, or those of the team's store."""
    if not (given.team or given.store):
        yield delivery_process.folder_source(_open_project(environ), environ)
        return
    settings = store_commands.read_settings(environ)
    with (
        store_commands.open_team(given, environ) as store,
        delivery_process.store_source(store, settings, environ, delivers=given.deliver) as source,
    ):
        yield source


def _describe_receiver(row: Mapping[str, object]) -> str:
    events = plural(int(str(row["events"])), "event")
    text = f"{row['name']} ({display(str(row['address']))}): {events}"
    if row["last"]:
        text += f", the last at {moment(str(row['last']))}"
    if row["fault"]:
        since = moment(str(row["since"]))
        text += f"; {display(str(row['fault']))}, since {since}, tried {row['tries']} times"
    return text


def _open_project(environ: Mapping[str, str]) -> Project:
    return Project.open(Path.cwd(), environ, plan_needed=False)


def _read_after(typed: list[str]) -> dict[str, int]:
    """Parse event numbers by journal; the empty key is this folder's."""
    found = {}
    for one in typed:
        match = _KEY.fullmatch(one)
        if match is None:
            raise RunnerError(
                f"{one!a} is not a valid event", where="--after", hint="--after 120 or JOURNAL:120"
            )
        found[match["journal"] or ""] = int(match["seq"])
    return found


def _print(
    outbox: Outbox,
    given: argparse.Namespace,
    after: dict[str, int],
    away: tuple[type[RunnerError], ...] = (),
) -> ExitCode:
    """Print the events; errors in `away` are retried when following."""
    pause = (_STORE_POLL if away else _POLL) if given.follow else 0.0
    try:
        for message in read_on(outbox, after, pause, away):
            print(message.text() if given.json else _line(message), flush=given.follow)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    return ExitCode.OK


def _line(message: Outgoing) -> str:
    """Return the line of an event for people, in the words of `log`."""
    try:
        record = decode(message.line.encode())
        time_, task, text = record.time, record.task, gist(record)
    except (BadRecordError, UnfitRecordError, NewerRecordError):
        fields = json.loads(message.line)
        time_, task = str(fields.get("time", "")), ""
        text = str(fields.get("by", "") or fields.get("note", ""))
    head = f"{message.repository} {message.seq}"
    parts = (moment(time_), head, task or "-", message.type, text)
    return "  ".join(map(display, parts)).rstrip()
