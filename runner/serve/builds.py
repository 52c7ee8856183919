"""The folders that are served: each is a build, opened anew for every question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.config.paths import repository_key
from runner.errors import RunnerError
from runner.project import Project

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Build:
    """One folder with its plan."""

    id: str
    root: Path
    environ: Mapping[str, str]
    plan: str = ""
    """Another plan than TASK-GRAPH.md, relative to the root."""

    def open(self, *, plan_needed: bool = True) -> Project:
        """The project as it is now. Raises RunnerError where there is none any more."""
        flags = {"task_graph": self.plan or None}
        return Project.open(self.root, self.environ, flags, plan_needed=plan_needed)

    @property
    def name(self) -> str:
        """What a person calls it."""
        return self.root.name


class NoBuildError(RunnerError):
    """There is no such build here."""


class Builds:
    """What is served, in the order it was named."""

    def __init__(self, builds: Iterable[Build]) -> None:
        self._builds = {one.id: one for one in builds}

    @classmethod
    def of(cls, folders: Iterable[Path], environ: Mapping[str, str], plan: str = "") -> Builds:
        """The builds in these folders. Raises RunnerError for one without a git repository."""
        found = []
        for place, folder in enumerate(folders):
            named = plan if place == 0 else ""
            flags = {"task_graph": named or None}
            project = Project.open(folder, environ, flags, plan_needed=bool(named))
            inside = project.plan_path if named else ""
            found.append(Build(repository_key(project.root), project.root, environ, inside))
        return cls(found)

    def __iter__(self) -> Iterator[Build]:
        return iter(self._builds.values())

    def find(self, id_: str) -> Build:
        """The build of an id. Raises NoBuildError."""
        try:
            return self._builds[id_]
        except KeyError:
            raise NoBuildError("unknown build", hint="GET /api/v1/builds") from None
