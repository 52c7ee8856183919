"""`runner blame FILE[:LINE]`: the task, attempt, change, review and proof behind a line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.change.file_owners import BlameRequest, blame, find_place
from runner.errors import ExitCode
from runner.history.blame import blame_lines, stretch_lines
from runner.project import Project
from runner.report.documents import document
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping


EXAMPLES = """\
examples:
  runner blame src/booking/models.py      whose the lines of a file are
  runner blame src/booking/models.py:41   all that is known of one line
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner blame` takes."""
    parser.add_argument("place", metavar="FILE[:LINE]", help="a file that git knows")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Ask git and the commits' trailers; the journal is not needed."""
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    path, line = find_place(project, Path.cwd(), given.place)
    found = blame(project, BlameRequest(path, line))
    if given.json:
        print(document("blame", path=path, line=line or None, lines=found), end="")
    else:
        told = (
            blame_lines(found) if not line else (row for one in found for row in stretch_lines(one))
        )
        print(redact("\n".join(told)) if found else f"{display(path)} is empty")
    return ExitCode.OK
