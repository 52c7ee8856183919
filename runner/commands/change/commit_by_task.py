"""`runner commit-by-task`: what is logged and in no commit yet, one commit a task."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.change.commit_writes import CommitRequest, commit_by_task
from runner.errors import ExitCode
from runner.project import Project
from runner.report.documents import document
from runner.text.display import display
from runner.text.wording import plural, short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.change.commit_writes import CommittedWrites

EXAMPLES = """\
examples:
  runner commit-by-task                  one commit for each task with logged writes
  runner commit-by-task --dry-run        which commits that would be
  runner commit-by-task --task TASK-003  that task's alone; exit 6 where others come first
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner commit-by-task` takes."""
    parser.add_argument("--task", default="", metavar="ID", help="only this task's commit")
    parser.add_argument("-n", "--dry-run", action="store_true", help="commit nothing")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Commit what the write log has and HEAD has not; everything else stays as it is."""
    project = Project.open(Path.cwd(), environ)
    found = commit_by_task(project, CommitRequest(given.task, given.dry_run))
    _say(found, as_json=given.json)
    return ExitCode.OK


def _say(writes: CommittedWrites, *, as_json: bool) -> None:
    found = writes.grouped
    commits = writes.commits or ("",) * len(found.groups)
    if as_json:
        said = document(
            "commit-by-task",
            done=bool(writes.commits),
            commits=[
                {
                    "task": group.task,
                    "commit": commit or None,
                    "files": [change.path for change in group.changes],
                }
                for group, commit in zip(found.groups, commits, strict=True)
            ],
            left=[{"path": path, "reason": reason} for path, reason in found.left],
            joined=[{"path": path, "task": task} for path, task in found.joined],
        )
        print(said, end="")
        return
    for group, commit in zip(found.groups, commits, strict=True):
        name = f"{display(group.task)} {display(writes.titles.get(group.task, ''))}".strip()
        print(f"{short(commit) or 'would commit'} {name}: {plural(len(group.changes), 'file')}")
        for change in group.changes:
            print(f"  {change.action} {display(change.path)}")
    for path, task in found.joined:
        print(f"{display(path)}: only its last bytes are kept, so all of it is {display(task)}'s")
    for path, reason in found.left:
        print(f"left as it is: {display(path)} ({display(reason)})")
    if not found.groups:
        print("nothing is logged that is not committed")
