"""Which tasks own which files; what is wrong with the map; rows for it from git's history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.app.inspect.view import View
from runner.impact.config_files import is_own_document
from runner.impact.history import find_touching_commits, proposals
from runner.impact.ownership_check import Fault, faults
from runner.impact.path_index import Named
from runner.model import Status
from runner.plan.ownership import OwnershipMap, add_owners
from runner.repo.git import text
from runner.repo.read import Repository
from runner.run.landing.plan_documents import MAP
from runner.writes.safe_io import mode_beneath, read_beneath, write_beneath

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.impact.history import Proposal
    from runner.project import Project

_PLAIN = 0o100644


@dataclass(frozen=True, slots=True)
class OwnedFile:
    """A file with its owners: by the map, and by the plan's Output files."""

    path: str
    owners: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MapCheck:
    """What is wrong with the map of so many files."""

    files: int
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class MapRows:
    """Rows for files that the map names no owner of."""

    rows: tuple[Proposal, ...]
    unowned: int
    """Files without an owner; git tells a task of as many as there are rows."""


def find_owners(project: Project, paths: Sequence[str] = ()) -> tuple[OwnedFile, ...]:
    """Of these files or folders of the project; of all that git tracks for none."""
    owners = _read_map(project)
    tasks = [one for one in project.plan(project.plan_bytes).tasks if not one.writes_everything]
    outputs = Named((task.id, path) for task in tasks for path in task.outputs)
    files = _select_files(paths, _list_files(project))
    return tuple(
        OwnedFile(path, tuple(owners.owners(path)), tuple(outputs.of(path))) for path in files
    )


def check_map(project: Project, paths: Sequence[str] = ()) -> MapCheck:
    """Look for faults of the map, about these files or folders or all of them."""
    view = View.of(project)
    done = [id_ for id_ in view.states if view.status(id_) is Status.DONE]
    files, tasks = _list_files(project), project.plan(project.plan_bytes).tasks
    found = list(faults(_read_map(project), files, tasks, done))
    if read_beneath(project.root, MAP) is None:
        found.insert(0, Fault("map", MAP, "there is no such file", "runner ownership propose"))
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
        head, prefixes = repository.head().commit, project.settings.id_prefixes
        history = find_touching_commits(repository, head, known, prefixes) if head else ()
        found = tuple(proposals(history, files))
    if write and found:
        _write(project, found)
    return MapRows(found, len(files))


def _read_map(project: Project) -> OwnershipMap:
    data = read_beneath(project.root, MAP) or b""
    return OwnershipMap.read(data, prefixes=project.settings.id_prefixes)


def _list_files(project: Project) -> list[str]:
    """The files that git tracks in the project, sorted, with those that are staged."""
    with Repository.open(project.root) as repository:
        listed = text(repository.git.run("ls-files", "-z")).split("\0")[:-1]
        inside = (repository.prefix.inside(path) for path in listed)
        return sorted({path for path in inside if not path.startswith("../")})


def _select_files(paths: Sequence[str], files: Sequence[str]) -> list[str]:
    """The files that are named, folders as the files in them; all of them without a name."""
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
    before = read_beneath(project.root, MAP) or b""
    rows = {one.path: one.tasks for one in found}
    after = add_owners(before, rows, project.settings.id_prefixes)
    write_beneath(project.root, MAP, after, mode_beneath(project.root, MAP) or _PLAIN)
