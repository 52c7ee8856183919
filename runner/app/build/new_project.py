"""A small working plan and the two files beside it, for a person to change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner import effects, starter
from runner.app.build import suitability
from runner.app.build.discovered_gates import take_up_default_gates
from runner.config.trust import Trust
from runner.errors import RunnerError
from runner.lazy_dataclass import dataclass
from runner.project import Project
from runner.repo.head import OWNERSHIP_MAP, PLANS, find_git

if TYPE_CHECKING:
    from collections.abc import Mapping

_FILES = (PLANS[0], OWNERSHIP_MAP, "PATTERN_INDEX.md")


@dataclass(frozen=True, slots=True)
class NewProject:
    """What stands there now."""

    written: Mapping[str, bool]
    """By file; False for one that was there already and is as it was."""


def init(folder: Path, environ: Mapping[str, str]) -> NewProject:
    """Write what is missing. Raises RunnerError without git, or where there is a plan already."""
    if find_git(folder) is None:
        raise RunnerError(
            "this folder is not in a git repository", where=str(folder), hint="git init"
        )
    for plan in PLANS:
        if _is_taken(folder / plan):
            raise RunnerError(
                "a plan already exists; nothing was written",
                where=plan,
                hint="runner validate, or remove it first",
            )
    written = {name: not _is_taken(folder / name) for name in _FILES}
    templates = Path(starter.__file__).parent
    for name in (name for name, is_new in written.items() if is_new):
        data = (templates / name).read_bytes()
        written[name] = effects.write_file(folder / name, data, expected=b"")
    _trust(folder, environ)
    return NewProject(written)


def _is_taken(path: Path) -> bool:
    """Whether the name is taken, be it by a link that leads nowhere."""
    return path.exists() or path.is_symlink()


def _trust(folder: Path, environ: Mapping[str, str]) -> None:
    """The plan is our own: its commands need no question, unless the repository brings others."""
    project = Project.open(folder, environ)
    take_up_default_gates(project)
    settings = project.settings
    if not (settings.gates or settings.gates_by_type or settings.build.command):
        trust_plan(project, "init")


def trust_plan(project: Project, how: str) -> None:
    """Let the commands of the plan as it is now run without a question."""
    commands = suitability.list_commands(project, project.check().plan)
    Trust(project.places.state).give(project.root, how, (line for _, line in commands))
