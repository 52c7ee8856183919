"""`runner write-log`: every approved write, recorded and shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.write.workplace import Workplace, display_path
from runner.errors import ExitCode, RunnerError
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.model import Change, Digest
    from runner.writes.log import History, Written

_EPILOG = """\
examples:
  runner write-log record --task TASK-003 --file src/app.py
  runner write-log show --task TASK-003
  runner write-log show --json
"""
BY_HAND = 0
"""The attempt of what no run wrote."""
_SHORT = 12


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner write-log` takes."""
    del name
    parser.epilog = _EPILOG
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
        return _record(workplace, given.task, workplace.path_of(given.file))
    return _show(workplace, given.task, as_json=given.json)


# --- recording ------------------------------------------------------------------------


def _record(workplace: Workplace, typed: str, path: str) -> ExitCode:
    from runner.writes.log import Fate, Review, WriteLog

    task, _ = workplace.task(typed)
    log = WriteLog(workplace.root)
    change = _change(workplace, log.show(), path)
    log.record((change,), run="", task=task, attempt=BY_HAND, review=Review.OFF)
    log.close(run="", task=task, attempt=BY_HAND, fate=Fate.LANDED)  # it is there as it stands
    print(f"recorded: {change.action} {display_path(path)}", file=sys.stderr)
    return ExitCode.OK


def _change(workplace: Workplace, history: History, path: str) -> Change:
    """The file as it stands now, against what was last known of it."""
    from runner.model import Action, Change, digest_of
    from runner.writes.safe_io import mode_beneath, read_beneath

    _check(path)
    content = read_beneath(workplace.root, path)
    before = _last_digest(workplace, history, path)
    if content is None and before is None:
        raise RunnerError(
            "there is no such file",
            where=path,
            hint=f"paths are relative to {workplace.root}",
        )
    if content is None:
        return Change(path, Action.DELETE, 0, before, None)
    action = Action.CREATE if before is None else Action.MODIFY
    mode = mode_beneath(workplace.root, path) or 0
    return Change(path, action, mode, before, digest_of(content), content)


def _check(path: str) -> None:
    """A path that no log should hold: outside, in git's folder, or with a key in its name."""
    from runner.secrets.redact import redact
    from runner.secrets.scan import scan_content
    from runner.writes.paths import check_path

    refused = check_path(path, 0, kind="delete")
    for found in (*((refused,) if refused else ()), *scan_content(b"", path)):
        if found.refuses:
            raise RunnerError(redact(found.message), hint=found.hint)


def _last_digest(workplace: Workplace, history: History, path: str) -> Digest | None:
    """The digest the file had before: as logged last, else as committed."""
    logged = [one for one in history.writes if one.path == path]
    if logged:
        return logged[-1].after or None
    if not workplace.in_git:
        return None
    from runner.model import digest_of
    from runner.repo.read import Repository

    with Repository.open(workplace.root) as repository:
        head = repository.head().commit
        committed = repository.blob(head, path) if head else None
    return None if committed is None else digest_of(committed)


# --- showing --------------------------------------------------------------------------


def _show(workplace: Workplace, typed: str, *, as_json: bool) -> ExitCode:
    from runner.report.documents import document
    from runner.report.table import table
    from runner.writes.log import WRITE_LOG, WriteLog

    history = WriteLog(workplace.root).show(workplace.task(typed)[0] if typed else "")
    if as_json:
        writes = [_as_data(one) for one in history.writes]
        sys.stdout.write(document("write-log", writes=writes, damaged=history.damaged))
    elif history.writes:
        head = ("Time", "Task", "Attempt", "Action", "File", "Bytes", "Review", "Outcome")
        sys.stdout.write(table(head, map(_row, history.writes)))
    else:
        print("no write is recorded", file=sys.stderr)
    for line in history.damaged:
        print(
            f"runner: {WRITE_LOG}:{line}: this line is no record; it is left out", file=sys.stderr
        )
    return ExitCode.OK


def _row(one: Written) -> tuple[str, ...]:
    from runner.text.wording import moment

    fate = one.fate.value if one.fate else "open"
    outcome = f"{fate} {one.commit[:_SHORT]}".rstrip()
    return (
        moment(one.time),
        one.task,
        str(one.attempt),
        one.action,
        display_path(one.path),
        str(one.bytes),
        one.review,
        outcome,
    )


def _as_data(one: Written) -> dict[str, object]:
    return {
        "time": display(one.time),
        "run": one.run,
        "task": one.task,
        "attempt": one.attempt,
        "path": display_path(one.path),
        "action": one.action,
        "mode": one.mode,
        "before": one.before or None,
        "after": one.after or None,
        "bytes": one.bytes,
        "review": one.review,
        "outcome": one.fate,
        "commit": one.commit or None,
    }
