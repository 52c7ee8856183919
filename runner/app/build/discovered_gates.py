"""Add the gates that a repository declares to the settings, once a command."""

from __future__ import annotations

from functools import cache, partial
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
from runner.config.stack import detect_stack, find_parts, may_have_parts
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
"""Programs in a project's own environment, which need not be activated."""
_SECONDS = 10.0


def apply_default_gates(project: Project) -> tuple[str, ...]:
    """Use the gates that the repository declares if no gates are set.

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
    """Return the declared gates, and gates for tests that they do not run."""
    may_name = may_have_parts(project.root)
    committed = cache(partial(_list_committed, project.root)) if may_name else tuple
    stack = detect_stack(project.root, committed)
    declared = find_declared_gates(stack)
    is_tested = not stack.names or any(map(is_for_tests, declared))
    if is_tested and not find_parts(committed()):
        return declared
    try:
        with read.Repository.open(project.root) as repository:
            files = tree.Tree.of(repository, repository.head().commit or "", project.settings)
            return test_frameworks.find_all_gates(files, stack)
    except RunnerError:
        return declared


def _list_committed(root: Path) -> tuple[str, ...]:
    """Return the paths of the last commit; empty without one."""
    try:
        with read.Repository.open(root) as repository:
            commit = repository.head().commit
            return repository.list_tree(commit) if commit else ()
    except RunnerError:
        return ()


def _resolve_tool(declared: Declared, root: Path, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the command for this machine, and the missing requirement or an empty string."""
    command, missing = _resolve_at(declared, root / declared.place, environ)
    return declared.from_root(command), missing


def _resolve_at(declared: Declared, root: Path, environ: Mapping[str, str]) -> tuple[str, str]:
    program, command = declared.program, declared.gate.command
    if declared.folder and not (root / declared.folder).is_dir():
        where = f"{declared.place}/" if declared.place else ""
        return command, f"{where}{declared.folder} is not installed"
    for named, path in _places(program, root, environ):
        if not declared.module or _imports(path, declared.module, root, environ):
            return (command if named == program else named + command.removeprefix(program)), ""
    if declared.module and which(program, environ) is not None:
        return command, f"{program} cannot import {declared.module}"
    return command, f"{program} is not on PATH"


def _places(program: str, root: Path, environ: Mapping[str, str]) -> list[tuple[str, Path]]:
    """Return where a program exists on PATH and in the project's environments."""
    on_path = which(program, environ)
    found = [(program, on_path)] if on_path else []
    if program in _IN_PYTHON:
        inside = ((f"{folder}/bin/{program}", folder) for folder in IN_REPOSITORY)
        found += [
            (named, root / named)
            for named, folder in inside
            # pyvenv.cfg identifies an environment (PEP 405); the folder name alone proves nothing.
            if (root / folder / "pyvenv.cfg").is_file() and (root / named).is_file()
        ]
    return found


def _imports(python: Path, module: str, root: Path, environ: Mapping[str, str]) -> bool:
    """Return whether this Python can import a module, checked outside the repository."""
    if python.is_relative_to(root):  # it must not run before a person trusts the plan
        return any(python.parent.parent.glob(f"lib/python*/site-packages/{module}"))
    asked = f"import importlib.util as u, sys; sys.exit(u.find_spec({module!r}) is None)"
    code, _ = capture([str(python), "-c", asked], Path("/"), environ, _SECONDS)
    return code == 0


def describe_settings(folder: Path, environ: Mapping[str, str]) -> Loaded:
    """Return every setting and its source. Raises RunnerError with all mistakes in them."""
    if find_git(folder) is None:
        return load_settings(folder, environ, {})
    project = Project.open(folder, environ, plan_needed=False)
    apply_default_gates(project)
    return project.loaded


def name_own_file(environ: Mapping[str, str]) -> str:
    """Describe the path of the person's own settings file."""
    own = Places.of(environ).settings_file
    return f"your own settings: {own}{'' if own.exists() else ' (does not exist yet)'}"
