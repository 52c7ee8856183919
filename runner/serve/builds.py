"""The served folders: each is a build, opened for every request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from runner.config.paths import repository_key
from runner.errors import RunnerError
from runner.project import Project

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path


class Build(Struct, frozen=True):
    """One folder with its plan."""

    id: str
    root: Path
    environ: Mapping[str, str]
    plan: str = ""
    """Plan other than TASK-GRAPH.md, relative to the root."""

    def open(self, *, plan_needed: bool = True) -> Project:
        """Open the project in its current state. Raises RunnerError if it no longer exists."""
        flags = {"task_graph": self.plan or None}
        return Project.open(self.root, self.environ, flags, plan_needed=plan_needed)

    @property
    def name(self) -> str:
        """Folder name as display name."""
        return self.root.name


class NoBuildError(RunnerError):
    """There is no such build here."""


class Builds:
    """The served builds, in the order in which they were named."""

    def __init__(self, builds: Iterable[Build]) -> None:
        self._builds = {one.id: one for one in builds}

    @classmethod
    def of(cls, folders: Iterable[Path], environ: Mapping[str, str], plan: str = "") -> Builds:
        """Return the builds in these folders. Raises RunnerError without a git repository."""
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
        """Return the build of this ID. Raises NoBuildError."""
        try:
            return self._builds[id_]
        except KeyError:
            raise NoBuildError(
                "unknown build", hint="to list the builds: GET /api/v1/builds"
            ) from None
