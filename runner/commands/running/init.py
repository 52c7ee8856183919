"""`runner init`: a small working plan and the two files beside it, for a person to change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode
from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.build import new_project
else:
    new_project = lazy_module("runner.app.build.new_project")

EXAMPLES = """\
examples:
  mkdir hello && cd hello && git init && runner init
  runner                          then builds it
"""
_AGENTS = """\
  - TASK-GRAPH.md is the plan: `runner validate` checks it, `runner status` says how it stands.
  - Never edit a status, artifacts/build/ or FILE_OWNERSHIP_MAP.md by hand.
  - `runner why ID` says what to do about a task, `runner impact` which tests a change may affect.
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner init` takes."""
    del parser


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Write what is missing. Raises RunnerError without git, or where there is a plan already."""
    del given
    for name, is_new in new_project.init(Path.cwd(), environ).written.items():
        print(f"wrote {name}" if is_new else f"kept {name}, which was there")
    if not (Path.cwd() / "AGENTS.md").exists():
        print(f"\nfor coding agents, as your AGENTS.md:\n\n{_AGENTS}", end="")
    print("\nnext: read TASK-GRAPH.md, commit it (git add -A && git commit), then: runner")
    return ExitCode.OK
