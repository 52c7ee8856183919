"""`runner init`: a small working plan and the two files beside it, for a person to change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

_EXAMPLES = """\
examples:
  mkdir hello && cd hello && git init && runner init
  runner                          then builds it
"""


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner init` takes."""
    del name
    parser.epilog = _EXAMPLES


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Write what is missing. Raises RunnerError without git, or where there is a plan already."""
    from runner.app.build.new_project import init

    del given
    for name, is_new in init(Path.cwd(), environ).written.items():
        print(f"wrote {name}" if is_new else f"kept {name}, which was there")
    print("\nnext: read TASK-GRAPH.md, commit it (git add -A && git commit), then: runner")
    return ExitCode.OK
