"""`runner ownership`: which tasks own which files; what is wrong with the map; rows for it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from runner.impact.history import Proposal
    from runner.impact.ownership_check import Fault
    from runner.plan.ownership import OwnershipMap
    from runner.project import Project
    from runner.repo.read import Repository

MAP = "FILE_OWNERSHIP_MAP.md"
_EPILOG = """\
exit: 0 well, 1 `check` found faults, 2 bad usage

examples:
  runner ownership show src/booking/models.py
  runner ownership check
  runner ownership propose --write
"""


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner ownership` takes."""
    del name
    parser.epilog = _EPILOG
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
    from runner.project import Project
    from runner.repo.read import Repository

    if given.write and given.verb != "propose":
        raise RunnerError("only `propose` writes", hint="runner ownership propose --write")
    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    with Repository.open(project.root) as repository:
        if given.verb == "show":
            return _show(given, project, repository)
        if given.verb == "check":
            return _check(given, project, repository)
        return _propose(given, project, repository)


# --- what there is ----------------------------------------------------------------------


def _map_bytes(project: Project) -> bytes | None:
    from runner.writes.safe_io import read_beneath

    return read_beneath(project.root, MAP)


def _read(project: Project) -> OwnershipMap:
    from runner.plan.ownership import OwnershipMap

    return OwnershipMap.read(_map_bytes(project) or b"", prefixes=project.settings.id_prefixes)


def _files(repository: Repository) -> list[str]:
    """The files that git tracks in the project, sorted, with those that are staged."""
    from runner.repo.git import text

    listed = text(repository.git.run("ls-files", "-z")).split("\0")[:-1]
    inside = (repository.prefix.inside(path) for path in listed)
    return sorted({path for path in inside if not path.startswith("../")})


def _select_files(given: argparse.Namespace, project: Project, files: Sequence[str]) -> list[str]:
    """The files a person named, folders as the files in them; all of them without a name."""
    if not given.paths:
        return list(files)
    from runner.commands.change.impact import inside

    found: dict[str, None] = {}
    for typed in given.paths:
        path = inside(project, typed).rstrip("/")
        below = [one for one in files if path == "." or one.startswith(path + "/")]
        found |= dict.fromkeys(below or [path])
    return list(found)


# --- show -------------------------------------------------------------------------------


def _show(given: argparse.Namespace, project: Project, repository: Repository) -> ExitCode:
    from runner.impact.path_index import Named

    owners = _read(project)
    tasks = [one for one in project.plan(project.plan_bytes).tasks if not one.writes_everything]
    outputs = Named((task.id, path) for task in tasks for path in task.outputs)
    rows = []
    for path in _select_files(given, project, _files(repository)):
        mapped, planned = owners.owners(path), outputs.of(path)
        rows.append({"path": path, "owners": mapped, "outputs": planned})
        if not given.json:
            more = [one for one in planned if one not in mapped]
            said = [*mapped, *(f"{one} (Output files)" for one in more)]
            print(f"{display(path)}  {display(', '.join(said)) or '-'}")
    if given.json:
        from runner.report.documents import document

        print(document("ownership", files=rows), end="")
    return ExitCode.OK


# --- check ------------------------------------------------------------------------------


def _check(given: argparse.Namespace, project: Project, repository: Repository) -> ExitCode:
    from runner.app.inspect.view import View
    from runner.impact.ownership_check import Fault, faults
    from runner.model import Status
    from runner.text.wording import plural

    view = View.of(project)
    done = [id_ for id_ in view.states if view.status(id_) is Status.DONE]
    files = _files(repository)
    found = list(faults(_read(project), files, project.plan(project.plan_bytes).tasks, done))
    if _map_bytes(project) is None:
        found.insert(0, Fault("map", MAP, "there is no such file", "runner ownership propose"))
    if given.paths:
        chosen = {*_select_files(given, project, files)}
        found = [one for one in found if one.kind == "map" or one.path in chosen]
    if given.json:
        from runner.report.documents import document

        print(document("ownership-check", faults=found), end="")
    else:
        _tell(found)
        print(f"{plural(len(files), 'file')}: {plural(len(found), 'fault')}", file=sys.stderr)
    return ExitCode.FAILED if found else ExitCode.OK


def _tell(found: Sequence[Fault]) -> None:
    hints: dict[str, None] = {}
    for one in found:
        print(f"{display(one.path)}: {display(one.message)}")
        hints[one.hint] = None
    for hint in filter(None, hints):
        print(f"hint: {display(hint)}", file=sys.stderr)


# --- propose ----------------------------------------------------------------------------


def _propose(given: argparse.Namespace, project: Project, repository: Repository) -> ExitCode:
    """Rows for files that the map names no owner of; written only where it is asked for."""
    from runner.impact.history import find_touching_commits, proposals

    head = repository.head().commit
    known = {task.id for task in project.outline().tasks}
    owners = _read(project)
    chosen = _select_files(given, project, _files(repository))
    files = [path for path in chosen if not owners.owners(path) and _may_be_owned(path)]
    prefixes = project.settings.id_prefixes
    history = find_touching_commits(repository, head, known, prefixes) if head else ()
    found = proposals(history, files)
    if given.write and found:
        _write(project, found)
    if given.json:
        from runner.report.documents import document

        print(document("ownership-proposal", rows=found, written=given.write), end="")
    else:
        _tell_rows(found, len(files), written=given.write)
    return ExitCode.OK


def _may_be_owned(path: str) -> bool:
    from runner.impact.config_files import is_own_document

    return not is_own_document(path)


def _write(project: Project, found: Sequence[Proposal]) -> None:
    """Add the rows to the map; every byte that is there stays.

    Raises RunnerError for a map with conflict markers.
    """
    from runner.plan.ownership import add_owners
    from runner.writes.safe_io import mode_beneath, write_beneath

    _read(project).require_whole()
    before = _map_bytes(project) or b""
    rows = {one.path: one.tasks for one in found}
    after = add_owners(before, rows, project.settings.id_prefixes)
    mode = mode_beneath(project.root, MAP) or 0o100644
    write_beneath(project.root, MAP, after, mode)


def _tell_rows(found: Sequence[Proposal], without: int, *, written: bool) -> None:
    from runner.text.wording import plural

    for one in found:
        remark = "" if one.certain else "  (its commits only mention it)"
        print(f"{display(one.path)}  {display(', '.join(one.tasks))}{remark}")
    left = without - len(found)
    verb = "written" if written else "proposed"
    print(f"{plural(len(found), 'row')} {verb}", file=sys.stderr)
    if left:
        print(f"of {plural(left, 'file')} git tells no task", file=sys.stderr)
    if found and not written:
        print(f"hint: runner ownership propose --write adds them to {MAP}", file=sys.stderr)
