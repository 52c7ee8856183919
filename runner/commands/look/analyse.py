"""`runner analyse`: what a repository is, read from its commit; nothing of it is run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.inspect import repository_analysis
else:
    repository_analysis = lazy_module("runner.app.inspect.repository_analysis")

EXAMPLES = """\
examples:
  runner analyse            stack, builds, tests, gates, packages, owners, imports, hot files
  runner analyse --json     the same, whole, as one document; the same for the same commit
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner analyse` takes."""
    parser.add_argument("--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print it; a plan is not needed."""
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    if given.json:
        print(repository_analysis.analysis_document(project), end="")
    else:
        print(
            "\n".join(
                map(
                    display,
                    repository_analysis.analysis_lines(repository_analysis.analyse(project)),
                )
            )
        )
    return ExitCode.OK
