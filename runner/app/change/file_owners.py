"""List the owners of files, check the ownership map, and propose rows from git's history.

Whose the lines of a file are: the task, attempt, change, review and proof behind each.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.app.inspect.view import View
from runner.errors import RunnerError
from runner.history.blame import lines_of, stretches
from runner.impact.change import is_own_document
from runner.impact.owners import MapFault, Named, faults, find_touching_commits, proposals
from runner.model import Status
from runner.plan.ownership import OwnershipMap, add_owners
from runner.repo.git import text
from runner.repo.head import OWNERSHIP_MAP
from runner.repo.read import Repository
from runner.report.documents import document
from runner.text.display import display
from runner.text.wording import plural
from runner.writes.safe_io import mode_below, read_below, write_below

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.history.blame import Stretch
    from runner.impact.owners import Proposal
    from runner.project import Project


_PLAIN = 0o100644
_LINE = re.compile(r"(?P<file>.+):(?P<line>\d{1,9})")


class OwnedFile(Struct, frozen=True):
    """A file with its owners: by the map, and by the plan's Output files."""

    path: str
    owners: tuple[str, ...]
    outputs: tuple[str, ...]


class MapCheck(Struct, frozen=True):
    """The problems in the map, and the number of files that it covers."""

    files: int
    faults: tuple[MapFault, ...]


class MapRows(Struct, frozen=True):
    """Rows for files that the map names no owner of."""

    rows: tuple[Proposal, ...]
    unowned: int
    """Files without an owner; git assigns as many to a task as there are rows."""


def find_owners(project: Project, paths: Sequence[str] = ()) -> tuple[OwnedFile, ...]:
    """Return the owners of these files or folders; of all tracked files if none are named."""
    owners = _read_map(project)
    tasks = [one for one in project.plan(project.plan_bytes).tasks if not one.writes_everything]
    outputs = Named((task.id, path) for task in tasks for path in task.outputs)
    files = _select_files(paths, _list_files(project))
    return tuple(
        OwnedFile(path, tuple(owners.owners(path)), tuple(outputs.of(path))) for path in files
    )


def check_map(project: Project, paths: Sequence[str] = ()) -> MapCheck:
    """Check the ownership map for faults, optionally only about these files or folders."""
    view = View.of(project)
    done = [id_ for id_ in view.states if view.status(id_) is Status.DONE]
    files, tasks = _list_files(project), project.plan(project.plan_bytes).tasks
    found = list(faults(_read_map(project), files, tasks, done))
    if read_below(project.root, OWNERSHIP_MAP) is None:
        found.insert(
            0, MapFault("map", OWNERSHIP_MAP, "file not found", "runner plan ownership propose")
        )
    if paths:
        chosen = {*_select_files(paths, files)}
        found = [one for one in found if one.kind == "map" or one.path in chosen]
    return MapCheck(len(files), tuple(found))


def propose_rows(project: Project, paths: Sequence[str] = (), *, write: bool = False) -> MapRows:
    """Find rows for files without an owner in git's history; written only where it is asked for.

    Raises RunnerError where it is, for a map with conflict markers.
    """
    known = {task.id for task in project.outline().tasks}
    owners = _read_map(project)
    chosen = _select_files(paths, _list_files(project))
    files = [path for path in chosen if not owners.owners(path) and not is_own_document(path)]
    with Repository.open(project.root) as repository:
        head, prefixes = repository.head().commit, project.settings.build.id_prefixes
        history = find_touching_commits(repository, head, known, prefixes) if head else ()
        found = tuple(proposals(history, files))
    if write and found:
        _write(project, found)
    return MapRows(found, len(files))


def _read_map(project: Project) -> OwnershipMap:
    data = read_below(project.root, OWNERSHIP_MAP) or b""
    return OwnershipMap.read(data, prefixes=project.settings.build.id_prefixes)


def _list_files(project: Project) -> list[str]:
    """Return the tracked and staged files of the project, sorted."""
    with Repository.open(project.root) as repository:
        # Without -z git quotes names that are not ASCII (core.quotePath, git-config(1)).
        listed = text(repository.git.run("ls-files", "-z")).split("\0")[:-1]
        inside = (repository.prefix.inside(path) for path in listed)
        return sorted({path for path in inside if not path.startswith("../")})


def _select_files(paths: Sequence[str], files: Sequence[str]) -> list[str]:
    """Return the given files, folders expanded to their files; all files without a path."""
    if not paths:
        return list(files)
    found: dict[str, None] = {}
    for path in (one.rstrip("/") for one in paths):
        below = [one for one in files if path == "." or one.startswith(path + "/")]
        found |= dict.fromkeys(below or [path])
    return list(found)


