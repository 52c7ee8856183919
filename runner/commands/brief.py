"""`runner brief ID`: exactly what an implementer of the task would be told by the next attempt."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from runner.commands.one_task import add_arguments, one_task
from runner.errors import ExitCode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

_EXAMPLES = """\
examples:
  runner brief TASK-003
  runner brief 3 --json
"""


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner brief` takes."""
    del name
    add_arguments(parser, _EXAMPLES)


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print the brief, made by the very code that makes a run's."""
    from runner.commands.preparing import preparation_of

    asked = one_task(given, environ)
    project, view, id_ = asked.project, asked.view, asked.id
    plan, task = asked.plan, asked.task
    attempt = view.states[id_].last_attempt + 1
    brief = preparation_of(project, plan, view.state).brief(task, attempt)
    if given.json:
        from runner.report.documents import document

        patterns = [pattern.id for pattern in brief.patterns]
        said = document("brief", task=id_, attempt=attempt, patterns=patterns, text=brief.text)
        print(said, end="")
    else:
        sys.stdout.write(brief.text.rstrip("\n") + "\n")
    return ExitCode.OK
