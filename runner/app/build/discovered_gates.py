"""Puts the gates that a repository declares about itself into the settings, once a command."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from runner.config.default_gates import (
    Declared,
    find_declared_gates,
    is_for_tests,
    needs_defaults,
    with_default_gates,
)
from runner.config.loading import load_settings
from runner.config.paths import Places
from runner.config.stack import detect_stack
from runner.errors import RunnerError
from runner.lazy_module import lazy_module
from runner.process.environments import IN_REPOSITORY
from runner.process.tools import capture, which
from runner.project import Project
from runner.repo.head import find_git

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.app.inspect import test_frameworks
    from runner.config.settings import Loaded
    from runner.context import tree
    from runner.repo import read
else:
    read = lazy_module("runner.repo.read")
    test_frameworks = lazy_module("runner.app.inspect.test_frameworks")
    tree = lazy_module("runner.context.tree")

_IN_PYTHON = frozenset({"python", "ruff", "mypy", "pre-commit"})
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
        find_project_gates(project),
        lambda declared: _resolve_tool(declared, project.root, project.environ),
    )
    return tuple(note for note in project.loaded.notes if note not in before)


def find_project_gates(project: Project) -> tuple[Declared, ...]:
    """The gates that the manifests declare; without one that tests, what the tests are for."""
    stack = detect_stack(project.root, partial(_list_committed, project.root))
    declared = find_declared_gates(stack)
    if not stack.names or any(map(is_for_tests, declared)):
        return declared
    try:
        with read.Repository.open(project.root) as repository:
            files = tree.Tree.of(repository, repository.head().commit or "", project.settings)
            return (*declared, *test_frameworks.find_test_gates(files, stack))
    except RunnerError:
        return declared


def _list_committed(root: Path) -> tuple[str, ...]:
    """The paths of the last commit; none without one."""
    try:
        with read.Repository.open(root) as repository:
            commit = repository.head().commit
            return repository.list_tree(commit) if commit else ()
    except RunnerError:
        return ()


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


def describe_settings(folder: Path, environ: Mapping[str, str]) -> Loaded:
    """Every setting and where it came from. Raises RunnerError with every mistake in them."""
    if find_git(folder) is None:
        return load_settings(folder, environ, {})
    project = Project.open(folder, environ, plan_needed=False)
    take_up_default_gates(project)
    return project.loaded


def name_own_file(environ: Mapping[str, str]) -> str:
    """Which file is the person's own, in words."""
    own = Places.of(environ).settings_file
    return f"your own settings: {own}{'' if own.exists() else ' (does not exist yet)'}"
