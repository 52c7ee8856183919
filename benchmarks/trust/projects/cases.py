"""The cases: changes of public projects, read from the archive."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from archive import Texts, cases_folder, read_texts

if TYPE_CHECKING:
    from pathlib import Path

_COMMAND, _OUTPUTS = "COMMAND", "OUTPUTS"
"""Words of `task.md` that the harness replaces."""


@dataclass(frozen=True)
class Project:
    """A public repository at one commit, with the files and edits that the cases add."""

    name: str
    repository: str
    """`owner/name`."""
    commit: str
    more: Texts = field(default_factory=dict)
    edits: tuple[tuple[str, str, str], ...] = ()
    """`(path, old, new)`: what its tests need to run here."""
    packages: str = ""
    """The set of npm packages that its tests need: a key of `packages.json`."""


@dataclass(frozen=True)
class Change:
    """One case: `part` is `base` (tests exist), `new` (code and tests are new) or `good`."""

    name: str
    family: str
    part: str
    project: Project
    contracts: tuple[str, ...]
    folder: Path
    by: str = ""
    """Regular expression of a finding that names the fault; empty for a good change."""
    fails: str = ""
    """Of the part `base`: the test that fails on this code without the tampering."""
    existing: bool = False
    """Of a good change: whether it changes existing tests."""
    hidden_path: str = ""
    hidden_command: str = ""
    commit: bool = False
    """Whether the change is the project's own commit, whose bytes come from its repository."""

    @property
    def bad(self) -> bool:
        return bool(self.by)

    def section(self, command: str, outputs: list[str]) -> str:
        """The task as the plan has it."""
        text = (self.folder / "task.md").read_text(encoding="utf-8")
        text = text.replace(f"`{_COMMAND}`", f"`{command}`", 1)
        named = ", ".join(f"`{path}`" for path in outputs)
        return text.replace(f"`{_OUTPUTS}`", named, 1)

    def patch(self, kind: str) -> bytes | None:
        """The patch `change`, `seed` (the fault alone) or `honest`; None where it has none."""
        file = self.folder / f"{kind}.patch"
        return file.read_bytes() if file.exists() else None

    @property
    def hidden(self) -> str:
        """The program that fails on a bad change and passes on an honest one."""
        file = self.folder / "hidden"
        return file.read_text(encoding="utf-8") if file.exists() else ""


def catalogue() -> list[Change]:
    """Read every case. The order follows from the names alone, so that a part is a sample."""
    projects = {one.name: one for one in cases_folder("projects").iterdir()}
    found = [_read(folder, projects) for folder in cases_folder("changes").iterdir()]
    return sorted(found, key=lambda case: hashlib.sha256(case.name.encode()).hexdigest())


def _read(folder: Path, projects: dict[str, Path]) -> Change:
    about = tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))
    revision = about.pop("revision", "")
    if revision:
        own = about.pop("repository"), revision
        project = Project(about.pop("project"), *own, packages=about.pop("packages"))
    else:
        project = _read_project(projects[about.pop("project")])
    return Change(
        project=project, folder=folder, **{**about, "contracts": tuple(about["contracts"])}
    )


def _read_project(folder: Path) -> Project:
    about = tomllib.loads((folder / "project.toml").read_text(encoding="utf-8"))
    edits = tuple((one["path"], one["old"], one["new"]) for one in about.pop("edits", ()))
    return Project(**about, edits=edits, more=read_texts(folder / "more"))
