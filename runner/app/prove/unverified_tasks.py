"""DONE tasks whose files are not as a proof knows them, and what each DONE is worth."""

from __future__ import annotations

import json
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, cast

from runner import effects
from runner.text.display import display
from runner.text.wording import join_few, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.journal.state import RunState
    from runner.model import Graded
    from runner.model.planned_task import PlannedTask
    from runner.project import Project
    from runner.repo.read import Repository
    from runner.run.proof.unverified_bytes import Unverified

_KEPT = "bytes-as-proven.json"


def find_unverified_tasks(
    project: Project,
    tasks: Iterable[PlannedTask],
    state: RunState,
    repository: Repository | None = None,
) -> Mapping[str, Unverified]:
    """By id the DONE tasks whose files no proof is about, in HEAD or in the work tree.

    Where nothing was found and no file was touched since, git is not asked.
    """
    head = project.head().commit or ""
    key = f"{head} {state.seq}"
    if _is_known(project, key):
        return {}
    from runner.repo.read import Repository
    from runner.run.proof.unverified_bytes import find_unverified

    asked: dict[str, list[int]] = {}

    with nullcontext(repository) if repository else Repository.open(project.root) as opened:

        def dirty(blobs: Mapping[str, str]) -> Iterable[str]:
            asked.update((path, _look(project, path)) for path in blobs)
            return [one.path for one in opened.state().dirty] if blobs else []

        found = find_unverified(opened, opened.head().commit or "", tasks, state, dirty)
    if not found:
        _keep(project, key, asked)
    return found


def grades_in(
    project: Project,
    tasks: Iterable[PlannedTask],
    state: RunState,
    repository: Repository | None = None,
    found: Mapping[str, Unverified] | None = None,
) -> dict[str, Graded]:
    """What each DONE task is worth now: the one answer for every text that tells of it.

    `found`: what is unverified, where that was looked for already.
    """
    from runner.journal.grading import grades_of
    from runner.run.waivers import stands

    tasks = tuple(tasks)
    if found is None:
        found = find_unverified_tasks(project, tasks, state, repository)
    whys = {id_: one.why for id_, one in found.items()}
    states = {task.id: state.task(task.id) for task in tasks}
    return grades_of(tasks, states, partial(stands, project.root), whys)


def _look(project: Project, path: str) -> list[int]:
    """By what a file is seen to be untouched."""
    try:
        seen = (project.root / path).lstat()
    except OSError:
        return []
    return [seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino]


def _is_known(project: Project, key: str) -> bool:
    try:
        kept = json.loads((project.cache / _KEPT).read_bytes())
        files = cast("dict[str, list[int]]", kept["files"])
        return kept["key"] == key and all(_look(project, path) == at for path, at in files.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _keep(project: Project, key: str, files: Mapping[str, list[int]]) -> None:
    try:
        effects.make_folder(project.cache)
        data = json.dumps({"key": key, "files": files}).encode("utf-8", "surrogateescape")
        effects.write_file(project.cache / _KEPT, data, mode=0o600)
    except (OSError, UnicodeError):
        return  # git is asked again next time; nothing else is lost


def format_unverified(found: Mapping[str, Unverified]) -> str:
    """The number, and the way to have them proven."""
    ids = display(join_few(list(found)))
    first = display(next(iter(found.values())).why)
    verb = "is" if len(found) == 1 else "are"
    return (
        f"note: {plural(len(found), 'DONE task')} {verb} unverified: {ids} ({first}); "
        "commit what is meant, then: runner verify --all"
    )
