"""`runner sync`: what is proven here is marked in the file that it was imported from.

Only that mark's characters change, and only in a file that still is what was looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner import effects
from runner.app.inspect.view import View
from runner.app.write.foreign_files import read_text
from runner.app.write.import_tasks import ids_by_source
from runner.errors import ExitCode, RunnerError
from runner.lazy_dataclass import dataclass
from runner.model import Grade
from runner.plan.foreign import find_form, read_foreign
from runner.plan.foreign.base import ForeignState
from runner.plan.foreign.render import plain_title
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from runner.model import Task
    from runner.plan.foreign.base import ForeignTask
    from runner.project import Project


@dataclass(frozen=True, slots=True)
class Drift:
    """A task whose status here differs from the file's."""

    task: str
    file: str
    line: int
    what: str
    """`proven here`, `marked there`, `gone there`."""
    why: str = ""


PROVEN_HERE, MARKED_THERE, GONE_THERE = "proven here", "marked there", "gone there"


@dataclass(frozen=True, slots=True)
class SyncResult:
    """Both ways of the drift, and what was written of it."""

    drifts: tuple[Drift, ...]
    files: int = 0
    """How many files tasks of the plan came from."""
    marked: tuple[str, ...] = ()
    unmarked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    shown: str
    text: str
    pairs: tuple[tuple[Task, ForeignTask], ...]


def look(project: Project) -> SyncResult:
    """What differs; nothing is written."""
    read = list(_read(project))
    return SyncResult(tuple(drift for _, found in read for drift in found), len(read))


def sync(project: Project, *, uncheck: bool = False) -> SyncResult:
    """Mark what is proven; with `uncheck` take marks away that nothing here proves.

    Raises RunnerError (exit 6) where a file was saved meanwhile: it is as it was saved.
    """
    drifts: list[Drift] = []
    marked: list[str] = []
    unmarked: list[str] = []
    files = list(_read(project))
    for file, found in files:
        drifts += found
        wanted = {one.task: one.what for one in found}
        edits: list[tuple[int, int, str]] = []
        for task, there in file.pairs if file else ():
            what = wanted.get(task.id)
            if there.mark and what == PROVEN_HERE:
                edits.append((there.mark.start, there.mark.end, there.mark.done))
                marked.append(task.id)
            elif there.mark and what == MARKED_THERE and uncheck:
                edits.append((there.mark.start, there.mark.end, there.mark.open))
                unmarked.append(task.id)
        if file and edits:
            _write(file, edits)
    return SyncResult(tuple(drifts), len(files), tuple(marked), tuple(unmarked))


def _read(project: Project) -> Iterator[tuple[_File | None, list[Drift]]]:
    """Each file that tasks came from, with its drift."""
    grades = View.of(project).grades
    proven = {id_ for id_, one in grades.items() if one.grade is Grade.PROVEN}
    why = {id_: one.words for id_, one in grades.items()}
    for shown, tasks in ids_by_source(project.plan(project.plan_bytes).tasks).items():
        path = _inside(project.root, shown)
        if path is None:
            yield None, [Drift(one.id, shown, 0, GONE_THERE, "file not found") for one in tasks]
            continue
        text = read_text(path)
        form = find_form(text)
        there = read_foreign(text, form).tasks if form else ()
        pairs = tuple(_match(tasks, there))
        known = {task.id for task, _ in pairs}
        found = [Drift(one.id, shown, 0, GONE_THERE) for one in tasks if one.id not in known]
        for task, one in pairs:
            is_marked = one.state is ForeignState.DONE
            if task.id in proven and not is_marked and one.state is ForeignState.OPEN:
                found.append(Drift(task.id, shown, one.line, PROVEN_HERE))
            elif is_marked and task.id not in proven:
                note = why.get(task.id, f"it is {task.status}")
                found.append(Drift(task.id, shown, one.line, MARKED_THERE, note))
        yield _File(path, shown, text, pairs), found


def _inside(root: Path, shown: str) -> Path | None:
    """The regular file of the project that a Source names; never through a link, never git's."""
    path = root / shown
    parts = path.relative_to(root).parts if path.is_relative_to(root) else ("..",)
    steps = [root.joinpath(*parts[: at + 1]) for at in range(len(parts))]
    if ".." in parts or ".git" in parts or any(one.is_symlink() for one in steps):
        return None
    return path if path.is_file() else None


def _match(
    tasks: Sequence[Task], there: Iterable[ForeignTask]
) -> Iterator[tuple[Task, ForeignTask]]:
    """Each task with its own: by line and title, else by a title that is there once."""
    by_title: dict[str, list[ForeignTask]] = {}
    for one in there:
        by_title.setdefault(plain_title(one.title), []).append(one)
    for task in tasks:
        same = by_title.get(task.title, [])
        line = task.source.rpartition(":")[2]
        exact = [one for one in same if str(one.line) == line]
        # Two of one title and none on its line: a wrong mark would say that the other is proven.
        if len(exact or same) == 1:
            yield task, (exact or same)[0]


def _write(file: _File, edits: Iterable[tuple[int, int, str]]) -> None:
    parts: list[str] = []
    position = 0
    for start, end, word in sorted(edits):
        parts += (file.text[position:start], word)
        position = end
    parts.append(file.text[position:])
    old = file.text.encode("utf-8", "surrogateescape")
    new = "".join(parts).encode("utf-8", "surrogateescape")
    mode = file.path.stat().st_mode & 0o7777
    if not effects.write_file(file.path, new, mode=mode, expected=old):
        raise RunnerError(
            f"{file.shown} changed during the sync; it was not written",
            hint="runner sync",
            code=ExitCode.CONFLICT,
        )


def drift_lines(found: SyncResult) -> Iterator[str]:
    """Where the marks of another tool differ from what is proven here."""
    if not found.files:
        yield "no task of this plan was imported: runner import PATH"
    elif not found.drifts:
        yield "the imported files agree with the plan"
    for one in found.drifts:
        place = f"{display(one.file)}:{one.line}" if one.line else display(one.file)
        why = f" ({display(one.why)})" if one.why else ""
        yield f"{one.task} {one.what}{why}: {place}"
