"""What is wrong with an ownership map: files without owner, rows without file, unknown owners."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.impact.command_index import Named
from runner.impact.config_files import is_own_document
from runner.plan.globs import is_glob
from runner.plan.ownership import glob_folder, names_file

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from runner.model import Task
    from runner.plan.ownership import OwnershipMap

_EVERYTHING = frozenset({"*", "**", "/**", "**/*", "/", "*/", "./", "."})


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: its kind, the file or row it is about, and what to do."""

    kind: str
    """`map`, `unowned`, `no-file`, `unknown-owner`, `no-owner` or `everything`."""
    path: str
    message: str
    hint: str = ""


def faults(
    owners: OwnershipMap, files: Sequence[str], tasks: Collection[Task], written: Collection[str]
) -> tuple[Fault, ...]:
    """All of them, those of the map's rows first. `files` are sorted; `written` tasks are DONE."""
    known = frozenset(task.id for task in tasks)
    return (
        *(Fault("map", one.path, one.message, one.hint) for one in owners.problems),
        *_rows(owners, files, known, frozenset(written)),
        *_find_unowned(owners, files, tasks),
    )


def _rows(
    owners: OwnershipMap, files: Sequence[str], known: frozenset[str], written: frozenset[str]
) -> Iterator[Fault]:
    there = frozenset(files)
    for file, ids in owners.rows:
        for id_ in ids:
            if id_ not in known:
                hint = "take it out of the row, or write the task into the plan"
                yield Fault("unknown-owner", file, f"{id_} owns it, which no task is", hint)
        if not ids:
            yield Fault("no-owner", file, "its row names no task", "name the tasks that own it")
        if file in _EVERYTHING and ids:
            message = f"this row makes {', '.join(ids)} the owner of every file"
            yield Fault("everything", file, message, "every change would affect it; name less")
        elif not _names_any(file, files, there) and (not ids or set(ids) & written):
            # a file of a task that is not DONE is yet to be written
            yield Fault("no-file", file, "there is no such file", _suggest_move(file, files))


def _names_any(file: str, files: Sequence[str], there: frozenset[str]) -> bool:
    """Whether a row names a file that there is, itself or as a folder."""
    if file in there:
        return True
    if not is_glob(file):
        return any(_in_folder(files, file))
    return any(names_file(file, one) for one in _in_folder(files, glob_folder(file)))


def _in_folder(files: Sequence[str], folder: str) -> Iterator[str]:
    """The files below a folder, out of sorted ones."""
    start = f"{folder.rstrip('/')}/" if folder else ""
    for at in range(bisect_left(files, start), len(files)):
        if not files[at].startswith(start):
            return
        yield files[at]


def _suggest_move(file: str, files: Iterable[str]) -> str:
    name = file.rpartition("/")[2]
    same = [one for one in files if one.rpartition("/")[2] == name] if not is_glob(file) else []
    return f"did it move to {same[0]}?" if len(same) == 1 else "take the row out"


def _find_unowned(
    owners: OwnershipMap, files: Iterable[str], tasks: Iterable[Task]
) -> Iterator[Fault]:
    written = (task for task in tasks if not task.writes_everything)
    outputs = Named((task.id, path) for task in written for path in task.outputs)
    for file in files:
        if not is_own_document(file) and not owners.owners(file) and not outputs.of(file):
            hint = "runner ownership propose"
            yield Fault("unowned", file, "no task owns it", hint)
