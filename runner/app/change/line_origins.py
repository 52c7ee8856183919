"""Whose the lines of a file are: the task, attempt, change, review and proof behind each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.history.blame import lines_of, stretches
from runner.repo.read import Repository

if TYPE_CHECKING:
    from runner.history.blame import Stretch
    from runner.project import Project


@dataclass(frozen=True, slots=True)
class BlameRequest:
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
