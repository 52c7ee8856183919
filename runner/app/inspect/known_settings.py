"""The settings that hold where somebody stands, in a repository or outside of any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.app.build.discovered_gates import take_up_default_gates
from runner.config.loading import load_settings
from runner.config.paths import Places
from runner.project import Project
from runner.repo.head import find_git

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.config.settings import Loaded


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
