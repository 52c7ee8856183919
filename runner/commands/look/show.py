"""`runner show ID`: one task whole: what the plan asks, what happened, what its status rests on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from runner.app.inspect.status_document import describe_task_whole
from runner.app.inspect.task_view import portrait
from runner.commands.one_task import add_arguments, add_verbose, one_task
from runner.errors import ExitCode
from runner.lazy_module import lazy_module
from runner.report.documents import document
from runner.secrets.redact import redact

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.inspect import task_inquiry
else:
    task_inquiry = lazy_module("runner.app.inspect.task_inquiry")


EXAMPLES = """\
examples:
  runner show TASK-003
  runner show 3 -v        with commits, trees and digests in full
  runner show 3 --json
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner show` takes."""
    add_arguments(parser)
    add_verbose(parser)


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Show the task. Raises RunnerError for an id that no task has."""
    asked = one_task(given, environ)
    task, view, story = asked.task, asked.view, task_inquiry.load_story(asked)
    if given.json:
        print(redact(document("task", **describe_task_whole(asked, story))), end="")
    else:
        lines = portrait(task, view, story.past, story.report, digests=given.verbose)
        sys.stdout.write(redact("\n".join(lines)) + "\n")
    return ExitCode.OK
