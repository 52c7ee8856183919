"""`runner ownership`: which tasks own which files; what is wrong with the map; rows for it."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.change.file_owners import (
    check_map,
    fault_document,
    fault_lines,
    fault_remarks,
    find_owners,
    owner_document,
    owner_lines,
    propose_rows,
    row_document,
    row_lines,
    row_remarks,
)
from runner.app.change.impact_question import inside
from runner.commands.output import say
from runner.errors import ExitCode, RunnerError
from runner.project import Project

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping


EXAMPLES = """\
exit: 0 well, 1 `check` found faults, 2 bad usage

examples:
  runner ownership show src/booking/models.py
  runner ownership check
  runner ownership propose --write
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner ownership` takes."""
    parser.add_argument(
        "verb",
        nargs="?",
        choices=("show", "check", "propose"),
        default="show",
        help="show owners (the default), check the map, or propose rows from git's history",
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="of these files or folders only")
    parser.add_argument("--write", action="store_true", help="write the proposed rows into the map")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Do it. Raises RunnerError for a path outside, and where the map cannot be read."""
    if given.write and given.verb != "propose":
        raise RunnerError("only `propose` writes", hint="runner ownership propose --write")
    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    paths = [inside(project, typed) for typed in given.paths]
    if given.verb == "show":
        say(find_owners(project, paths), owner_lines, owner_document, as_json=given.json)
    elif given.verb == "check":
        found = check_map(project, paths)
        say(found, fault_lines, fault_document, as_json=given.json)
        _remark(fault_remarks(found), as_json=given.json)
        return ExitCode.FAILED if found.faults else ExitCode.OK
    else:
        rows = propose_rows(project, paths, write=given.write)
        form = partial(row_document, written=given.write)
        say(rows, row_lines, form, as_json=given.json)
        _remark(row_remarks(rows, written=given.write), as_json=given.json)
    return ExitCode.OK


def _remark(remarks: Iterable[str], *, as_json: bool) -> None:
    """What stands beside the lines: on standard error."""
    for line in () if as_json else remarks:
        print(line, file=sys.stderr)
