"""`runner ownership`: which tasks own which files; what is wrong with the map; rows for it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.change.file_owners import check_map, find_owners, propose_rows
from runner.app.change.impact_question import inside
from runner.errors import ExitCode, RunnerError
from runner.project import Project
from runner.repo.head import OWNERSHIP_MAP
from runner.report.documents import document
from runner.text.display import display
from runner.text.wording import plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from runner.app.change.file_owners import MapCheck, MapRows, OwnedFile

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
        _show(find_owners(project, paths), as_json=given.json)
    elif given.verb == "check":
        found = check_map(project, paths)
        _show_faults(found, as_json=given.json)
        return ExitCode.FAILED if found.faults else ExitCode.OK
    else:
        rows = propose_rows(project, paths, write=given.write)
        _show_rows(rows, written=given.write, as_json=given.json)
    return ExitCode.OK


def _show(files: Sequence[OwnedFile], *, as_json: bool) -> None:
    if as_json:
        print(document("ownership", files=files), end="")
        return
    for one in files:
        more = [id_ for id_ in one.outputs if id_ not in one.owners]
        said = [*one.owners, *(f"{id_} (Output files)" for id_ in more)]
        print(f"{display(one.path)}  {display(', '.join(said)) or '-'}")


def _show_faults(found: MapCheck, *, as_json: bool) -> None:
    if as_json:
        print(document("ownership-check", faults=found.faults), end="")
        return
    for one in found.faults:
        print(f"{display(one.path)}: {display(one.message)}")
    for hint in filter(None, dict.fromkeys(one.hint for one in found.faults)):
        print(f"hint: {display(hint)}", file=sys.stderr)
    count = plural(len(found.faults), "fault")
    print(f"{plural(found.files, 'file')}: {count}", file=sys.stderr)


def _show_rows(found: MapRows, *, written: bool, as_json: bool) -> None:
    if as_json:
        print(document("ownership-proposal", rows=found.rows, written=written), end="")
        return
    for one in found.rows:
        remark = "" if one.certain else "  (its commits only mention it)"
        print(f"{display(one.path)}  {display(', '.join(one.tasks))}{remark}")
    left = found.unowned - len(found.rows)
    verb = "written" if written else "proposed"
    print(f"{plural(len(found.rows), 'row')} {verb}", file=sys.stderr)
    if left:
        print(f"of {plural(left, 'file')} git tells no task", file=sys.stderr)
    if found.rows and not written:
        print(
            f"hint: runner ownership propose --write adds them to {OWNERSHIP_MAP}", file=sys.stderr
        )
