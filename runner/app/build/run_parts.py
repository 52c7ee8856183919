"""What encloses the commands of a run on this machine, and what a run would prepare for a task.

The latter is asked without a run: nothing is locked or written.

Puts the gates that a repository declares about itself into the settings, once a command.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner import effects
from runner.config.default_gates import Declared, needs_defaults, with_default_gates
from runner.config.paths import expand_home
from runner.config.stack import detect_stack
from runner.lazy_module import lazy_module
from runner.plan.patterns import PatternIndex
from runner.process.environments import IN_REPOSITORY
from runner.process.sandbox import choose_sandbox
from runner.process.tools import capture, which
from runner.project import PATTERNS
from runner.repo.read import Repository
from runner.run.journal_writer import rehearse
from runner.run.planned.task_plans import TaskPlans
from runner.run.preparation import Preparation
from runner.secrets.allowlist import FILE_NAME, read_allow_list

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.config.settings import Settings
    from runner.history import commit_log
    from runner.journal.state import RunState
    from runner.plan.document import Plan
    from runner.process.base import Sandbox
    from runner.project import Project
    from runner.run.review import Asker
    from runner.secrets.allowlist import AllowList
else:
    commit_log = lazy_module("runner.history.commit_log")


def sandbox_of(settings: Settings) -> Sandbox:
    """What encloses commands, by the person's settings. Raises RunnerError where it cannot."""
    read = tuple(map(expand_home, settings.sandbox_read))
    return choose_sandbox(settings.sandbox, read)


# --- secret allow list ----------------------------------------------------------------


def load_allow_list(root: Path) -> AllowList | None:
    """The list as it stands today; none where there is no such file."""
    file = root / FILE_NAME
    return read_allow_list(file.read_bytes(), effects.now().date()) if file.is_file() else None


# --- task plans -----------------------------------------------------------------------


def task_plans(
    preparation: Preparation,
    repository: Repository,
    asker: Asker | None = None,
    *,
    only: bool = False,
) -> TaskPlans:
    """Of this preparation: with its settings, its journal, and who it says implements a task."""
    return TaskPlans(
        root=preparation.root,
        settings=preparation.settings,
        ledger=preparation.ledger,
        repository=repository,
        implementer=preparation.implementer,
        asker=asker,
        only=only,
    )


def preparation_of(project: Project, plan: Plan, state: RunState) -> Preparation:
    """The preparation of a run that would start now, in this state."""
    take_up_default_gates(project)
    index = project.root / PATTERNS
    return Preparation(
        root=project.root,
        settings=project.settings,
        ledger=rehearse(state),
        patterns=PatternIndex.read(index.read_bytes() if index.is_file() else b""),
        plan_title=plan.title,
        plan_path=project.plan_path,
        environ=project.environ,
        base=lambda: project.head().commit or "",
        tasks={task.id: task for task in plan.tasks},
        former=lambda commit: _former(project, commit),
    )


def _former(project: Project, commit: str) -> str:
    """What a task built before, as a diff."""
    with Repository.open(project.root) as repository:
        return commit_log.Records(repository, project.documents).diff(commit)


# --- gates ----------------------------------------------------------------------------


_IN_PYTHON = frozenset({"python", "ruff", "mypy"})
"""Programs that a project has in its own environment, which nobody need have activated."""
_SECONDS = 10.0


def take_up_default_gates(project: Project) -> tuple[str, ...]:
    """Let what the repository declares be its gates, where none are set.

    Gives a line for each declared gate whose tool is not there; they are among the notes of the
    settings, too. Reads the manifests as they are now; a second call changes nothing.
    """
    if not needs_defaults(project.settings):
        return ()
    before = project.loaded.notes
    project.loaded = with_default_gates(
        project.loaded,
        detect_stack(project.root),
        lambda declared: _resolve_tool(declared, project.root, project.environ),
    )
    return tuple(note for note in project.loaded.notes if note not in before)


def _resolve_tool(declared: Declared, root: Path, environ: Mapping[str, str]) -> tuple[str, str]:
    """The command as it runs here, and what is missing for it."""
    program, command = declared.program, declared.gate.command
    if declared.folder and not (root / declared.folder).is_dir():
        return command, f"{declared.folder} is not installed"
    for named, path in _places(program, root, environ):
        if not declared.module or _imports(path, declared.module, environ):
            return (command if named == program else named + command.removeprefix(program)), ""
    if declared.module and which(program, environ) is not None:
        return command, f"{program} cannot import {declared.module}"
    return command, f"{program} is not on PATH"


def _places(program: str, root: Path, environ: Mapping[str, str]) -> list[tuple[str, Path]]:
    """Where a program is, as a command names it: on PATH, else in the project's environment."""
    on_path = which(program, environ)
    found = [(program, on_path)] if on_path else []
    if program in _IN_PYTHON:
        inside = ((f"{folder}/bin/{program}", folder) for folder in IN_REPOSITORY)
        found += [
            (named, root / named)
            for named, folder in inside
            # By this file an environment is known (PEP 405); a folder of its name may be anything.
            if (root / folder / "pyvenv.cfg").is_file() and (root / named).is_file()
        ]
    return found


def _imports(python: Path, module: str, environ: Mapping[str, str]) -> bool:
    """Whether this Python has a module; asked away from the repository, whose files stay out."""
    asked = f"import importlib.util as u, sys; sys.exit(u.find_spec({module!r}) is None)"
    code, _ = capture([str(python), "-c", asked], Path("/"), environ, _SECONDS)
    return code == 0
