"""`runner undo ID`: one task taken back by a new commit, as long as nobody built on its lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.change.transaction import UndoRequest, undo
from runner.errors import ExitCode
from runner.project import Project
from runner.report.documents import document
from runner.text.display import display
from runner.text.wording import plural, short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.history.revert import Back

EXAMPLES = """\
examples:
  runner undo TASK-009                      a commit that reverts it; the task is PENDING
  runner undo TASK-009 --reason "too slow"  and why, for the plan and the commit
  runner undo TASK-009 -n                   what would change, and do nothing
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner undo` takes."""
    parser.add_argument("id", metavar="ID", help="the task: TASK-009, or 9")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why, in a few words")
    parser.add_argument("-n", "--dry-run", action="store_true", help="say what would be done")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Undo it. Raises RunnerError: exit 6, with the list, where somebody built on it."""
    project = Project.open(Path.cwd(), environ)
    done = undo(project, UndoRequest(given.id, given.reason, given.dry_run))
    _say(done.back, done.commit, as_json=given.json)
    return ExitCode.OK


def _say(back: Back, commit: str, *, as_json: bool) -> None:
    files = [(change.action, change.path) for change in back.changes]
    if as_json:
        print(
            document(
                "undo",
                task=back.tasks[0],
                commit=commit or None,
                done=bool(commit),
                files=[{"path": path, "action": str(action)} for action, path in files],
                stale=[{"id": one.task, "note": one.reason, "via": one.via} for one in back.stale],
            ),
            end="",
        )
        return
    for action, path in files:
        print(f"{action} {display(path)}")
    for held in back.tasks[1:]:
        print(f"PENDING {display(held)} — its held change is let go; the draft of it stays")
    for one in back.stale:
        print(f"STALE {display(one.task)} — {display(one.reason)}")
    name = display(back.tasks[0])
    if commit:
        print(f"{name} undone as {short(commit)} ({plural(len(files), 'file')}); it is PENDING")
    else:
        print(f"{name} would be undone ({plural(len(files), 'file')}); nothing was done")
