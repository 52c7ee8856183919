"""`runner replay`, `undo`, `blame`, `commit-by-task`, `write-log`: inspect and revert work.

Replay and undo go back by a new commit, and replay proves what landed again.
"""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner import effects
from runner.app.write.workplace import Workplace, display_path
from runner.commands.output import ask_trust, confirm, say, with_flag
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.report.documents import document
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.change import change_text, commit_writes, file_owners, rebuild, transaction
    from runner.app.change.rebuild import RebuiltStep
    from runner.app.write import staged_states
    from runner.history import blame
    from runner.report import table
    from runner.text import wording
    from runner.writes import log
    from runner.writes.log import LoggedWrite
else:
    rebuild = lazy_module("runner.app.change.rebuild")
    log = lazy_module("runner.writes.log")
    staged_states = lazy_module("runner.app.write.staged_states")
    table = lazy_module("runner.report.table")
    wording = lazy_module("runner.text.wording")
    change_text = lazy_module("runner.app.change.change_text")
    commit_writes = lazy_module("runner.app.change.commit_writes")
    file_owners = lazy_module("runner.app.change.file_owners")
    transaction = lazy_module("runner.app.change.transaction")
    blame = lazy_module("runner.history.blame")

# --- back to what was -----------------------------------------------------------------
_EVERY = 2.0
"""Seconds between two progress lines."""


def execute_replay(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Restore or verify a task. Raises RunnerError: exit 6 with the list on a conflict."""
    if given.verify:
        return _verify(given, environ)
    project = Project.open(Path.cwd(), environ)
    if len(given.ids) != 1 or given.all:
        raise RunnerError("name one task to restore", hint="runner replay TASK-005")
    seen = transaction.replay(project, transaction.ReplayRequest(given.ids[0], dry_run=True))
    if seen.replay.nothing or given.dry_run:
        say(seen, change_text.replay_lines, change_text.replay_document, as_json=given.json)
        return ExitCode.OK
    if not given.yes and not given.json:
        print("\n".join(change_text.replay_preview(seen.replay)))
    if not confirm("restore this state?", environ, yes=given.yes, again=with_flag(given, "--yes")):
        print("nothing was changed", file=sys.stderr if given.json else sys.stdout)
        return ExitCode.PERSON
    done = transaction.replay(
        project, transaction.ReplayRequest(seen.task, head=seen.replay.back.head)
    )
    say(done, change_text.replay_lines, change_text.replay_document, as_json=given.json)
    return ExitCode.OK


def _verify(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Rebuild all that landed, or some tasks; exit 1 at the first divergence."""
    if bool(given.ids) == given.all:
        raise RunnerError("name tasks, or use --all", hint="runner replay --verify --all")
    flags = {"sandbox": "none"} if given.no_sandbox else {}
    project = Project.open(Path.cwd(), environ, flags)
    steps = rebuild.find_landed(project, given.ids)
    again = with_flag(given, "--trust")
    ask_trust(project, project.plan(project.plan_bytes), trusted=given.trust, again=again)
    found = rebuild.rebuild(project, steps, _Progress(len(steps)))
    lines = partial(change_text.rebuild_lines, steps=len(steps))
    form = partial(change_text.rebuild_document, steps=len(steps))
    say(found, lines, form, as_json=given.json)
    return ExitCode.FAILED if found[-1].divergence else ExitCode.OK


class _Progress:
    """A line on standard error now and then, where it takes long."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._last = effects.monotonic()

    def __call__(self, one: RebuiltStep) -> None:
        self._done += 1
        if effects.monotonic() - self._last >= _EVERY:
            self._last = effects.monotonic()
            print(f"{self._done}/{self._total} {display(one.step.task)}", file=sys.stderr)


def execute_undo(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Undo it. Raises RunnerError: exit 6, with the list, where somebody built on it."""
    project = Project.open(Path.cwd(), environ)
    request = transaction.UndoRequest(given.id, given.reason, given.dry_run, given.force)
    if not given.yes or given.dry_run:
        seen = transaction.undo(project, replace(request, dry_run=True))
        if given.dry_run:
            say(seen, change_text.undo_lines, change_text.undo_document, as_json=given.json)
            return ExitCode.OK
        transaction.require_no_importers(seen, force=given.force)
        if not given.json:
            print("\n".join(change_text.undo_preview(seen)))
        words = [seen.back.tasks[0], *(["--force"] if given.force else []), "--yes"]
        if given.reason:
            words[1:1] = ["--reason", given.reason]
        if not confirm(
            "undo this task?", environ, yes=False, again=shlex.join(["runner", "undo", *words])
        ):
            print("nothing was changed", file=sys.stderr if given.json else sys.stdout)
            return ExitCode.PERSON
    done = transaction.undo(project, request)
    say(done, change_text.undo_lines, change_text.undo_document, as_json=given.json)
    return ExitCode.OK


# --- who wrote a line -----------------------------------------------------------------


def execute_blame(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Ask git and the commits' trailers; the journal is not needed."""
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    path, line = file_owners.find_place(project, Path.cwd(), given.place)
    found = file_owners.blame(project, file_owners.BlameRequest(path, line))
    if given.json:
        print(document("blame", path=path, line=line or None, lines=found), end="")
    else:
        shown = (
            blame.blame_lines(found)
            if not line
            else (row for one in found for row in blame.stretch_lines(one))
        )
        print(redact("\n".join(shown)) if found else f"{display(path)} is empty")
    return ExitCode.OK


# --- what is in no commit yet ---------------------------------------------------------


def execute_commit_by_task(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Commit what the write log has and HEAD has not; everything else stays as it is."""
    project = Project.open(Path.cwd(), environ)
    found = commit_writes.commit_by_task(
        project, commit_writes.CommitRequest(given.task, given.dry_run)
    )
    say(found, change_text.commit_lines, change_text.commit_document, as_json=given.json)
    return ExitCode.OK


# --- every approved write -------------------------------------------------------------
_SHORT_DIGEST = 12


def record_write(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Record the current state of a file as a write. Raises RunnerError for a missing file."""
    change = staged_states.record_write(Workplace.of(Path.cwd(), environ), given.task, given.file)
    print(f"recorded: {change.action} {display_path(change.path)}", file=sys.stderr)
    return ExitCode.OK


def show_writes(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Show what was written, and what became of it."""
    workplace = Workplace.of(Path.cwd(), environ)
    task = workplace.task(given.task)[0] if given.task else ""
    history = log.WriteLog(workplace.root).show(task)
    if given.json:
        writes = [staged_states.describe_write(one) for one in history.writes]
        sys.stdout.write(document("write-log", writes=writes, damaged=history.damaged))
    elif history.writes:
        head = ("Time", "Task", "Attempt", "Action", "File", "Bytes", "Review", "Outcome")
        sys.stdout.write(table.table(head, map(_log_row, history.writes)))
    else:
        print("no writes are recorded", file=sys.stderr)
    for line in history.damaged:
        print(
            f"runner: {log.WRITE_LOG}:{line}: invalid line skipped",
            file=sys.stderr,
        )
    return ExitCode.OK


def _log_row(one: LoggedWrite) -> tuple[str, ...]:
    fate = one.fate.value if one.fate else "open"
    outcome = f"{fate} {one.commit[:_SHORT_DIGEST]}".rstrip()
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