def _write(project: Project, found: Sequence[Proposal]) -> None:
    """Add the rows to the map; every byte that is there stays."""
    _read_map(project).require_whole()
    before = read_below(project.root, OWNERSHIP_MAP) or b""
    rows = {one.path: one.tasks for one in found}
    after = add_owners(before, rows, project.settings.build.id_prefixes)
    write_below(
        project.root, OWNERSHIP_MAP, after, mode_below(project.root, OWNERSHIP_MAP) or _PLAIN
    )


# --- line origins ---------------------------------------------------------------------


class BlameRequest(Struct, frozen=True):
    """A file of the project, and one of its lines; 0 for all of them."""

    path: str
    line: int = 0


def blame(project: Project, request: BlameRequest) -> tuple[Stretch, ...]:
    """Ask git and the commits' trailers; the journal is not needed.

    Raises RunnerError for a file that git does not know and a line that it does not have.
    """
    with Repository.open(project.root) as repository:
        lines = lines_of(repository, request.path, request.line)
        return stretches(repository, lines, _Notes(project, repository))


class _Notes:
    """The notes of a task as the plan of a commit has them, each plan read once."""

    def __init__(self, project: Project, repository: Repository) -> None:
        self._project = project
        self._repository = repository
        self._changes = cache(self._read)

    def __call__(self, commit: str, task: str) -> tuple[str, ...]:
        return self._changes(commit).get(task, ())

    def _read(self, commit: str) -> dict[str, tuple[str, ...]]:
        try:
            path = self._project.plan_path
        except RunnerError:  # a repository whose plan is gone still has its history
            return {}
        data = self._repository.blob(commit, path)
        tasks = self._project.plan(data).tasks if data and b"CHANGE-" in data else ()
        return {task.id: task.changes for task in tasks}


def find_place(project: Project, here: Path, typed: str) -> tuple[str, int]:
    """Return the file in `FILE[:LINE]`, relative to the project, and its line or 0."""
    match = _LINE.fullmatch(typed)
    file, line = typed, 0
    # A file name may look like a location: `FILE:12` is one only if no such file exists.
    if match and not (here / typed).exists():
        file, line = match["file"], int(match["line"])
        if line == 0:
            raise RunnerError("line numbers start at 1", where=typed)
    real = Path(os.path.realpath(here / file))
    if not real.is_relative_to(project.folders.top):
        raise RunnerError("the file is outside the repository", where=str(real))
    if real.is_dir():
        raise RunnerError("expected a file, got a folder", where=file, hint="runner blame FILE")
    return os.path.relpath(real, os.path.realpath(project.root)), line


# --- in words, and as documents -----------------------------------------------------------


def owner_lines(files: Sequence[OwnedFile]) -> Iterator[str]:
    """Yield each file with its owners."""
    for one in files:
        more = [id_ for id_ in one.outputs if id_ not in one.owners]
        names = [*one.owners, *(f"{id_} (Output files)" for id_ in more)]
        yield f"{display(one.path)}  {display(', '.join(names)) or '-'}"


def owner_document(files: Sequence[OwnedFile]) -> str:
    """Return the `ownership` JSON document."""
    return document("ownership", files=files)


def fault_lines(found: MapCheck) -> Iterator[str]:
    """Yield the faults of the map, a line each."""
    yield from (f"{display(one.path)}: {display(one.message)}" for one in found.faults)


def fault_remarks(found: MapCheck) -> Iterator[str]:
    """Yield hints for the faults, and the count of files and faults."""
    for hint in filter(None, dict.fromkeys(one.hint for one in found.faults)):
        yield f"hint: {display(hint)}"
    yield f"{plural(found.files, 'file')}: {plural(len(found.faults), 'fault')}"


def fault_document(found: MapCheck) -> str:
    """Return the `ownership-check` JSON document."""
    return document("ownership-check", faults=found.faults)


def row_lines(found: MapRows) -> Iterator[str]:
    """Yield the proposed ownership rows."""
    for one in found.rows:
        remark = "" if one.certain else "  (commit messages name the task, no trailer does)"
        yield f"{display(one.path)}  {display(', '.join(one.tasks))}{remark}"


def row_remarks(found: MapRows, *, written: bool) -> Iterator[str]:
    """Yield the count of rows, and of files whose task git does not show."""
    left = found.unowned - len(found.rows)
    yield f"{plural(len(found.rows), 'row')} {'written' if written else 'proposed'}"
    if left:
        yield f"{plural(left, 'file')} of no known task"
    if found.rows and not written:
        yield f"hint: runner plan ownership propose --write adds them to {OWNERSHIP_MAP}"


def row_document(found: MapRows, *, written: bool) -> str:
    """Return the `ownership-proposal` JSON document."""
    return document("ownership-proposal", rows=found.rows, written=written)
