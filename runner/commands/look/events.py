"""`runner events`: what happened, an event a line, resumable; of this folder or of a team."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from runner.outward.outbox import Message, Outbox
    from runner.project import Project

_EXAMPLES = """\
Each event is named by its journal and its number there; after a break, go on with both.

examples:
  runner events --after 120 --json          this folder's, behind number 120
  runner events --follow --json             until Ctrl-C
  runner events --team --follow --json      of all builds of the team's store
  runner events --build 3f2 --after JOURNAL:12 --json
"""
_KEY = re.compile(r"(?:(?P<journal>[^\s:]{1,100}):)?(?P<seq>\d{1,15})")
_POLL, _STORE_POLL = 0.2, 0.5
"""Seconds from one look to the next."""


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner events` takes."""
    del name
    parser.epilog = _EXAMPLES
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
    add("--json", action="store_true", help="a JSON object a line")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print them. Raises RunnerError for a damaged journal, or a store that is away."""
    from runner.outward.outbox import FolderOutbox, find_journal

    is_of_team = given.team or bool(given.build or given.store)
    after = _read_after(given.after)
    if is_of_team and "" in after:
        raise RunnerError("of which journal?", where="--after", hint="--after JOURNAL:SEQ")
    if not is_of_team:
        project = _open_project(environ)
        if "" in after:  # a journal that is begun later has other numbers
            after[find_journal(project.journal_path)] = after.pop("")
        return _print(FolderOutbox(project), given, after)
    from runner.commands.team.team_store import open_team
    from runner.outward.outbox import StoreOutbox
    from runner.team.event_outbox import StoredEvents
    from runner.team.store_engine import StoreAwayError

    with open_team(given, environ) as store:
        build = ""
        if given.build:
            from runner.team.build_queue import find_build

            build = find_build(store, given.build).id
        return _print(StoreOutbox(StoredEvents(store, build)), given, after, (StoreAwayError,))


def _open_project(environ: Mapping[str, str]) -> Project:
    from runner.project import Project

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
        for message in _read(outbox, after, pause, away):
            print(message.text() if given.json else _line(message), flush=given.follow)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    return ExitCode.OK


def _read(
    outbox: Outbox, after: dict[str, int], pause: float, away: tuple[type[RunnerError], ...]
) -> Iterator[Message]:
    from runner.outward.outbox import Positions

    positions, seen = Positions(after), False
    while True:
        try:
            for message in outbox.read(positions):
                yield message
                positions.move(message)
            seen = True
        except away:
            if not (pause and seen):  # who follows waits until it is there again
                raise
            outbox.look_again()
        if not pause:
            return
        time.sleep(pause)


def _line(message: Message) -> str:
    """What a person reads: the same words as `log` where it is an event of a journal."""
    from runner.app.inspect.event_log import gist
    from runner.journal.codec import BadRecordError, NewerRecordError, UnfitRecordError, decode
    from runner.text.wording import moment

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
