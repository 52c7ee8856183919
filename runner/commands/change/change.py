"""`runner change ID… "text"`: ask for something new; what was built on the old becomes STALE."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.change.change_text import change_document, change_lines, change_preview
from runner.app.change.transaction import ChangeRequest, change
from runner.commands.consent import confirm
from runner.commands.output import say
from runner.errors import ExitCode, RunnerError
from runner.project import Project
from runner.run.selection import find_id

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence


EXAMPLES = """\
examples:
  runner change TASK-005 "sessions expire after 30 minutes"
                            what that makes STALE, then asks; runner '!change' is the same
  runner change TASK-005 TASK-006 "all times in UTC" --yes
  a line `!change all times in UTC` in the task's section is taken by the next run
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner change` takes."""
    parser.add_argument("words", nargs="+", metavar="ID … TEXT", help="tasks, then what changes")
    parser.add_argument("--yes", action="store_true", help="record it without asking")
    parser.add_argument("-n", "--dry-run", action="store_true", help="only say what it would do")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Preview, ask, record. While a run goes on it is refused: its lock is held."""
    project = Project.open(Path.cwd(), environ)
    ids, text = _parse_words(project, given.words)
    seen = change(project, ChangeRequest(ids, text, dry_run=True))
    talk = sys.stderr if given.json else sys.stdout
    if not (given.json and (given.dry_run or given.yes)):
        print("\n".join(change_preview(seen.change)), file=talk)
    if given.dry_run:
        say(seen, change_lines, change_document, as_json=given.json)
        return ExitCode.OK
    again = f'runner change {" ".join(ids)} "…" --yes'
    meant = False
    try:
        meant = confirm("record it?", environ, yes=given.yes, again=again)
    finally:
        if given.json and not meant:
            sys.stdout.write(change_document(seen))
    if not meant:
        print("nothing was recorded", file=talk)
        return ExitCode.PERSON
    done = change(project, ChangeRequest(ids, text))
    say(done, change_lines, change_document, as_json=given.json)
    return ExitCode.OK


def _parse_words(project: Project, words: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The tasks that are named first, and the text that follows."""
    known = [task.id for task in project.outline().tasks]
    ids = [find_id(words[0], known)]
    rest = list(words[1:])
    while len(rest) > 1:
        try:
            ids.append(find_id(rest[0], known))
        except RunnerError:  # the text begins here
            break
        rest.pop(0)
    return tuple(dict.fromkeys(ids)), " ".join(rest)
