"""`runner init`: a small working plan and the two files beside it, for a person to change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

_EXAMPLES = """\
examples:
  mkdir hello && cd hello && git init && runner init
  runner                          then builds it
"""
_FILES = ("TASK-GRAPH.md", "FILE_OWNERSHIP_MAP.md", "PATTERN_INDEX.md")


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner init` takes."""
    del name
    parser.epilog = _EXAMPLES


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Write what is missing. Raises RunnerError without git, or where there is a plan already."""
    from runner import effects, starter
    from runner.repo.head import PLANS, find_git

    del given
    here = Path.cwd()
    if find_git(here) is None:
        raise RunnerError("this folder is in no git repository", where=str(here), hint="git init")
    for plan in PLANS:
        if _there(here / plan):
            raise RunnerError(
                "there is a plan here already; nothing was written",
                where=plan,
                hint="runner validate, or take it away first",
            )
    templates = Path(starter.__file__).parent
    for name in _FILES:
        if _there(here / name):
            print(f"kept {name}, which was there")
            continue
        effects.write_file(here / name, (templates / name).read_bytes())
        print(f"wrote {name}")
    _trust(here, environ)
    print("\nnext: read TASK-GRAPH.md, commit it (git add -A && git commit), then: runner")
    return ExitCode.OK


def _there(path: Path) -> bool:
    """Whether the name is taken, be it by a link that leads nowhere."""
    return path.exists() or path.is_symlink()


def _trust(here: Path, environ: Mapping[str, str]) -> None:
    """The plan is our own: its commands need no question, unless the repository brings others."""
    from runner.app.build.discovered_gates import take_up_default_gates
    from runner.config.trust import Trust
    from runner.project import Project

    project = Project.open(here, environ)
    take_up_default_gates(project)
    settings = project.settings
    if not (settings.gates or settings.gates_by_type or settings.command):
        Trust(project.places.state).give(project.root, "init")
